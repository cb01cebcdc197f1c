"""One checkpoint as a row of the `inspect` document (product.md 6, keys of the golden files)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import cast

from oma_desktop.model.approval import ApprovalDecision, ApprovalRequest
from oma_desktop.model.canonical import sha256_hex
from oma_desktop.model.checkpoint import (
    CheckpointSnapshot,
    CompletedTaskResult,
    InFlightEntry,
    PendingToolCall,
    TaskSnapshot,
)
from oma_desktop.model.js_text import has_halves, utf16_length
from oma_desktop.model.json_text import quote
from oma_desktop.model.json_value import JsonObject, JsonValue

_FLAGS = ("loopWarned", "loopDetected", "budgetExceeded", "pendingToolResultText")


def summarise_checkpoint(snapshot: CheckpointSnapshot) -> JsonObject:
    """Return all keys of `checkpoints[]` but `key`, from a snapshot that passed the loader."""
    queue = snapshot["queue"]
    titles: dict[str, str] = {t["id"]: t["title"] for t in queue["tasks"]}
    entries = snapshot.get("inFlightTasks", [])
    with_state = {e["taskId"] for e in entries}
    results = snapshot["completedTaskResults"]
    statuses = Counter(t["status"] for t in queue["tasks"])
    return {
        "version": snapshot["version"],
        "mode": snapshot["mode"],
        "createdAt": snapshot["createdAt"],
        "goal": snapshot.get("goal"),
        "metadata": snapshot.get("metadata"),
        **_identity(snapshot),
        "queueVersion": queue["version"],
        "taskCount": len(queue["tasks"]),
        "statusCounts": dict(statuses.items()),
        "tasks": [_task(t) for t in queue["tasks"]],
        "planRevision": queue.get("planRevision", 0) if queue["version"] == 2 else 0,
        "planRevisions": _revisions(snapshot, titles),
        "inFlight": [_entry(e, titles) for e in entries],
        "inProgressWithoutState": [
            t["id"]
            for t in queue["tasks"]
            if t["status"] == "in_progress" and t["id"] not in with_state
        ],
        "completedTaskResults": [_result(r) for r in results],
        "tokenUsage": {
            "completedTasks": _total([r.get("agentResult") for r in results]),
            "inFlight": _total([cast("JsonObject", e) for e in entries]),
        },
        "pendingApprovals": [_request(r) for r in snapshot.get("pendingApprovals", [])],
        "approvalDecisions": [_decision(d) for d in snapshot.get("approvalDecisions", [])],
        "sharedMemory": _memory(snapshot),
        "messageBus": _bus(snapshot),
    }


def text_digest(text: str) -> str:
    """Return SHA-256 of the UTF-8 text; `json:` and that of its JSON literal if it has halves."""
    return f"json:{sha256_hex(quote(text))}" if has_halves(text) else sha256_hex(text)


def _identity(snapshot: CheckpointSnapshot) -> JsonObject:
    if "identity" not in snapshot or snapshot["version"] == 1:
        run_id = snapshot.get("runId")
        return {"runId": run_id, "attempt": None, "lastTraceId": None, "lastRootSpanId": None}
    return cast("JsonObject", {**snapshot["identity"]})


def _task(task: TaskSnapshot) -> JsonObject:
    row: JsonObject = {
        "id": task["id"],
        "title": task["title"],
        "status": task["status"],
        "assignee": task.get("assignee"),
        "dependsOn": list[JsonValue](task.get("dependsOn", [])),
    }
    if "result" in task:
        row["resultSha256"] = text_digest(task["result"])
        row["resultLengthUtf16"] = utf16_length(task["result"])
    if "recoveredByRevision" in task:
        row["recoveredByRevision"] = task["recoveredByRevision"]
    if "supersededByRevision" in task:
        row["supersededByRevision"] = task["supersededByRevision"]
    return row


def _revisions(snapshot: CheckpointSnapshot, titles: dict[str, str]) -> list[JsonValue]:
    queue = snapshot["queue"]
    if queue["version"] != 2:
        return []
    names = (
        "version", "id", "trigger", "triggerTaskId", "reason",
        "addedTasks", "retargetedTasks", "supersededTaskIds",
    )  # fmt: skip
    rows: list[JsonValue] = []
    for revision in queue.get("planRevisions", []):
        row: JsonObject = {name: revision.get(name) for name in names}
        row["triggerTitle"] = titles.get(str(revision.get("triggerTaskId")))
        rows.append(row)
    return rows


def _entry(entry: InFlightEntry, titles: dict[str, str]) -> JsonObject:
    facts = cast("JsonObject", entry)
    row: JsonObject = {
        "taskId": entry["taskId"],
        "title": titles.get(entry["taskId"]),
        "assignee": entry["assignee"],
        "phase": entry["phase"],
        "turns": entry["turns"],
        "tokenUsage": facts["tokenUsage"],
        "recordedToolCalls": len(entry["toolCalls"]),
        "conversationMessages": len(entry["conversationMessages"]),
        "messages": len(entry["messages"]),
    }
    if "finalOutput" in entry:
        row["finalOutputSha256"] = text_digest(entry["finalOutput"])
    row.update({name: facts[name] for name in _FLAGS if name in facts})
    row["pendingToolCalls"] = [_call(c) for c in entry.get("pendingToolCalls", [])]
    return row


def _call(pending: PendingToolCall) -> JsonObject:
    row: JsonObject = {
        "id": pending["call"]["id"],
        "name": pending["call"]["name"],
        "committed": "commit" in pending,
    }
    if "commit" in pending:
        result = pending["commit"]["result"]
        row["isError"] = result.get("is_error", False)
        row["contentKind"] = "string" if isinstance(result["content"], str) else "parts"
    if "approvalRequest" in pending:
        row["approvalId"] = pending["approvalRequest"]["id"]
    return row


def _result(item: CompletedTaskResult) -> JsonObject:
    row: JsonObject = {"taskId": item["taskId"]}
    if "assignee" in item:
        row["assignee"] = item["assignee"]
    result = item.get("agentResult")
    row["hasAgentResult"] = isinstance(result, dict)
    if isinstance(result, dict):
        row["tokenUsage"] = result.get("tokenUsage")
        row["toolCalls"] = _length(result.get("toolCalls"))
        row["messages"] = _length(result.get("messages"))
        row["hasStructured"] = "structured" in result
    return row


def _length(value: JsonValue) -> int:
    return len(value) if isinstance(value, list) else 0


def _total(holders: Sequence[JsonValue]) -> JsonObject:
    """Add the token usages that can be added."""
    total: dict[str, float] = {"input_tokens": 0, "output_tokens": 0}
    for holder in holders:
        usage = holder.get("tokenUsage") if isinstance(holder, dict) else None
        for name in total:
            amount = usage.get(name) if isinstance(usage, dict) else None
            if isinstance(amount, int | float):
                total[name] += amount
    return cast("JsonObject", total)


def _request(request: ApprovalRequest) -> JsonObject:
    return {
        "id": request["id"],
        "scope": request["scope"],
        "boundary": request["boundary"],
        "requestHash": request["requestHash"],
        "reason": request.get("reason"),
    }


def _decision(decision: ApprovalDecision) -> JsonObject:
    return {
        "requestId": decision["requestId"],
        "scope": decision["scope"],
        "decision": decision["decision"],
        "reviewerId": decision["reviewer"]["id"],
    }


def _memory(snapshot: CheckpointSnapshot) -> JsonObject:
    memory = cast("JsonValue", snapshot.get("sharedMemory"))
    entries = memory.get("entries") if isinstance(memory, dict) else None
    keys: list[JsonValue] = []
    if isinstance(entries, list):
        keys += [e["key"] for e in entries if isinstance(e, dict) and "key" in e]
    return {
        "embedded": "sharedMemory" in snapshot,
        "turnCount": snapshot.get("turnCount"),
        "keys": keys,
    }


def _bus(snapshot: CheckpointSnapshot) -> JsonValue:
    bus = cast("JsonValue", snapshot.get("messageBus"))
    if not isinstance(bus, dict):
        return None
    states = bus.get("readState")
    agents: list[JsonValue] = []
    if isinstance(states, list):
        agents += [s["agentName"] for s in states if isinstance(s, dict) and "agentName" in s]
    return {"messages": _length(bus.get("messages")), "unreadStateAgents": agents}
