"""When no picture of the graph is made, and why: too large, or not a DAG (ux.md C5, D2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, Literal, NamedTuple

from oma_desktop.model import graph
from oma_desktop.model.graph import Dependencies
from oma_desktop.model.view import TaskView

MAX_NODES: Final = 10_000
MAX_LINKS: Final = 30_000
MAX_DEPTH: Final = 300


class Why(Enum):
    """What stands in the way of a picture; `ui` has the sentences."""

    NODES = "nodes"
    LINKS = "links"
    DEPTH = "depth"
    FAULTY = "faulty"


class FaultyLink(NamedTuple):
    """A dependency that cannot be drawn: on itself, on a task that is not there, in a circle."""

    task_id: str
    wanted: str
    kind: Literal["self", "missing", "cycle"]


@dataclass(frozen=True, slots=True)
class Refusal:
    """No picture: `n` is over `limit`, or `links` are wrong."""

    why: Why
    n: int = 0
    limit: int = 0
    links: tuple[FaultyLink, ...] = ()


def faulty_links(tasks: Mapping[str, TaskView]) -> tuple[FaultyLink, ...]:
    """Return every dependency on itself or on nothing, then the links of one circle."""
    deps = {k: t.depends_on for k, t in tasks.items()}
    return (*_bad_ends(deps), *_circle(deps))


def too_large(keys: Sequence[str], deps: Dependencies) -> Refusal | None:
    """Return a refusal for a graph over the limits of ux.md D2, or None."""
    if len(keys) > MAX_NODES:
        return Refusal(Why.NODES, len(keys), MAX_NODES)
    n_links = sum(len(deps[k]) for k in keys)
    if n_links > MAX_LINKS:
        return Refusal(Why.LINKS, n_links, MAX_LINKS)
    depth = max(graph.layers(keys, deps).values(), default=-1) + 1
    if depth > MAX_DEPTH:
        return Refusal(Why.DEPTH, depth, MAX_DEPTH)
    return None


def _bad_ends(deps: Dependencies) -> Iterator[FaultyLink]:
    for task_id, wanted in deps.items():
        for each in dict.fromkeys(wanted):
            if each == task_id:
                yield FaultyLink(task_id, each, "self")
            elif each not in deps:
                yield FaultyLink(task_id, each, "missing")


def _circle(deps: Dependencies) -> Iterator[FaultyLink]:
    cycle = graph.find_cycle(deps)
    for task_id, wanted in zip(cycle, [*cycle[1:], *cycle[:1]], strict=True):
        yield FaultyLink(task_id, wanted, "cycle")
