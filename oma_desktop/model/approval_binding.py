"""Comparing approvals with the checkpoint they belong to (formats.md 3.6 steps 1 and 2)."""

from __future__ import annotations

from typing import NoReturn, cast

from oma_desktop.model.approval import ApprovalDecision, ApprovalRequest, ApprovalRow
from oma_desktop.model.approval_forms import PLAN_BOUNDARY, request_hash
from oma_desktop.model.canonical import canonical
from oma_desktop.model.checkpoint import CheckpointSnapshot, PendingToolCall
from oma_desktop.model.errors import IntegrityMismatch, StaleDecision
from oma_desktop.model.json_value import JsonObject, JsonValue


def rebuild_content(snapshot: CheckpointSnapshot, request: ApprovalRequest) -> JsonObject:
    """Return the content a request must have according to the snapshot (formats.md 3.6 step 2).

    Raises StaleDecision when what was to be approved is no longer there, IntegrityMismatch when
    the boundary contradicts the content. The hash is compared by `check_request`.
    """
    content = request["content"]
    if request["scope"] == "plan":
        if request["boundary"] != PLAN_BOUNDARY:
            _mismatch(request, "boundary_differs")
        return {
            "kind": "plan",
            "continuation": content["continuation"],
            "tasks": cast("JsonValue", snapshot["queue"]["tasks"]),
        }
    if request["scope"] == "task_dispatch":
        return {"kind": "task_dispatch", "task": _dispatch_task(snapshot, request)}
    if request["scope"] == "task_round":
        return _round_content(snapshot, request)
    return _tool_content(snapshot, request)


def check_request(snapshot: CheckpointSnapshot, request: ApprovalRequest) -> None:
    """Raise unless the request belongs to this run and describes what the snapshot holds now.

    IntegrityMismatch for another run or a contradicting boundary, StaleDecision for anything that
    changed since.
    """
    run_id = snapshot["identity"]["runId"] if "identity" in snapshot else snapshot.get("runId")
    if request["runId"] != run_id:
        _mismatch(request, "other_run")
    rebuilt = request_hash(
        request["scope"], request["boundary"], rebuild_content(snapshot, request)
    )
    if rebuilt != request["requestHash"]:
        _stale(request, "content_changed")


def check_same_request(ours: ApprovalRequest, ledger: ApprovalRequest) -> None:
    """Raise IntegrityMismatch unless checkpoint and ledger hold the identical request.

    Canonically identical, including time and reason (formats.md 3.5, ensure).
    """
    if _canonical(ours) != _canonical(ledger):
        _mismatch(ours, "ledger_request_differs")


def check_same_decision(ours: ApprovalDecision, row: ApprovalRow | None) -> None:
    """Raise IntegrityMismatch unless the ledger holds the checkpoint's decision (3.6 step 1)."""
    theirs = row.get("decision") if row is not None else None
    if theirs is None or _canonical(_decided(ours)) != _canonical(_decided(theirs)):
        raise IntegrityMismatch(
            "APPROVAL_INTEGRITY_ERROR", id=ours["requestId"], reason="decision_not_in_ledger"
        )


def _decided(decision: ApprovalDecision) -> JsonObject:
    """Return the fields that must be equal."""
    whole = cast("JsonObject", decision)
    names = ("requestId", "runId", "scope", "requestHash", "decision", "decidedAt")
    reviewer = decision["reviewer"]
    who: JsonValue = [reviewer["id"], reviewer.get("displayName")]
    return {**{name: whole[name] for name in names}, "reviewer": who}


def _canonical(value: object) -> str:
    return canonical(cast("JsonValue", value))


def _task(snapshot: CheckpointSnapshot, task_id: JsonValue) -> JsonObject | None:
    found = (t for t in snapshot["queue"]["tasks"] if t["id"] == task_id)
    return cast("JsonObject | None", next(found, None))


def _dispatch_task(snapshot: CheckpointSnapshot, request: ApprovalRequest) -> JsonObject:
    wanted = cast("JsonObject", request["content"]["task"])["id"]
    task = _task(snapshot, wanted)
    if task is None or request["boundary"] != wanted:
        _stale(request, "task_gone")
    return task


def _round_content(snapshot: CheckpointSnapshot, request: ApprovalRequest) -> JsonObject:
    by_id = {t["id"]: cast("JsonObject", t) for t in snapshot["queue"]["tasks"]}
    ids: list[list[str]] = []
    rebuilt: JsonObject = {"kind": "task_round"}
    for name in ("completedTasks", "nextTasks"):
        listed = cast("list[JsonObject]", request["content"][name])
        wanted = [cast("str", task["id"]) for task in listed]
        if not all(task_id in by_id for task_id in wanted):
            _stale(request, "task_gone")
        ids.append(wanted)
        rebuilt[name] = [by_id[task_id] for task_id in wanted]
    if request["boundary"] != "->".join(",".join(part) for part in ids):
        _mismatch(request, "boundary_differs")
    return rebuilt


def _tool_content(snapshot: CheckpointSnapshot, request: ApprovalRequest) -> JsonObject:
    content = request["content"]
    task_id, call_id = cast("str", content["taskId"]), cast("str", content["toolCallId"])
    entries = (e for e in snapshot.get("inFlightTasks", []) if e["taskId"] == task_id)
    entry = next(entries, None)
    if entry is None:
        _stale(request, "no_state_of_task")
    if entry["assignee"] != content["agentName"]:
        _stale(request, "other_agent")
    pending = _pending_call(entry.get("pendingToolCalls", []), request, call_id)
    if pending["call"]["name"] != content["toolName"]:
        _stale(request, "other_tool")
    if request["boundary"] != f"{task_id}:{call_id}":
        _stale(request, "boundary_differs")
    return {**content, "rawInput": pending["call"]["input"]}


def _pending_call(
    calls: list[PendingToolCall], request: ApprovalRequest, call_id: str
) -> PendingToolCall:
    """Find the call; the request id decides where a round uses one call id twice (cases s04)."""
    same = [c for c in calls if c["call"]["id"] == call_id]
    if not same:
        _stale(request, "call_gone")
    asked = [c for c in same if c.get("approvalRequest", {}).get("id") == request["id"]]
    if not asked:
        _stale(request, "call_committed" if "commit" in same[0] else "other_request")
    return asked[0]


def _stale(request: ApprovalRequest, reason: str) -> NoReturn:
    raise StaleDecision("APPROVAL_STALE_DECISION", id=request["id"], reason=reason)


def _mismatch(request: ApprovalRequest, reason: str) -> NoReturn:
    raise IntegrityMismatch("APPROVAL_INTEGRITY_ERROR", id=request["id"], reason=reason)
