"""Queue snapshots: written in the peer's key order, reset for a resume (formats.md 2.6)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Final, cast

from oma_desktop.base.ms_iso import to_ms_iso
from oma_desktop.model.checkpoint import QueueSnapshot, TaskSnapshot, TaskStatus
from oma_desktop.model.json_value import JsonObject, JsonValue

TASK_KEYS: Final = (
    "id", "title", "description", "status", "assignee", "dependsOn", "memoryScope",
    "dependencyPayload", "role", "priority", "metadata", "requires", "result", "createdAt",
    "updatedAt", "maxRetries", "retryDelayMs", "retryBackoff", "supersededByRevision",
    "recoveredByRevision",
)  # fmt: skip
PARTITIONS: Final = {
    "pending": "pending",
    "in_progress": "inProgress",
    "completed": "completed",
    "failed": "failed",
    "blocked": "blocked",
    "skipped": "skipped",
}
"""Key of a queue's partition by task status, in the order they are written."""
OPEN: Final = ("in_progress", "pending", "blocked")


def task_snapshot(**fields: JsonValue) -> TaskSnapshot:
    """Return a task in the peer's key order; None means absent, never null (formats.md T1).

    The order decides the bytes, not the hash. Unknown fields follow in the order given. Raises
    KeyError when a required field is missing.
    """
    for name in ("id", "title", "description", "status", "createdAt", "updatedAt"):
        if fields.get(name) is None:
            raise KeyError(name)
    known: JsonObject = {k: fields[k] for k in TASK_KEYS if fields.get(k) is not None}
    more = {k: v for k, v in fields.items() if k not in TASK_KEYS and v is not None}
    return cast("TaskSnapshot", known | more)


def queue_snapshot(
    tasks: Iterable[TaskSnapshot],
    revisions: Sequence[JsonObject] = (),
    *,
    carried: Collection[str] = (),
) -> QueueSnapshot:
    """Return a queue with its partitions: version 2 exactly when the plan was revised.

    Open tasks in `carried` have runner state that waits for their dispatch; they are written as in
    progress, so that the next restore finds state and task in agreement (W2).
    """
    written = [_carried(task) if task["id"] in carried else task for task in tasks]
    queue: JsonObject = {"version": 2 if revisions else 1, "tasks": cast("JsonValue", written)}
    for status, name in PARTITIONS.items():
        queue[name] = [task["id"] for task in written if task["status"] == status]
    if revisions:
        queue["planRevision"] = len(revisions)
        queue["planRevisions"] = list[JsonValue](revisions)
    return cast("QueueSnapshot", queue)


def _carried(task: TaskSnapshot) -> TaskSnapshot:
    return {**task, "status": "in_progress"} if task["status"] in OPEN else task


def reset_for_resume(
    queue: QueueSnapshot, *, now: datetime, carried: Collection[str] = ()
) -> QueueSnapshot:
    """Return the queue as a new attempt begins with it (formats.md 2.6.4); the input stays as is.

    Tasks in progress become pending; then pending and blocked follow from the dependencies. Open
    tasks in `carried` had begun already (they have runner state), so they are pending in any case.
    Ended tasks stay untouched; a changed task gets `now` as its time of change.
    """
    completed = {t["id"] for t in queue["tasks"] if t["status"] == "completed"}
    stamp = to_ms_iso(now)
    tasks: list[TaskSnapshot] = []
    for task in queue["tasks"]:
        status = task["status"]
        if status in OPEN:
            begun = task["id"] in carried
            ready = begun or completed.issuperset(task.get("dependsOn", ()))
            status = _open_status(ready=ready)
        same = status == task["status"]
        tasks.append(task if same else {**task, "status": status, "updatedAt": stamp})
    return queue_snapshot(tasks, queue.get("planRevisions", ()) if queue["version"] == 2 else ())


def _open_status(*, ready: bool) -> TaskStatus:
    return "pending" if ready else "blocked"
