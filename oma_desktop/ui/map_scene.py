"""Paints what the camera sees of a picture: ground, links, nodes, marks. No events, no state but
kept curves and texts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from typing import Final

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QPainter, QPixmap

from oma_desktop.ui.map_blocks import Blocks, block_size
from oma_desktop.ui.map_camera import Camera, Level
from oma_desktop.ui.map_cards import (
    MIDDLE_HEIGHT,
    Brushes,
    paint_middle,
    paint_near,
    paint_ring,
)
from oma_desktop.ui.map_edges import Edges
from oma_desktop.ui.map_words import node_text, stack_name
from oma_desktop.ui.theme import Theme, theme
from oma_desktop.viewmodel.graph import GraphModel
from oma_desktop.viewmodel.graph_geometry import Box

_DOT_EVERY: Final = 16
# A revision's outline, a selection ring and an arrow stand this far out of their boxes
_OVERHANG: Final = 24.0


class Scene:
    """Draws the model's picture."""

    def __init__(self, model: GraphModel, *, now: Callable[[], datetime]) -> None:
        self._model = model
        self._now = now
        self._edges = Edges()
        self._blocks: tuple[Camera, Blocks] | None = None

    def take(self) -> None:
        """Take over the picture of the model after it changed."""
        self._edges.set_picture(self._model.picture)
        self._blocks = None

    def paint(self, painter: QPainter, camera: Camera, area: QRectF, hovered: str | None) -> None:
        """Draw `area` (screen) as the camera sees it."""
        look = theme()
        ratio = painter.device().devicePixelRatioF()
        with_ = Brushes(look, ratio, current=self._model.current, hovered=hovered)
        painter.fillRect(area, look.color("canvas"))
        tile = _dots(look.scheme, look.px(_DOT_EVERY), ratio)
        painter.drawTiledPixmap(area, tile, QPointF(area.x() - camera.x, area.y() - camera.y))
        if self._model.picture.placed is None:
            return
        x, y = camera.to_scene(area.x(), area.y())
        seen = Box(x, y, area.width() / camera.factor, area.height() / camera.factor)
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, camera.zoom != 1)
        if camera.level is Level.FAR:
            self._paint_far(painter, camera, with_)
            return
        self._paint_curves(painter, camera, seen, look)
        nodes = list(self._boxes(camera, seen.grown(_OVERHANG / min(1, camera.zoom))))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if camera.level is Level.NEAR:
            self._paint_near(painter, camera, nodes, with_)
        else:
            self._paint_middle(painter, nodes, with_)

    def shown_box(self, key: str, camera: Camera) -> Box | None:
        """Return where a node is drawn on the screen: at each level another part of its box."""
        placed = self._model.picture.placed
        box = placed.geometry.boxes.get(key) if placed else None
        return _shown(camera.to_screen(box), camera) if box else None

    def _boxes(self, camera: Camera, seen: Box) -> Iterator[tuple[str, QRectF]]:
        placed = self._model.picture.placed
        assert placed is not None
        boxes = placed.geometry.boxes
        for key in placed.geometry.keys_in(seen):
            shown = _shown(camera.to_screen(boxes[key]), camera)
            yield key, QRectF(shown.x, shown.y, shown.width, shown.height)

    def _paint_curves(self, painter: QPainter, camera: Camera, seen: Box, look: Theme) -> None:
        painter.save()
        painter.translate(camera.x, camera.y)
        painter.scale(camera.factor, camera.factor)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._edges.paint_curves(painter, seen, look, zoom=camera.zoom)
        painter.restore()

    def _paint_near(
        self, painter: QPainter, camera: Camera, nodes: list[tuple[str, QRectF]], with_: Brushes
    ) -> None:
        now = self._now()
        picture, zoom = self._model.picture, camera.zoom
        painter.save()
        painter.scale(zoom, zoom)
        for key, screen in nodes:
            node = picture.nodes[key]
            box = QRectF(
                screen.x() / zoom,
                screen.y() / zoom,
                screen.width() / zoom,
                screen.height() / zoom,
            )
            text = node_text(node, self._model.heard(node.task.id), now)
            paint_near(painter, box, node, text, with_)
            if key == with_.current:
                paint_ring(painter, box, with_.look)
        painter.restore()

    def _paint_middle(
        self, painter: QPainter, nodes: list[tuple[str, QRectF]], with_: Brushes
    ) -> None:
        picture = self._model.picture
        for key, box in nodes:
            node = picture.nodes[key]
            name = stack_name(node) if node.is_stack else node.task.title
            paint_middle(painter, box, node, name, with_)
            if key == with_.current:
                paint_ring(painter, box, with_.look)

    def _paint_far(self, painter: QPainter, camera: Camera, with_: Brushes) -> None:
        picture = self._model.picture
        assert picture.placed is not None
        at = replace(camera, x=0.0, y=0.0)
        if self._blocks is None or self._blocks[0] != at:
            boxes = picture.placed.geometry.boxes
            blocks = Blocks(picture.nodes, boxes, zoom=camera.zoom, scale=camera.scale)
            self._blocks = (at, blocks)
        painter.save()
        painter.translate(camera.x, camera.y)
        painter.scale(camera.factor, camera.factor)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, on=False)
        self._edges.paint_straight(painter, with_.look)
        self._blocks[1].paint(painter, with_.look)
        painter.restore()
        box = self.shown_box(with_.current, camera) if with_.current else None
        if box is not None:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            paint_ring(painter, QRectF(*box), with_.look)


def _shown(box: Box, camera: Camera) -> Box:
    match camera.level:
        case Level.NEAR:
            return box
        case Level.MIDDLE:
            high = min(box.height, MIDDLE_HEIGHT * camera.scale)
            return Box(round(box.x), round(box.middle - high / 2), round(box.width), round(high))
        case Level.FAR:
            scene = Box(0, 0, box.width / camera.factor, box.height / camera.factor)
            wide, high = (n * camera.factor for n in block_size(scene, camera.zoom))
            return Box(box.x + (box.width - wide) / 2, box.middle - high / 2, wide, high)


@lru_cache(maxsize=8)
def _dots(scheme: str, every: int, ratio: float) -> QPixmap:
    look = theme()
    assert look.scheme == scheme
    tile = QPixmap(round(every * ratio), round(every * ratio))
    tile.setDevicePixelRatio(ratio)
    tile.fill(Qt.GlobalColor.transparent)
    painter = QPainter(tile)
    painter.fillRect(0, 0, 1, 1, look.color("border"))
    painter.end()
    return tile
