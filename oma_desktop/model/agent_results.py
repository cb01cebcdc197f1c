"""Results of a run by agent, merged over its tasks (engine.md 1.7; DEV-14)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, Literal, TypeAlias, cast

from oma_desktop.model.checkpoint import TaskSnapshot
from oma_desktop.model.json_value import JsonObject, JsonValue
from oma_desktop.model.message import TokenUsage

AgentKey: TypeAlias = tuple[Literal["agent", "coordinator"], str]
"""Who: an agent of the team, or the coordinator, which is none of them whatever they are called."""

COORDINATOR_KEY: Final[AgentKey] = ("coordinator", "coordinator")
SEPARATOR: Final = "\n\n---\n\n"


def results_by_agent(
    tasks: Iterable[TaskSnapshot],
    results: Mapping[str, JsonObject],
    coordinator: Iterable[JsonObject] = (),
) -> dict[AgentKey, JsonObject]:
    """Return one merged result per agent, in the order of their first task; names stay whole."""
    parts: dict[AgentKey, list[JsonObject]] = {}
    for task in tasks:
        if task["id"] in results and "assignee" in task:
            parts.setdefault(("agent", task["assignee"]), []).append(results[task["id"]])
    said = list(coordinator)
    if said:
        parts[COORDINATOR_KEY] = said
    return {key: merged(found) for key, found in parts.items()}


def merged(parts: list[JsonObject]) -> JsonObject:
    """Join outputs, messages and calls, add usage, keep the last structured value."""
    if len(parts) == 1:
        return parts[0]
    doc: JsonObject = {
        **parts[-1],
        "success": all(part.get("success") is True for part in parts),
        "output": SEPARATOR.join(str(part.get("output", "")) for part in parts),
        "messages": _joined(parts, "messages"),
        "tokenUsage": _usage(parts),
        "toolCalls": _joined(parts, "toolCalls"),
    }
    structured = [part["structured"] for part in parts if part.get("structured") is not None]
    return doc | ({"structured": structured[-1]} if structured else {})


def _joined(parts: list[JsonObject], key: str) -> JsonValue:
    return [item for part in parts for item in cast("list[JsonValue]", part.get(key, []))]


def _usage(parts: list[JsonObject]) -> JsonValue:
    known = [cast("TokenUsage", part["tokenUsage"]) for part in parts if "tokenUsage" in part]
    return {
        "input_tokens": sum(usage["input_tokens"] for usage in known),
        "output_tokens": sum(usage["output_tokens"] for usage in known),
    }
