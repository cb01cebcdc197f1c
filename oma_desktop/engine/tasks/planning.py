"""From what a person wrote to tasks that can run (engine.md 2.2; formats.md 2.6.3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, cast

from oma_desktop.engine.tasks.judging import check_judges
from oma_desktop.model.checkpoint import RunMode, TaskSnapshot
from oma_desktop.model.errors import PlanRejected
from oma_desktop.model.graph import check_graph
from oma_desktop.model.json_value import JsonObject, JsonValue
from oma_desktop.model.metadata import clean_task_metadata, task_metadata_problem
from oma_desktop.model.team import TaskSpec
from oma_desktop.model.verify import VerifySpec

UNRESOLVED: Final = "UNRESOLVED_DEPENDENCIES: "


@dataclass(frozen=True, slots=True)
class NewTasks:
    """The tasks of a new run, and what could not be resolved.

    `unresolved` maps a task id to the dependency names nothing answers to; such a task fails as
    soon as it is loaded, and what waits for it with it. `mode` and `goal` go into the checkpoint;
    `verify` says by task id who judges.
    """

    tasks: list[TaskSnapshot]
    unresolved: Mapping[str, list[str]] = field(default_factory=dict)
    mode: RunMode = "runTasks"
    goal: str | None = None
    verify: Mapping[str, VerifySpec] = field(default_factory=dict)


def tasks_from_specs(
    specs: Sequence[TaskSpec],
    *,
    agents: Collection[str],
    new_id: Callable[[], str],
    now: str,
) -> NewTasks:
    """Give ids, resolve titles, validate.

    Titles are compared trimmed and in any case; a title used twice answers to nobody. Raises
    PlanRejected: UNKNOWN_ASSIGNEE (DEV-20), UNKNOWN_JUDGE, TASK_METADATA_INVALID,
    INVALID_TASK_DEPENDENCIES.
    """
    issues = [f"{s.title}: {s.assignee}" for s in specs if s.assignee and s.assignee not in agents]
    if issues:
        raise PlanRejected("UNKNOWN_ASSIGNEE", issues=issues)
    check_judges({s.title: s.verify for s in specs if s.verify is not None}, agents)
    ids = [new_id() for _ in specs]
    by_name = _names(specs, ids)
    tasks: list[TaskSnapshot] = []
    unresolved: dict[str, list[str]] = {}
    for spec, task_id in zip(specs, ids, strict=True):
        found = {name: by_name.get(_fold(name)) for name in spec.depends_on}
        missing = [name for name, dep in found.items() if dep is None]
        if missing:
            unresolved[task_id] = missing
        deps = list(dict.fromkeys(d for d in found.values() if d is not None))
        tasks.append(_task(spec, task_id, deps, now))
    refuse_broken_graph(tasks)
    verify = {
        task_id: spec.verify
        for spec, task_id in zip(specs, ids, strict=True)
        if spec.verify is not None
    }
    return NewTasks(tasks, unresolved, verify=verify)


def refuse_broken_graph(tasks: list[TaskSnapshot]) -> None:
    """Raise PlanRejected INVALID_TASK_DEPENDENCIES for self-dependencies, unknown ids, cycles."""
    problems = check_graph(tasks)
    if problems:
        raise PlanRejected(
            "INVALID_TASK_DEPENDENCIES",
            issues=[f"{p.where}: {p.code}" for p in problems],
            **{k: v for k, v in problems[0].facts.items() if k != "issues"},
        )


def unresolved_text(missing: list[str]) -> str:
    """What a task with dependencies nothing answers to keeps as its result."""
    return UNRESOLVED + ", ".join(missing)


def _fold(name: str) -> str:
    return name.strip().lower()


def _names(specs: Sequence[TaskSpec], ids: list[str]) -> dict[str, str]:
    """Folded titles that occur once; ids are not known before the tasks are made."""
    count = Counter(_fold(s.title) for s in specs)
    pairs = zip(specs, ids, strict=True)
    return {_fold(s.title): i for s, i in pairs if count[_fold(s.title)] == 1}


def _task(spec: TaskSpec, task_id: str, deps: list[str], now: str) -> TaskSnapshot:
    task: dict[str, object] = {
        "id": task_id,
        "title": spec.title,
        "description": spec.description,
        "status": "pending",
        "createdAt": now,
        "updatedAt": now,
    }
    given = spec.model_dump(by_alias=True, exclude_none=True)
    for key in _COPIED:
        if key in given:
            task[key] = given[key]
    if deps:
        task["dependsOn"] = deps
    if spec.metadata is not None:
        task["metadata"] = checked_metadata(spec.title, spec.metadata)
    return cast("TaskSnapshot", task)


def checked_metadata(title: str, metadata: JsonObject) -> JsonObject:
    """Return task metadata as stored; raises PlanRejected TASK_METADATA_INVALID."""
    problem = task_metadata_problem(cast("JsonValue", metadata))
    if problem is not None:
        key, reason = problem
        raise PlanRejected("TASK_METADATA_INVALID", where=title, key=key, reason=reason)
    return clean_task_metadata(metadata)


_COPIED = (
    "assignee",
    "memoryScope",
    "dependencyPayload",
    "role",
    "priority",
    "requires",
    "maxRetries",
    "retryDelayMs",
    "retryBackoff",
)
