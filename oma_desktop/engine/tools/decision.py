"""Is a stored decision still about this very call (engine.md 3.5 step 5; formats.md 3.6 end)?

Binding is by content: run, boundary, and the hash of what would run now. Position and name alone
never bind anything (case s03).
"""

from __future__ import annotations

from oma_desktop.model.approval import ApprovalDecision, ApprovalRequest
from oma_desktop.model.approval_rules import request_hash
from oma_desktop.model.errors import StaleDecision
from oma_desktop.model.json_text import js_trim
from oma_desktop.model.json_value import JsonObject


def tool_content(
    *,
    tool: str,
    raw_input: JsonObject,
    input_: JsonObject,
    agent: str,
    task_id: str,
    call_id: str,
    consequential: bool,
    occurrence: int,
) -> JsonObject:
    """What a reviewer is shown, in the peer's key order (formats.md 3.2).

    `occurrence` is added only from 2 on: the id was used by an earlier turn, and a decision about
    that call must not count for this one (case s04).
    """
    content: JsonObject = {
        "kind": "tool_call",
        "toolName": tool,
        "rawInput": raw_input,
        "input": input_,
        "agentName": agent,
        "taskId": task_id,
        "toolCallId": call_id,
        "consequential": consequential,
    }
    if occurrence > 1:
        content["occurrence"] = occurrence
    return content


def boundary_of(task_id: str, call_id: str) -> str:
    """The boundary of a tool call request, trimmed as it is stored (formats.md 3.2)."""
    return js_trim(f"{task_id}:{call_id}")


def check_decision(
    request: ApprovalRequest,
    decision: ApprovalDecision,
    *,
    run_id: str,
    content: JsonObject,
) -> None:
    """Raise StaleDecision unless the decision is about exactly `content`, here, in this run.

    `occurrence` is the request's own: the peer writes none, and a retry of the task counts on
    where the earlier try stopped. It only keeps requests apart, what would run is the rest.
    """
    content = {key: value for key, value in content.items() if key != "occurrence"}
    if "occurrence" in request["content"]:
        content["occurrence"] = request["content"]["occurrence"]
    boundary = boundary_of(str(content["taskId"]), str(content["toolCallId"]))
    expected = request_hash("tool_call", boundary, content)
    same = (
        request["scope"] == decision["scope"] == "tool_call"
        and request["runId"] == decision["runId"] == js_trim(run_id)
        and request["id"] == decision["requestId"]
        and request["boundary"] == boundary
        and request["requestHash"] == decision["requestHash"] == expected
    )
    if not same:
        raise StaleDecision("APPROVAL_STALE_DECISION", request=request["id"], boundary=boundary)
