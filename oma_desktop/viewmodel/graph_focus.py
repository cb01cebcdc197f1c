"""Which tasks of a run are on the map: the focus, and what "hide done" takes away (ux.md C5)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import Final

from oma_desktop.model import graph
from oma_desktop.model.graph import Dependencies
from oma_desktop.model.view import TaskState, TaskView


class Focus(Enum):
    """What the operator wants to see of a graph."""

    EVERYTHING = "everything"
    UNFINISHED = "unfinished"
    AROUND_1 = "around_1"
    AROUND_2 = "around_2"
    AROUND_3 = "around_3"
    CRITICAL_PATH = "critical_path"
    FAILED = "failed"


STEPS: Final = {Focus.AROUND_1: 1, Focus.AROUND_2: 2, Focus.AROUND_3: 3}
FINISHED: Final = frozenset({TaskState.DONE, TaskState.SKIPPED, TaskState.REPLACED})


def visible_ids(
    tasks: Mapping[str, TaskView],
    focus: Focus,
    *,
    hide_done: bool = False,
    selected: str | None = None,
) -> list[str]:
    """Return the ids to show, in plan order. Around nothing is everything."""
    deps = {k: t.depends_on for k, t in tasks.items()}
    wanted = _in_focus(tasks, deps, focus, selected)
    return [
        k for k, t in tasks.items() if k in wanted and not (hide_done and t.state is TaskState.DONE)
    ]


def _in_focus(
    tasks: Mapping[str, TaskView], deps: Dependencies, focus: Focus, selected: str | None
) -> set[str]:
    match focus:
        case Focus.UNFINISHED:
            return {k for k, t in tasks.items() if t.state not in FINISHED}
        case Focus.CRITICAL_PATH:
            return set(_critical_path(tasks, deps))
        case Focus.FAILED:
            failed = [k for k, t in tasks.items() if t.state is TaskState.FAILED]
            return _reach(failed, graph.dependents_of(list(tasks), deps))
        case Focus.EVERYTHING:
            return set(tasks)
        case _:
            if selected is None or selected not in tasks:
                return set(tasks)
            return _around(selected, tasks, deps, STEPS[focus])


def _critical_path(tasks: Mapping[str, TaskView], deps: Dependencies) -> list[str]:
    """The chain with most work left: finished tasks only break ties."""

    def weight(task_id: str) -> float:
        return 1e-6 if tasks[task_id].state in FINISHED else 1.0

    return graph.critical_path(list(tasks), deps, weight)


def _reach(start: Iterable[str], after: Mapping[str, list[str]]) -> set[str]:
    found = set(start)
    ahead = list(found)
    while ahead:
        new = [k for k in after[ahead.pop()] if k not in found]
        found.update(new)
        ahead += new
    return found


def _around(start: str, tasks: Mapping[str, TaskView], deps: Dependencies, steps: int) -> set[str]:
    """What the task needs and what needs it, each up to `steps` away; not their other relatives."""
    after = graph.dependents_of(list(tasks), deps)
    return _within(start, deps, steps) & tasks.keys() | _within(start, after, steps)


def _within(start: str, near: Mapping[str, Sequence[str]], steps: int) -> set[str]:
    found = {start}
    edge = {start}
    for _ in range(steps):
        edge = {d for k in edge for d in near.get(k, ())} - found
        found |= edge
    return found
