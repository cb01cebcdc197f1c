"""Folding many like siblings into one stack (ux.md C5: same parent, same role, no branching)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from oma_desktop.model import graph
from oma_desktop.model.view import TaskView

MORE_THAN: Final = 8

_Likeness = tuple[frozenset[str], tuple[str, ...], str | None, str | None]


def fold(
    ids: Sequence[str],
    tasks: Mapping[str, TaskView],
    *,
    opened: Collection[str] = (),
    single: Collection[str] = (),
    stacks: Mapping[str, Sequence[str]] | None = None,
) -> dict[str, list[str]]:
    """Return the stacks among `ids`: key (the id of the first member) to members in plan order.

    Alike are tasks that need the same tasks, are needed by the same tasks, and have one agent and
    role. `opened` stacks stay open. With `stacks` (what is folded now) nothing that is shown by
    itself (`single`) moves into a stack and no new stack is made: only new tasks that are like the
    members of a stack join it.
    """
    deps = {k: t.depends_on for k, t in tasks.items()}
    after = graph.dependents_of(list(tasks), deps)
    alike: dict[_Likeness, list[str]] = {}
    now = _members_now(stacks or {}, ids)
    folded = {i for members in now.values() for i in members}
    for i in ids:
        if i not in folded and (stacks is None or i not in single):
            alike.setdefault(_likeness(tasks[i], after[i]), []).append(i)
    if stacks is None:
        groups = (m for m in alike.values() if len(m) > MORE_THAN)
        return {m[0]: m for m in groups if m[0] not in opened}
    for key in now:
        if key in tasks:
            now[key] += alike.get(_likeness(tasks[key], after[key]), [])
    return now


def _members_now(stacks: Mapping[str, Sequence[str]], ids: Sequence[str]) -> dict[str, list[str]]:
    shown = set(ids)
    kept = {key: [i for i in members if i in shown] for key, members in stacks.items()}
    return {key: members for key, members in kept.items() if members}


def _likeness(task: TaskView, after: Sequence[str]) -> _Likeness:
    return (frozenset(task.depends_on), tuple(sorted(after)), task.assignee, task.role)
