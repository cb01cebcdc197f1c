"""Checks of a queue snapshot: structure, W36 contradictions, plan revisions (formats.md 2.6)."""

from __future__ import annotations

from typing import Final, cast

from oma_desktop.model.checkpoint import TaskSnapshot
from oma_desktop.model.dates import parse_js_date
from oma_desktop.model.errors import SchemaTooNew
from oma_desktop.model.graph import check_graph
from oma_desktop.model.json_kind import found_in
from oma_desktop.model.json_value import JsonObject, JsonValue
from oma_desktop.model.loader_rules import (
    FILLED,
    INTEGER,
    NUMBER,
    STRING,
    STRINGS,
    Form,
    error,
    literal,
    need,
    need_array,
    need_object,
    refuse,
    warning,
)
from oma_desktop.model.metadata import task_metadata_problem
from oma_desktop.model.queue_rules import PARTITIONS
from oma_desktop.model.redaction import REDACTED
from oma_desktop.model.view import Problem

QUEUE_VERSION: Final = 2
_VERSION: Final = Form(lambda v: type(v) is int and v in (1, 2), "1 | 2")
_OPTIONAL: Final = {
    "assignee": STRING,
    "memoryScope": literal("dependencies", "all"),
    "dependencyPayload": literal("output", "structured", "both"),
    "role": STRING,
    "priority": literal("low", "normal", "high", "critical"),
    "result": STRING,
    "maxRetries": NUMBER,
    "retryDelayMs": NUMBER,
    "retryBackoff": NUMBER,
    "supersededByRevision": INTEGER,
    "recoveredByRevision": INTEGER,
}


def check_queue(queue: JsonObject, where: str) -> tuple[JsonObject, list[Problem]]:
    """Return the queue, partitions derived where missing, and everything odd about it.

    Raises Corrupt (L14, L15, a task without identity) or SchemaTooNew.
    """
    version = queue.get("version")
    if type(version) is int and version > QUEUE_VERSION:
        raise SchemaTooNew(
            "QUEUE_TOO_NEW", where=f"{where}.version", found=version, supported=QUEUE_VERSION
        )
    need(queue, "version", _VERSION, "L14", where)
    tasks = _identified(need_array(queue, "tasks", "L14", where), where)
    if version == QUEUE_VERSION:
        need(queue, "planRevision", INTEGER, "L15", where)
        need_array(queue, "planRevisions", "L15", where)
    problems = [p for i, t in enumerate(tasks) for p in _check_task(t, f"{where}.tasks[{i}]")]
    problems += _check_ids(tasks, where)
    if not any(p.severity == "error" for p in problems):
        problems += check_graph(cast("list[TaskSnapshot]", tasks), where=where)
    if version == QUEUE_VERSION:
        problems += _check_revisions(queue, {cast("str", t["id"]) for t in tasks}, where)
    return _with_partitions(queue, tasks, where, problems), problems


def _identified(tasks: list[JsonValue], where: str) -> list[JsonObject]:
    """Refuse tasks that cannot even be shown: no object, no id, no status, no texts."""
    found: list[JsonObject] = []
    for index, value in enumerate(tasks):
        place = f"{where}.tasks[{index}]"
        task = need_object(value, "2.6.3", place)
        need(task, "id", FILLED, "2.6.3", place)
        for name in ("title", "description", "status"):
            need(task, name, STRING, "2.6.3", place)
        if "dependsOn" in task and not STRINGS.test(task["dependsOn"]):
            refuse("2.6.3", f"{place}.dependsOn", "string[]", found_in(task, "dependsOn"))
        found.append(task)
    return found


def _check_task(task: JsonObject, where: str) -> list[Problem]:
    problems: list[Problem] = []
    if task["status"] not in PARTITIONS:
        problems.append(
            error("TASK_STATUS_UNKNOWN", f"{where}.status", found=cast("str", task["status"])[:40])
        )
    problems += [
        _wrong(task, name, where, form.expected)
        for name, form in _OPTIONAL.items()
        if name in task and not form.test(task[name])
    ]
    if "metadata" in task:
        problem = task_metadata_problem(task["metadata"])
        if problem is not None:
            key, reason = problem
            problems.append(
                error("TASK_METADATA_INVALID", f"{where}.metadata", key=key, reason=reason)
            )
    if "requires" in task and not _is_requires(task["requires"]):
        problems.append(_wrong(task, "requires", where, "agent requirements"))
    for name in ("createdAt", "updatedAt"):
        date = task.get(name)
        if not isinstance(date, str) or parse_js_date(date) is None:
            found = found_in(task, name)
            problems.append(warning("TASK_DATE_UNREADABLE", f"{where}.{name}", found=found))
    return problems


