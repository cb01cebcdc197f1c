"""Everything the map shows at one moment, as one value; places and routes as another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import floor
from typing import Final, TypeAlias

from oma_desktop.model.view import RunRef, RunView, TaskState
from oma_desktop.viewmodel.graph_checks import Refusal, too_large
from oma_desktop.viewmodel.graph_geometry import GAP, Box, Geometry
from oma_desktop.viewmodel.graph_layout import Spot, arrange
from oma_desktop.viewmodel.graph_nodes import MapEdge, MapNode
from oma_desktop.viewmodel.graph_routes import Link, Piece, routes_of

Route: TypeAlias = tuple[Piece, ...]
Tile: TypeAlias = tuple[int, int]

# About two columns by five rows: small enough to leave most links out, large enough to be few
_TILE: Final = 400.0


@dataclass(frozen=True, slots=True)
class Placed:
    """Where everything is: the outcome of a layout. `tiles` lead from a place to its links."""

    geometry: Geometry
    routes: Mapping[Link, Route]
    tiles: Mapping[Tile, Sequence[Link]]

    def links_in(self, area: Box) -> Iterator[Link]:
        """Yield each link that may be seen in an area once, always in the same order."""
        columns = range(_tile(area.x), _tile(area.right) + 1)
        rows = range(_tile(area.y), _tile(area.bottom) + 1)
        found: dict[Link, None] = {}
        for c in columns:
            for r in rows:
                found.update(dict.fromkeys(self.tiles.get((c, r), ())))
        return iter(found)


@dataclass(frozen=True, slots=True)
class GraphPicture:
    """Nodes and links of one run.

    `placed` None: nothing to draw (no run, no tasks, refused, or the first layout is being made).
    `counts` covers all tasks of the run, shown or not; `shown_as` leads from a task to its node.
    """

    ref: RunRef | None = None
    run: RunView | None = None
    n_tasks: int = 0
    n_hidden: int = 0
    nodes: Mapping[str, MapNode] = field(default_factory=dict)
    edges: tuple[MapEdge, ...] = ()
    counts: tuple[tuple[TaskState, int], ...] = ()
    placed: Placed | None = None
    refusal: Refusal | None = None
    shown_as: Mapping[str, str] = field(default_factory=dict)

    def lines(self) -> list[str]:
        """Return the picture as text, for tests that read like a diff (house.md 3.6)."""
        spots = self.placed.geometry.spots if self.placed else {}
        told = [f"{self.n_tasks} tasks, {self.n_hidden} hidden"]
        for key, node in self.nodes.items():
            where = f" @{spots[key].column},{spots[key].row:g}" if key in spots else ""
            many = f" x{len(node.tasks)}" if node.is_stack else ""
            why = f" blocked by {node.blocked_by}" if node.blocked_by else ""
            unmet = f" waits for {node.n_unmet}" if node.n_unmet else ""
            told.append(f"{key}{many} {node.state.value}{unmet}{why}{where}")
        return told + [f"{e.source} -> {e.target} {e.kind.value}" for e in self.edges]


def place(
    nodes: Mapping[str, MapNode],
    edges: Sequence[MapEdge],
    kept: Mapping[str, Spot] | None,
) -> Placed:
    """Return places and routes; pure, for a lane."""
    spots = arrange(list(nodes), needs_of(nodes, edges), kept=kept)
    geometry = Geometry(spots, stacks=frozenset(k for k, n in nodes.items() if n.is_stack))
    links = [(e.source, e.target) for e in edges]
    routes = dict(zip(links, routes_of(geometry, links), strict=True))
    return Placed(geometry, routes, _tiles_of(routes))


def arranged(new: GraphPicture, kept: Mapping[str, Spot] | None) -> GraphPicture:
    """Return the picture with its places, or a refusal where there are too many nodes or links.

    Pure, for a lane.
    """
    if new.refusal is not None:
        return new
    refusal = too_large(list(new.nodes), needs_of(new.nodes, new.edges))
    if refusal is not None:
        return GraphPicture(new.ref, new.run, new.n_tasks, counts=new.counts, refusal=refusal)
    return replace(new, placed=place(new.nodes, new.edges, kept))


def _tile(length: float) -> int:
    return floor(length / _TILE)


def _tiles_of(routes: Mapping[Link, Route]) -> dict[Tile, list[Link]]:
    tiles: dict[Tile, list[Link]] = {}
    for link, route in routes.items():
        crossed: dict[Tile, None] = {}
        for piece in route:
            left, right = sorted((piece.x0, piece.x1))
            top, bottom = sorted((piece.y0, piece.y1))
            for c in range(_tile(left - GAP), _tile(right + GAP) + 1):
                for r in range(_tile(top), _tile(bottom) + 1):
                    crossed[c, r] = None
        for tile in crossed:
            tiles.setdefault(tile, []).append(link)
    return tiles


def needs_of(nodes: Mapping[str, MapNode], edges: Sequence[MapEdge]) -> dict[str, list[str]]:
    """Return the dependency lists between nodes."""
    needs: dict[str, list[str]] = {k: [] for k in nodes}
    for edge in edges:
        needs[edge.target].append(edge.source)
    return needs


def same_shape(old: GraphPicture, new: GraphPicture) -> bool:
    """Whether the same nodes of the same run hang together in the same way."""
    return (
        old.ref == new.ref
        and old.nodes.keys() == new.nodes.keys()
        and len(old.edges) == len(new.edges)
        and all(
            a.source == b.source and a.target == b.target
            for a, b in zip(old.edges, new.edges, strict=True)
        )
        and all(old.nodes[k].is_stack == n.is_stack for k, n in new.nodes.items())
    )
