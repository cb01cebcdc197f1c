"""Bringing checkpoint and approval ledger together before a run goes on (formats.md 3.6)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final, cast

from oma_desktop.base.lanes import Lanes
from oma_desktop.engine.run_state import RunState
from oma_desktop.engine.slices import in_slices
from oma_desktop.model.approval import ApprovalDecision, ApprovalRequest, ApprovalRow
from oma_desktop.model.approval_binding import (
    check_request,
    check_same_decision,
    check_same_request,
)
from oma_desktop.model.checkpoint import CheckpointSnapshot, InFlightEntry
from oma_desktop.model.errors import AtomicStoreRequired, StaleDecision
from oma_desktop.model.lenient import objects_at, text_at
from oma_desktop.store.ledger import ApprovalLedger


class Verdict(Enum):
    """What a restore may do after reconciliation."""

    RUN = "run"
    SUSPENDED = "suspended"
    REJECTED = "rejected"
    REJECTED_BEFORE = "rejected before"
    PLAN_ONLY = "plan only"


_CHECKS: Final = 50
"""So many requests are compared with the snapshot, and hashed anew, before the loop gets a turn."""

STARTS_NOTHING: Final = frozenset((Verdict.SUSPENDED, Verdict.REJECTED_BEFORE, Verdict.PLAN_ONLY))
"""With these nothing runs and nothing is saved."""


@dataclass(frozen=True, slots=True)
class Reconciled:
    """Rows of the ledger by request id: of every request and decision the snapshot knows."""

    rows: dict[str, ApprovalRow]


async def reconcile(
    snapshot: CheckpointSnapshot, ledger: ApprovalLedger | None, lanes: Lanes
) -> Reconciled:
    """Check everything against snapshot and ledger, then create rows a crash left out (steps 1-3).

    Raises IntegrityMismatch, StaleDecision, AlreadyDecided, AtomicStoreRequired; nothing is created
    before the snapshot itself was checked.
    """
    pending = snapshot.get("pendingApprovals", [])
    decided = snapshot.get("approvalDecisions", [])
    if not pending and not decided:
        return Reconciled({})
    if ledger is None:
        raise AtomicStoreRequired("APPROVAL_ATOMIC_STORE_REQUIRED", checkpoint=True)
    rows: dict[str, ApprovalRow] = {}
    for decision in decided:
        known = await lanes.store(ledger.get, decision["requestId"])
        check_same_decision(decision, known)
        if known is not None:
            rows[decision["requestId"]] = known
    async for request in in_slices(pending, _CHECKS):
        check_request(snapshot, request)
    for request in pending:
        row = await lanes.store(ledger.ensure, request)
        check_same_request(request, row["request"])
        rows[request["id"]] = row
    return Reconciled(rows)


def adopt(state: RunState, snapshot: CheckpointSnapshot, found: Reconciled) -> None:
    """Put requests and decisions into the live state (step 4).

    An approved dispatch of a task that had started already is used up: it must not be asked, or
    hold anything, again (P05). So is one whose decision was used before the run died.
    """
    in_progress = {
        t["id"] for t in snapshot["queue"]["tasks"] if t["status"] == "in_progress"
    } | set(state.entries)
    state.let_through |= in_progress
    for decision in snapshot.get("approvalDecisions", []):
        state.decisions[decision["requestId"]] = decision
        row = found.rows.get(decision["requestId"])
        _remember_dispatch(state, row, in_progress)
        _remember_round(state, row)
    for request in snapshot.get("pendingApprovals", []):
        verdict_now = found.rows[request["id"]].get("decision")
        if verdict_now is not None:
            state.decisions[request["id"]] = verdict_now
            _remember_round(state, found.rows[request["id"]])
        _adopt_request(state, request, verdict_now)


def _remember_dispatch(state: RunState, row: ApprovalRow | None, in_progress: set[str]) -> None:
    if row is None or row["request"]["scope"] != "task_dispatch":
        return
    task_id = row["request"]["boundary"]
    if row.get("decision", {}).get("decision") == "approved" and task_id in in_progress:
        state.dispatched.add(task_id)


def _remember_round(state: RunState, row: ApprovalRow | None) -> None:
    """The tasks of an approved round may begin, in whatever attempt they get to it."""
    if row is None or row["request"]["scope"] != "task_round":
        return
    if row.get("decision", {}).get("decision") == "approved":
        following = objects_at(row["request"]["content"], "nextTasks")
        state.let_through.update(text_at(task, "id") for task in following)


def _adopt_request(
    state: RunState, request: ApprovalRequest, decision: ApprovalDecision | None
) -> None:
    if request["scope"] == "tool_call":
        if decision is not None:
            _decide_call(state, request, decision)
        return
    approved = decision is not None and decision["decision"] == "approved"
    if request["scope"] == "task_dispatch":
        task_id = request["boundary"]
        if approved and task_id in state.entries:
            return  # it ran already: nothing is left to let through
        state.pending[request["id"]] = request
        if task_id in state.carried and not approved:
            # The reviewer judges these very bytes: they stay as they are while the request is open.
            state.carried[task_id] = cast("dict[str, object]", request["content"])["task"]  # type: ignore[assignment]
        return
    keeps = request["content"].get("continuation") == "plan_only"
    if not approved or keeps:
        state.pending[request["id"]] = request


def _decide_call(state: RunState, request: ApprovalRequest, decision: ApprovalDecision) -> None:
    """Put the decision on the pending call, on a copy: snapshots are never changed."""
    for task_id, entry in state.entries.items():
        calls = entry.get("pendingToolCalls", [])
        if any(c.get("approvalRequest", {}).get("id") == request["id"] for c in calls):
            copy = cast("InFlightEntry", dict(entry))
            copy["pendingToolCalls"] = [
                {**c, "approvalDecision": decision}
                if c.get("approvalRequest", {}).get("id") == request["id"]
                else c
                for c in calls
            ]
            state.entries[task_id] = copy


def verdict(state: RunState, found: Reconciled) -> Verdict:
    """Step 5, with P14: open tool and dispatch requests hold their own task only.

    Raises StaleDecision when an approved dispatch can no longer happen.
    """
    undecided = state.undecided()
    if any(r["scope"] in {"plan", "task_round"} for r in undecided):
        return Verdict.SUSPENDED
    refused = {
        i
        for i, d in state.decisions.items()
        if d["decision"] == "rejected" and d["scope"] != "tool_call"
    }
    if refused:
        # What nobody decided yet comes first (3.6 step 5): a refusal ends the run for good, and
        # with it the saved steps of the task that still waits for a person.
        if undecided:
            return Verdict.SUSPENDED
        return Verdict.REJECTED if refused & state.pending.keys() else Verdict.REJECTED_BEFORE
    if any(r["content"].get("continuation") == "plan_only" for r in _approved_plans(state, found)):
        return Verdict.PLAN_ONLY
    for request in state.pending.values():
        _refuse_late(state, request)
    if undecided and not something_can_run(state):
        return Verdict.SUSPENDED
    return Verdict.RUN


def _approved_plans(state: RunState, found: Reconciled) -> list[ApprovalRequest]:
    rows = [found.rows[i] for i in state.decisions if i in found.rows]
    return [r["request"] for r in rows if r["request"]["scope"] == "plan"]


def _refuse_late(state: RunState, request: ApprovalRequest) -> None:
    if request["scope"] != "task_dispatch" or request["id"] not in state.decisions:
        return
    if state.queue.status(request["boundary"]) != "pending":
        raise StaleDecision("APPROVAL_STALE_DECISION", id=request["id"], task=request["boundary"])


def something_can_run(state: RunState) -> bool:
    """Whether any task is ready and not itself waiting for a decision."""
    asked = state.dispatch_requests()
    ready = state.queue.with_status("pending")
    return any(not state.waits_for_decision(t["id"], among=asked) for t in ready)
