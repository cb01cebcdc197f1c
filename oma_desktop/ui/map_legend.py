"""What the shapes mean and how many there are, lower right: only states that occur (look.md 7)."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QRect, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget
from typing_extensions import override

from oma_desktop.base.text import tr
from oma_desktop.model.view import TaskState
from oma_desktop.ui import icons, words
from oma_desktop.ui.painting import draw_text, text_width
from oma_desktop.ui.theme import theme, theme_host

HEIGHT: Final = 28
_PAD: Final = 12
_APART: Final = 14
_SHAPE: Final = 12
_NEXT: Final = 5


class Legend(QWidget):
    """One line. Without room for the words they go, never the counts; the name has both."""

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
        self.setAccessibleName(", ".join(parts))
        self.refit()

    def refit(self) -> None:
        """Take the size the counts need."""
        self.resize(self.sizeHint())
        self.setVisible(bool(self._counts))
        self.update()

    @override
    def sizeHint(self) -> QSize:
        look = theme()
        full = self._width(with_words=True)
        wide = full if full <= self._room else self._width(with_words=False)
        return QSize(min(wide, self._room), look.px(HEIGHT))

    def _width(self, *, with_words: bool) -> int:
        look = theme()
        total = look.px(2 * _PAD - _APART)
        for state, n in self._counts:
            total += look.px(_SHAPE + _NEXT + _APART) + text_width(
                str(n), look.font("secondary.strong")
            )
            if with_words:
                total += text_width(words.task_word(state), look.font("secondary")) + look.px(_NEXT)
        return total

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        look = theme()
        px = look.px
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(look.color("border"), 1))
        painter.setBrush(look.color("raised"))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), 4, 4)
        with_words = self._width(with_words=True) <= self._room
        x = px(_PAD)
        for state, n in self._counts:
            shape = icons.state_pixmap(state.value, px(_SHAPE), dpr=self.devicePixelRatioF())
            painter.drawPixmap(x, (self.height() - px(_SHAPE)) // 2, shape)
            x += px(_SHAPE + _NEXT)
            if with_words:
                x += self._write(painter, x, words.task_word(state), strong=False) + px(_NEXT)
            x += self._write(painter, x, str(n), strong=True) + px(_APART)
        painter.end()

    def _write(self, painter: QPainter, x: int, text: str, *, strong: bool) -> int:
        look = theme()
        font = look.font("secondary.strong" if strong else "secondary")
        area = QRect(x, 0, text_width(text, font) + 1, self.height())
        return draw_text(painter, area, text, font=font, role="text.2", look=look)
