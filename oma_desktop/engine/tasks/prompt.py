"""The first message of a task (engine.md 2.9)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from oma_desktop.model.canonical import dependency_payload
from oma_desktop.model.checkpoint import CompletedTaskResult, TaskSnapshot
from oma_desktop.model.errors import InvalidInput, TaskFailed
from oma_desktop.model.json_value import JsonObject
from oma_desktop.model.team import AgentConfig

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
    memory_summary: str | None,
    messages: list[JsonObject],
    team_context: str | None = None,
) -> str:
    """Assemble what is told of the team, heading, description, what was done before, and messages.

    With memoryScope `all` the memory summary (None: the team has no shared memory) replaces the
    dependency sections, payloads included.
    Raises TaskFailed DEPENDENCY_STRUCTURED_RESULT_MISSING,
    DEPENDENCY_STRUCTURED_SERIALIZATION_FAILED or DEPENDENCY_PAYLOAD_TOO_LARGE.
    """
    parts = [team_context or "", f"# Task: {task['title']}", task["description"]]
    if task.get("memoryScope") == "all" and memory_summary is not None:
        parts.append(memory_summary)
    elif dependencies:
        sections = [_section(task, dep) for dep in dependencies]
        parts += ["## What earlier tasks delivered", *sections]
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
    agent_result = dep.result.get("agentResult") if dep.result is not None else {}
    if agent_result is None:  # left out of the record because JSON cannot express it
        raise _not_json(dep, "no JSON")
    if "structured" not in agent_result:
        raise TaskFailed(
            "DEPENDENCY_STRUCTURED_RESULT_MISSING",
            task=dep.task["id"],
            title=dep.task["title"],
        )
    try:
        return dependency_payload(agent_result["structured"])
    except InvalidInput as error:
        raise _not_json(dep, str(error.facts.get("found"))) from error


def _not_json(dep: Dependency, found: str) -> TaskFailed:
    return TaskFailed(
        "DEPENDENCY_STRUCTURED_SERIALIZATION_FAILED",
        task=dep.task["id"],
        title=dep.task["title"],
        found=found,
    )


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


def team_context(goal: str | None, roster: Sequence[AgentConfig]) -> str:
    """What workers are told of the whole with `revealCoordinator` (engine.md 2.9): goal, team."""
    lines = [f"- {a.name}" + (f": {a.description}" if a.description else "") for a in roster]
    parts = ["## Your team", *([f"Goal of the whole run: {goal}"] if goal else []), *lines]
    return "\n".join(parts)


def own_role(context: str | None, agent: str) -> str | None:
    """The same for one agent, its own part named last; None stays None."""
    return None if context is None else f"{context}\nYou are {agent}."
