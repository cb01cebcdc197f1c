"""Frozen plans: from an artifact to tasks that can run, and back (formats.md 6)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Final, cast

from oma_desktop.engine.tasks.planning import (
    NewTasks,
    checked_metadata,
    refuse_broken_graph,
    tasks_from_specs,
    unresolved_text,
)
from oma_desktop.model.checkpoint import TaskSnapshot
from oma_desktop.model.errors import PlanRejected
from oma_desktop.model.json_text import js_trim
from oma_desktop.model.plan import PLAN_TASK_KEYS, PlanArtifact, PlanTask
from oma_desktop.model.result import TeamRunResult
from oma_desktop.model.team import TaskSpec, TeamConfig

PLAN_AGENTS_MISSING: Final = "PLAN_AGENTS_MISSING"


def tasks_from_plan(plan: PlanArtifact, *, now: str) -> NewTasks:
    """Return the tasks verbatim, ready to run; `now` is their time of creation.

    Raises PlanRejected: PLAN_ID_TWICE (W13), PLAN_ID_SPACES (W10), TASK_METADATA_INVALID,
    INVALID_TASK_DEPENDENCIES.
    """
    seen: set[str] = set()
    for task in plan.tasks:
        if task.id in seen:
            raise PlanRejected("PLAN_ID_TWICE", id=task.id)
        if task.id != js_trim(task.id):
            raise PlanRejected("PLAN_ID_SPACES", id=task.id)
        seen.add(task.id)
    tasks = [_task(task, now) for task in plan.tasks]
    refuse_broken_graph(tasks)
    return NewTasks(tasks, mode="runFromPlan", goal=plan.goal)


def missing_agents(plan: PlanArtifact, config: TeamConfig) -> list[str]:
    """Return the assignees that the team does not have, in plan order: their tasks will fail."""
    roster = {agent.name for agent in config.agents}
    named = [task.assignee for task in plan.tasks if task.assignee is not None]
    return list(dict.fromkeys(name for name in named if name not in roster))


def create_plan_artifact(result: TeamRunResult) -> PlanArtifact:
    """Return the plan of a plan-only result, to be replayed by `run_from_plan`.

    Raises PlanRejected: PLAN_NOT_PLAN_ONLY, PLAN_NO_DESCRIPTION.
    """
    if result.plan_only is not True or not result.tasks:
        raise PlanRejected("PLAN_NOT_PLAN_ONLY")
    return frozen(result.tasks, goal=result.goal)


def plan_of_specs(
    specs: Sequence[TaskSpec],
    *,
    agents: Collection[str],
    new_id: Callable[[], str],
    goal: str | None = None,
) -> PlanArtifact:
    """Freeze tasks as a person wrote them; nothing runs. `verify` is not part of a plan.

    Raises PlanRejected as `tasks_from_specs`, UNRESOLVED_DEPENDENCIES, PLAN_NO_DESCRIPTION.
    """
    made = tasks_from_specs(specs, agents=agents, new_id=new_id, now="")
    for names in made.unresolved.values():
        raise PlanRejected("INVALID_TASK_DEPENDENCIES", issues=[unresolved_text(names)])
    return frozen(made.tasks, goal=goal)


def frozen(tasks: Iterable[TaskSnapshot], *, goal: str | None) -> PlanArtifact:
    """Return these tasks as a plan; status, result and times are left out."""
    kept = []
    for task in tasks:
        if not task["description"]:
            raise PlanRejected("PLAN_NO_DESCRIPTION", task=task["title"])
        document = {k: v for k, v in task.items() if k in PLAN_TASK_KEYS and v is not None}
        kept.append(PlanTask.model_validate(document))
    return PlanArtifact(version=1, goal=goal, tasks=kept)


def _task(task: PlanTask, now: str) -> TaskSnapshot:
    document: dict[str, object] = {
        "id": task.id,
        "title": task.title,
        "description": task.description,
        "status": "pending",
        "createdAt": now,
        "updatedAt": now,
        **task.extras(),
    }
    if task.metadata is not None:
        document["metadata"] = checked_metadata(task.title, task.metadata)
    return cast("TaskSnapshot", document)
