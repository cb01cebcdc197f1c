"""What a node and a link of the map say: values made from tasks, never sentences (look.md 7)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Final

from oma_desktop.model.view import ApprovalView, TaskState, TaskView

# Which member of a stack speaks for it, and how the outline sorts states: loudest first
URGENCY: Final = (
    TaskState.NEEDS_YOU,
    TaskState.FAILED,
    TaskState.UNKNOWN,
    TaskState.RUNNING,
    TaskState.BLOCKED,
    TaskState.WAITING,
    TaskState.SKIPPED,
    TaskState.REPLACED,
    TaskState.DONE,
)
_RANK: Final = {state: i for i, state in enumerate(URGENCY)}
_BUSY: Final = frozenset({TaskState.RUNNING, TaskState.NEEDS_YOU})


class EdgeKind(Enum):
    """How far a dependency is; in a bundle of several the first of these counts."""

    FAILED = "failed"
    FEEDS = "feeds"
    NOT_YET = "not_yet"
    SATISFIED = "satisfied"
    REPLACED = "replaced"


_KINDS: Final = tuple(EdgeKind)


@dataclass(frozen=True, slots=True)
class MapNode:
    """One task, or a stack of them. `task` is the task, or the one that speaks for the stack.

    `n_unmet` counts direct dependencies that are not done; `blocked_by` is the title of the failed
    task that keeps this one from ever starting; `asked_at` when a person was asked.
    """

    key: str
    task: TaskView
    tasks: tuple[TaskView, ...]
    is_stack: bool = False
    n_unmet: int = 0
    blocked_by: str | None = None
    asked_at: datetime | None = None

    @property
    def state(self) -> TaskState:
        return self.task.state

    def counts(self) -> list[tuple[TaskState, int]]:
        """Return how many members are in each state that occurs."""
        return count_states(self.tasks)


@dataclass(frozen=True, slots=True)
class MapEdge:
    """A dependency between two nodes."""

    source: str
    target: str
    kind: EdgeKind


def urgency(state: TaskState) -> int:
    """Return the rank of a state, 0 the loudest."""
    return _RANK[state]


def count_states(tasks: Iterable[TaskView]) -> list[tuple[TaskState, int]]:
    """Return the states that occur, in the order of the legend, with their counts."""
    counts = Counter(t.state for t in tasks)
    return [(state, counts[state]) for state in LEGEND if counts[state]]


LEGEND: Final = (
    TaskState.DONE,
    TaskState.RUNNING,
    TaskState.NEEDS_YOU,
    TaskState.FAILED,
    TaskState.UNKNOWN,
    TaskState.REPLACED,
    TaskState.WAITING,
    TaskState.BLOCKED,
    TaskState.SKIPPED,
)


def edge_kind(source: TaskView, target: TaskView) -> EdgeKind:
    """Return how far one dependency is."""
    if TaskState.REPLACED in (source.state, target.state):
        return EdgeKind.REPLACED
    if source.state is TaskState.FAILED:
        return EdgeKind.FAILED
    if source.state is not TaskState.DONE:
        return EdgeKind.NOT_YET
    return EdgeKind.FEEDS if target.state in _BUSY else EdgeKind.SATISFIED


def edges_of(tasks: Mapping[str, TaskView], shown_as: Mapping[str, str]) -> list[MapEdge]:
    """Return the links between shown nodes, several between the same two told as one."""
    found: dict[tuple[str, str], EdgeKind] = {}
    for task_id, target in shown_as.items():
        task = tasks[task_id]
        for wanted in task.depends_on:
            source = shown_as.get(wanted)
            if source is None or source == target:
                continue
            kind = edge_kind(tasks[wanted], task)
            known = found.setdefault((source, target), kind)
            if known is not kind:
                found[source, target] = min(known, kind, key=_KINDS.index)
    return [MapEdge(a, b, kind) for (a, b), kind in found.items()]


def bundle_kind(
    source: str,
    members: Iterable[TaskView],
    tasks: Mapping[str, TaskView],
    shown_as: Mapping[str, str],
) -> EdgeKind:
    """Return the kind of the link from a node to the one with these members."""
    kinds = (
        edge_kind(tasks[wanted], task)
        for task in members
        for wanted in task.depends_on
        if shown_as.get(wanted) == source
    )
    return min(kinds, key=_KINDS.index)


def blockers(tasks: Mapping[str, TaskView], order: Sequence[str]) -> dict[str, str]:
    """Return, for each task a failure keeps from starting, the title of that failure.

    `order` has every dependency before its dependents.
    """
    found: dict[str, str] = {}
    for task_id in order:
        if tasks[task_id].state not in (TaskState.BLOCKED, TaskState.SKIPPED, TaskState.WAITING):
            continue
        for wanted in tasks[task_id].depends_on:
            if wanted in tasks and tasks[wanted].state is TaskState.FAILED:
                found[task_id] = tasks[wanted].title
            elif wanted in found:
                found[task_id] = found[wanted]
            if task_id in found:
                break
    return found


def make_node(
    key: str,
    members: Sequence[TaskView],
    tasks: Mapping[str, TaskView],
    *,
    is_stack: bool,
    blocked_by: str | None,
    asked: Mapping[str, ApprovalView],
) -> MapNode:
    """Return the node of a task or a stack."""
    first = members[0]
    unmet = 0
    for wanted in first.depends_on:
        if wanted in tasks and tasks[wanted].state is not TaskState.DONE:
            unmet += 1
    request = next((asked[t.id] for t in members if t.id in asked), None) if asked else None
    return MapNode(
        key=key,
        task=first if len(members) == 1 else min(members, key=lambda t: _RANK[t.state]),
        tasks=tuple(members),
        is_stack=is_stack,
        n_unmet=unmet,
        blocked_by=blocked_by,
        asked_at=request.requested_at if request else None,
    )
