"""Draws links: curved with arrows near, straight lines in one stroke per kind far (look.md 7).

Paths are in scene units times text scale, made once per layout and kept; what a zoom needs is done
by the painter. [measured] one path per kind is what makes thousands of links cheap (feasibility 5).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QPainter, QPainterPath, QPen, QPolygonF

from oma_desktop.ui.theme import Theme
from oma_desktop.viewmodel.graph_geometry import Box
from oma_desktop.viewmodel.graph_nodes import EdgeKind, MapEdge
from oma_desktop.viewmodel.graph_picture import GraphPicture, Placed
from oma_desktop.viewmodel.graph_routes import ARROW, Link, Piece

_HALF_ARROW: Final = 3.0
_BULGE: Final = 10.0
_THINNEST: Final = 0.7
_CROWD: Final = 150
"""So many links in sight are drawn one pixel wide: single ones are not told apart there, and
[measured] wider ones are stroked as areas, which takes ten times as long (25 times if dashed)."""
# kind -> (colour role, width, dash and gap in pixels)
_STROKES: Final[dict[EdgeKind, tuple[str, float, tuple[float, float] | None]]] = {
    EdgeKind.REPLACED: ("border.strong", 1.25, (1, 3)),
    EdgeKind.SATISFIED: ("border.strong", 1.25, None),
    EdgeKind.NOT_YET: ("border.strong", 1.25, (2, 3)),
    EdgeKind.FEEDS: ("state.running", 1.5, None),
    EdgeKind.FAILED: ("state.failed", 1.5, (5, 3)),
}


class Edges:
    """The links of one picture. `set_picture` keeps curves while places stay."""

    def __init__(self) -> None:
        self._placed: Placed | None = None
        self._edges: tuple[MapEdge, ...] = ()
        self._kinds: dict[Link, EdgeKind] = {}
        self._curves: dict[Link, QPainterPath] = {}
        self._arrows: dict[str, QPolygonF] = {}
        self._straight: dict[EdgeKind, QPainterPath] | None = None

    def set_picture(self, picture: GraphPicture) -> None:
        """Take over places and kinds."""
        if picture.placed is not self._placed:
            self._placed = picture.placed
            self._curves.clear()
            self._arrows.clear()
        elif picture.edges is self._edges:
            return  # the usual save moves no task to another state
        self._edges = picture.edges
        self._kinds = {(e.source, e.target): e.kind for e in picture.edges}
        self._straight = None

    def paint_curves(self, painter: QPainter, seen: Box, look: Theme, *, zoom: float) -> None:
        """Draw the links that may be seen; the painter is in scene units."""
        if self._placed is None:
            return
        by_kind: dict[EdgeKind, list[Link]] = {kind: [] for kind in _STROKES}
        for link in self._placed.links_in(seen):
            by_kind[self._kinds[link]].append(link)
        crowded = sum(map(len, by_kind.values())) > _CROWD
        for kind, links in by_kind.items():
            if links:
                painter.setPen(_pen(kind, look, zoom=zoom, crowded=crowded))
                painter.setBrush(Qt.BrushStyle.NoBrush)
                for link in links:
                    painter.drawPath(self._curve(link))
                self._paint_arrows(painter, links, kind, look, seen)

    def paint_straight(self, painter: QPainter, look: Theme) -> None:
        """Draw all links as thin straight lines; the painter is in scene units."""
        if self._placed is None:
            return
        if self._straight is None:
            self._straight = _straight_paths(self._placed, self._kinds)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        for kind in _STROKES:
            pen = QPen(look.color(_STROKES[kind][0]), 1)
            pen.setCosmetic(True)
            painter.setPen(pen)
            painter.drawPath(self._straight[kind])

    def _curve(self, link: Link) -> QPainterPath:
        if link not in self._curves:
            assert self._placed is not None
            self._curves[link] = _curve(self._placed.routes[link])
        return self._curves[link]

    def _paint_arrows(
        self, painter: QPainter, links: Iterable[Link], kind: EdgeKind, look: Theme, seen: Box
    ) -> None:
        assert self._placed is not None
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(look.color(_STROKES[kind][0]))
        for target in {link[1] for link in links}:
            box = self._placed.geometry.boxes[target]
            if box.x <= seen.right + ARROW and box.right >= seen.x:
                if target not in self._arrows:
                    self._arrows[target] = _arrow(box.x, box.middle)
                painter.drawPolygon(self._arrows[target])


def _pen(kind: EdgeKind, look: Theme, *, zoom: float, crowded: bool = False) -> QPen:
    role, width, dash = _STROKES[kind]
    width = min(width, 1 / max(zoom * look.scale, 1.0)) if crowded else width
    # below 100 % lines get thinner more slowly than nodes get smaller, or they would fade
    on_screen = width * max(_THINNEST, min(zoom, 1.0))
    pen = QPen(look.color(role), on_screen / min(zoom, 1.0))
    pen.setCapStyle(Qt.PenCapStyle.FlatCap)
    if dash is not None:
        pen.setDashPattern([dash[0] / width, dash[1] / width])
    return pen


def _arrow(x: float, y: float) -> QPolygonF:
    back = x - ARROW
    return QPolygonF(
        [QPointF(back, y - _HALF_ARROW), QPointF(x, y), QPointF(back, y + _HALF_ARROW)]
    )


def _curve(route: Iterable[Piece]) -> QPainterPath:
    path = QPainterPath()
    for i, (kind, x0, y0, x1, y1) in enumerate(route):
        if i == 0:
            path.moveTo(x0, y0)
        if kind == "line":
            path.lineTo(x1, y1)
            continue
        if kind == "bend":
            first = last = (x0 + x1) / 2
        else:
            bulge = _BULGE if kind == "turn.right" else -_BULGE
            first, last = x0 + bulge, x1 + bulge
        path.cubicTo(first, y0, last, y1, x1, y1)
    return path


def _straight_paths(placed: Placed, kinds: dict[Link, EdgeKind]) -> dict[EdgeKind, QPainterPath]:
    """Lines from the middle of one node to the middle of the other: far blocks cover the ends."""
    paths = {kind: QPainterPath() for kind in _STROKES}
    boxes = placed.geometry.boxes
    for link, kind in kinds.items():
        source, target = boxes[link[0]], boxes[link[1]]
        path = paths[kind]
        path.moveTo(source.x + source.width / 2, source.middle)
        y = source.middle
        for piece in placed.routes[link]:
            if piece.y0 == piece.y1 == y:
                continue
            path.lineTo(piece.x0, piece.y0)
            path.lineTo(piece.x1, piece.y1)
            y = piece.y1
        path.lineTo(target.x + target.width / 2, target.middle)
    return paths
