"""What may be done to the selected run now, and why not (ux.md C2: buttons follow the owner)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from oma_desktop.model.view import ApprovalView, OwnerKind, RunRef, RunState, RunView, StoreView
from oma_desktop.viewmodel.feed import Feed, LiveRun


class Why(Enum):
    """Reasons for a verb to be off; `ui` has the sentences. FREE: it is on."""

    FREE = "free"
    NO_RUN = "no_run"
    UNREADABLE = "unreadable"
    OTHER_WRITER = "other_writer"
    NOT_OURS = "not_ours"
    RUNS_HERE = "runs_here"
    SUSPENDING = "suspending"
    FINISHED = "finished"
    REJECTED = "rejected"


@dataclass(frozen=True, slots=True)
class Verbs:
    """Which verbs are free for one run."""

    suspend: Why = Why.NO_RUN
    cancel: Why = Why.NO_RUN
    restore: Why = Why.NO_RUN


def verbs_for(feed: Feed, ref: RunRef | None) -> Verbs:
    """Return what may be done to a run. The lock decides in the end; this only spares a refusal."""
    store = feed.store(ref.store) if ref is not None else None
    run = feed.run(ref) if ref is not None else None
    if ref is None or store is None or run is None:
        return Verbs()
    live = feed.live(ref)
    if live is not None:
        return _verbs_of_live(live)
    return Verbs(Why.NOT_OURS, Why.NOT_OURS, _why_no_restore(store, run))


def _verbs_of_live(live: LiveRun) -> Verbs:
    suspend = Why.SUSPENDING if live.suspending else Why.FREE
    return Verbs(suspend=suspend, cancel=Why.FREE, restore=Why.RUNS_HERE)


def _why_no_restore(store: StoreView, run: RunView) -> Why:
    if not store.readable or not run.readable:
        return Why.UNREADABLE
    if (run.owner or store.owner).kind is OwnerKind.OTHER_PROCESS:
        return Why.OTHER_WRITER
    if run.state is RunState.REJECTED and run.end is not None:
        return Why.REJECTED  # without an end a resume still carries the rejection out
    return Why.FINISHED if run.state is RunState.OK else Why.FREE


def open_requests(store: StoreView, run: RunView) -> tuple[ApprovalView, ...]:
    """Return the undecided requests of a run, oldest first as stored."""
    return tuple(a for a in store.approvals if a.open and a.run_id == run.run_id)


def open_request_of(store: StoreView, run: RunView, *, task_id: str | None) -> ApprovalView | None:
    """Return the first undecided request of a task, or of the run where `task_id` is None."""
    found = open_requests(store, run)
    return next((a for a in found if task_id is None or a.task_id == task_id), None)
