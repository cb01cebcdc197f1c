"""The `inspect` document: every run, approval and shared key of a store (product.md 6).

The names and values of `checkpoints[]` and `approvals[]` are those of the fixtures written by the
peer. Findings carry a code and facts; whoever prints them fills in `message`.
"""

from __future__ import annotations

from typing import cast

from oma_desktop.model.approval import APPROVAL_KEY_PREFIX, ApprovalRequest, ApprovalRow
from oma_desktop.model.approval_rules import (
    check_request,
    check_same_decision,
    check_same_request,
    parse_row,
)
from oma_desktop.model.checkpoint import CheckpointSnapshot
from oma_desktop.model.checkpoint_loader import LoadedSnapshot, examine_snapshot
from oma_desktop.model.checkpoint_summary import summarise_checkpoint
from oma_desktop.model.container import STORE_VERSION, Container, ContainerEntry
from oma_desktop.model.errors import OmaError
from oma_desktop.model.json_text import STORE_DEPTH, parse
from oma_desktop.model.json_value import JsonObject, JsonValue
from oma_desktop.model.keys import (
    approval_key,
    is_approval_key,
    is_checkpoint_key,
    is_reserved_key,
)
from oma_desktop.model.view import Problem


def inspect_container(container: Container) -> JsonObject:
    """Return the whole document; unreadable records are listed and do not hide the others."""
    problems = list(container.problems)
    rows = _rows(container, problems)
    checkpoints: list[JsonValue] = [
        _checkpoint(entry, rows, problems)
        for entry in container.entries
        if is_checkpoint_key(entry.key)
    ]
    keys = [entry.key for entry in container.entries]
    return {
        "storeFormatVersion": STORE_VERSION,
        "entryCount": len(keys),
        "keys": list[JsonValue](keys),
        "checkpoints": checkpoints,
        "approvals": [_approval(key, row) for key, row in rows.items()],
        "sharedMemoryKeys": [key for key in keys if not is_reserved_key(key)],
        "problems": [problem_object(problem) for problem in problems],
    }


def has_errors(document: JsonObject) -> bool:
    """Whether a checkpoint or approval row has a problem of severity error: exit code 2."""
    problems = cast("list[JsonObject]", document["problems"])
    return any(problem["severity"] == "error" for problem in problems)


def problem_object(problem: Problem) -> JsonObject:
    """Return a finding as it stands in documents; `message` is for the printer to fill."""
    return {
        "where": problem.where,
        "code": problem.code,
        "severity": problem.severity,
        "message": "",
        "facts": dict(problem.facts),
    }


def problem_of(error: OmaError, where: str) -> Problem:
    """Return an error as a finding; its own place wins where it names one more exactly."""
    facts: JsonObject = {k: _plain(v) for k, v in error.facts.items() if k != "where"}
    place = str(error.facts.get("where") or where)
    return Problem(
        error.code, "error", place if place.startswith(where) else f"{where} {place}", facts
    )


def _plain(value: object) -> JsonValue:
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def _rows(container: Container, problems: list[Problem]) -> dict[str, ApprovalRow | None]:
    """Return the ledger rows by store key; None where a row is damaged."""
    rows: dict[str, ApprovalRow | None] = {}
    for entry in container.entries:
        if not is_approval_key(entry.key):
            continue
        expected = entry.key.removeprefix(APPROVAL_KEY_PREFIX)
        try:
            rows[entry.key] = parse_row(entry.value, f"{entry.key} $", expected_id=expected)
        except OmaError as error:
            rows[entry.key] = None
            problems.append(problem_of(error, entry.key))
    return rows


def _checkpoint(
    entry: ContainerEntry, rows: dict[str, ApprovalRow | None], problems: list[Problem]
) -> JsonObject:
    where = f"{entry.key} $"
    try:
        loaded = examine_snapshot(
            parse(entry.value, where=where, max_depth=STORE_DEPTH), where=where
        )
    except OmaError as error:
        problem = problem_of(error, entry.key)
        problems.append(problem)
        return {"key": entry.key, "readable": False, "problem": problem_object(problem)}
    problems += loaded.problems
    problems += check_approvals(loaded, rows, key=entry.key)
    return {"key": entry.key, "readable": True, **summarise_checkpoint(loaded.snapshot)}


def check_approvals(
    loaded: LoadedSnapshot, rows: dict[str, ApprovalRow | None], *, key: str
) -> list[Problem]:
    """Compare a checkpoint's approvals with itself and with the ledger (formats.md 3.6).

    `rows` are ledger rows by store key, None for damaged ones (reported where they were read). A
    missing row is a warning: the next restore writes it.
    """
    snapshot = loaded.snapshot
    problems: list[Problem] = []
    for index, request in enumerate(snapshot.get("pendingApprovals", [])):
        place = f"{key} $.pendingApprovals[{index}]"
        problems += _check_pending(snapshot, request, rows, place)
    for index, decision in enumerate(snapshot.get("approvalDecisions", [])):
        row_key = approval_key(decision["requestId"])
        try:
            if row_key not in rows or rows[row_key] is not None:
                check_same_decision(decision, rows.get(row_key))
        except OmaError as error:
            problems.append(problem_of(error, f"{key} $.approvalDecisions[{index}]"))
    return problems


def _check_pending(
    snapshot: CheckpointSnapshot,
    request: ApprovalRequest,
    rows: dict[str, ApprovalRow | None],
    place: str,
) -> list[Problem]:
    row_key = approval_key(request["id"])
    row = rows.get(row_key)
    try:
        check_request(snapshot, request)
        if row is not None:
            check_same_request(request, row["request"])
    except OmaError as error:
        return [problem_of(error, place)]
    if row_key not in rows:
        return [Problem("APPROVAL_ROW_MISSING", "warning", place, {"id": request["id"]})]
    return []


def _approval(key: str, row: ApprovalRow | None) -> JsonObject:
    if row is None:
        return {"id": key.removeprefix(APPROVAL_KEY_PREFIX), "readable": False}
    request = row["request"]
    shown: JsonObject = {
        "id": request["id"],
        "readable": True,
        "runId": request["runId"],
        "scope": request["scope"],
        "boundary": request["boundary"],
        "requestHash": request["requestHash"],
        "reason": request.get("reason"),
        "requestedAt": request["requestedAt"],
        "state": "pending",
    }
    if "decision" in row:
        decision = row["decision"]
        shown["state"] = decision["decision"]
        shown["reviewer"] = cast("JsonObject", decision["reviewer"])
        shown["decidedAt"] = decision["decidedAt"]
    return shown
