"""The exact content of a request: every line, every hidden character, and proof that it was shown.

`ExactText` draws one page and records which characters have really been on screen; `ExactView`
adds pages, counts and the end marker (ux.md C7). Nothing is shortened and nothing scrolls sideways.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from PySide6.QtCore import QPoint, QPointF, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QFontMetricsF,
    QKeyEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
    QTextBlock,
    QTextCursor,
    QTextOption,
)
from PySide6.QtWidgets import QFrame, QScrollArea, QTextEdit, QWidget
from typing_extensions import override

from oma_desktop.model.visible_pages import PageLine
from oma_desktop.ui.exact_format import (
    LINE,
    PAD,
    block_format,
    cost_of,
    formats,
    insert_plain,
    merged,
    note_of,
)
from oma_desktop.ui.icons import icon_pixmap
from oma_desktop.ui.slices import Slices
from oma_desktop.ui.theme import theme, theme_host
from oma_desktop.viewmodel.shown import Shown

DROP: Final = 2


class ExactText(QTextEdit):
    """One page of lines, read only.

    A long page is written in slices: `filled` comes when it is there to its end; before that it
    never counts as shown whole. `seen` is emitted when more of it has been on screen.
    """

    seen = Signal()
    filled = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._lines: tuple[PageLine, ...] = ()
        self._shown = Shown()
        self._chips: list[tuple[int, int]] = []
        self._tinted: frozenset[int] = frozenset()
        self._tint = ""
        self.setReadOnly(True)
        self.setUndoRedoEnabled(False)
        self.setAcceptRichText(False)
        self.setTabChangesFocus(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setStyleSheet("QTextEdit { border: 0; background: transparent; }")
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse
            | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        option = QTextOption()
        option.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.document().setDefaultTextOption(option)
        self.document().setDocumentMargin(0)
        self._gutter = _Gutter(self)
        self._slices = Slices(self)
        self._slices.finished.connect(self._on_filled)
        self.verticalScrollBar().valueChanged.connect(self._on_scrolled)
        theme_host().theme_changed.connect(self._on_theme_changed)

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Page so that the line cut off at the edge comes whole: nobody must hunt for it."""
        pages = {Qt.Key.Key_PageDown: 1, Qt.Key.Key_PageUp: -1}
        way = pages.get(Qt.Key(event.key()))
        if way is None or event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier:
            super().keyPressEvent(event)
            return
        step = max(self.viewport().height() - 2 * theme().px(LINE), theme().px(LINE))
        bar = self.verticalScrollBar()
        before = bar.value()
        bar.setValue(before + way * step)
        if bar.value() == before:
            event.ignore()  # at the end: what is around may have more to show
            return
        spot = self.viewport().rect().bottomLeft() if way > 0 else QPoint(0, 0)
        self.setTextCursor(self.cursorForPosition(spot))

    # -- content -------------------------------------------------------------------------------

    def show_lines(self, lines: tuple[PageLine, ...], shown: Shown) -> None:
        """Show one page; `shown` remembers what of it was on screen."""
        self._lines, self._shown = lines, shown
        self._fill()
        self.verticalScrollBar().setValue(0)
        self.moveCursor(QTextCursor.MoveOperation.Start)

    def tint_lines(self, numbers: frozenset[int], role: str) -> None:
        """Give these lines the ground of a colour role."""
        self._tinted, self._tint = numbers, role
        self.viewport().update()

    @property
    def whole_was_shown(self) -> bool:
        """Whether every character of this page has been on screen."""
        return self.is_filled and self._shown.covers(self._end)

    @property
    def is_filled(self) -> bool:
        """Whether the page is written to its end."""
        return not self._slices.running

    @property
    def unseen_line(self) -> int | None:
        """Number of the first line that was not on screen yet."""
        at = self._shown.first_gap(self._end)
        if at is None or not self._lines:
            return None
        return self._lines[min(self._block(at), len(self._lines) - 1)].number

    @property
    def _end(self) -> int:
        return max(self.document().characterCount() - 1, 0)

    def _block(self, at: int) -> int:
        return self.document().findBlock(at).blockNumber()

    def show_unseen(self) -> None:
        """Scroll to the first part that was not on screen yet."""
        at = self._shown.first_gap(self._end)
        if at is not None:
            cursor = self.textCursor()
            cursor.setPosition(at)
            bar = self.verticalScrollBar()
            bar.setValue(bar.value() + self.cursorRect(cursor).top())
            self._come_into_view()

    def _come_into_view(self) -> None:
        """Let the scroll area around show this viewer as far as it can."""
        parent = self.parentWidget()
        while parent is not None and not isinstance(parent, QScrollArea):
            parent = parent.parentWidget()
        page = parent.widget() if isinstance(parent, QScrollArea) else None
        if isinstance(parent, QScrollArea) and page is not None:
            # ensureWidgetVisible would look only for the text cursor
            for edge in (self.rect().bottomLeft(), self.rect().topLeft()):
                spot = self.mapTo(page, edge)
                parent.ensureVisible(spot.x(), spot.y(), 0, 2)

    def content_height(self) -> int:
        """Height that shows the page without scrolling, at the present width."""
        return int(self.document().size().height()) + theme().px(2 * DROP)

    def _on_theme_changed(self) -> None:
        self._fill()

    def _fill(self) -> None:
        now = theme()
        self.setFont(now.font("mono"))
        self.document().setDefaultFont(now.font("mono"))
        cell = QFontMetricsF(now.font("mono")).horizontalAdvance("0")
        self._set_gutter(cell)
        self._chips = []
        self.document().clear()
        self._slices.start(self._writing(cell))

    def _set_gutter(self, cell: float) -> None:
        digits = len(str(self._lines[-1].number)) if self._lines else 1
        gutter = theme().px(PAD) + int(cell * max(digits, 2)) + theme().px(PAD)
        self.setViewportMargins(gutter, 0, 0, 0)
        self._gutter.setGeometry(0, 0, gutter, self.height())

    def _writing(self, cell: float) -> Iterator[int]:
        """Write line by line at the end; yields what each costs."""
        for i, entry in enumerate(self._lines):
            cursor = QTextCursor(self.document())
            cursor.movePosition(QTextCursor.MoveOperation.End)
            block = block_format(entry, cell)
            cursor.beginEditBlock()
            if i:
                cursor.insertBlock(block)
            else:
                cursor.setBlockFormat(block)
            self._insert(cursor, entry)
            cursor.endEditBlock()
            yield cost_of(entry)

    def _on_filled(self) -> None:
        self.viewport().update()
        self._gutter.update()
        self.filled.emit()

    def _insert(self, cursor: QTextCursor, entry: PageLine) -> None:
        plain, chip, edge, quiet = formats()
        cursor.insertText(" " * entry.line.hang, plain)
        for text, mark in merged(entry.line.pieces):
            if mark is None:
                broken = text.removesuffix("\\n")
                insert_plain(cursor, broken, plain)
                cursor.insertText(text[len(broken) :], quiet)
                continue
            start = cursor.position()
            cursor.insertText("<", edge)
            cursor.insertText(text[1:-1], chip)
            cursor.insertText(">", edge)
            self._chips.append((start, cursor.position()))

    # -- what was on screen ----------------------------------------------------------------------

    def _on_scrolled(self) -> None:
        self._gutter.update()

    def _record(self) -> None:
        """Remember the lines that lie wholly inside the visible part of the viewport."""
        region = self.viewport().visibleRegion().boundingRect()
        if region.isEmpty() or not self.isVisible() or self.window().isMinimized():
            return
        if region.width() < self.viewport().width():
            return  # cut off sideways: nobody saw whole lines
        top = region.top() + self.verticalScrollBar().value()
        bottom = top + region.height()
        bounds = self._whole_lines(top, bottom)
        if bounds is not None and self._shown.add(*bounds):
            self.seen.emit()

    def _whole_lines(self, top: int, bottom: int) -> tuple[int, int] | None:
        layout = self.document().documentLayout()
        line = theme().px(LINE)
        hit = layout.hitTest(QPointF(0, top + 1), Qt.HitTestAccuracy.FuzzyHit)
        block = self.document().findBlock(max(hit, 0))
        start: int | None = None
        end = 0
        while block.isValid():
            origin = layout.blockBoundingRect(block).top()
            if origin > bottom:
                break
            text = block.layout()
            for i in range(text.lineCount()):
                piece = text.lineAt(i)
                y = origin + piece.y()
                if y >= top - 1 and y + min(piece.height(), line) <= bottom + 1:
                    first = block.position() + piece.textStart()
                    start = first if start is None else start
                    end = first + piece.textLength()
                    if i == text.lineCount() - 1:
                        end = block.position() + block.length()
            block = block.next()
        return None if start is None else (start, end)

    # -- drawing -------------------------------------------------------------------------------

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self.viewport())
        blocks = list(self._visible_blocks())
        for block, area in blocks:
            role = self._ground(block)
            if role:
                painter.fillRect(area, theme().color(role))
        painter.end()
        super().paintEvent(event)
        painter = QPainter(self.viewport())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._paint_chips(painter)
        for block, area in blocks:
            self._paint_note(painter, block, area)
        painter.end()
        self._record()

    def _visible_blocks(self) -> Iterable[tuple[QTextBlock, QRect]]:
        layout = self.document().documentLayout()
        offset = self.verticalScrollBar().value()
        hit = layout.hitTest(QPointF(0, offset), Qt.HitTestAccuracy.FuzzyHit)
        block = self.document().findBlock(max(hit, 0))
        while block.isValid():
            # a line of fixed height stands on its lower edge: the row is centred around it
            top = round(layout.blockBoundingRect(block).top()) - offset + theme().px(DROP)
            if top > self.viewport().height():
                return
            height = block.layout().lineCount() * theme().px(LINE)
            yield block, QRect(0, top, self.viewport().width(), height)
            block = block.next()

    def _is_noted(self, block: QTextBlock) -> bool:
        entry = self._entry(block)
        return entry is not None and bool(entry.line.marks or entry.line.blank_run)

    def _ground(self, block: QTextBlock) -> str:
        entry = self._entry(block)
        if entry is not None and entry.number in self._tinted:
            return self._tint
        return "warning.tint" if self._is_noted(block) else ""

    def _entry(self, block: QTextBlock) -> PageLine | None:
        number = block.blockNumber()
        return self._lines[number] if number < len(self._lines) else None

    def _paint_chips(self, painter: QPainter) -> None:
        now = theme()
        painter.setPen(QPen(now.color("warning.text"), 1))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        first = self.cursorForPosition(self.viewport().rect().topLeft()).position()
        last = self.cursorForPosition(self.viewport().rect().bottomRight()).position()
        for start, end in self._chips:
            if end < first or start > last:
                continue
            for area in self._rects(start, end):
                painter.drawRoundedRect(area, 3, 3)

    def _rects(self, start: int, end: int) -> Iterable[QRectF]:
        """Where a chip stands; one rectangle per visual line it touches."""
        a, b = QTextCursor(self.document()), QTextCursor(self.document())
        a.setPosition(start)
        b.setPosition(end)
        left, right = self.cursorRect(a), self.cursorRect(b)
        height = theme().px(18)
        if left.top() == right.top():
            y = left.center().y() - height / 2
            cell = QFontMetricsF(theme().font("mono")).horizontalAdvance("0")
            yield QRectF(
                left.left() + cell * 0.3, y + 0.5, right.left() - left.left() - cell * 0.6, height
            )

    def _paint_note(self, painter: QPainter, block: QTextBlock, area: QRect) -> None:
        entry = self._entry(block)
        text = note_of(entry) if entry is not None else ""
        if not text:
            return
        now = theme()
        font = now.font("secondary")
        painter.setFont(font)
        size = now.px(14)
        width = int(QFontMetricsF(font).horizontalAdvance(text)) + size + now.px(6)
        last = self._last_line_end(block)
        left = area.right() - now.px(PAD) - width
        if last.x() + now.px(PAD) > left:
            return
        line = QRect(left, int(last.y()), width, now.px(LINE))
        pixmap = icon_pixmap("warning", size=size, role="warning", dpr=self.devicePixelRatioF())
        painter.drawPixmap(line.left(), line.top() + (line.height() - size) // 2, pixmap)
        painter.setPen(now.color("warning.text"))
        line.setLeft(line.left() + size + now.px(6))
        painter.drawText(line, int(Qt.AlignmentFlag.AlignVCenter), text)

    def _last_line_end(self, block: QTextBlock) -> QPointF:
        cursor = QTextCursor(block)
        cursor.movePosition(QTextCursor.MoveOperation.EndOfBlock)
        spot = self.cursorRect(cursor)
        return QPointF(spot.right(), spot.center().y() - theme().px(LINE) / 2)

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._gutter.setGeometry(0, 0, self._gutter.width(), self.height())

    @override
    def sizeHint(self) -> QSize:
        return QSize(theme().px(480), self.content_height())

    def paint_gutter(self, painter: QPainter, width: int) -> None:
        """Draw line numbers; a line that goes on has none."""
        now = theme()
        painter.fillRect(0, 0, width, self.height(), now.color("surface"))
        painter.fillRect(width - 1, 0, 1, self.height(), now.color("border"))
        painter.setFont(now.font("mono"))
        painter.setPen(now.color("text.muted"))
        for block, area in self._visible_blocks():
            entry = self._entry(block)
            if entry is None or entry.goes_on:
                continue
            if self._is_noted(block):
                painter.fillRect(0, area.top(), width - 1, area.height(), now.color("warning.tint"))
            spot = QRect(0, area.top(), width - now.px(PAD), now.px(LINE))
            flags = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
            painter.drawText(spot, int(flags), str(entry.number))


class _Gutter(QWidget):
    """The column of line numbers beside the text."""

    def __init__(self, owner: ExactText) -> None:
        super().__init__(owner)
        self._owner = owner

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        self._owner.paint_gutter(painter, self.width())
        painter.end()
