"""The task queue as a snapshot shows it, page by page (formats.md 2.6, 2.7).

A queue of thousands is looked at where it changed: what follows from a page of tasks (who is
completed, with which result) is found once and kept as long as the page is the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from oma_desktop.engine.queueing.queue import PARTITIONS, TaskPage
from oma_desktop.engine.run_state import RunState
from oma_desktop.model.checkpoint import CompletedTaskResult, TaskSnapshot

QUEUE_LISTS: Final = ("tasks", *(name for name, _ in PARTITIONS))


@dataclass(frozen=True, slots=True, eq=False)
class QueuePage:
    """Neighbouring tasks: `lists` has them and, per partition, their ids."""

    lists: dict[str, tuple[object, ...]]
    completed: tuple[CompletedTaskResult, ...]


class QueuePages:
    """Looks at the queue of one run again and again, on the loop."""

    def __init__(self) -> None:
        self._seen: list[tuple[TaskPage | None, QueuePage]] = []

    def look(self, state: RunState) -> tuple[QueuePage, ...]:
        """Return the queue now; an unchanged page is the very same as last time."""
        carried = {state.queue.page_of(task_id) for task_id in state.carried}
        seen: list[tuple[TaskPage | None, QueuePage]] = []
        for index, tasks in enumerate(state.queue.pages()):
            if index in carried:  # what is shown depends on more than the tasks
                seen.append((None, _page(state, tasks)))
            elif index < len(self._seen) and self._seen[index][0] is tasks:
                seen.append(self._seen[index])
            else:
                seen.append((tasks, _page(state, tasks)))
        self._seen = seen
        return tuple(page for _, page in seen)


def _page(state: RunState, tasks: TaskPage) -> QueuePage:
    shown = tuple(shown_task(state, t) for t in tasks)
    lists: dict[str, tuple[object, ...]] = {"tasks": shown}
    for name, status in PARTITIONS:
        lists[name] = tuple(t["id"] for t in shown if t["status"] == status)
    results = (state.completed.get(t["id"]) for t in shown if t["status"] == "completed")
    return QueuePage(lists, tuple(r for r in results if r is not None))


def shown_task(state: RunState, task: TaskSnapshot) -> TaskSnapshot:
    """The task as the file shows it: a carried-over one stays as it was saved (W2)."""
    if task["id"] in state.carried and task["status"] in {"pending", "blocked"}:
        return state.carried[task["id"]]
    return task
