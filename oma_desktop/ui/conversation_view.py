"""The conversation of the selected task: read, find, unfold, jump to a call (ux.md C5)."""

from __future__ import annotations

from bisect import bisect_left
from typing import Final

from PySide6.QtCore import Qt, QTimer, QUrl, Signal
from PySide6.QtGui import (
    QKeyEvent,
    QKeySequence,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
    QTextCursor,
    QTextDocument,
    QTextFrame,
)
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLineEdit,
    QTextBrowser,
    QTextEdit,
    QToolButton,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from oma_desktop.base.text import tr
from oma_desktop.ui import icons
from oma_desktop.ui.conversation_page import CARD, LINE, Page
from oma_desktop.ui.empty_state import EmptyState
from oma_desktop.ui.labels import Label
from oma_desktop.ui.language import Retranslated
from oma_desktop.ui.slices import Slices
from oma_desktop.ui.theme import theme, theme_host
from oma_desktop.viewmodel.conversation import WINDOW, Conversation, Entry
from oma_desktop.viewmodel.selection import Selection

_FRAME_MS: Final = 33
_MAX_HITS: Final = 999
RADIUS: Final = 4


class Reader(QTextBrowser):
    """A text browser that loads nothing: every resource was added by us, every link is ours."""

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self.viewport())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._paint_cards(painter)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, on=False)
        self._paint_lines(painter)
        painter.end()
        super().paintEvent(event)

    def _paint_cards(self, painter: QPainter) -> None:
        """Draw the boxes of the tool calls in sight, below the text."""
        look = theme()
        layout = self.document().documentLayout()
        top = self.verticalScrollBar().value()
        frames = self.document().rootFrame().childFrames()
        first = self.cursorForPosition(self.viewport().rect().topLeft()).position()
        start = bisect_left(frames, first, key=QTextFrame.lastPosition)
        for frame in frames[max(start - 1, 0) :]:
            # asking for the box of a frame would lay out the whole document: a card is one block
            block = self.document().findBlock(frame.firstPosition())
            line = layout.blockBoundingRect(block).translated(0, -top)
            if line.top() > self.viewport().height():
                return
            style = frame.frameFormat()
            kind = style.property(CARD)
            if kind is None:
                continue
            needs_you = kind == "needsyou"
            painter.setPen(QPen(look.color("state.needsyou.edge" if needs_you else "border"), 1))
            painter.setBrush(look.color("state.needsyou.tint" if needs_you else "surface"))
            pad = style.padding() - 0.5
            box = line.adjusted(-pad, -pad, pad, pad)
            painter.drawRoundedRect(box, RADIUS, RADIUS)

    def _paint_lines(self, painter: QPainter) -> None:
        """Draw the lines between messages at whole pixels: a document would smear them."""
        layout = self.document().documentLayout()
        offset = self.verticalScrollBar().value()
        colour = theme().color("border")
        block = self.cursorForPosition(self.viewport().rect().topLeft()).block()
        while block.isValid():
            top = round(layout.blockBoundingRect(block).bottom()) - offset
            if top > self.viewport().height():
                return
            if block.blockFormat().hasProperty(LINE):
                painter.fillRect(0, top, self.viewport().width(), 1, colour)
            block = block.next()

    @override
    def loadResource(self, type: int, name: QUrl | str) -> object:
        return None


