"""Exact text with its frame: pages, counts, the end marker, and what has not been shown yet."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QKeySequence, QResizeEvent, QShortcut, QTextCursor
from PySide6.QtWidgets import QVBoxLayout, QWidget
from typing_extensions import override

from oma_desktop.base.text import ntr, tr
from oma_desktop.model.visible_json import VisibleText
from oma_desktop.model.visible_pages import Pages, Sheet
from oma_desktop.ui import review_words as words
from oma_desktop.ui.exact_find import FindField, count_matches, next_page
from oma_desktop.ui.exact_format import LINE
from oma_desktop.ui.exact_text import ExactText
from oma_desktop.ui.flow import FlowLayout
from oma_desktop.ui.review_parts import Panel, Picture, Text, make_button
from oma_desktop.ui.theme import theme
from oma_desktop.viewmodel.shown import Shown

FOOT = 24


class ExactView(Panel):
    """Shows a drawn value whole. `shown_whole` is emitted once, when all of it was on screen."""

    shown_whole = Signal()
    laid_out = Signal()
    typing = Signal(bool)

    def __init__(self) -> None:
        super().__init__(box=True, line="border.strong")
        self._cut: Pages = ((),)
        self._drawn = VisibleText((), 0, 0)
        self._shown: list[Shown] = []
        self._whole: list[bool] = [False]
        self._page = 0
        self._sought = ""
        self._announced = False
        self.is_ready = False
        self.text = ExactText()
        self.text.seen.connect(self._on_seen)
        self.text.filled.connect(self._on_filled)
        self.text.installEventFilter(self)
        foot = self._make_foot()
        column = QVBoxLayout(self)
        column.setContentsMargins(3, 3, 3, 3)
        column.setSpacing(0)
        column.addWidget(self.text, 1)
        column.addWidget(foot)

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """The frame shows where the keys go."""
        if event.type() is QEvent.Type.FocusIn:
            self.set_ground("surface", "focus", width=theme().focus_width)
        elif event.type() is QEvent.Type.FocusOut:
            self.set_ground("surface", "border.strong")
        return super().eventFilter(watched, event)

    def _make_foot(self) -> QWidget:
        foot = Panel(ground="window", top=True)
        self._tick = Picture(state="done", size=12)
        self._progress = Text(use="caption", role="text.muted")
        self._unseen = make_button("", kind="link")
        self._unseen.clicked.connect(self._on_unseen)
        self._back = make_button("", kind="link")
        self._back.clicked.connect(self._on_back)
        self._place = Text(use="caption", role="text.muted")
        self._next = make_button("", kind="link")
        self._next.clicked.connect(self._on_next)
        self._counts = Text(use="caption", role="text.muted")
        self.finder = FindField()
        self._found = Text(use="caption", role="text.muted")
        self._found.hide()
        self.finder.typing.connect(self.typing)
        self.finder.left.connect(self._on_find_left)
        self.finder.textChanged.connect(self._on_find_changed)
        self.finder.returnPressed.connect(self._on_find_next)
        shortcut = QShortcut(QKeySequence(QKeySequence.StandardKey.Find), self)
        shortcut.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        shortcut.activated.connect(self._on_find)
        self._row = FlowLayout(foot, spacing=6)
        self._row.setContentsMargins(12, 4, 12, 4)
        for part in (self._tick, self._progress, self._unseen):
            self._row.addWidget(part)
        self._row.addWidget(self.finder)
        self._row.addWidget(self._found)
        self._row.split()
        for part in (self._back, self._place, self._next, self._counts):
            self._row.addWidget(part)
        self._foot = foot
        return foot

    def show_value(self, value: Sheet) -> None:
        """Show another value from its beginning; nothing of it counts as shown."""
        self._drawn = value.text
        self._cut = value.pages
        self._shown = [Shown() for _ in self._cut]
        self._whole = [False for _ in self._cut]
        self._announced = False
        self.is_ready = True
        self._go(0)

    def show_reading(self) -> None:
        """Show that the value is being prepared: nothing of it counts as shown."""
        self._drawn = VisibleText((), 0, 0)
        self._cut, self._shown, self._whole = ((),), [Shown()], [False]
        self._announced = False
        self.is_ready = False
        self._go(0)

    @property
    def whole_was_shown(self) -> bool:
        """Whether every character of every page has been on screen."""
        return self.is_ready and all(self._whole)

    @property
    def n_pages(self) -> int:
        """Number of pages."""
        return len(self._cut)

    def _go(self, page: int) -> None:
        self._page = page
        self._sought = ""
        self.text.show_lines(self._cut[page], self._shown[page])
        self._refresh()
        self.laid_out.emit()

    def _on_next(self) -> None:
        if self._page + 1 < len(self._cut):
            self._go(self._page + 1)

    def _on_back(self) -> None:
        if self._page > 0:
            self._go(self._page - 1)

    def _on_unseen(self) -> None:
        page = next((i for i, whole in enumerate(self._whole) if not whole), self._page)
        if page != self._page:
            self._go(page)
        self.text.setFocus()
        self.text.show_unseen()

    def _on_find(self) -> None:
        self.finder.begin()
        self._on_find_changed(self.finder.text())

    def _on_find_left(self) -> None:
        self._found.hide()
        self._fit_foot()
        self.text.setFocus()

    def _on_find_changed(self, words: str) -> None:
        n = count_matches(self._cut, words)
        self._found.say(ntr("{n} match", "{n} matches", n) if words else "")
        self._fit_foot()

    def _on_find_next(self) -> None:
        """Select the next match: on this page below the cursor, then on the next page with one."""
        words = self.finder.text()
        if not words or self.text.find(words):
            return
        page = next_page(self._cut, words, self._page)
        if page is None:
            return
        if page != self._page:
            self._go(page)
        self._sought = words
        self._find_sought()

    def _find_sought(self) -> None:
        """Select what is sought on a page just turned to, as soon as it is written."""
        if self._sought and self.text.is_filled:
            self.text.moveCursor(QTextCursor.MoveOperation.Start)
            self.text.find(self._sought)
            self._sought = ""

    def _on_filled(self) -> None:
        self._on_seen()
        self._find_sought()
        self.laid_out.emit()

    def _on_seen(self) -> None:
        self._whole[self._page] = self._whole[self._page] or self.text.whole_was_shown
        self._refresh()
        if self.whole_was_shown and not self._announced:
            self._announced = True
            self.shown_whole.emit()

    def retranslate(self) -> None:
        """Set every word again."""
        self._refresh()
        self.text.viewport().update()

    def _refresh(self) -> None:
        self._unseen.setText(tr("Go to what was not shown"))
        self._back.setText(tr("Previous page"))
        self._next.setText(tr("Next page"))
        done = self.whole_was_shown
        self._tick.setVisible(done)
        self._progress.say(tr("end reached") if done else self._not_shown())
        self._unseen.setVisible(self.is_ready and not done)
        self._counts.setVisible(self.is_ready)
        several = len(self._cut) > 1
        for part in (self._back, self._next, self._place):
            part.setVisible(several)
        self._place.setText(tr("page {page} of {pages}", page=self._page + 1, pages=len(self._cut)))
        self._back.setEnabled(self._page > 0)
        self._next.setEnabled(self._page + 1 < len(self._cut))
        n = len(self._drawn.lines)
        lines = ntr("{n} line", "{n} lines", n)
        chars = ntr("{n} character", "{n} characters", self._drawn.n_chars)
        size = words.size(self._drawn.n_bytes)
        self._counts.setText(
            tr("{lines}, {characters}, {size}", lines=lines, characters=chars, size=size)
            if not done
            else tr(
                "{lines}, {characters}, {size}, shown whole",
                lines=lines,
                characters=chars,
                size=size,
            )
        )
        self._fit_foot()

    def _not_shown(self) -> str:
        if not self.is_ready:
            return tr("Reading the content…")
        line = self.text.unseen_line
        if line is None:
            return tr("other pages were not shown yet")
        return tr("not shown yet from line {n}", n=line)

    def wanted_height(self) -> int:
        """Height that shows the present page without scrolling."""
        return self.text.content_height() + self._foot_height() + 6

    def least_height(self) -> int:
        """Height below which reading makes no sense: three lines."""
        return theme().px(3 * LINE) + self._foot_height()

    def _foot_height(self) -> int:
        return max(self._row.heightForWidth(self.width() - 6), theme().px(FOOT))

    def _fit_foot(self) -> None:
        height = self._foot_height()
        if self._foot.minimumHeight() != height:
            self._foot.setFixedHeight(height)
            self.laid_out.emit()

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_foot()
