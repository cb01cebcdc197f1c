"""A run's result as one JSON document: what `run` and `restore` print (product.md 6)."""

from __future__ import annotations

import hashlib
from typing import Final, cast

from oma_desktop.model.agent_results import COORDINATOR_KEY
from oma_desktop.model.checkpoint import TaskSnapshot
from oma_desktop.model.json_text import quote
from oma_desktop.model.json_value import JsonObject, JsonValue
from oma_desktop.model.result import TeamRunResult

_EMPTY_LOG: Final[JsonObject] = {
    "modelCalls": [],
    "toolCallsExecuted": [],
    "gateCalls": [],
    "notableEvents": [],
}


def result_document(result: TeamRunResult) -> JsonObject:
    """Return the document: keys and meanings of `peerRestore.result`, and ours after them."""
    doc: JsonObject = {
        "success": result.success,
        "status": result.status.to_json(),
        "identity": {**result.identity.to_json(), "links": list(result.identity.links)},
        "goal": result.goal,
        "planOnly": True if result.plan_only else None,
        "tasks": [_task(t) for t in result.tasks],
        "taskResults": [
            _task_result(t["id"], result.task_results[t["id"]])
            for t in result.tasks
            if t["id"] in result.task_results
        ],
        "coordinatorOutput": coordinator_output(result),
        "finalAnswer": result.final_answer,
        "totalTokenUsage": cast("JsonValue", result.total_usage),
        "pendingApprovals": [
            {k: cast("JsonObject", r)[k] for k in ("id", "scope", "boundary", "requestHash")}
            for r in result.pending_approvals
        ],
        "approvalDecisions": [
            {
                "requestId": d["requestId"],
                "scope": d["scope"],
                "decision": d["decision"],
                "reviewerId": d["reviewer"]["id"],
            }
            for d in result.approval_decisions
        ],
        "planRevisions": len(result.plan_revisions),
        "revisions": list(result.plan_revisions),
        "metrics": None if result.metrics is None else result.metrics.to_json(),
        "routingDecision": result.routing,
        "flags": list(result.flags),
        "warnings": list(result.warnings),
    }
    if result.governance is not None:
        doc["governanceConclusion"], reason = result.governance
        if reason is not None:
            doc["governanceReason"] = reason
    if result.assessment is not None:
        doc["semanticRoutingAssessment"] = result.assessment
    if result.confirmation_required:
        doc["confirmationRequired"] = True
    if result.total_cost is not None:
        doc["totalCost"] = result.total_cost
    if result.error_info is not None:
        doc["errorInfo"] = result.error_info.to_json()
    doc["log"] = result.log if result.log is not None else dict(_EMPTY_LOG)
    return doc


def coordinator_output(result: TeamRunResult) -> str | None:
    """Return everything the coordinator said, as the peer merges it (engine.md 1.7, DEV-13)."""
    merged = result.agent_results.get(COORDINATOR_KEY)
    return result.final_answer if merged is None else cast("str", merged["output"])


def text_sha256(text: str) -> str:
    """SHA-256 of the UTF-8 text; with lone surrogates `json:` and that of its JSON literal."""
    try:
        return hashlib.sha256(text.encode()).hexdigest()
    except UnicodeEncodeError:
        return "json:" + hashlib.sha256(quote(text).encode()).hexdigest()


def _task(task: TaskSnapshot) -> JsonObject:
    doc: JsonObject = {"id": task["id"], "title": task["title"], "status": task["status"]}
    doc["assignee"] = task.get("assignee")
    if "result" in task and task["status"] in {"failed", "skipped"}:
        doc["reason"] = task["result"]
    return doc


def _task_result(task_id: str, result: JsonObject) -> JsonObject:
    status = result.get("status")
    calls = cast("list[JsonObject]", result.get("toolCalls", []))
    output = cast("str", result.get("output", ""))
    doc: JsonObject = {
        "id": task_id,
        "success": result.get("success"),
        "outputSha256": text_sha256(output),
        "output": output,
        "tokenUsage": result.get("tokenUsage"),
        "toolCalls": [c.get("toolName") for c in calls],
        "messages": len(cast("list[JsonValue]", result.get("messages", []))),
        "status": status.get("code") if isinstance(status, dict) else None,
    }
    if "errorInfo" in result:
        doc["errorInfo"] = result["errorInfo"]
    for key in ("structured", "verification"):
        if key in result:
            doc[key] = result[key]
    return doc
