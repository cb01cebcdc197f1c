"""Where each task stands on the map: columns by longest chain, rows by where its neighbours are.

Pure and deterministic: values in, values out, so that it may run on a worker lane. Places are in
columns and half rows, not pixels (`graph_geometry`). A place once given is kept: a new task never
moves an old one, only a tidy starts anew (ux.md C5, Map).
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Mapping, Sequence
from math import ceil, floor, sqrt
from typing import Final, NamedTuple

from oma_desktop.model import graph
from oma_desktop.model.graph import Dependencies

_SWEEPS: Final = 8
# Above this many tasks and links together a sweep costs more than it brings
_BIG: Final = 20_000
_SWEEPS_WHEN_BIG: Final = 4
# A row is 84 high, a column 172 wide: a block of lone tasks comes out about 16 to 9
_LONE_SHAPE: Final = 0.87


class Spot(NamedTuple):
    """A place: columns from 0, rows in halves; two spots of a column are at least 1 apart."""

    column: int
    row: float


def arrange(
    keys: Sequence[str], deps: Dependencies, *, kept: Mapping[str, Spot] | None = None
) -> dict[str, Spot]:
    """Return a spot for each key; those in `kept` stay where they are, to the last half row.

    Without `kept` every key is placed anew; the result then depends only on `keys` (in plan order)
    and `deps`. Dependencies on unknown keys are ignored. O(V + E) per sweep, eight sweeps at most.
    """
    if kept and any(k in kept for k in keys):
        return _extend(keys, deps, kept)
    after = graph.dependents_of(keys, deps)
    lone = [k for k in keys if not after[k] and not any(d in after and d != k for d in deps[k])]
    left_out = set(lone)
    linked = [k for k in keys if k not in left_out]
    spots = _Sheet(linked, deps).spots() if linked else {}
    spots.update(_lone_block(lone, under=spots))
    return {k: spots[k] for k in keys}


def spread(wanted: Sequence[float]) -> list[float]:
    """Return half rows nearest to `wanted` in the least-squares sense, in order, 1 apart or more.

    Neighbours that want the same place share it evenly around the mean of what they want.
    """
    blocks: list[tuple[float, int]] = []
    for i, each in enumerate(wanted):
        total, n = each - i, 1
        while blocks and blocks[-1][0] / blocks[-1][1] >= total / n:
            more, m = blocks.pop()
            total, n = total + more, n + m
        blocks.append((total, n))
    rows: list[float] = []
    for total, n in blocks:
        base = floor(2 * total / n + 0.5) / 2
        rows += [base + i for i in range(len(rows), len(rows) + n)]
    return rows


class _Sheet:
    """One layout in the making: tasks by number, their column, their row so far."""

    def __init__(self, keys: Sequence[str], deps: Dependencies) -> None:
        number = {k: i for i, k in enumerate(keys)}
        self._keys = keys
        self._parents = [
            list(dict.fromkeys(number[d] for d in deps[k] if d in number and d != k)) for k in keys
        ]
        self._children: list[list[int]] = [[] for _ in keys]
        for i, parents in enumerate(self._parents):
            for p in parents:
                self._children[p].append(i)
        depth = graph.layers(keys, deps)
        self._columns: list[list[int]] = [[] for _ in range(max(depth.values()) + 1)]
        for k, i in number.items():
            self._columns[depth[k]].append(i)
        self._rows = [0.0] * len(keys)
        for column in self._columns:
            for row, i in enumerate(column):
                self._rows[i] = row - (len(column) - 1) / 2

    def spots(self) -> dict[str, Spot]:
        """Sweep right and left by turns, keep the shortest links, settle, and count from row 0."""
        self._sweep_until_short()
        for _ in range(2):
            for column in self._columns:
                self._settle(column, [*map(self._wanted_by_all, column)])
        top = min(self._rows)
        return {
            self._keys[i]: Spot(c, self._rows[i] - top)
            for c, column in enumerate(self._columns)
            for i in column
        }

    def _sweep_until_short(self) -> None:
        n_links = sum(map(len, self._parents))
        n_sweeps = _SWEEPS if len(self._keys) + n_links <= _BIG else _SWEEPS_WHEN_BIG
        best = (float("inf"), self._rows, self._columns)
        for turn in range(n_sweeps):
            rightwards = turn % 2 == 0
            near = self._parents if rightwards else self._children
            for column in self._columns if rightwards else reversed(self._columns):
                self._sort(column, near)
            length = self._length()
            if length < best[0]:
                best = (length, [*self._rows], [[*c] for c in self._columns])
        _, self._rows, self._columns = best

    def _sort(self, column: list[int], near: list[list[int]]) -> None:
        rows = self._rows
        wanted = {
            i: sum(rows[j] for j in near[i]) / len(near[i]) if near[i] else rows[i] for i in column
        }
        column.sort(key=lambda i: (wanted[i], rows[i], i))
        self._settle(column, [wanted[i] for i in column])

    def _settle(self, column: list[int], wanted: list[float]) -> None:
        for i, row in zip(column, spread(wanted), strict=True):
            self._rows[i] = row

    def _wanted_by_all(self, i: int) -> float:
        near = [*self._parents[i], *self._children[i]]
        return sum(self._rows[j] for j in near) / len(near)

    def _length(self) -> float:
        rows = self._rows
        return sum(abs(rows[i] - rows[p]) for i, above in enumerate(self._parents) for p in above)


def _lone_block(keys: Sequence[str], *, under: Mapping[str, Spot]) -> dict[str, Spot]:
    """Place tasks without any link in reading order below the rest, or alone as a wide block."""
    if not keys:
        return {}
    n_columns = max((s.column for s in under.values()), default=-1) + 1
    n_columns = max(n_columns, ceil(sqrt(len(keys) * _LONE_SHAPE)))
    first = max((ceil(s.row) + 1 for s in under.values()), default=0)
    return {k: Spot(i % n_columns, float(first + i // n_columns)) for i, k in enumerate(keys)}


def _extend(keys: Sequence[str], deps: Dependencies, kept: Mapping[str, Spot]) -> dict[str, Spot]:
    """Keep what is placed; put each new task right of what it needs, in the nearest free row."""
    spots = {k: kept[k] for k in keys if k in kept}
    taken: dict[int, list[float]] = {}
    for column, row in sorted(spots.values()):
        taken.setdefault(column, []).append(row)
    lowest = max((s.row for s in spots.values()), default=-1.0)
    order = graph.topological_order(keys, deps)
    for key in (*order, *keys):  # members of cycles are in `keys` alone
        if key in spots:
            continue
        above = [spots[d] for d in deps[key] if d in spots and d != key]
        column = max((s.column for s in above), default=-1) + 1
        wanted = sum(s.row for s in above) / len(above) if above else floor(lowest) + 1.0
        row = _nearest_free(taken.setdefault(column, []), floor(2 * wanted + 0.5) / 2)
        insort(taken[column], row)
        spots[key] = Spot(column, row)
    return {k: spots[k] for k in keys}


def _nearest_free(taken: list[float], wanted: float) -> float:
    """Return the half row nearest to `wanted` that is 1 away from all `taken` (ascending)."""
    at = bisect_left(taken, wanted)
    down = wanted
    for row in taken[max(0, at - 1) :]:
        if row - down >= 1:
            break
        down = max(down, row + 1)
    up = wanted
    for row in reversed(taken[: at + 1]):
        if up - row >= 1:
            break
        up = min(up, row - 1)
    return down if down - wanted <= wanted - up else up