class ConversationView(Retranslated):
    """Shows `Conversation`. New text is drawn at most thirty times a second."""

    call_chosen = Signal(object)  # call id
    review_requested = Signal(object)  # call id

    def __init__(
        self, model: Conversation, selection: Selection, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._model = model
        self._selection = selection
        self._written: Page | None = None
        self._keep: tuple[bool, int] = (False, 0)
        self._draft_at: int | None = None
        self._shown_width = 0

        self.page = Reader()
        self.page.setOpenLinks(False)
        self.page.setFrameShape(QFrame.Shape.NoFrame)
        self.page.setProperty("kind", "page")
        self.page.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.page.setUndoRedoEnabled(False)
        self.page.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextBrowserInteraction
            | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self._empty = EmptyState("conversation")
        self._find_bar = QWidget()
        self.find_field = QLineEdit()
        self.find_field.setClearButtonEnabled(True)
        self._hits = Label("secondary", "text.muted", figures=True)
        self._previous = QToolButton()
        self._next = QToolButton()
        self._close = QToolButton()
        bar = QHBoxLayout(self._find_bar)
        bar.setContentsMargins(12, 4, 12, 4)
        bar.addWidget(self.find_field, 1)
        bar.addWidget(self._hits)
        for button in (self._previous, self._next, self._close):
            bar.addWidget(button)
        self._find_bar.hide()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self._find_bar)
        column.addWidget(self.page, 1)
        column.addWidget(self._empty, 1)
        self.setProperty("ground", "surface")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)

        self._frame = QTimer(self)
        self._frame.setSingleShot(True)
        self._frame.setInterval(_FRAME_MS)
        self._frame.timeout.connect(self._draw)
        self._slices = Slices(self)
        self._slices.moved.connect(self._on_slice)
        self._slices.finished.connect(self._on_written)
        self._stale_page = True
        model.changed.connect(self._on_model_changed)
        model.draft_changed.connect(self._on_model_draft_changed)
        self.page.anchorClicked.connect(self._on_link_clicked)
        self.find_field.textChanged.connect(self._on_find_changed)
        self.find_field.returnPressed.connect(self.find_next)
        self._previous.clicked.connect(self.find_previous)
        self._next.clicked.connect(self.find_next)
        self._close.clicked.connect(self.close_find)
        theme_host().theme_changed.connect(self._on_theme_changed)
        self._on_theme_changed()

    @property
    def is_written(self) -> bool:
        """Whether everything the model holds stands on the page."""
        return not (self._slices.running or self._frame.isActive())

    # -- find -------------------------------------------------------------------------------

    def open_find(self) -> None:
        """Open the find bar and put the caret there."""
        self._find_bar.show()
        self.find_field.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.find_field.selectAll()

    def close_find(self) -> None:
        """Close the find bar; the page gets the focus back."""
        self._find_bar.hide()
        self.find_field.clear()
        self.page.setFocus(Qt.FocusReason.OtherFocusReason)

    def find_next(self) -> None:
        self._find(backward=False)

    def find_previous(self) -> None:
        self._find(backward=True)

    def _find(self, *, backward: bool) -> None:
        text = self.find_field.text()
        if not text:
            return
        flag = QTextDocument.FindFlag.FindBackward if backward else QTextDocument.FindFlag(0)
        if not self.page.find(text, flag):
            end = QTextCursor.MoveOperation.End
            self.page.moveCursor(end if backward else QTextCursor.MoveOperation.Start)
            self.page.find(text, flag)

    def _on_find_changed(self, text: str) -> None:
        spots = self._spots(text)
        self.page.setExtraSelections(spots)
        if not text:
            self._hits.clear()
        elif len(spots) > _MAX_HITS:
            self._hits.setText(tr("more than {n} found", n=_MAX_HITS))
        else:
            self._hits.setText(tr("{n} found", n=len(spots)))

    def _spots(self, text: str) -> list[QTextEdit.ExtraSelection]:
        spots: list[QTextEdit.ExtraSelection] = []
        if not text:
            return spots
        ground = theme().color("diff.changed.mark")
        cursor = self.page.document().find(text)
        while not cursor.isNull() and len(spots) <= _MAX_HITS:
            spot = QTextEdit.ExtraSelection()
            spot.cursor = cursor
            spot.format.setBackground(ground)
            spots.append(spot)
            cursor = self.page.document().find(text, cursor)
        return spots

    # -- drawing ----------------------------------------------------------------------------

    def _start_over(self) -> None:
        """Language, look or width are others: nothing of what stands there can stay."""
        self._forget_page()
        self._on_model_changed()

    def _forget_page(self) -> None:
        self._slices.stop()
        self._written = None

    def _on_model_changed(self) -> None:
        self._stale_page = True
        self._frame.start()

    def _on_model_draft_changed(self) -> None:
        if not self._frame.isActive():
            self._frame.start()

    def _draw(self) -> None:
        situation = self._model.situation
        self.page.setVisible(situation == "shown")
        self._empty.setVisible(situation != "shown")
        if situation != "shown":
            self._stale_page = True
            self._forget_page()
            self._say(situation)
            return
        bar = self.page.verticalScrollBar()
        self._keep = bar.value() >= bar.maximum() - 4 and bar.value() > 0, bar.value()
        if self._stale_page:
            self._stale_page = False
            self._draw_page()
        elif not self._slices.running:
            self._draw_draft()
            self._keep_place()

    def _draw_page(self) -> None:
        """Write what is new; start from the top when what stands there is not the beginning."""
        entries, page = self._model.entries, self._written
        self._take_draft_back()
        kept = _n_same(page.written, entries) if page is not None else 0
        if page is None or not kept:
            page = self._clean_page()
            self._written = page
            if self._model.n_earlier:
                page.write_earlier(min(self._model.n_earlier, WINDOW))
        else:
            page.take_back(kept)
        self._slices.start(page.writing(entries[kept:], agent=self._model.agent or ""))

    def _clean_page(self) -> Page:
        self._slices.stop()
        self._shown_width = self.page.viewport().width()
        document = self.page.document()
        document.clear()
        document.setDocumentMargin(0)
        root = document.rootFrame().frameFormat()
        root.setTopMargin(theme().px(6))
        document.rootFrame().setFrameFormat(root)
        return self._new_page()

    def _on_slice(self) -> None:
        if not self._keep[0]:
            self._keep_place()

    def _on_written(self) -> None:
        self._draw_draft()
        self._keep_place()
        self._on_find_changed(self.find_field.text())

    def _keep_place(self) -> None:
        """Stay at the end when the reader was there, otherwise where the reader was."""
        at_end, before = self._keep
        bar = self.page.verticalScrollBar()
        if at_end:
            bar.setValue(bar.maximum())
        elif bar.maximum() >= before:
            bar.setValue(before)
            self._keep = False, bar.value()

    def _draw_draft(self) -> None:
        self._take_draft_back()
        cursor = QTextCursor(self.page.document())
        drafts = self._model.drafts
        if drafts:
            cursor.movePosition(QTextCursor.MoveOperation.End)
            self._draft_at = cursor.position()
        for draft in drafts:
            self._new_page().write_draft(draft, agent=self._model.agent or "")

    def _take_draft_back(self) -> None:
        if self._draft_at is not None:
            cursor = QTextCursor(self.page.document())
            cursor.setPosition(self._draft_at)
            cursor.movePosition(QTextCursor.MoveOperation.End, QTextCursor.MoveMode.KeepAnchor)
            cursor.removeSelectedText()
            self._draft_at = None

    def _new_page(self) -> Page:
        return Page(
            document=self.page.document(),
            look=theme(),
            width=self.page.viewport().width(),
            ratio=self.devicePixelRatioF(),
        )

    def _say(self, situation: str) -> None:
        if situation == "nothing_selected":
            self._empty.say(
                tr("No task is selected."), tr("Choose a task to read what was said in it.")
            )
        elif situation == "loading":
            self._empty.say(tr("Reading the conversation…"))
        elif self._model.about_run is not None:
            self._empty.say(
                tr("There is no closing answer yet."),
                tr(
                    "The coordinator gives it when the tasks are done. Choose a task to read what "
                    "was said in it."
                ),
            )
        else:
            self._empty.say(
                tr("Nothing was said yet."), tr("This task has not asked a model so far.")
            )

    # -- events -----------------------------------------------------------------------------

    def _on_link_clicked(self, url: QUrl) -> None:
        kind, _, number = url.toString().partition(":")
        if not number.isdigit():
            return
        if kind == "more":
            self._model.unfold(int(number))
        elif kind == "earlier":
            self._model.show_earlier()
        elif kind == "call" and self._written and int(number) < len(self._written.calls):
            self.call_chosen.emit(self._written.calls[int(number)])

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and self._find_bar.isVisible():
            self.close_find()
            return
        if event.matches(QKeySequence.StandardKey.FindNext):
            self.find_next()
            return
        super().keyPressEvent(event)

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self.page.viewport().width() != self._shown_width:
            self._start_over()

    @override
    def retranslate(self) -> None:
        self.page.setAccessibleName(tr("Conversation"))
        self.find_field.setPlaceholderText(tr("Find in conversation"))
        self.find_field.setAccessibleName(tr("Find in conversation"))
        for button, text in (
            (self._previous, tr("Find previous")),
            (self._next, tr("Find next")),
            (self._close, tr("Close")),
        ):
            button.setToolTip(text)
            button.setAccessibleName(text)
        self._start_over()

    def _on_theme_changed(self) -> None:
        self._previous.setIcon(icons.icon("chevron.up"))
        self._next.setIcon(icons.icon("chevron.down"))
        self._close.setIcon(icons.icon("clear"))
        self.retranslate()


def _n_same(written: list[Entry], entries: tuple[Entry, ...]) -> int:
    pairs = enumerate(zip(written, entries, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(written), len(entries)))
