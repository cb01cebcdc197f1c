"""The first message of a task (engine.md 2.9)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from oma_desktop.model.checkpoint import CompletedTaskResult, TaskSnapshot
from oma_desktop.model.errors import TaskFailed
from oma_desktop.model.json_text import stringify
from oma_desktop.model.json_value import JsonObject, JsonValue

PAYLOAD_LIMIT: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class Dependency:
    """A finished direct dependency and what it gave."""

    task: TaskSnapshot
    result: CompletedTaskResult | None


def build_prompt(
    task: TaskSnapshot,
    *,
    dependencies: list[Dependency],
    memory_summary: str,
    messages: list[JsonObject],
) -> str:
    """Assemble heading, description, what was done before, and messages to the agent.

    With memoryScope `all` the memory summary replaces the dependency sections. Raises TaskFailed
    DEPENDENCY_STRUCTURED_RESULT_MISSING or DEPENDENCY_PAYLOAD_TOO_LARGE.
    """
    parts = [f"# Task: {task['title']}", task["description"]]
    payloads = [_section(task, dep) for dep in dependencies]
    if task.get("memoryScope") == "all":
        parts.append(memory_summary)
    elif payloads:
        parts += ["## What earlier tasks delivered", *payloads]
    if messages:
        lines = [f"- {m['from']}: {m['content']}" for m in messages]
        parts.append("\n".join(["## Messages to you", *lines]))
    return "\n\n".join(part for part in parts if part)


def _section(task: TaskSnapshot, dep: Dependency) -> str:
    author = dep.task.get("assignee")
    heading = f"### {dep.task['title']}" + (f" (by {author})" if author else "")
    wanted = task.get("dependencyPayload", "output")
    parts = [heading]
    if wanted in {"output", "both"}:
        parts.append(_limited(dep, dep.task.get("result", "")))
    if wanted in {"structured", "both"}:
        parts.append(_limited(dep, _structured(dep)))
    return "\n\n".join(parts)


def _structured(dep: Dependency) -> str:
    agent_result = dep.result.get("agentResult", {}) if dep.result is not None else {}
    if "structured" not in agent_result:
        raise TaskFailed(
            "DEPENDENCY_STRUCTURED_RESULT_MISSING",
            task=dep.task["id"],
            title=dep.task["title"],
        )
    return stringify(sorted_members(agent_result["structured"]))


def sorted_members(value: JsonValue) -> JsonValue:
    """Sort object keys by UTF-16 units, at every level (formats.md 3.2.1a)."""
    if isinstance(value, dict):
        keys = sorted(value, key=lambda k: k.encode("utf-16-be", "surrogatepass"))
        return {key: sorted_members(value[key]) for key in keys}
    if isinstance(value, list):
        return [sorted_members(item) for item in value]
    return value


def _limited(dep: Dependency, text: str) -> str:
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > PAYLOAD_LIMIT:
        raise TaskFailed(
            "DEPENDENCY_PAYLOAD_TOO_LARGE",
            task=dep.task["id"],
            title=dep.task["title"],
            size=size,
            limit=PAYLOAD_LIMIT,
        )
    return text
