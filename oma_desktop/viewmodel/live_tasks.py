"""What an embedded run began and no file says yet, laid over the picture of its store (ux.md C2).

The checkpoint is not written when a task begins (formats.md 2.9): without this a task at work would
read "ready to start" until its first saved step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Final

from oma_desktop.model.view import RunRef, RunView, StoreView, TaskState, TaskView

Began = Mapping[str, datetime]
"""When each task of an attempt began, by task id."""

_NOT_BEGUN: Final = frozenset({TaskState.WAITING, TaskState.BLOCKED})


def with_begun(view: StoreView, begun: Callable[[RunRef], Began]) -> StoreView:
    """Return the picture with tasks running that began since the save; the same if there are none.

    A state the file has beyond that stays: the file is the truth.
    """
    runs = tuple(_run(run, begun(RunRef(view.path, run.key))) for run in view.runs)
    same = all(a is b for a, b in zip(runs, view.runs, strict=True))
    return view if same else replace(view, runs=runs)


def _run(run: RunView, begun: Began) -> RunView:
    if not any(t.id in begun and t.state in _NOT_BEGUN for t in run.tasks):
        return run
    return replace(run, tasks=tuple(_task(t, begun) for t in run.tasks))


def _task(task: TaskView, begun: Began) -> TaskView:
    at = begun.get(task.id)
    if at is None or task.state not in _NOT_BEGUN:
        return task
    return replace(task, state=TaskState.RUNNING, updated_at=at)
