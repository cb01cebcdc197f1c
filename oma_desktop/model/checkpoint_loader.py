"""Reading a checkpoint: every rule of formats.md 2.5, then every contradiction of W36.

Damage that makes the value no checkpoint raises; contradictions are findings. `load_snapshot`,
which precedes every restore, raises on the first finding of severity error; `examine_snapshot`
returns them, so that a damaged run can still be shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, cast

from oma_desktop.model.approval_forms import validate_decision, validate_request
from oma_desktop.model.checkpoint import CheckpointSnapshot
from oma_desktop.model.errors import ApprovalError, Corrupt, SchemaTooNew
from oma_desktop.model.in_flight_checks import check_entry
from oma_desktop.model.json_kind import found_in, shown
from oma_desktop.model.json_text import STORE_DEPTH, parse, utf16_length
from oma_desktop.model.json_value import JsonObject, JsonValue
from oma_desktop.model.loader_rules import (
    COUNT,
    NUMBER,
    POSITIVE,
    STRING,
    allow,
    error,
    literal,
    need,
    need_array,
    need_child,
    need_object,
    refuse,
)
from oma_desktop.model.metadata import run_id_problem, run_metadata_problem
from oma_desktop.model.own_facts import own_facts
from oma_desktop.model.queue_checks import check_queue
from oma_desktop.model.result_checks import check_bus, check_memory, check_results
from oma_desktop.model.view import Problem

__all__ = [
    "LoadedSnapshot",
    "examine_snapshot",
    "load_snapshot",
    "load_snapshot_text",
    "own_facts",
]

SNAPSHOT_VERSION: Final = 5
MODES: Final = ("runTeam", "runTasks", "runFromPlan")
_REPAIRED: Final = frozenset(("QUEUE_PARTITION_MISSING",))


@dataclass(frozen=True, slots=True)
class LoadedSnapshot:
    """A checkpoint that passed the loader, and what was odd about it.

    The snapshot is the stored value itself; only missing queue partitions are added to a copy.
    """

    snapshot: CheckpointSnapshot
    problems: tuple[Problem, ...] = ()


def load_snapshot(value: JsonValue, *, where: str = "$") -> LoadedSnapshot:
    """Return a snapshot fit to be restored, with warnings.

    Raises Corrupt (`CHECKPOINT_INVALID` or the code of the first error found) and SchemaTooNew.
    """
    loaded = examine_snapshot(value, where=where)
    for problem in loaded.problems:
        if problem.severity == "error" and problem.code not in _REPAIRED:
            raise Corrupt(problem.code, **{**problem.facts, "where": problem.where})
    return loaded


def load_snapshot_text(text: str, *, where: str = "$") -> LoadedSnapshot:
    """Parse the value of a store entry and load it. Raises as `load_snapshot`, and `JSON_*`."""
    return load_snapshot(parse(text, where=where, max_depth=STORE_DEPTH), where=where)


def examine_snapshot(value: JsonValue, *, where: str = "$") -> LoadedSnapshot:
    """Return a snapshot that can be shown, with all its problems. Raises as `load_snapshot`."""
    snapshot, version = _check_head(value, where)
    problems = _check_identity(snapshot, version, where)
    entries = _check_entries(snapshot, where) if version >= 3 else []
    if version >= 4:
        _check_approvals(snapshot, entries, where)
    if version >= 5:
        _check_journal(snapshot, where)
    queue, found = check_queue(need_child(snapshot, "queue", "L14", where), f"{where}.queue")
    problems += found
    tasks = {cast("str", t["id"]): t for t in cast("list[JsonObject]", queue["tasks"])}
    problems += _check_owners(entries, tasks, where)
    results = cast("list[JsonValue]", snapshot["completedTaskResults"])
    problems += check_results(results, set(tasks), f"{where}.completedTaskResults")
    problems += _check_parts(snapshot, where)
    if queue is not snapshot["queue"]:
        snapshot = {**snapshot, "queue": queue}
    return LoadedSnapshot(cast("CheckpointSnapshot", snapshot), tuple(problems))


def _check_head(value: JsonValue, where: str) -> tuple[JsonObject, int]:
    """L1-L5."""
    snapshot = need_object(value, "L1", where)
    version = snapshot.get("version")
    if type(version) is int and version > SNAPSHOT_VERSION:
        place = f"{where}.version"
        raise SchemaTooNew(
            "CHECKPOINT_TOO_NEW", where=place, found=version, supported=SNAPSHOT_VERSION
        )
    if type(version) is not int or version < 1:
        refuse("L1", f"{where}.version", "1 | 2 | 3 | 4 | 5", found_in(snapshot, "version"))
    need(snapshot, "mode", literal(*MODES), "L2", where)
    need(snapshot, "createdAt", STRING, "L3", where)
    need_array(snapshot, "completedTaskResults", "L4", where)
    if "metadata" in snapshot:
        problem = run_metadata_problem(snapshot["metadata"])
        if problem is not None:
            key, reason = problem
            refuse("L5", f"{where}.metadata", "run metadata", reason, key=key)
    return snapshot, version


def _check_identity(snapshot: JsonObject, version: int, where: str) -> list[Problem]:
    """L6, and the length of the run id that only a restore would refuse (formats.md 9)."""
    if version == 1:
        allow(snapshot, "runId", STRING, "2.3", where)
        run_id = snapshot.get("runId")
        place = f"{where}.runId"
    else:
        place = f"{where}.identity"
        identity = need_child(snapshot, "identity", "L6", where)
        for name in ("runId", "lastTraceId", "lastRootSpanId"):
            need(identity, name, STRING, "L6", place)
        need(identity, "attempt", POSITIVE, "L6", place)
        run_id = identity["runId"]
        place += ".runId"
    if isinstance(run_id, str) and run_id_problem(run_id):
        return [error("RUN_ID_LENGTH", place, found=utf16_length(run_id))]
    return []


def _check_entries(snapshot: JsonObject, where: str) -> list[JsonObject]:
    """L7, L20-L36."""
    entries: list[JsonObject] = []
    seen: set[JsonValue] = set()
    for index, value in enumerate(need_array(snapshot, "inFlightTasks", "L7", where)):
        place = f"{where}.inFlightTasks[{index}]"
        entry = check_entry(value, place)
        if entry["taskId"] in seen:
            refuse("L7", f"{place}.taskId", "unique task id", shown(entry["taskId"]))
        seen.add(entry["taskId"])
        entries.append(entry)
    return entries


def _check_approvals(snapshot: JsonObject, entries: list[JsonObject], where: str) -> None:
    """L9-L13."""
    run_id = cast("JsonObject", snapshot["identity"])["runId"]
    pending = need_array(snapshot, "pendingApprovals", "L9", where)
    decisions = need_array(snapshot, "approvalDecisions", "L9", where)
    asked: set[str] = set()
    for index, value in enumerate(pending):
        place = f"{where}.pendingApprovals[{index}]"
        request = _approval(value, place, "L10")
        _check_run(request, run_id, place, rule="L10")
        _check_unique(request, "id", asked, place, rule="L10")
    decided: set[str] = set()
    for index, value in enumerate(decisions):
        place = f"{where}.approvalDecisions[{index}]"
        decision = _approval(value, place, "L11")
        _check_run(decision, run_id, place, rule="L11")
        _check_unique(decision, "requestId", decided, place, rule="L11")
    for index, entry in enumerate(entries):
        calls = cast("list[JsonObject]", entry.get("pendingToolCalls", []))
        for at, call in enumerate(calls):
            place = f"{where}.inFlightTasks[{index}].pendingToolCalls[{at}]"
            _check_listed(call, "approvalRequest", "id", asked, where=place, rule="L12")
            _check_listed(call, "approvalDecision", "requestId", decided, where=place, rule="L13")


def _approval(value: JsonValue, where: str, rule: str) -> JsonObject:
    try:
        if rule == "L10":
            return cast("JsonObject", validate_request(value, where))
        return cast("JsonObject", validate_decision(value, where))
    except ApprovalError as problem:
        place = str(problem.facts.get("where") or where)
        reason = str(problem.facts.get("reason", ""))
        refuse(rule, place, "valid approval", reason, approval=problem.code)


def _check_unique(record: JsonObject, name: str, seen: set[str], where: str, *, rule: str) -> None:
    identity = cast("str", record[name])
    if identity in seen:
        refuse(rule, f"{where}.{name}", "unique id", identity)
    seen.add(identity)


def _check_run(record: JsonObject, run_id: JsonValue, where: str, *, rule: str) -> None:
    if record["runId"] != run_id:
        refuse(rule, f"{where}.runId", shown(run_id), shown(record["runId"]))


def _check_listed(
    call: JsonObject, key: str, name: str, listed: set[str], *, where: str, rule: str
) -> None:
    record = call.get(key)
    if isinstance(record, dict) and record[name] not in listed:
        refuse(rule, f"{where}.{key}.{name}", "an id of the top-level list", shown(record[name]))


def _check_journal(snapshot: JsonObject, where: str) -> None:
    """L8."""
    need(snapshot, "journalWatermarkSeq", COUNT, "L8", where)
    if "journalRef" in snapshot:
        place = f"{where}.journalRef"
        reference = need_child(snapshot, "journalRef", "L8", where)
        need(reference, "kind", STRING, "L8", place)
        allow(reference, "path", STRING, "L8", place)


def _check_owners(
    entries: list[JsonObject], tasks: dict[str, JsonObject], where: str
) -> list[Problem]:
    """Check that each entry's task is there, open and of the same agent (2.4 step 7, DEV-03)."""
    problems: list[Problem] = []
    for index, entry in enumerate(entries):
        place = f"{where}.inFlightTasks[{index}]"
        task = tasks.get(cast("str", entry["taskId"]))
        if task is None:
            problems.append(error("ENTRY_OF_UNKNOWN_TASK", place, task=entry["taskId"]))
        elif task["status"] not in ("in_progress", "pending", "blocked"):
            problems.append(
                error("ENTRY_OF_ENDED_TASK", place, task=entry["taskId"], found=task["status"])
            )
        elif task.get("assignee") != entry["assignee"]:
            problems.append(
                error(
                    "ENTRY_OF_OTHER_AGENT",
                    f"{place}.assignee",
                    task=entry["taskId"],
                    found=entry["assignee"],
                    expected=task.get("assignee"),
                )
            )
    return problems


def _check_parts(snapshot: JsonObject, where: str) -> list[Problem]:
    """Check the optional parts whose damage the peer notices only while restoring."""
    problems: list[Problem] = []
    if "sharedMemory" in snapshot:
        problems += check_memory(snapshot["sharedMemory"], f"{where}.sharedMemory")
    if "messageBus" in snapshot:
        problems += check_bus(snapshot["messageBus"], f"{where}.messageBus")
    for name, form in (("goal", STRING), ("turnCount", NUMBER)):
        if name in snapshot and not form.test(snapshot[name]):
            found = found_in(snapshot, name)
            problems.append(
                error("PART_INVALID", f"{where}.{name}", expected=form.expected, found=found)
            )
    return problems
