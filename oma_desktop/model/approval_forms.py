"""Making, hashing and checking durable approvals (formats.md 3.2-3.4).

Comparing them with a checkpoint: `approval_binding`; the door to both is `approval_rules`. Errors
carry the peer's codes (formats.md 3.5) and say in `reason` and `where` what exactly is wrong.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Final, NoReturn, cast

from oma_desktop.base.ms_iso import to_ms_iso
from oma_desktop.model.approval import (
    ApprovalDecision,
    ApprovalRequest,
    ApprovalRow,
    ApprovalScope,
    Reviewer,
    Verdict,
)
from oma_desktop.model.canonical import canonical, sha256_hex
from oma_desktop.model.dates import parse_js_date
from oma_desktop.model.errors import ApprovalInvalid, Corrupt, IntegrityMismatch
from oma_desktop.model.json_text import STORE_DEPTH, js_trim, parse
from oma_desktop.model.json_value import JsonObject, JsonValue

PLAN_BOUNDARY: Final = "coordinator-plan"
SCOPES: Final = ("plan", "task_round", "task_dispatch", "tool_call")
_ID: Final = re.compile(r"apr_[0-9a-f]{32}", re.ASCII)
_HASH: Final = re.compile(r"[0-9a-f]{64}", re.ASCII)
_TASK_STRINGS: Final = ("id", "title", "description", "status", "createdAt", "updatedAt")
_COPIED: Final = (
    ("requestId", "id"),
    ("runId", "runId"),
    ("scope", "scope"),
    ("requestHash", "requestHash"),
)


def request_hash(scope: str, boundary: str, content: JsonValue) -> str:
    """Return the 64 hex digits that bind scope, trimmed boundary and content (formats.md 3.2.1).

    Raises ApprovalInvalid when the content has no canonical form.
    """
    whole: JsonObject = {"scope": scope, "boundary": js_trim(boundary), "content": content}
    return sha256_hex(canonical(whole))


def request_id(run_id: str, scope: str, boundary: str, hash_hex: str) -> str:
    """Return `apr_` and 32 hex digits (formats.md 3.2.2)."""
    text = "\n".join((js_trim(run_id), scope, js_trim(boundary), hash_hex))
    return "apr_" + sha256_hex(text)[:32]


def create_request(
    *,
    run_id: str,
    scope: ApprovalScope,
    boundary: str,
    content: JsonObject,
    requested_at: datetime,
    reason: str | None = None,
) -> ApprovalRequest:
    """Return a request in the peer's key order (formats.md 3.2).

    Raises ApprovalInvalid: empty run id or boundary, kind and scope differ, a reason that is no
    text, content without canonical form.
    """
    run_id, boundary = js_trim(run_id), js_trim(boundary)
    if not run_id or not boundary:
        _invalid("run_id_or_boundary_empty")
    if content.get("kind") != scope:
        _invalid("kind_differs_from_scope")
    if reason is not None and not isinstance(reason, str):
        _invalid("reason_not_text")
    hash_hex = request_hash(scope, boundary, content)
    request: JsonObject = {
        "version": 1,
        "id": request_id(run_id, scope, boundary, hash_hex),
        "runId": run_id,
        "scope": scope,
        "boundary": boundary,
        "requestHash": hash_hex,
        "requestedAt": to_ms_iso(requested_at),
    }
    if reason is not None:
        request["reason"] = reason
    request["content"] = content
    return cast("ApprovalRequest", request)


def make_decision(
    request: ApprovalRequest, *, verdict: Verdict, reviewer: Reviewer, decided_at: datetime
) -> ApprovalDecision:
    """Return the record of a decision; the reviewer's id is trimmed (formats.md 3.4).

    Raises ApprovalInvalid on a blank reviewer id.
    """
    who = Reviewer(id=js_trim(reviewer["id"]))
    if not who["id"]:
        _invalid("reviewer_blank")
    if "displayName" in reviewer:
        who["displayName"] = reviewer["displayName"]
    return {
        "version": 1,
        "requestId": request["id"],
        "runId": request["runId"],
        "scope": request["scope"],
        "requestHash": request["requestHash"],
        "decision": verdict,
        "reviewer": who,
        "decidedAt": to_ms_iso(decided_at),
    }


def validate_request(value: JsonValue, where: str) -> ApprovalRequest:
    """Check a stored request completely, hash and id recomputed (formats.md 3.3).

    Raises IntegrityMismatch, or ApprovalInvalid when the content has no canonical form.
    """
    request = _object(value, where)
    _version_1(request, where)
    identity, run_id = _text(request, "id", where), _text(request, "runId", where)
    boundary, hash_hex = _text(request, "boundary", where), _text(request, "requestHash", where)
    _need(_ID.fullmatch(identity), f"{where}.id", "id_form")
    _need(_HASH.fullmatch(hash_hex), f"{where}.requestHash", "hash_form")
    scope = _text(request, "scope", where)
    _need(scope in SCOPES, f"{where}.scope", "scope_unknown")
    if "reason" in request:
        _text(request, "reason", where)
    _date(request, "requestedAt", where)
    content = _object(request.get("content"), f"{where}.content")
    _check_content(content, f"{where}.content")
    _need(content["kind"] == scope, f"{where}.content.kind", "kind_differs_from_scope")
    actual = request_hash(scope, boundary, content)
    _need(actual == hash_hex, f"{where}.requestHash", "hash_differs")
    _need(request_id(run_id, scope, boundary, actual) == identity, f"{where}.id", "id_differs")
    return cast("ApprovalRequest", request)


def validate_decision(
    value: JsonValue, where: str, request: ApprovalRequest | None = None
) -> ApprovalDecision:
    """Check a stored decision and, with `request`, that it binds that request (formats.md 3.4).

    Raises IntegrityMismatch, or ApprovalInvalid for the reviewer.
    """
    decision = _object(value, where)
    _version_1(decision, where)
    _need(_ID.fullmatch(_text(decision, "requestId", where)), f"{where}.requestId", "id_form")
    _need(js_trim(_text(decision, "runId", where)), f"{where}.runId", "run_id_blank")
    _need(_text(decision, "scope", where) in SCOPES, f"{where}.scope", "scope_unknown")
    hash_hex = _text(decision, "requestHash", where)
    _need(_HASH.fullmatch(hash_hex), f"{where}.requestHash", "hash_form")
    verdict = _text(decision, "decision", where)
    _need(verdict in ("approved", "rejected"), f"{where}.decision", "verdict_unknown")
    check_reviewer(decision.get("reviewer"), f"{where}.reviewer")
    _date(decision, "decidedAt", where)
    if request is not None:
        facts = cast("JsonObject", request)
        for copied, original in _COPIED:
            same = decision[copied] == facts[original]
            _need(same, f"{where}.{copied}", "decision_of_other_request")
    return cast("ApprovalDecision", decision)


def check_reviewer(value: JsonValue, where: str) -> None:
    """Raise ApprovalInvalid unless the value is `{id: non-blank, displayName?: text}`."""
    if not isinstance(value, dict):
        _invalid("reviewer_malformed", where)
    name = value.get("id")
    if not isinstance(name, str) or not js_trim(name):
        _invalid("reviewer_blank", f"{where}.id")
    if "displayName" in value and not isinstance(value["displayName"], str):
        _invalid("reviewer_malformed", f"{where}.displayName")


def validate_row(value: JsonValue, where: str, *, expected_id: str) -> ApprovalRow:
    """Check a ledger row; its request must carry the id of its key (formats.md 3.5).

    Raises IntegrityMismatch or ApprovalInvalid.
    """
    row = _object(value, where)
    _version_1(row, where)
    request = validate_request(row.get("request"), f"{where}.request")
    _need(request["id"] == expected_id, f"{where}.request.id", "id_differs_from_key")
    if "decision" in row:
        validate_decision(row["decision"], f"{where}.decision", request)
    return cast("ApprovalRow", row)


def parse_row(text: str, where: str, *, expected_id: str) -> ApprovalRow:
    """Parse and check the value of a ledger row; what is no JSON is an integrity error as well."""
    try:
        value = parse(text, where=where, max_depth=STORE_DEPTH)
    except Corrupt as error:
        facts = {**error.facts, "where": where, "reason": error.code}
        raise IntegrityMismatch("APPROVAL_INTEGRITY_ERROR", **facts) from error
    return validate_row(value, where, expected_id=expected_id)


def _check_content(content: JsonObject, where: str) -> None:
    """Check the fields of each kind (formats.md 3.2, 3.3)."""
    kind = content.get("kind")
    if kind == "plan":
        known = content.get("continuation") in ("execute", "plan_only")
        _need(known, f"{where}.continuation", "continuation_unknown")
        _check_tasks(content, "tasks", where)
    elif kind == "task_round":
        _check_tasks(content, "completedTasks", where)
        _check_tasks(content, "nextTasks", where)
    elif kind == "task_dispatch":
        _check_task(content.get("task"), f"{where}.task")
    elif kind == "tool_call":
        for name in ("toolName", "agentName", "taskId", "toolCallId"):
            _text(content, name, where)
        for name in ("rawInput", "input"):
            _need(name in content, f"{where}.{name}", "missing")
        _need(isinstance(content.get("consequential"), bool), f"{where}.consequential", "no_bool")
    else:
        _need(ok=False, where=f"{where}.kind", reason="kind_unknown")


def _check_tasks(content: JsonObject, name: str, where: str) -> None:
    tasks = content.get(name)
    if not isinstance(tasks, list):
        _mismatch(f"{where}.{name}", "no_list")
    for index, task in enumerate(tasks):
        _check_task(task, f"{where}.{name}[{index}]")


def _check_task(value: JsonValue, where: str) -> None:
    task = _object(value, where)
    for name in _TASK_STRINGS:
        _text(task, name, where)


def _object(value: JsonValue, where: str) -> JsonObject:
    if not isinstance(value, dict):
        _mismatch(where, "no_object")
    return value


def _text(value: JsonObject, name: str, where: str) -> str:
    text = value.get(name)
    if not isinstance(text, str):
        _mismatch(f"{where}.{name}", "no_text")
    return text


def _version_1(value: JsonObject, where: str) -> None:
    version = value.get("version")
    _need(type(version) is int and version == 1, f"{where}.version", "version_unknown")


def _date(value: JsonObject, name: str, where: str) -> None:
    valid = parse_js_date(_text(value, name, where)) is not None
    _need(valid, f"{where}.{name}", "no_date")


def _need(ok: object, where: str, reason: str) -> None:
    if not ok:
        _mismatch(where, reason)


def _mismatch(where: str, reason: str) -> NoReturn:
    raise IntegrityMismatch("APPROVAL_INTEGRITY_ERROR", where=where, reason=reason)


def _invalid(reason: str, where: str = "") -> NoReturn:
    raise ApprovalInvalid("APPROVAL_VALIDATION_ERROR", where=where, reason=reason)
