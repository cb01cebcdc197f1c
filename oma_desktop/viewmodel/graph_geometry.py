"""From places to lengths: boxes of nodes, who is where, who is next (look.md 7, Map node, Stack).

Lengths are scene units: pixels at 100 % zoom and text scale 1. Pure values, no Qt.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from typing import Final, Literal, NamedTuple

from oma_desktop.viewmodel.graph_layout import Spot

NODE_WIDTH: Final = 152.0
NODE_HEIGHT: Final = 64.0
STACK_WIDTH: Final = 176.0
STACK_HEIGHT: Final = 60.0
STACK_EDGE: Final = 8.0
GAP: Final = 20.0
PITCH: Final = NODE_HEIGHT + GAP

Direction = Literal["left", "right", "up", "down"]


class Box(NamedTuple):
    """A rectangle of the scene."""

    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        return self.x + self.width

    @property
    def bottom(self) -> float:
        return self.y + self.height

    @property
    def middle(self) -> float:
        """Height at which links come and go."""
        return self.y + self.height / 2

    def meets(self, other: Box) -> bool:
        """Whether the two share an area; touching edges do not."""
        return (
            self.x < other.right
            and other.x < self.right
            and self.y < other.bottom
            and other.y < self.bottom
        )

    def holds(self, x: float, y: float) -> bool:
        return self.x <= x < self.right and self.y <= y < self.bottom

    def grown(self, by: float) -> Box:
        return Box(self.x - by, self.y - by, self.width + 2 * by, self.height + 2 * by)


class Band(NamedTuple):
    """The vertical band of one column; its nodes are boxes at `x`, left-aligned."""

    x: float
    width: float

    @property
    def right(self) -> float:
        return self.x + self.width


class Geometry:
    """Boxes by key, column bands, and look-up by place. Never changes after it is made."""

    def __init__(self, spots: Mapping[str, Spot], *, stacks: frozenset[str] = frozenset()) -> None:
        self.spots = spots
        n_columns = max((s.column for s in spots.values()), default=-1) + 1
        wide = {spots[k].column for k in stacks if k in spots}
        self.bands: list[Band] = []
        x = 0.0
        for c in range(n_columns):
            width = STACK_WIDTH + STACK_EDGE if c in wide else NODE_WIDTH
            self.bands.append(Band(x, width))
            x += width + GAP
        self.boxes: dict[str, Box] = {}
        self.columns: list[list[str]] = [[] for _ in range(n_columns)]
        for key, spot in sorted(spots.items(), key=lambda e: (e[1].column, e[1].row)):
            self.boxes[key] = self._box(spot, is_stack=key in stacks)
            self.columns[spot.column].append(key)
        self._tops = [[self.boxes[k].y for k in column] for column in self.columns]
        self._lefts = [b.x for b in self.bands]
        self.bounds = self._bounds()

    def _box(self, spot: Spot, *, is_stack: bool) -> Box:
        x, y = self.bands[spot.column].x, spot.row * PITCH
        if not is_stack:
            return Box(x, y, NODE_WIDTH, NODE_HEIGHT)
        high = STACK_HEIGHT + STACK_EDGE
        return Box(x, y + (NODE_HEIGHT - high) / 2, STACK_WIDTH + STACK_EDGE, high)

    def _bounds(self) -> Box:
        if not self.boxes:
            return Box(0, 0, 0, 0)
        top = min(b.y for b in self.boxes.values())
        bottom = max(b.bottom for b in self.boxes.values())
        return Box(0, top, self.bands[-1].right, bottom - top)

    def keys_in(self, area: Box) -> Iterator[str]:
        """Yield the keys whose boxes meet an area, column by column from the left."""
        first = max(0, bisect_right(self._lefts, area.x) - 1)
        for c in range(first, bisect_left(self._lefts, area.right)):
            if self.bands[c].right <= area.x:
                continue
            tops = self._tops[c]
            start = bisect_left(tops, area.y - NODE_HEIGHT - STACK_EDGE)
            for key in self.columns[c][start : bisect_left(tops, area.bottom)]:
                if self.boxes[key].meets(area):
                    yield key

    def key_at(self, x: float, y: float) -> str | None:
        """Return the key under a point."""
        found = self.keys_in(Box(x, y, 1e-6, 1e-6))
        return next((k for k in found if self.boxes[k].holds(x, y)), None)

    def next_to(self, key: str, direction: Direction) -> str | None:
        """Return the nearest neighbour of a node in a direction, as the arrow keys go.

        Up and down stay in the column; left and right go to the nearest column that has any node,
        to the one at the nearest height.
        """
        spot = self.spots[key]
        if direction in ("up", "down"):
            column = self.columns[spot.column]
            at = column.index(key) + (1 if direction == "down" else -1)
            return column[at] if 0 <= at < len(column) else None
        step = 1 if direction == "right" else -1
        c = spot.column + step
        while 0 <= c < len(self.columns) and not self.columns[c]:
            c += step
        if not 0 <= c < len(self.columns):
            return None
        middle = self.boxes[key].middle
        return min(self.columns[c], key=lambda k: (abs(self.boxes[k].middle - middle), k))

    def first(self) -> str | None:
        """Return the key a person would read first."""
        return next((column[0] for column in self.columns if column), None)
