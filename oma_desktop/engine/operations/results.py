"""How a run ended, from what is left in it (engine.md 1.8)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from oma_desktop.engine.budget import total
from oma_desktop.engine.control import Stop
from oma_desktop.engine.operations.restore import with_result
from oma_desktop.engine.queueing.nested_usage import entry_usage
from oma_desktop.engine.run_state import RunState
from oma_desktop.engine.tools.confirmation import CONFIRMATION_MISSING
from oma_desktop.model.checkpoint import TaskSnapshot
from oma_desktop.model.json_value import JsonObject
from oma_desktop.model.result import (
    AgentRunResult,
    ErrorInfo,
    RunMetrics,
    RunStatus,
    StatusCode,
    TeamRunResult,
)

TOO_LATE = frozenset(("operator", "time limit"))
"""A stop by these changes nothing when it came after the last task was done."""

STOPPED_BEFORE_PLAN = "STOPPED_BEFORE_PLAN"
"""A run of a goal was stopped before it had a plan: there is nothing to go on with."""

_FIRST: tuple[StatusCode, ...] = ("budget_exhausted", "timeout", "cancelled")


def final_status(state: RunState, stop: Stop | None) -> tuple[RunStatus, str, ErrorInfo | None]:
    """Return status, who ended the run, and why it failed.

    A stop that came when everything was done already changes nothing.
    """
    coordination = state.coordination
    done = state.queue.complete and not (coordination.due or coordination.planning)
    if stop is not None and not (done and stop.by in TOO_LATE):
        if coordination.planning and stop.status.code == "suspended":
            return RunStatus("cancelled", STOPPED_BEFORE_PLAN), stop.by, stop.error
        return stop.status, stop.by, stop.error
    if state.undecided():
        return RunStatus("suspended", "APPROVAL_PENDING"), "approval", None
    if state.confirmation.missing:
        return RunStatus("rejected", CONFIRMATION_MISSING), "approval", None
    if coordination.plan_only:
        return RunStatus("ok"), "run", None
    counted = [r for i, r in state.outcomes.items() if not _recovered(state, i)]
    if coordination.failure is not None:
        counted.append(coordination.failure)
    for code in _FIRST:
        for result in counted:
            if result.status.code == code:
                return result.status, "run", result.error_info
    if _all_well(state, counted):
        return RunStatus("ok"), "run", None
    info = next((r.error_info for r in counted if r.error_info is not None), None)
    if coordination.failure is not None and info is coordination.failure.error_info:
        return coordination.failure.status, "run", info
    return RunStatus("error"), "run", info


def _recovered(state: RunState, task_id: str) -> bool:
    return "recoveredByRevision" in state.queue.get(task_id)


def _all_well(state: RunState, counted: Iterable[AgentRunResult]) -> bool:
    if not all(r.success for r in counted):
        return False
    return all(
        t["status"] in {"completed", "skipped"}
        or (t["status"] == "failed" and "recoveredByRevision" in t)
        for t in state.queue
    )


def team_result(
    state: RunState,
    status: RunStatus,
    error: ErrorInfo | None = None,
    *,
    plan_only: bool = False,
    attempted: bool = False,
) -> TeamRunResult:
    """Build the result; everything in it is shared with the run, which is over.

    `attempted`: an attempt ends. Its total holds agents it did not come to, too, as its last save
    does; a restore that starts no attempt totals what is settled, as the peer does.
    """
    coordination = state.coordination
    parts = (coordination.decomposition, coordination.synthesis)
    # parked work without an entry was settled when it was parked
    going_on = state.parked.keys() & state.outcomes.keys() & state.entries.keys()
    parked = [state.outcomes[i].token_usage for i in going_on]
    waiting = [entry_usage(e) for i, e in state.entries.items() if i not in state.outcomes]
    open_usage = [*parked, *(waiting if attempted else ()), state.nested.at(())]
    return TeamRunResult(
        status=status,
        identity=state.identity,
        tasks=tuple(_as_planned(t) if plan_only else t for t in state.queue),
        task_results=task_results(state),
        total_cost=state.cost.spent if state.cost.known else None,
        total_usage=total((state.budget.settled, *open_usage)),
        pending_approvals=tuple(state.open_requests()),
        approval_decisions=tuple(state.decisions.values()),
        plan_revisions=_plan_revisions(state),
        metrics=None if coordination.plan_only else metrics(state),
        error_info=error,
        goal=state.goal,
        plan_only=plan_only,
        metadata=state.metadata,
        flags=tuple(state.flags),
        confirmation_required=bool(state.confirmation.missing),
        coordinator=tuple(part.to_json() for part in parts if part is not None),
        final_answer=coordination.answer,
        routing=coordination.routing,
        assessment=coordination.assessment,
        warnings=tuple(dict.fromkeys([*state.warnings, *_task_warnings(state)])),
    )


def _as_planned(task: TaskSnapshot) -> TaskSnapshot:
    """A plan that was not run lists its tasks as not begun (engine.md 4.6)."""
    return cast("TaskSnapshot", {**task, "status": "pending"})


def _plan_revisions(state: RunState) -> tuple[JsonObject, ...]:
    return () if state.queue_extra is None else tuple(state.queue_extra.get("planRevisions", ()))


def task_results(state: RunState) -> dict[str, JsonObject]:
    """One JSON AgentRunResult per task that has one, in queue order.

    Tasks judged in this attempt have `verification` beside; files keep it in shared memory only.
    """
    found: dict[str, JsonObject] = {}
    for task in state.queue:
        task_id = task["id"]
        if task_id in state.completed:
            found[task_id] = with_result(state.completed[task_id], task)["agentResult"]
            if task_id in state.verdicts:
                verdict = state.verdicts[task_id].to_json()
                found[task_id] = {**found[task_id], "verification": verdict}
        elif task_id in state.outcomes:
            found[task_id] = state.outcomes[task_id].to_json()
    return found


def metrics(state: RunState) -> RunMetrics:
    """Counts over all tasks; tokens and times of this attempt."""
    tasks = state.queue.tasks
    done = [t["id"] for t in tasks if t["status"] == "completed"]
    return RunMetrics(
        completed=len(done),
        failed=sum(t["status"] == "failed" for t in tasks),
        unfinished=sum(t["status"] in {"skipped", "blocked"} for t in tasks),
        total_tokens=state.budget.this_attempt,
        retries=state.total_retries,
        durations_ms=tuple(state.durations_ms[i] for i in done if i in state.durations_ms),
    )


def _task_warnings(state: RunState) -> list[str]:
    return [w for i in state.outcomes for w in state.outcomes[i].warnings]
