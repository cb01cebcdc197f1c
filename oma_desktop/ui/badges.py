"""Count badges and chips (look.md 7): small facts beside a name."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QRect, QRectF, QSize, Qt
from PySide6.QtGui import QFont, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget
from typing_extensions import override

from oma_desktop.ui.icons import icon_pixmap, state_pixmap
from oma_desktop.ui.painting import CENTER, LEFT, draw_text, text_width
from oma_desktop.ui.theme import Theme, theme, theme_host

BADGE_HEIGHT: Final = 16
BADGE_MIN: Final = 18
CHIP_HEIGHT: Final = 20
MAX_SHOWN: Final = 999


def badge_text(n: int) -> str:
    """Return the text of a badge; big numbers are cut to "999+"."""
    return str(n) if n <= MAX_SHOWN else f"{MAX_SHOWN}+"


def badge_width(n: int, look: Theme) -> int:
    """Return the width of a badge."""
    wide = text_width(badge_text(n), look.font("section")) + look.px(10)
    return max(look.px(BADGE_MIN), wide)


def paint_badge(painter: QPainter, rect: QRect, n: int, *, look: Theme, needs_you: bool) -> None:
    """Draw a count; needs you = fill, edge and ink, others sunken."""
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    fill = "state.needsyou" if needs_you else "sunken"
    edge = QPen(look.color("state.needsyou.edge"), 1) if needs_you else Qt.PenStyle.NoPen
    painter.setPen(edge)
    painter.setBrush(look.color(fill))
    radius = rect.height() / 2
    painter.drawRoundedRect(QRectF(rect).adjusted(0.5, 0.5, -0.5, -0.5), radius, radius)
    ink = "state.needsyou.ink" if needs_you else "text.2"
    draw_text(
        painter, rect, badge_text(n), font=look.font("section"), role=ink, look=look, align=CENTER
    )
    painter.restore()


class Badge(QWidget):
    """A count as a widget; hidden at zero."""

    def __init__(self, parent: QWidget | None = None, *, needs_you: bool = True) -> None:
        super().__init__(parent)
        self._n = 0
        self._needs_you = needs_you
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.hide()

    def set_needs_you(self, *, needs_you: bool) -> None:
        """Choose between the colours of needs you and the quiet ones."""
        if needs_you != self._needs_you:
            self._needs_you = needs_you
            self.update()

    def set_count(self, n: int) -> None:
        if n != self._n:
            self._n = n
            self.setVisible(n > 0)
            self.updateGeometry()
            self.update()

    @override
    def sizeHint(self) -> QSize:
        look = theme()
        return QSize(badge_width(self._n, look), look.px(BADGE_HEIGHT))

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        paint_badge(painter, self.rect(), self._n, look=theme(), needs_you=self._needs_you)
        painter.end()


class Chip(QWidget):
    """A fact in a box: an icon or a state shape and a few words.

    Kinds: `plain`; `dashed` = none or not known; `needsyou` = fill of the state, edge and word.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._text = ""
        self._icon: str | None = None
        self._shape: str | None = None
        self._kind = "plain"
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        theme_host().theme_changed.connect(self._on_theme_changed)

    def show_fact(
        self,
        text: str,
        *,
        icon: str | None = None,
        shape: str | None = None,
        kind: str = "plain",
        sentence: str = "",
    ) -> None:
        """Show a fact; `sentence` is the whole of it for tooltip and screen reader."""
        self._text, self._icon, self._shape, self._kind = text, icon, shape, kind
        self.setAccessibleName(sentence or text)
        self.setToolTip(sentence)
        self.updateGeometry()
        self.update()

    @override
    def sizeHint(self) -> QSize:
        look = theme()
        mark = look.px(14 + 6) if self._icon or self._shape else 0
        wide = text_width(self._text, self._font(look)) + mark + 2 * look.px(8)
        return QSize(wide, look.px(CHIP_HEIGHT))

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        look = theme()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        needs_you = self._kind == "needsyou"
        edge = "state.needsyou.edge" if needs_you else "border"
        pen = QPen(look.color("border.strong" if self._kind == "dashed" else edge), 1)
        if self._kind == "dashed":
            pen.setDashPattern([3, 2])
        painter.setPen(pen)
        painter.setBrush(look.color("state.needsyou.tint" if needs_you else "surface"))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), 4, 4)
        self._paint_text(painter, look)
        painter.end()

    def _paint_text(self, painter: QPainter, look: Theme) -> None:
        x = look.px(8)
        size = look.px(14)
        dpr = self.devicePixelRatioF()
        if self._shape is not None:
            picture = state_pixmap(self._shape, size, dpr=dpr)
        elif self._icon is not None:
            picture = icon_pixmap(self._icon, size, dpr=dpr)
        else:
            picture = None
        if picture is not None:
            painter.drawPixmap(x, (self.height() - size) // 2, picture)
            x += size + look.px(6)
        role = "state.needsyou.text" if self._kind == "needsyou" else "text.2"
        area = QRect(x, 0, self.width() - x - look.px(4), self.height())
        draw_text(
            painter, area, self._text, font=self._font(look), role=role, look=look, align=LEFT
        )

    def _font(self, look: Theme) -> QFont:
        return look.font("secondary.strong" if self._kind == "needsyou" else "secondary")

    def _on_theme_changed(self) -> None:
        self.updateGeometry()
        self.update()