def _wrong(task: JsonObject, name: str, where: str, expected: str) -> Problem:
    found = found_in(task, name)
    return error("TASK_FIELD_INVALID", f"{where}.{name}", expected=expected, found=found)


def _is_requires(value: JsonValue) -> bool:
    if not isinstance(value, dict):
        return False
    lists = ("requiredTools", "requiredCapabilities")
    texts = ("requiredBackend", "requiredProvider")
    return all(STRINGS.test(value[n]) for n in lists if n in value) and all(
        isinstance(value[n], str) for n in texts if n in value
    )


def _check_ids(tasks: list[JsonObject], where: str) -> list[Problem]:
    seen: dict[str, int] = {}
    problems: list[Problem] = []
    for index, task in enumerate(tasks):
        task_id = cast("str", task["id"])
        if task_id in seen:
            place = f"{where}.tasks[{index}].id"
            problems.append(error("TASK_ID_TWICE", place, task=task_id, first=seen[task_id]))
        seen.setdefault(task_id, index)
    return problems


def _with_partitions(
    queue: JsonObject, tasks: list[JsonObject], where: str, problems: list[Problem]
) -> JsonObject:
    """Return a queue whose partitions are all there; the status of a task decides (2.6.3)."""
    derived: JsonObject = {}
    for status, name in PARTITIONS.items():
        ids: list[JsonValue] = [t["id"] for t in tasks if t["status"] == status]
        if not STRINGS.test(queue.get(name)):
            found = found_in(queue, name)
            problems.append(error("QUEUE_PARTITION_MISSING", f"{where}.{name}", found=found))
            derived[name] = ids
        elif sorted(cast("list[str]", queue[name])) != sorted(cast("list[str]", ids)):
            problems.append(warning("QUEUE_PARTITION_DIFFERS", f"{where}.{name}"))
    return {**queue, **derived} if derived else queue


def _check_revisions(queue: JsonObject, known: set[str], where: str) -> list[Problem]:
    """Check plan revisions as a queue restore does (formats.md 2.6.2)."""
    number, revisions = queue["planRevision"], cast("list[JsonValue]", queue["planRevisions"])
    problems: list[Problem] = []
    if number != len(revisions) or not revisions:
        problems.append(
            error(
                "REVISION_COUNT_DIFFERS",
                f"{where}.planRevision",
                found=found_in(queue, "planRevision"),
                listed=len(revisions),
            )
        )
    for index, revision in enumerate(revisions):
        place = f"{where}.planRevisions[{index}]"
        record = need_object(revision, "7.5", place)
        if record.get("version") != index + 1:
            problems.append(error("REVISION_NUMBER_WRONG", place, expected=index + 1))
        problems += _check_references(record, known, place)
    return problems


def _check_references(revision: JsonObject, known: set[str], where: str) -> list[Problem]:
    """Check that every task a revision names exists; a redacted name is only a warning (W14)."""
    named: list[tuple[str, JsonValue]] = [("triggerTaskId", revision.get("triggerTaskId"))]
    added = revision.get("addedTasks")
    if isinstance(added, dict):
        named += [(f"addedTasks.{key}", task_id) for key, task_id in added.items()]
    else:
        named.append(("addedTasks", added))
    for name, inner in (("retargetedTasks", "taskId"), ("supersededTaskIds", None)):
        items = revision.get(name)
        if not isinstance(items, list):
            named.append((name, items))
            continue
        for index, item in enumerate(items):
            wanted = item.get(inner) if inner and isinstance(item, dict) else item
            named.append((f"{name}[{index}]", wanted))
    problems: list[Problem] = []
    for name, task_id in named:
        if task_id == REDACTED:
            problems.append(warning("REVISION_REFERENCE_REDACTED", f"{where}.{name}"))
        elif not (isinstance(task_id, str) and task_id in known):
            found = found_in({"id": task_id}, "id")
            problems.append(error("REVISION_REFERENCE_UNKNOWN", f"{where}.{name}", found=found))
    return problems
