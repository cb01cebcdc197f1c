"""What the shapes mean and how many there are, lower right: only states that occur (look.md 7)."""

from __future__ import annotations

from typing import Final, NamedTuple

from PySide6.QtCore import QRect, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget
from typing_extensions import override

from oma_desktop.base.text import listed, tr
from oma_desktop.model.view import TaskState
from oma_desktop.ui import icons, words
from oma_desktop.ui.painting import draw_text, text_width
from oma_desktop.ui.theme import theme, theme_host

HEIGHT: Final = 28
_ROW: Final = 20
_PAD: Final = 12
_APART: Final = 14
_SHAPE: Final = 12
_NEXT: Final = 5


class _Entry(NamedTuple):
    state: TaskState
    word: str
    number: str
    width: int


class Legend(QWidget):
    """One row, or two; without room for the words they go, never the counts."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._counts: tuple[tuple[TaskState, int], ...] = ()
        self._room = 10_000
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        theme_host().theme_changed.connect(self.refit)

    def set_counts(self, counts: tuple[tuple[TaskState, int], ...]) -> None:
        """Show these states and counts."""
        if counts != self._counts:
            self._counts = counts
            self.retranslate()

    def set_room(self, width: int) -> None:
        """Be at most this wide."""
        if width != self._room:
            self._room = width
            self.refit()

    def retranslate(self) -> None:
        parts = [tr("{state}: {n}", state=words.task_word(s), n=n) for s, n in self._counts]
        self.setAccessibleName(listed(parts))
        self.refit()

    def refit(self) -> None:
        """Take the size the counts need."""
        self.resize(self.sizeHint())
        self.setVisible(bool(self._counts))
        self.update()

    @override
    def sizeHint(self) -> QSize:
        look = theme()
        rows = self._rows()
        widths = [sum(e.width for e in row) for row in rows]
        wide = max(widths, default=0) + look.px(2 * _PAD - _APART)
        high = look.px(HEIGHT) + (len(rows) - 1) * look.px(_ROW)
        return QSize(min(wide, self._room), high)

    def _rows(self) -> list[list[_Entry]]:
        """Return the entries in as many rows as they need; two at most before the words go."""
        rows = _broken(self._entries(with_words=True), self._room)
        return rows if len(rows) <= 2 else _broken(self._entries(with_words=False), self._room)

    def _entries(self, *, with_words: bool) -> list[_Entry]:
        look = theme()
        made = []
        for state, n in self._counts:
            word = words.task_word(state) if with_words else ""
            wide = look.px(_SHAPE + _NEXT + _APART)
            wide += text_width(str(n), look.font("secondary.strong"))
            if word:
                wide += text_width(word, look.font("secondary")) + look.px(_NEXT)
            made.append(_Entry(state, word, str(n), wide))
        return made

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        look = theme()
        px = look.px
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(look.color("border"), 1))
        painter.setBrush(look.color("raised"))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), 4, 4)
        line = QRect(0, 0, self.width(), px(HEIGHT))
        for row in self._rows():
            x = px(_PAD)
            for entry in row:
                self._paint_entry(painter, line, x, entry)
                x += entry.width
            line.translate(0, px(_ROW))
        painter.end()

    def _paint_entry(self, painter: QPainter, line: QRect, x: int, entry: _Entry) -> None:
        px = theme().px
        shape = icons.state_pixmap(entry.state.value, px(_SHAPE), dpr=self.devicePixelRatioF())
        painter.drawPixmap(x, line.y() + (line.height() - px(_SHAPE)) // 2, shape)
        x += px(_SHAPE + _NEXT)
        if entry.word:
            x += self._write(painter, line, x, entry.word, strong=False) + px(_NEXT)
        self._write(painter, line, x, entry.number, strong=True)

    def _write(self, painter: QPainter, line: QRect, x: int, text: str, *, strong: bool) -> int:
        look = theme()
        font = look.font("secondary.strong" if strong else "secondary")
        area = QRect(x, line.y(), text_width(text, font) + 1, line.height())
        return draw_text(painter, area, text, font=font, role="text.2", look=look)


def _broken(entries: list[_Entry], room: int) -> list[list[_Entry]]:
    look = theme()
    rows: list[list[_Entry]] = [[]]
    left = room - look.px(2 * _PAD - _APART)
    for entry in entries:
        if rows[-1] and sum(e.width for e in rows[-1]) + entry.width > left:
            rows.append([])
        rows[-1].append(entry)
    return rows
