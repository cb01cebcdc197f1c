"""The live task queue: states, transitions and cascades (engine.md 2.1). No I/O, no asyncio.

Tasks are JSON documents (formats.md 2.6.3) that are replaced, never changed in place, so that a
snapshot may keep references to them while the run goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, cast

from oma_desktop.model.checkpoint import QueueSnapshot, TaskSnapshot, TaskStatus
from oma_desktop.model.errors import PlanRejected, TaskFailed
from oma_desktop.model.queue_rules import TASK_KEYS

QueueEvent: TypeAlias = Literal["ready", "complete", "failed", "skipped", "all_complete"]
Listener: TypeAlias = Callable[[QueueEvent, str], None]

TaskPage: TypeAlias = tuple[TaskSnapshot, ...]

PAGE: Final = 64
TERMINAL: Final = frozenset(("completed", "failed", "skipped"))
UNSTARTED: Final = frozenset(("pending", "blocked"))
RUN_ABORTED: Final = "Skipped: run aborted."
APPROVAL_REJECTED: Final = "Skipped: durable approval rejected."

_EVENTS: Final[dict[TaskStatus, QueueEvent]] = {
    "pending": "ready",
    "failed": "failed",
    "skipped": "skipped",
}
PARTITIONS: Final = (
    ("pending", "pending"),
    ("inProgress", "in_progress"),
    ("completed", "completed"),
    ("failed", "failed"),
    ("blocked", "blocked"),
    ("skipped", "skipped"),
)


@dataclass(frozen=True, slots=True)
class Overlay:
    """Changes that are in the queue, and in its snapshots, before anybody is told of them.

    `changed` has each task before and after, `added` the ids of the new ones. `dead` are tasks that
    had failed or were skipped before, so nothing follows from them now.
    """

    changed: tuple[tuple[TaskSnapshot, TaskSnapshot], ...]
    added: tuple[str, ...]
    dead: frozenset[str]

    @property
    def hidden(self) -> list[str]:
        """Tasks that nobody may start: the new ones, and those that had not begun."""
        return [b["id"] for b, _ in self.changed if b["status"] in UNSTARTED] + [*self.added]


@dataclass(frozen=True, slots=True)
class Settled:
    """What became of hidden tasks: those that may start, those that ended meanwhile."""

    ready: tuple[str, ...]
    failed: tuple[str, ...] = ()


def in_writer_order(task: TaskSnapshot) -> TaskSnapshot:
    """Return the task with its keys in the writer's order, unknown keys last (formats.md 2.6.3)."""
    known = {key: task[key] for key in TASK_KEYS if key in task}
    return cast("TaskSnapshot", {**known, **task})


def queue_document(tasks: list[TaskSnapshot], extra: QueueSnapshot | None = None) -> QueueSnapshot:
    """Return the queue snapshot of these tasks; `extra` lends plan revisions and unknown keys."""
    doc: dict[str, object] = {"version": 1, "tasks": tasks}
    for name, status in PARTITIONS:
        doc[name] = [t["id"] for t in tasks if t["status"] == status]
    if extra is not None:
        doc |= {key: value for key, value in extra.items() if key not in doc}
        doc["version"] = extra["version"]
    return cast("QueueSnapshot", doc)


