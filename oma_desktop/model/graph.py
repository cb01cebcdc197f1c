"""Pure functions over task dependencies: checks, readiness, layers, counts, longest path.

Everything is iterative and bounded: stores come from outside (formats.md T18). Dependencies on
unknown ids are ignored except by `check_graph`, so that a broken plan can still be drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

from oma_desktop.model.checkpoint import TaskSnapshot
from oma_desktop.model.json_value import JsonValue
from oma_desktop.model.view import Problem

Dependencies: TypeAlias = Mapping[str, Sequence[str]]


def dependencies_of(tasks: Iterable[TaskSnapshot]) -> dict[str, list[str]]:
    """Return the dependency lists by task id, in queue order."""
    return {task["id"]: list(task.get("dependsOn", [])) for task in tasks}


def check_graph(tasks: Sequence[TaskSnapshot], *, where: str = "$.queue") -> list[Problem]:
    """Return an error for each self-dependency and unknown id, and for one cycle (2.4 step 6)."""
    known = {task["id"] for task in tasks}
    problems: list[Problem] = []
    for index, task in enumerate(tasks):
        for at, wanted in enumerate(task.get("dependsOn", [])):
            place = f"{where}.tasks[{index}].dependsOn[{at}]"
            facts: dict[str, JsonValue] = {"task": task["id"], "dependency": wanted}
            if wanted == task["id"]:
                problems.append(Problem("GRAPH_SELF_DEPENDENCY", "error", place, facts))
            elif wanted not in known:
                problems.append(Problem("GRAPH_UNKNOWN_DEPENDENCY", "error", place, facts))
    cycle = find_cycle(dependencies_of(tasks))
    if cycle:
        path: list[JsonValue] = [*cycle, cycle[0]]
        shown = " → ".join([*cycle, cycle[0]])
        problems.append(
            Problem("GRAPH_CYCLE", "error", f"{where}.tasks", {"path": path, "cycle": shown})
        )
    return problems


def find_cycle(deps: Dependencies) -> list[str]:
    """Return the ids of one cycle in dependency order, or nothing. Self-dependencies count not."""
    order = set(topological_order(list(deps), deps))
    rest = [i for i in deps if i not in order]
    if not rest:
        return []
    seen: dict[str, int] = {}
    path: list[str] = []
    at = rest[0]
    while at not in seen:
        seen[at] = len(path)
        path.append(at)
        at = next(d for d in deps[at] if d in deps and d != at and d not in order)
    return path[seen[at] :]


def topological_order(ids: Sequence[str], deps: Dependencies) -> list[str]:
    """Return ids with every dependency before its dependents; members of cycles are left out."""
    waiting: dict[str, int] = {}
    dependents = dependents_of(ids, deps)
    for each in ids:
        waiting[each] = len({d for d in deps.get(each, ()) if d in dependents and d != each})
    order = [i for i in ids if waiting[i] == 0]
    for done in order:
        for after in dependents[done]:
            waiting[after] -= 1
            if waiting[after] == 0:
                order.append(after)
    return order


def dependents_of(ids: Sequence[str], deps: Dependencies) -> dict[str, list[str]]:
    """Return who waits directly for each id, without repetitions and self-dependencies."""
    found: dict[str, dict[str, None]] = {i: {} for i in ids}
    for each in ids:
        for wanted in deps.get(each, ()):
            if wanted in found and wanted != each:
                found[wanted][each] = None
    return {i: list(after) for i, after in found.items()}


def ready(tasks: Iterable[TaskSnapshot]) -> list[str]:
    """Return the ids of pending or blocked tasks whose dependencies are all completed."""
    every = list(tasks)
    completed = {t["id"] for t in every if t["status"] == "completed"}
    return [
        t["id"]
        for t in every
        if t["status"] in ("pending", "blocked") and completed.issuperset(t.get("dependsOn", ()))
    ]


def layers(ids: Sequence[str], deps: Dependencies) -> dict[str, int]:
    """Return the length of the longest chain of dependencies below each id; roots are 0. O(V+E).

    Members of cycles are placed after what they wait for outside their cycle.
    """
    depth: dict[str, int] = {}
    order = topological_order(ids, deps)
    missing = set(ids).difference(order)
    for each in (*order, *(i for i in ids if i in missing)):
        below = (depth[d] + 1 for d in deps.get(each, ()) if d in depth and d != each)
        depth[each] = max(below, default=0)
    return {i: depth[i] for i in ids}


def descendant_counts(ids: Sequence[str], deps: Dependencies) -> dict[str, int]:
    """Return how many tasks wait for each id, directly or not.

    Sets are bit patterns, so that 5,000 tasks take milliseconds. Members of cycles count what they
    reach outside their cycle at least.
    """
    index = {each: n for n, each in enumerate(ids)}
    dependents = dependents_of(ids, deps)
    order = topological_order(ids, deps)
    missing = set(ids).difference(order)
    reach: dict[str, int] = {}
    for each in (*(i for i in ids if i in missing), *reversed(order)):
        bits = 0
        for after in dependents[each]:
            bits |= reach.get(after, 0) | 1 << index[after]
        reach[each] = bits
    return {each: reach[each].bit_count() for each in ids}


def critical_path(
    ids: Sequence[str], deps: Dependencies, weight: Callable[[str], float] | None = None
) -> list[str]:
    """Return the heaviest chain of dependencies, first task first (weight 1 each by default)."""
    total: dict[str, float] = {}
    before: dict[str, str | None] = {}
    for each in topological_order(ids, deps):
        known = [d for d in deps.get(each, ()) if d in total and d != each]
        best = max(known, key=total.__getitem__, default=None)
        before[each] = best
        total[each] = (total[best] if best is not None else 0) + (weight(each) if weight else 1)
    at = max(total, key=total.__getitem__, default=None)
    path: list[str] = []
    while at is not None:
        path.append(at)
        at = before[at]
    return path[::-1]
