"""Which state a run and its tasks are shown in (ux.md C6): words that claim no more than is known.

Running needs a living writer. Without one, a task in progress is Unknown and its run Interrupted,
unless our own end record or an open decision explains why nothing moves (cases s05).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from oma_desktop.model.json_value import JsonObject
from oma_desktop.model.lenient import text_at
from oma_desktop.model.own_facts import answer_of, own_facts
from oma_desktop.model.run_facts import ACTIVE, RunFacts
from oma_desktop.model.view import OwnerKind, RunState, TaskState

END_STATES: Final[Mapping[str, RunState]] = {
    "ok": RunState.OK,
    "error": RunState.ERROR,
    "rejected": RunState.REJECTED,
    "cancelled": RunState.CANCELLED,
    "timeout": RunState.TIMED_OUT,
    "budget_exhausted": RunState.BUDGET,
    "suspended": RunState.SUSPENDED,
}
_ABORTED: Final = "Skipped: run aborted."  # formats.md 2.6.3, file content
_STATES: Final[Mapping[str, TaskState]] = {
    "pending": TaskState.WAITING,
    "blocked": TaskState.BLOCKED,
    "completed": TaskState.DONE,
    "failed": TaskState.FAILED,
    "skipped": TaskState.SKIPPED,
}


def task_state(task: JsonObject, facts: RunFacts) -> TaskState:
    """Return the state of one task."""
    status = text_at(task, "status")
    id_ = text_at(task, "id")
    if status in ACTIVE and id_ in facts.open_task_ids:
        return TaskState.NEEDS_YOU
    if status == "in_progress":
        return _in_progress(id_, facts)
    if is_replaced(task):
        return TaskState.REPLACED
    if id_ in facts.doomed:
        return TaskState.BLOCKED
    return _STATES.get(status, TaskState.UNKNOWN)


def is_replaced(task: JsonObject) -> bool:
    """Whether a later plan took over what this task failed or was kept from doing."""
    status = text_at(task, "status")
    return (status == "failed" and "recoveredByRevision" in task) or (
        status == "skipped" and "supersededByRevision" in task
    )


def _in_progress(task_id: str, facts: RunFacts) -> TaskState:
    if facts.end is not None:
        # The attempt ended in order: the task rests at its last safe point until a resume.
        return TaskState.WAITING
    if facts.live:
        return TaskState.RUNNING
    return TaskState.WAITING if _waits_for_resume(task_id, facts) else TaskState.UNKNOWN


def _waits_for_resume(task_id: str, facts: RunFacts) -> bool:
    """Whether everything uncommitted in this task is a call whose decision nobody has used yet."""
    calls = [c for c in _calls(facts.entries.get(task_id)) if "commit" not in c]
    ids = [text_at(c.get("approvalRequest"), "id") for c in calls]
    verdicts = [facts.verdicts.get(i) for i in ids]
    return bool(ids) and all(v is not None and not v.consumed for v in verdicts)


def _calls(entry: JsonObject | None) -> list[JsonObject]:
    calls = entry.get("pendingToolCalls") if entry else None
    return [c for c in calls if isinstance(c, dict)] if isinstance(calls, list) else []


def run_state(facts: RunFacts, owner: OwnerKind) -> RunState:
    """Return the state of the run; our own end record wins over everything derived."""
    if facts.end is not None:
        return END_STATES.get(facts.end.status, RunState.UNKNOWN)
    if facts.live and _works(facts):
        return RunState.RUNNING
    if facts.rejected:
        return RunState.REJECTED
    if _is_held(facts):
        return RunState.SUSPENDED
    if not _has_work(facts) and not _owes_answer(facts):
        return _finished(facts)
    if owner is OwnerKind.NO_WRITER:
        return RunState.INTERRUPTED
    # Somebody may be writing whom no lock names: neither running nor interrupted is known.
    return RunState.UNKNOWN


def has_work(facts: RunFacts) -> bool:
    """Whether a living writer could have something to do here: unfinished, and no end on record."""
    return facts.end is None and (_has_work(facts) or not facts.tasks or _owes_answer(facts))


def _owes_answer(facts: RunFacts) -> bool:
    """Whether a run of a goal died before its closing answer.

    Known of runs of this program only: the peer records nothing of its answer (golden e2, e3).
    """
    own = own_facts(facts.snapshot)
    of_goal = text_at(facts.snapshot, "mode") == "runTeam" and "goal" in facts.snapshot
    return of_goal and "usage" in own and answer_of(own) is None and not facts.rejected


def _works(facts: RunFacts) -> bool:
    """Whether something but waiting for decisions is left to a living writer."""
    if text_at(facts.snapshot, "mode") == "runTeam" and not _has_work(facts):
        return True  # the synthesis comes after the last task (formats.md 2.4 step 11)
    busy = {i for i, t in facts.tasks.items() if text_at(t, "status") == "in_progress"}
    return _has_work(facts) and (bool(busy - facts.open_task_ids) or not facts.open_ids)


def _is_held(facts: RunFacts) -> bool:
    """Whether a request waits, or was decided and no attempt has taken the decision up."""
    return any(
        i in facts.open_ids or (i in facts.verdicts and not facts.verdicts[i].consumed)
        for i in facts.pending
    )


def _has_work(facts: RunFacts) -> bool:
    """Whether any task can still run."""
    return any(
        text_at(t, "status") in ACTIVE and i not in facts.doomed for i, t in facts.tasks.items()
    )


def _finished(facts: RunFacts) -> RunState:
    """Return how a run without anything left to do ended."""
    left = [t for t in facts.tasks.values() if not is_replaced(t)]
    if all(text_at(t, "status") == "completed" for t in left):
        return RunState.OK
    if any(text_at(t, "result") == _ABORTED for t in left):
        return RunState.CANCELLED
    return RunState.ERROR
