"""The form a coordinator's plan must have, and what its tasks must agree on (engine.md 4.3)."""

from __future__ import annotations

import graphlib
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, cast

from oma_desktop.model.json_value import JsonObject, JsonValue
from oma_desktop.model.team import TaskSpec

IssueKind = Literal["title", "assignee", "dependency"]

_TEXT: Final[JsonObject] = {"type": "string", "pattern": "\\S"}
_TEXTS: Final[JsonObject] = {"type": "array", "items": {"type": "string", "minLength": 1}}
_VERIFY: Final[JsonObject] = {
    "anyOf": [
        {"const": True},
        {
            "type": "object",
            "additionalProperties": False,
            "properties": {
                "mode": {"enum": ["refute", "lens"]},
                "quorum": {"type": "integer", "minimum": 1},
                "maxRounds": {"type": "integer", "minimum": 1},
                "onDissent": {"enum": ["revise", "reject", "keep"]},
            },
        },
    ]
}
PLAN_SCHEMA: Final[JsonObject] = {
    "type": "array",
    "minItems": 1,
    "items": {
        "type": "object",
        "additionalProperties": False,
        "required": ["title", "description"],
        "properties": {
            "title": _TEXT,
            "description": _TEXT,
            "assignee": _TEXT,
            "dependsOn": _TEXTS,
            "memoryScope": {"enum": ["dependencies", "all"]},
            "maxRetries": {"type": "integer", "minimum": 0},
            "retryDelayMs": {"type": "number", "minimum": 0},
            "retryBackoff": {"type": "number", "exclusiveMinimum": 0},
            "role": _TEXT,
            "priority": {"enum": ["low", "normal", "high", "critical"]},
            "requires": {
                "type": "object",
                "additionalProperties": False,
                "properties": {
                    "requiredTools": _TEXTS,
                    "requiredCapabilities": _TEXTS,
                    "requiredBackend": {"enum": ["llm", "process", "acp"]},
                    "requiredProvider": _TEXT,
                },
            },
            "verify": _VERIFY,
        },
    },
}


@dataclass(frozen=True, slots=True)
class PlanIssue:
    """One thing the tasks of a plan do not agree on, in words for the model."""

    kind: IssueKind
    text: str


def cross_check(plan: JsonValue, *, agents: Collection[str], strict: bool) -> list[PlanIssue]:
    """Return what is wrong between the tasks of a plan that has the right form.

    `strict`: names outside the team count; otherwise they are left to the loader.
    """
    tasks = cast("list[JsonObject]", plan)
    return [
        *_titles(tasks),
        *(_assignees(tasks, agents) if strict else ()),
        *_dependencies(tasks),
    ]


def specs_of(plan: JsonValue, *, judges: Sequence[str] = ()) -> tuple[TaskSpec, ...]:
    """Return the tasks of a plan that has the right form; `verify` counts where there are judges.

    A coordinator does not know how many there are: all of them are the most it can ask for.
    """
    return tuple(TaskSpec.model_validate(_with_judges(t, judges)) for t in _objects(plan))


def _with_judges(task: JsonObject, judges: Sequence[str]) -> JsonObject:
    plain = {k: v for k, v in task.items() if k != "verify"}
    wish = task.get("verify")
    if wish is None or not judges:
        return plain
    given: JsonObject = dict(wish) if isinstance(wish, dict) else {}
    quorum = given.get("quorum")
    if isinstance(quorum, int):
        given["quorum"] = min(quorum, len(judges))
    return {**plain, "verify": {"judges": list(judges), **given}}


def _objects(plan: JsonValue) -> list[JsonObject]:
    return cast("list[JsonObject]", plan)


def _fold(title: JsonValue) -> str:
    return str(title).strip().lower()


def _titles(tasks: list[JsonObject]) -> Iterator[PlanIssue]:
    for title, times in Counter(_fold(t["title"]) for t in tasks).items():
        if times > 1:
            yield PlanIssue("title", f'The title "{title}" is used {times} times.')


def _assignees(tasks: list[JsonObject], agents: Collection[str]) -> Iterator[PlanIssue]:
    for task in tasks:
        name = task.get("assignee")
        if name is not None and name not in agents:
            known = ", ".join(agents)
            text = f'Task "{task["title"]}": there is no agent "{name}". The agents are: {known}.'
            yield PlanIssue("assignee", text)


def _dependencies(tasks: list[JsonObject]) -> Iterator[PlanIssue]:
    count = Counter(_fold(t["title"]) for t in tasks)
    graph: dict[str, set[str]] = {}
    for task in tasks:
        wanted = cast("list[str]", task.get("dependsOn", []))
        graph.setdefault(_fold(task["title"]), set()).update(map(_fold, wanted))
        for name in wanted:
            if (times := count[_fold(name)]) != 1:
                problem = "no task has this title" if times == 0 else "several tasks have it"
                text = f'Task "{task["title"]}" depends on "{name}", but {problem}.'
                yield PlanIssue("dependency", text)
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        circle = " -> ".join(error.args[1])
        yield PlanIssue("dependency", f"Tasks wait for each other in a circle: {circle}.")