class TaskQueue:
    """All tasks of a run in insertion order.

    Invariants: ids are unique; a terminal task is never opened again; `blocked` becomes `pending`
    exactly when its last dependency completes; a cascade never touches a task in progress; a task
    hidden by `lay_over` follows its dependencies silently until `publish` or `take_back`.
    `now` gives ms-ISO text. The listener hears each change right after it happened.
    """

    def __init__(self, *, now: Callable[[], str], listener: Listener | None = None) -> None:
        self._now = now
        self._listener = listener or (lambda _event, _task_id: None)
        self._tasks: dict[str, TaskSnapshot] = {}
        self._places: dict[str, int] = {}
        self._pages: list[TaskPage | None] = []  # None: changed since it was last looked at
        self._dependents: dict[str, list[str]] = {}
        self._waiting_for: dict[str, int] = {}
        self._hidden: set[str] = set()
        self._open = 0

    def __len__(self) -> int:
        return len(self._tasks)

    def __iter__(self) -> Iterator[TaskSnapshot]:
        return iter(list(self._tasks.values()))

    def __contains__(self, task_id: object) -> bool:
        return task_id in self._tasks

    def is_leaf(self, task_id: str) -> bool:
        """Whether no other task waits for this one."""
        return not self._dependents.get(task_id)

    def get(self, task_id: str) -> TaskSnapshot:
        """Return the task as it is now; raises TaskFailed TASK_UNKNOWN."""
        task = self._tasks.get(task_id)
        if task is None:
            raise TaskFailed("TASK_UNKNOWN", task=task_id)
        return task

    def status(self, task_id: str) -> TaskStatus:
        """Return the present status of a known task."""
        return self.get(task_id)["status"]

    @property
    def complete(self) -> bool:
        """True when no task is open; true for an empty queue too."""
        return self._open == 0

    @property
    def tasks(self) -> list[TaskSnapshot]:
        """The tasks now, in queue order; the list is the caller's."""
        return list(self._tasks.values())

    def pages(self) -> tuple[TaskPage, ...]:
        """The tasks in queue order, `PAGE` at a time.

        A page without a change since the last call is the very same tuple.
        """
        if None in self._pages:
            ids = list(self._tasks)
            for index, page in enumerate(self._pages):
                if page is None:
                    of_page = ids[index * PAGE : (index + 1) * PAGE]
                    self._pages[index] = tuple(self._tasks[i] for i in of_page)
        return tuple(page for page in self._pages if page is not None)

    def page_of(self, task_id: str) -> int:
        """The index of the page a known task is on."""
        return self._places[task_id] // PAGE

    def with_status(self, *wanted: TaskStatus) -> list[TaskSnapshot]:
        """The tasks that have one of the statuses, in queue order."""
        return [t for t in self._tasks.values() if t["status"] in wanted]

    # ------------------------------------------------------------------ loading

    def add_batch(self, tasks: Iterable[TaskSnapshot]) -> None:
        """Add new tasks; pending or blocked by their dependencies. Ids must be new (P16)."""
        batch = list(tasks)
        for task in batch:
            if task["id"] in self._tasks:
                raise PlanRejected("TASK_ID_TWICE", task=task["id"], where="queue")
            self._insert(task)
        for task in batch:
            ready = self._waiting_for[task["id"]] == 0
            self._set(task["id"], status="pending" if ready else "blocked")
            if ready:
                self._listener("ready", task["id"])

    def load(self, tasks: Iterable[TaskSnapshot]) -> None:
        """Take tasks over from a snapshot exactly as they are; nothing is announced."""
        for task in tasks:
            if task["id"] in self._tasks:
                raise PlanRejected("TASK_ID_TWICE", task=task["id"], where="queue")
            self._insert(task)

    def _insert(self, task: TaskSnapshot) -> None:
        task_id = task["id"]
        self._places[task_id] = len(self._tasks)
        if self.page_of(task_id) == len(self._pages):
            self._pages.append(None)
        self._put(task_id, task)
        self._open += task["status"] not in TERMINAL
        for dep in dict.fromkeys(task.get("dependsOn", ())):
            self._dependents.setdefault(dep, []).append(task_id)
        if task["status"] == "completed":
            for other in self._dependents.get(task_id, ()):
                if other in self._waiting_for:
                    self._waiting_for[other] -= 1
        self._waiting_for[task_id] = sum(
            dep not in self._tasks or self._tasks[dep]["status"] != "completed"
            for dep in dict.fromkeys(task.get("dependsOn", ()))
        )

    # ------------------------------------------------------------------ transitions

    def assign(self, task_id: str, assignee: str) -> TaskSnapshot:
        """Name the agent; the change is part of what a dispatch reviewer sees."""
        return self._set(task_id, assignee=assignee, updatedAt=self._now())

    def start(self, task_id: str) -> TaskSnapshot:
        """`pending` to `in_progress`."""
        self._require(task_id, "pending")
        return self._set(task_id, status="in_progress", updatedAt=self._now())

    def put_back(self, task: TaskSnapshot) -> TaskSnapshot:
        """Undo `start` for a task that never began to work: the very document of before.

        What a reviewer approved of it is still what would run.
        """
        self._require(task["id"], "in_progress")
        return self._put(task["id"], task)

    def complete_task(self, task_id: str, result: str | None = None) -> list[str]:
        """Finish a task with success. Returns the ids it unblocked, in queue order."""
        self._require_open(task_id)
        facts = {} if result is None else {"result": result}
        self._set(task_id, status="completed", **facts, updatedAt=self._now())
        self._open -= 1
        self._listener("complete", task_id)
        unblocked: list[str] = []
        for other in self._dependents.get(task_id, ()):
            self._waiting_for[other] -= 1
            if self._waiting_for[other] == 0 and self._tasks[other]["status"] == "blocked":
                self._set(other, status="pending", updatedAt=self._now())
                if other not in self._hidden:
                    self._listener("ready", other)
                    unblocked.append(other)
        self._announce_end()
        return unblocked

    def fail(self, task_id: str, reason: str) -> list[str]:
        """Fail a task and, transitively, what waits for it. Returns the cascaded ids in order."""
        return self._end(task_id, "failed", reason)

    def skip(self, task_id: str, reason: str) -> list[str]:
        """Skip a task and, transitively, what waits for it. Returns the cascaded ids in order."""
        return self._end(task_id, "skipped", reason)

    def skip_remaining(self, reason: str, *, but: Collection[str] = ()) -> list[str]:
        """Skip every task that is not terminal, in queue order (only after draining)."""
        ids = [
            t["id"]
            for t in self._tasks.values()
            if t["status"] not in TERMINAL and t["id"] not in but
        ]
        for task_id in ids:
            self._close(task_id, "skipped", reason)
        if ids:
            self._announce_end()
        return ids

    def _end(self, task_id: str, status: Literal["failed", "skipped"], reason: str) -> list[str]:
        self._require_open(task_id)
        self._close(task_id, status, reason)
        cascaded: list[str] = []
        # Dependents are recorded as tasks are inserted, so they are in queue order already.
        stack = [(task_id, o) for o in reversed(self._dependents.get(task_id, []))]
        while stack:
            cause, other = stack.pop()
            if self._tasks[other]["status"] not in UNSTARTED:
                continue
            self._close(other, status, _cascade_reason(cause, status))
            if other not in self._hidden:
                cascaded.append(other)
            stack.extend((other, o) for o in reversed(self._dependents.get(other, [])))
        self._announce_end()
        return cascaded

    def _close(self, task_id: str, status: TaskStatus, reason: str) -> None:
        self._set(task_id, status=status, result=reason, updatedAt=self._now())
        self._open -= 1
        if task_id not in self._hidden:
            self._tell(task_id)

    def _tell(self, task_id: str) -> None:
        """Announce the status of a task that did not have it before."""
        event = _EVENTS.get(self.status(task_id))
        if event is not None:
            self._listener(event, task_id)

    # ------------------------------------------------------------------ plan patches

    def lay_over(self, changed: Sequence[TaskSnapshot], added: Sequence[TaskSnapshot]) -> Overlay:
        """Put a patch in place and tell nobody: at once and whole (engine.md 15.5, DEV-04).

        The caller has checked it; what it touches has not begun, except for marks.
        """
        overlay = Overlay(
            tuple((self.get(task["id"]), in_writer_order(task)) for task in changed),
            tuple(task["id"] for task in added),
            frozenset(t["id"] for t in self.with_status("failed", "skipped")),
        )
        for before, after in overlay.changed:
            self._put(after["id"], after)
            self._open += (after["status"] not in TERMINAL) - (before["status"] not in TERMINAL)
        for task in added:
            self._insert(task)
        self._hidden.update(overlay.hidden)
        return overlay

    def hides(self, task_id: str) -> bool:
        """Whether a task is part of a patch nobody was told of yet."""
        return task_id in self._hidden

    def publish(self, overlay: Overlay) -> Settled:
        """Tell what the patch did, and what its tasks became since it was put in place."""
        self._hidden.difference_update(overlay.hidden)
        blocked = {b["id"] for b, _ in overlay.changed if b["status"] == "blocked"}
        for task_id in overlay.hidden:
            begins = task_id in blocked or task_id in overlay.added
            if begins or self.status(task_id) in TERMINAL:
                self._tell(task_id)
        return self._settled(overlay.hidden)

    def take_back(self, overlay: Overlay) -> Settled:
        """Undo exactly what the patch changed; what happened meanwhile stays (DEV-05)."""
        self._hidden.difference_update(overlay.hidden)
        self._forget(overlay.added)
        for before, after in overlay.changed:
            self._restore(before, after)
        reopened = [b for b, _ in overlay.changed if b["status"] in UNSTARTED]
        for before in reopened:
            if self.status(before["id"]) != before["status"]:
                self._tell(before["id"])
            self._catch_up(before["id"], overlay.dead)
        return self._settled(task["id"] for task in reopened)

    def _settled(self, ids: Iterable[str]) -> Settled:
        known = [(i, self._tasks[i]) for i in ids]
        return Settled(
            ready=tuple(i for i, t in known if t["status"] == "pending"),
            failed=tuple(
                i for i, t in known if t["status"] in TERMINAL and "supersededByRevision" not in t
            ),
        )

    def _forget(self, task_ids: Collection[str]) -> None:
        """Take tasks out again; nothing that stays waits for them."""
        gone = set(task_ids)
        if not gone:
            return
        for task_id in task_ids:
            task = self._tasks.pop(task_id)
            self._open -= task["status"] not in TERMINAL
            del self._waiting_for[task_id]
            for dep in dict.fromkeys(task.get("dependsOn", ())):
                self._dependents[dep] = [o for o in self._dependents[dep] if o not in gone]
        self._places = {task_id: place for place, task_id in enumerate(self._tasks)}
        self._pages = [None] * -(-len(self._tasks) // PAGE)

    def _restore(self, before: TaskSnapshot, after: TaskSnapshot) -> None:
        """Give every field the patch changed its old value, unless it has changed since."""
        now = self.get(before["id"])
        then, since, old = (cast("dict[str, object]", doc) for doc in (after, now, before))
        undone = dict(since)
        for key in {*then, *old}:
            if then.get(key) != old.get(key) and since.get(key) == then.get(key):
                undone.pop(key, None)
                if key in old:
                    undone[key] = old[key]
        # Whoever holds the task as it was may go on: it is the very same document again.
        task = before if undone == old else in_writer_order(cast("TaskSnapshot", undone))
        self._open += (task["status"] not in TERMINAL) - (now["status"] not in TERMINAL)
        self._tasks[task["id"]] = task
        self._pages[self.page_of(task["id"])] = None

    def _catch_up(self, task_id: str, dead_before: Collection[str]) -> None:
        """Bring a task that was out of play in line with what its dependencies became."""
        task = self.get(task_id)
        if task["status"] not in UNSTARTED:
            return
        names = (d for d in task.get("dependsOn", ()) if d not in dead_before)
        deps = [self._tasks[d] for d in names if d in self._tasks]
        dead = next((d for d in deps if d["status"] in {"failed", "skipped"}), None)
        if dead is not None:
            status: Literal["failed", "skipped"] = (
                "failed" if dead["status"] == "failed" else "skipped"
            )
            self._end(task_id, status, _cascade_reason(dead["id"], status))
        elif task["status"] == "blocked" and self._waiting_for[task_id] == 0:
            self._set(task_id, status="pending", updatedAt=self._now())
            self._listener("ready", task_id)

    # ------------------------------------------------------------------ small parts

    def _announce_end(self) -> None:
        if self._open == 0:
            self._listener("all_complete", "")

    def _require(self, task_id: str, status: TaskStatus) -> None:
        found = self.get(task_id)["status"]
        if found != status:
            raise TaskFailed("TASK_NOT_IN_STATE", task=task_id, found=found, wanted=status)

    def _require_open(self, task_id: str) -> None:
        found = self.get(task_id)["status"]
        if found in TERMINAL:
            raise TaskFailed("TASK_NOT_IN_STATE", task=task_id, found=found, wanted="open")

    def _set(self, task_id: str, **changes: object) -> TaskSnapshot:
        changed = cast("TaskSnapshot", {**self.get(task_id), **changes})
        return self._put(task_id, changed)

    def _put(self, task_id: str, task: TaskSnapshot) -> TaskSnapshot:
        ordered = self._tasks[task_id] = in_writer_order(task)
        self._pages[self.page_of(task_id)] = None
        return ordered


def _cascade_reason(cause: str, status: Literal["failed", "skipped"]) -> str:
    """The peer's words, part of the file format (formats.md 2.6.3)."""
    if status == "failed":
        return f'Cancelled: dependency "{cause}" failed.'
    return f'Skipped: dependency "{cause}" was skipped.'
