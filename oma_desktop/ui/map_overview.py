"""The whole map, small, lower left: blocks by state and a frame for what is seen (look.md 7)."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QMouseEvent, QPainter, QPaintEvent, QPen, QPixmap
from PySide6.QtWidgets import QWidget
from typing_extensions import override

from oma_desktop.base.text import tr
from oma_desktop.ui.map_blocks import Blocks
from oma_desktop.ui.theme import theme, theme_host
from oma_desktop.viewmodel.graph_geometry import Box
from oma_desktop.viewmodel.graph_picture import GraphPicture

WIDTH: Final = 128
HEIGHT: Final = 72
_PAD: Final = 6


class Overview(QWidget):
    """Press or drag asks to look at a place of the scene. Redrawn from a kept picture."""

    place_pressed = Signal(float, float)  # scene

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._picture = GraphPicture()
        self._seen = Box(0, 0, 0, 0)
        self._drawn: QPixmap | None = None
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        theme_host().theme_changed.connect(self._on_theme_changed)
        self._on_theme_changed()

    def set_picture(self, picture: GraphPicture) -> None:
        """Show these nodes."""
        self._picture = picture
        self._drawn = None
        self.update()

    def set_seen(self, seen: Box) -> None:
        """Show which part of the scene is in the window."""
        if seen != self._seen:
            self._seen = seen
            self.update()

    def retranslate(self) -> None:
        self.setAccessibleName(tr("Overview of the map"))

    @override
    def sizeHint(self) -> QSize:
        """Large text must not make the overview cover the map: at most a quarter of it."""
        parent = self.parentWidget()
        room = parent.width() / 4 if parent is not None else WIDTH
        width = min(theme().px(WIDTH), max(WIDTH, round(room)))
        return QSize(width, round(width * HEIGHT / WIDTH))

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        if self._drawn is None:
            self._drawn = self._draw()
        painter.drawPixmap(0, 0, self._drawn)
        frame = self._to_view(self._seen)
        painter.setPen(QPen(theme().color("accent"), 1))
        inside = QRectF(self.rect()).adjusted(1.5, 1.5, -1.5, -1.5)
        painter.drawRect(frame.intersected(inside))
        painter.end()

    @override
    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._ask(event)

    @override
    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if event.buttons() & Qt.MouseButton.LeftButton:
            self._ask(event)

    def _ask(self, event: QMouseEvent) -> None:
        factor, left, top = self._frame()
        at = event.position()
        self.place_pressed.emit((at.x() - left) / factor, (at.y() - top) / factor)

    def _frame(self) -> tuple[float, float, float]:
        """Return factor and offset that put all nodes into the middle."""
        placed = self._picture.placed
        bounds = placed.geometry.bounds if placed else Box(0, 0, 1, 1)
        room_x, room_y = self.width() - 2 * _PAD, self.height() - 2 * _PAD
        factor = min(room_x / max(1, bounds.width), room_y / max(1, bounds.height), 0.2)
        left = (self.width() - bounds.width * factor) / 2 - bounds.x * factor
        top = (self.height() - bounds.height * factor) / 2 - bounds.y * factor
        return factor, left, top

    def _to_view(self, box: Box) -> QRectF:
        f, left, top = self._frame()
        at = QPointF(box.x * f + left, box.y * f + top)
        return QRectF(at.x(), at.y(), box.width * f, box.height * f)

    def _draw(self) -> QPixmap:
        look = theme()
        ratio = self.devicePixelRatioF()
        pixmap = QPixmap(self.size() * ratio)
        pixmap.setDevicePixelRatio(ratio)
        pixmap.fill(look.color("surface"))
        painter = QPainter(pixmap)
        placed = self._picture.placed
        if placed is not None:
            factor, left, top = self._frame()
            painter.save()
            painter.translate(left, top)
            painter.scale(factor, factor)
            boxes = placed.geometry.boxes
            Blocks(self._picture.nodes, boxes, zoom=factor, scale=1).paint(painter, look)
            painter.restore()
        painter.setPen(QPen(look.color("border.strong"), 1))
        painter.drawRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5))
        painter.end()
        return pixmap

    def refit(self) -> None:
        """Take the size that suits the map behind."""
        if self.size() != self.sizeHint():
            self.setFixedSize(self.sizeHint())
            self._drawn = None
            self.update()

    def _on_theme_changed(self) -> None:
        self._drawn = None
        self.refit()
        self.update()
