"""What a resume will do, as rows and choices; Resume stays off while one item is undecided.

(ux.md C8, first version: no journal, no recorded outcomes, so the only answers to "may run twice"
are to run it again or to leave it undecided.)
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from PySide6.QtCore import QObject, Signal

from oma_desktop.model.resume import CallItem, ResumePlan, TaskItem
from oma_desktop.model.view import Effect, OwnerKind, RunRef, RunView, StoreView
from oma_desktop.viewmodel.commands import Commands, ResumeIntent
from oma_desktop.viewmodel.feed import Feed


class Line(StrEnum):
    """The summary rows, in the order they are shown."""

    KEPT = "kept"
    REPLAYED = "replayed"
    ASKED = "asked"
    TASKS_WILL_RUN = "tasks_will_run"
    CALLS_WILL_RUN = "calls_will_run"
    TASKS_AGAIN = "tasks_again"
    DENIED = "denied"
    STAY_FAILED = "stay_failed"
    NEEDS_YOU = "needs_you"
    MAY_RUN_TWICE = "may_run_twice"


ALWAYS_SHOWN = frozenset({Line.KEPT, Line.REPLAYED, Line.ASKED, Line.TASKS_WILL_RUN})


@dataclass(frozen=True, slots=True)
class Entry:
    """One item under a summary row, for the expandable list.

    `reason` is the plan's code; `call_id` and `approval_id` name what it is about.
    """

    name: str
    is_code: bool
    task_title: str
    task_id: str
    agent: str
    reason: str = ""
    approval_id: str | None = None


@dataclass(frozen=True, slots=True)
class Summary:
    """One row: how many, and which."""

    line: Line
    entries: tuple[Entry, ...]

    @property
    def n(self) -> int:
        """How many items stand behind this row."""
        return len(self.entries)


class Obstacle(StrEnum):
    """Why Resume is off, strongest first."""

    GONE = "gone"
    UNREADABLE = "unreadable"
    OWNED = "owned"
    RUNNING = "running"
    NO_PLAN = "no_plan"
    STALE = "stale"
    WAITS = "waits"
    UNDECIDED = "undecided"
    SENT = "sent"


def summaries(plan: ResumePlan) -> tuple[Summary, ...]:
    """Return the rows of a plan; rows that say nothing are left out, the first four always stay."""
    lists: dict[Line, tuple[Entry, ...]] = {
        Line.KEPT: _tasks(plan.kept),
        Line.REPLAYED: _calls(plan.replayed),
        Line.ASKED: _tasks(plan.asked),
        Line.TASKS_WILL_RUN: _tasks(plan.will_run),
        Line.CALLS_WILL_RUN: _calls(plan.calls_will_run),
        Line.TASKS_AGAIN: _tasks(plan.tasks_run_again),
        Line.DENIED: _calls(plan.denied),
        Line.STAY_FAILED: _tasks(plan.stay_failed),
        Line.NEEDS_YOU: _needs(plan),
        Line.MAY_RUN_TWICE: _calls(plan.may_run_twice),
    }
    return tuple(
        Summary(line, entries) for line, entries in lists.items() if entries or line in ALWAYS_SHOWN
    )


def _tasks(items: tuple[TaskItem, ...]) -> tuple[Entry, ...]:
    return tuple(
        Entry(i.task_title or i.task_id, False, "", i.task_id, i.agent or "", i.reason)
        for i in items
    )


def _calls(items: tuple[CallItem, ...]) -> tuple[Entry, ...]:
    return tuple(
        Entry(i.tool, True, i.task_title, i.task_id, i.agent, i.evidence, i.approval_id)
        for i in items
    )


def _needs(plan: ResumePlan) -> tuple[Entry, ...]:
    return tuple(
        Entry(
            i.tool or i.task_title or i.scope,
            i.tool is not None,
            i.task_title or "",
            i.task_id or "",
            "",
            i.scope,
            i.approval_id,
        )
        for i in plan.needs_you
    )


def preselected(item: CallItem) -> bool:
    """Say whether running an item again is chosen beforehand: only what is harmless to repeat.

    An approval given before the stop does not cover a second run without a fresh look (ux.md C8),
    and nobody knows what a masked input would do.
    """
    return (
        not item.masked
        and item.effect in {Effect.READ_ONLY, Effect.REPEATABLE}
        and item.approved_by is None
    )


def item_key(item: CallItem) -> tuple[str, str]:
    """Return what names a call: its id alone may repeat in another task (case s04)."""
    return item.task_id, item.call_id


class ResumeModel(QObject):
    """The state of one resume dialog. Nothing runs until `resume`, and that at most once."""

    changed = Signal()
    plan_changed = Signal()

    def __init__(
        self, run: RunRef, *, feed: Feed, commands: Commands, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self.run = run
        self.plan: ResumePlan | None = None
        self._feed = feed
        self._commands = commands
        self._again: set[tuple[str, str]] = set()
        self._sent = False
        self._plan_of: RunView | None = None
        feed.plan_ready.connect(self._on_plan_ready)
        feed.changed.connect(self._on_feed_changed)
        feed.live_changed.connect(self._on_live_changed)
        commands.request_resume_plan(run)

    @property
    def view(self) -> RunView | None:
        """The run as the newest picture shows it."""
        return self._feed.run(self.run)

    @property
    def store(self) -> StoreView | None:
        """The store of the run."""
        return self._feed.store(self.run.store)

    @property
    def undecided(self) -> tuple[CallItem, ...]:
        """Items that may run twice and have no answer yet."""
        items = self.plan.may_run_twice if self.plan is not None else ()
        return tuple(i for i in items if item_key(i) not in self._again)

    def runs_again(self, item: CallItem) -> bool:
        """Say whether the operator accepted that this call may run a second time."""
        return item_key(item) in self._again

    def choose(self, item: CallItem, *, again: bool) -> None:
        """Accept, or leave undecided."""
        before = set(self._again)
        if again:
            self._again.add(item_key(item))
        else:
            self._again.discard(item_key(item))
        if before != self._again:
            self.changed.emit()

    @property
    def obstacle(self) -> Obstacle | None:
        """Why Resume is off now, or None."""
        store, view = self.store, self.view
        if self._sent:
            return Obstacle.SENT
        if store is None or view is None:
            return Obstacle.GONE
        if not store.readable or not view.readable:
            return Obstacle.UNREADABLE
        if store.owner_of(self.run.key).kind is OwnerKind.OTHER_PROCESS:
            return Obstacle.OWNED
        if self._feed.live(self.run) is not None:
            return Obstacle.RUNNING
        if self.plan is None:
            return Obstacle.NO_PLAN
        if self._plan_of != view:
            return Obstacle.STALE
        if self.plan.needs_you:
            return Obstacle.WAITS
        return Obstacle.UNDECIDED if self.undecided else None

    def resume(self) -> bool:
        """Ask for the restore; false when it is not possible and nothing happened."""
        if self.obstacle is not None or self.plan is None:
            return False
        self._sent = True
        items = tuple(i.call_id for i in self.plan.may_run_twice if item_key(i) in self._again)
        self._commands.resume(ResumeIntent(self.run, run_again=items))
        self.changed.emit()
        return True

    def close(self) -> None:
        """Stop listening."""
        self._feed.plan_ready.disconnect(self._on_plan_ready)
        self._feed.changed.disconnect(self._on_feed_changed)
        self._feed.live_changed.disconnect(self._on_live_changed)

    def _on_plan_ready(self, answer: tuple[RunRef, ResumePlan]) -> None:
        run, plan = answer
        if run != self.run:
            return
        view = self.view
        self._plan_of = view
        if plan == self.plan:
            self.changed.emit()
            return
        known = {item_key(i): i for i in self.plan.may_run_twice} if self.plan else {}
        self._again = {
            item_key(i)
            for i in plan.may_run_twice
            if (item_key(i) in self._again and known.get(item_key(i)) == i)
            or (item_key(i) not in known and preselected(i))
        }
        self.plan = plan
        self.plan_changed.emit()
        self.changed.emit()

    def _on_feed_changed(self, paths: frozenset[str]) -> None:
        if self.run.store not in paths:
            return
        view = self.view
        if view is not None and self._plan_of != view and not self._sent:
            self._commands.request_resume_plan(self.run)
        self.changed.emit()

    def _on_live_changed(self) -> None:
        self.changed.emit()
