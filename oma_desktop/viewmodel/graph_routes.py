"""How links run: through the channels between columns and the gaps between rows, never behind a
node, because a hidden link reads as a wrong one (look.md 7, Edges).

A route leaves its source at the right, crosses each column between on a level line inside a gap,
changes height only inside channels, and enters its target from the left. Pure values, no Qt.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from math import inf
from typing import Final, Literal, NamedTuple

from oma_desktop.viewmodel.graph_geometry import GAP, Box, Geometry

ARROW: Final = 7.0
_CLEAR: Final = 4.0  # between a line and a node
_LANE: Final = 3.0  # between two lines in one gap
_NARROW: Final = 2 * GAP
# Links over more columns than this go over or under everything: looking for gaps costs per column
_FAR: Final = 40

Link = tuple[str, str]
Kind = Literal["line", "bend", "turn.right", "turn.left"]


class Piece(NamedTuple):
    """One part of a route. `line` is level; `bend` is an S between two heights, level at both ends;
    a turn goes from one height to another on one side, bulging to the right or to the left."""

    kind: Kind
    x0: float
    y0: float
    x1: float
    y1: float


class Gap(NamedTuple):
    """Heights a line may have between two nodes of a column."""

    low: float
    high: float

    def nearest(self, y: float) -> float:
        return min(max(y, self.low), self.high)


class _Crossing(NamedTuple):
    route: int
    step: int
    column: int
    gap: int
    source: str
    wanted: float


def routes_of(geometry: Geometry, links: Sequence[Link]) -> list[tuple[Piece, ...]]:
    """Return one route per link, ending an arrow's length before the target.

    Links of one source share a lane in a gap; links of different sources get lanes of their own
    while there is room.
    """
    return _Router(geometry, links).routes()


class _Router:
    def __init__(self, geometry: Geometry, links: Sequence[Link]) -> None:
        self._geometry = geometry
        self._links = links
        self._gaps = [_gaps_of(geometry, c) for c in range(len(geometry.columns))]
        self._lows = [[g.low for g in gaps] for gaps in self._gaps]
        self._n_far = 0

    def routes(self) -> list[tuple[Piece, ...]]:
        heights: list[list[float]] = []
        crossings: list[_Crossing] = []
        for i, link in enumerate(self._links):
            crossed = self._columns_between(link)
            if len(crossed) > _FAR:
                heights.append([self._far_height(link)] * len(crossed))
                continue
            found = list(self._cross(i, link, crossed))
            crossings += found
            heights.append([c.wanted for c in found])
        for crossing, y in self._lanes(crossings):
            heights[crossing.route][crossing.step] = y
        return [tuple(self._pieces(k, h)) for k, h in zip(self._links, heights, strict=True)]

    def _columns_between(self, link: Link) -> Sequence[int]:
        source, target = (self._geometry.spots[k].column for k in link)
        # A link that goes back (a revision hung an old task under a new one) also passes both ends
        return range(source + 1, target) if target > source else range(source, target - 1, -1)

    def _far_height(self, link: Link) -> float:
        bounds = self._geometry.bounds
        self._n_far = self._n_far % 64 + 1
        middle = sum(self._geometry.boxes[k].middle for k in link) / 2
        off = _CLEAR + self._n_far * _LANE
        return bounds.y - off if middle < bounds.middle else bounds.bottom + off

    def _cross(self, route: int, link: Link, crossed: Sequence[int]) -> Iterable[_Crossing]:
        y = self._geometry.boxes[link[0]].middle
        goal = self._geometry.boxes[link[1]].middle
        for step, column in enumerate(crossed):
            gap = self._nearest_gap(column, y, goal)
            y = self._gaps[column][gap].nearest(y)
            yield _Crossing(route, step, column, gap, link[0], y)

    def _nearest_gap(self, column: int, y: float, goal: float) -> int:
        gaps = self._gaps[column]
        below = max(0, bisect_right(self._lows[column], y) - 1)
        if gaps[below].high >= y or below + 1 == len(gaps):
            return below
        up, down = y - gaps[below].high, gaps[below + 1].low - y
        if up == down:
            return below if goal < y else below + 1
        return below if up < down else below + 1

    def _lanes(self, crossings: Iterable[_Crossing]) -> Iterable[tuple[_Crossing, float]]:
        groups: dict[tuple[int, int], dict[str, list[_Crossing]]] = {}
        for c in crossings:
            groups.setdefault((c.column, c.gap), {}).setdefault(c.source, []).append(c)
        for (column, gap), by_source in groups.items():
            bundles = sorted(by_source.values(), key=lambda b: (b[0].wanted, b[0].route))
            heights = lanes(self._gaps[column][gap], [b[0].wanted for b in bundles])
            for bundle, y in zip(bundles, heights, strict=True):
                yield from ((c, y) for c in bundle)

    def _pieces(self, link: Link, heights: Sequence[float]) -> Iterable[Piece]:
        source, target = (self._geometry.boxes[k] for k in link)
        crossed = self._columns_between(link)
        bands = self._geometry.bands
        start = bands[self._geometry.spots[link[0]].column].right
        if source.right < start:
            yield Piece("line", source.right, source.middle, start, source.middle)
        if crossed and crossed[0] >= crossed[-1] and not self._goes_right(link):
            yield from self._back(start, source, target, crossed, heights)
            return
        x, y = start, source.middle
        for column, height in zip(crossed, heights, strict=True):
            band = bands[column]
            yield _channel(x, y, band.x, height)
            yield Piece("line", band.x, height, band.right, height)
            x, y = band.right, height
        yield _channel(x, y, target.x - ARROW, target.middle)

    def _goes_right(self, link: Link) -> bool:
        spots = self._geometry.spots
        return spots[link[1]].column > spots[link[0]].column

    def _back(
        self,
        x: float,
        source: Box,
        target: Box,
        crossed: Sequence[int],
        heights: Sequence[float],
    ) -> Iterable[Piece]:
        yield Piece("turn.right", x, source.middle, x, heights[0])
        y = heights[0]
        for column, height in zip(crossed, heights, strict=True):
            band = self._geometry.bands[column]
            if x != band.right:
                yield _channel(x, y, band.right, height)
            yield Piece("line", band.right, height, band.x, height)
            x, y = band.x, height
        end = target.x - ARROW
        yield Piece("line", x, y, end, y)
        yield Piece("turn.left", end, y, end, target.middle)


def _channel(x0: float, y0: float, x1: float, y1: float) -> Piece:
    return Piece("line" if y0 == y1 else "bend", x0, y0, x1, y1)


def _gaps_of(geometry: Geometry, column: int) -> list[Gap]:
    gaps: list[Gap] = []
    low = -inf
    for key in geometry.columns[column]:
        box = geometry.boxes[key]
        gaps.append(Gap(low, box.y - _CLEAR))
        low = box.bottom + _CLEAR
    return [*gaps, Gap(low, inf)]


def lanes(gap: Gap, wanted: Sequence[float]) -> list[float]:
    """Return ascending heights inside a gap near `wanted` (ascending), apart where there is room.

    In a narrow gap the lines stand around its middle; in a wide one each stays where it wants to.
    """
    n = len(wanted)
    room = gap.high - gap.low
    if room <= _NARROW or (n - 1) * _LANE > room:
        pitch = min(_LANE, room / max(1, n - 1))
        first = (gap.low + gap.high) / 2 - pitch * (n - 1) / 2
        return [min(max(first + i * pitch, gap.low), gap.high) for i in range(n)]
    heights: list[float] = []
    for i, y in enumerate(wanted):
        least = heights[-1] + _LANE if heights else -inf
        most = gap.high - (n - 1 - i) * _LANE
        heights.append(min(max(y, least), most))
    return heights
