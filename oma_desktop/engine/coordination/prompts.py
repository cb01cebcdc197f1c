"""What the coordinator is told (engine.md 4.3, 4.4): in our own words, roster and results as JSON.

Texts of agents, tools and results are material for the coordinator; they never become our words.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from oma_desktop.engine.tasks.manifest import manifest_entry
from oma_desktop.engine.tools.registry import ToolRegistry
from oma_desktop.model.checkpoint import TaskSnapshot
from oma_desktop.model.json_text import stringify
from oma_desktop.model.json_value import JsonObject
from oma_desktop.model.runfile import Coordinator
from oma_desktop.model.team import AgentConfig

_ROLE: Final = (
    "You lead a team of agents. You do not do the work yourself: you divide a goal into tasks that "
    "the agents can carry out, and once they are done you write the answer."
)
_FORMAT: Final = (
    "## How to answer\n"
    "Give one JSON array of tasks, at least one, and nothing else. Each task is an object with\n"
    "- title: short, different from every other title\n"
    "- description: everything the agent must know; it sees neither the goal nor other tasks\n"
    "- assignee (optional): the exact name of an agent; leave it out to have one chosen\n"
    "- dependsOn (optional): titles of tasks of this array that must be done before\n"
    "- memoryScope (optional): dependencies or all; with all the agent reads the team's memory\n"
    "- role, priority (low, normal, high, critical), maxRetries, retryDelayMs, retryBackoff, "
    "requires (optional)\n"
    "Other keys are not allowed."
)
_VERIFY: Final = (
    "## Judging\n"
    "Other agents can judge the answer of a task before it counts. Where a mistake would be costly "
    "add verify: true, or an object with any of mode (refute, lens), quorum, maxRounds, onDissent "
    "(revise, reject, keep). Judging costs time and tokens; most tasks do without."
)
_ORDER: Final = (
    "## Order\n"
    "Tasks without a dependency run at the same time. Name a dependency exactly where a task needs "
    "the result of another one: it then gets that result. Never let tasks wait for each other in a "
    "circle."
)
_LATER: Final = (
    "## Afterwards\n"
    "When the tasks are done you get their results and write the answer to the goal. Do not plan a "
    "task for that."
)
_ANSWER_ROLE: Final = (
    "You lead a team of agents. Their work on a goal is over. You write the answer from what they "
    "delivered."
)


def planning_prompt(
    settings: Coordinator, roster: Sequence[AgentConfig], tools: ToolRegistry
) -> str:
    """The system prompt of the decomposition."""
    manifest: list[JsonObject] = [manifest_entry(agent, tools) for agent in roster]
    parts = [
        settings.system_prompt or _ROLE,
        "## The team\n" + stringify(list(manifest)),
        _FORMAT,
        _VERIFY if settings.verify_judges else None,
        _ORDER,
        _LATER,
        settings.instructions,
    ]
    return "\n\n".join(part for part in parts if part)


def goal_prompt(goal: str) -> str:
    """The question of the decomposition."""
    return f"# Goal\n\n{goal}\n\nDivide this goal into tasks. Answer with the JSON array only."


def answering_prompt(settings: Coordinator) -> str:
    """The system prompt of the synthesis."""
    parts = [settings.system_prompt or _ANSWER_ROLE, settings.instructions]
    return "\n\n".join(part for part in parts if part)


def results_prompt(goal: str, tasks: Iterable[TaskSnapshot], *, memory: str) -> str:
    """The question of the synthesis: the goal and everything that became of it."""
    by_status: dict[str, list[str]] = {}
    for task in tasks:
        by_status.setdefault(task["status"], []).append(_outcome(task))
    headings = (
        ("completed", "## Done"),
        ("failed", "## Failed"),
        ("skipped", "## Not done"),
    )
    parts = [f"# Goal\n\n{goal}"]
    for status, heading in headings:
        parts += [heading, *by_status[status]] if status in by_status else []
    parts += [f"## Notes of the team\n\n{memory}"] if memory else []
    parts.append(
        "Write the answer to the goal from these results. Where something failed or was not done, "
        "say what is missing."
    )
    return "\n\n".join(parts)


def _outcome(task: TaskSnapshot) -> str:
    author = task.get("assignee")
    heading = f"### {task['title']}" + (f" (by {author})" if author else "")
    return f"{heading}\n\n{task.get('result', '')}".rstrip()
