"""Loader rules of in-flight entries and pending tool calls (formats.md 2.5 L20-L36, 4)."""

from __future__ import annotations

from typing import cast

from oma_desktop.model.approval_forms import validate_decision, validate_request
from oma_desktop.model.errors import ApprovalError
from oma_desktop.model.json_kind import found_in, is_integer, kind_of
from oma_desktop.model.json_value import JsonObject, JsonValue
from oma_desktop.model.loader_rules import (
    AMOUNT,
    BOOLEAN,
    COUNT,
    FILLED,
    OBJECT,
    STRING,
    USAGE,
    allow,
    forbid,
    literal,
    need,
    need_array,
    need_child,
    need_object,
    refuse,
)
from oma_desktop.model.message_rules import parts_problem

PHASES = ("awaiting_model", "executing_tools", "completed")
_FLAGS = ("loopWarned", "loopDetected", "budgetExceeded")


def check_entry(value: JsonValue, where: str) -> JsonObject:
    """Check one in-flight entry completely and return it. Raises Corrupt."""
    entry = need_object(value, "L7", where)
    for name in ("taskId", "assignee"):
        need(entry, name, FILLED, "L20", where)
    need(entry, "phase", literal(*PHASES), "L21", where)
    for name in ("conversationMessages", "messages", "toolCalls"):
        need_array(entry, name, "L22", where)
    need(entry, "turns", COUNT, "L23", where)
    need(entry, "tokenUsage", USAGE, "L23", where)
    for name in _FLAGS:
        allow(entry, name, BOOLEAN, "L24", where)
    _check_lineage(entry, where)
    allow(entry, "journalSeq", COUNT, "L26", where)
    _check_phase(entry, where)
    return entry


def _check_lineage(entry: JsonObject, where: str) -> None:
    if "conversationLineage" not in entry:
        return
    place = f"{where}.conversationLineage"
    lineage = need_array(entry, "conversationLineage", "L25", where)
    length = len(cast("list[JsonValue]", entry["conversationMessages"]))
    if len(lineage) != length:
        refuse("L25", place, f"{length} items", f"{len(lineage)} items")
    for index, blocks in enumerate(lineage):
        if not isinstance(blocks, list):
            refuse("L25", f"{place}[{index}]", "array", kind_of(blocks))
        for at, sources in enumerate(blocks):
            if not _is_sources(sources):
                refuse("L25", f"{place}[{index}][{at}]", "null | integer[] > 0", kind_of(sources))


def _is_sources(value: JsonValue) -> bool:
    if value is None:
        return True
    return isinstance(value, list) and all(is_integer(seq, at_least=1) for seq in value)


def _check_phase(entry: JsonObject, where: str) -> None:
    if entry["phase"] == "executing_tools":
        calls = need_array(entry, "pendingToolCalls", "L27", where)
        if not calls:
            refuse("L27", f"{where}.pendingToolCalls", "non-empty array", "[]")
        for index, call in enumerate(calls):
            _check_call(call, f"{where}.pendingToolCalls[{index}]")
        allow(entry, "pendingToolResultText", STRING, "L27", where)
    else:
        forbid(entry, "pendingToolCalls", "L28", where)
        forbid(entry, "pendingToolResultText", "L28", where)
    if entry["phase"] == "completed":
        need(entry, "finalOutput", STRING, "L29", where)
    else:
        forbid(entry, "finalOutput", "L29", where)


def _check_call(value: JsonValue, where: str) -> None:
    pending = need_object(value, "L30", where)
    call = need_child(pending, "call", "L30", where)
    place = f"{where}.call"
    need(call, "type", literal("tool_use"), "L30", place)
    for name in ("id", "name"):
        need(call, name, FILLED, "L30", place)
    need(call, "input", OBJECT, "L30", place)
    _check_approval(pending, call, where)
    if "commit" in pending:
        for name in ("approvalRequest", "approvalDecision"):
            forbid(pending, name, "L33", where)
        _check_commit(need_child(pending, "commit", "L33", where), call, where)


def _check_approval(pending: JsonObject, call: JsonObject, where: str) -> None:
    if "approvalRequest" not in pending:
        forbid(pending, "approvalDecision", "L32", where)
        return
    place = f"{where}.approvalRequest"
    try:
        request = validate_request(pending["approvalRequest"], place)
    except ApprovalError as error:
        _refuse_approval(error, "L31", place)
    content = request["content"]
    need(content, "kind", literal("tool_call"), "L31", f"{place}.content")
    for name, wanted in (("toolCallId", call["id"]), ("toolName", call["name"])):
        if content[name] != wanted:
            found = found_in(content, name)
            refuse("L31", f"{place}.content.{name}", found_in({name: wanted}, name), found)
    if "approvalDecision" in pending:
        try:
            validate_decision(pending["approvalDecision"], f"{where}.approvalDecision", request)
        except ApprovalError as error:
            _refuse_approval(error, "L32", f"{where}.approvalDecision")


def _refuse_approval(error: ApprovalError, rule: str, where: str) -> None:
    place = str(error.facts.get("where") or where)
    refuse(rule, place, "valid approval", str(error.facts.get("reason", "")), approval=error.code)


def _check_commit(commit: JsonObject, call: JsonObject, where: str) -> None:
    place = f"{where}.commit.result"
    result = need_child(commit, "result", "L34", f"{where}.commit")
    need(result, "type", literal("tool_result"), "L34", place)
    need(result, "tool_use_id", literal(cast("str", call["id"])), "L34", place)
    allow(result, "is_error", BOOLEAN, "L34", place)
    _check_content(result, place)
    place = f"{where}.commit.record"
    record = need_child(commit, "record", "L35", f"{where}.commit")
    need(record, "toolName", literal(cast("str", call["name"])), "L35", place)
    need(record, "input", OBJECT, "L35", place)
    need(record, "output", STRING, "L35", place)
    need(record, "duration", AMOUNT, "L35", place)
    allow(commit, "delegationUsage", USAGE, "L36", f"{where}.commit")


def _check_content(result: JsonObject, where: str) -> None:
    """Accept a string or, unlike the peer, a list of valid rich parts (W1, DEV-01)."""
    content = result.get("content")
    if isinstance(content, str):
        return
    if not isinstance(content, list):
        refuse("L34", f"{where}.content", "string | part[]", found_in(result, "content"))
    problem = parts_problem(content)
    if problem is not None:
        at, expected = problem
        refuse("L34", f"{where}.content{at}", expected, "invalid part")
    if result.get("is_error") is True:
        refuse("L34", f"{where}.content", "string for an error result", "array")
