"""Checks of completed results, embedded shared memory and message bus (formats.md 2.7, 1.6)."""

from __future__ import annotations

from typing import Final, cast

from oma_desktop.model.json_kind import found_in, kind_of
from oma_desktop.model.json_value import JsonObject, JsonValue
from oma_desktop.model.loader_rules import (
    ARRAY,
    BOOLEAN,
    NUMBER,
    STRING,
    STRINGS,
    USAGE,
    error,
    need,
    need_object,
    warning,
)
from oma_desktop.model.view import Problem

_AGENT_RESULT: Final = {
    "success": BOOLEAN,
    "output": STRING,
    "messages": ARRAY,
    "tokenUsage": USAGE,
    "toolCalls": ARRAY,
}


def check_results(items: list[JsonValue], known: set[str], where: str) -> list[Problem]:
    """Check completedTaskResults; what restore could not use is an error before anything runs.

    Raises Corrupt for an item that is no result at all.
    """
    problems: list[Problem] = []
    for index, value in enumerate(items):
        place = f"{where}[{index}]"
        item = need_object(value, "2.7", place)
        need(item, "taskId", STRING, "2.7", place)
        if item["taskId"] not in known:
            problems.append(warning("RESULT_OF_UNKNOWN_TASK", place, task=item["taskId"]))
        problems += [
            _invalid(item, name, place, "string")
            for name in ("assignee", "result")
            if name in item and not isinstance(item[name], str)
        ]
        if "agentResult" in item:
            problems += _check_agent_result(item, place)
    return problems


def _check_agent_result(item: JsonObject, where: str) -> list[Problem]:
    result = item["agentResult"]
    if not isinstance(result, dict):
        return [_invalid(item, "agentResult", where, "object")]
    place = f"{where}.agentResult"
    return [
        _invalid(result, name, place, form.expected)
        for name, form in _AGENT_RESULT.items()
        if name not in result or not form.test(result[name])
    ]


def _invalid(holder: JsonObject, name: str, where: str, expected: str) -> Problem:
    found = found_in(holder, name)
    return error("RESULT_INVALID", f"{where}.{name}", expected=expected, found=found)


def check_memory(value: JsonValue, where: str) -> list[Problem]:
    """Check an embedded shared memory (formats.md 1.6.4)."""
    problems = _check_version_1(value, where)
    if problems:
        return problems
    memory = cast("JsonObject", value)
    if not NUMBER.test(memory.get("turnCount")):
        problems.append(_part(memory, "turnCount", where, "number"))
    entries = memory.get("entries")
    if not isinstance(entries, list):
        return [*problems, _part(memory, "entries", where, "array")]
    for index, entry in enumerate(entries):
        place = f"{where}.entries[{index}]"
        if not isinstance(entry, dict):
            problems.append(error("PART_INVALID", place, expected="object", found=kind_of(entry)))
            continue
        problems += [
            _part(entry, name, place, "string")
            for name in ("key", "value", "createdAt")
            if not isinstance(entry.get(name), str)
        ]
        if "metadata" in entry and not isinstance(entry["metadata"], dict):
            problems.append(_part(entry, "metadata", place, "object"))
    return problems


def check_bus(value: JsonValue, where: str) -> list[Problem]:
    """Check an embedded message bus (formats.md 1.6.6)."""
    problems = _check_version_1(value, where)
    if problems:
        return problems
    bus = cast("JsonObject", value)
    for name, test in (("messages", _is_message), ("readState", _is_read_state)):
        items = bus.get(name)
        if not isinstance(items, list):
            problems.append(_part(bus, name, where, "array"))
            continue
        problems += [
            error("PART_INVALID", f"{where}.{name}[{i}]", expected=name, found=kind_of(item))
            for i, item in enumerate(items)
            if not test(item)
        ]
    return problems


def _is_message(value: JsonValue) -> bool:
    names = ("id", "from", "to", "content", "timestamp")
    return isinstance(value, dict) and all(isinstance(value.get(n), str) for n in names)


def _is_read_state(value: JsonValue) -> bool:
    if not isinstance(value, dict):
        return False
    return isinstance(value.get("agentName"), str) and STRINGS.test(value.get("messageIds"))


def _check_version_1(value: JsonValue, where: str) -> list[Problem]:
    if not isinstance(value, dict):
        return [error("PART_INVALID", where, expected="object", found=kind_of(value))]
    if type(value.get("version")) is int and value["version"] == 1:
        return []
    found = found_in(value, "version")
    return [error("PART_VERSION_UNKNOWN", f"{where}.version", found=found, supported=1)]


def _part(holder: JsonObject, name: str, where: str, expected: str) -> Problem:
    found = found_in(holder, name)
    return error("PART_INVALID", f"{where}.{name}", expected=expected, found=found)
