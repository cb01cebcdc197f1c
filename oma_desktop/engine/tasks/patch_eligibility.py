"""Can the agents a patch names do what it gives them (engine.md 6.3 step 6; formats.md 7.4)?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from oma_desktop.engine.queueing.scheduling import AgentChooser
from oma_desktop.engine.tasks.judging import missing_judges
from oma_desktop.model.checkpoint import TaskSnapshot
from oma_desktop.model.errors import PlanRejected
from oma_desktop.model.plan_patch import AddedTask, PlanPatch
from oma_desktop.model.team import AgentConfig


def check_eligibility(
    patch: PlanPatch,
    tasks: Mapping[str, TaskSnapshot],
    *,
    chooser: AgentChooser,
    roster: Mapping[str, AgentConfig],
) -> None:
    """Refuse agents outside the roster and those that miss a hard requirement.

    The scheduler's own rules, so that what passes here can be dispatched. Raises PlanRejected
    PATCH_TASK_UNKNOWN, PATCH_AGENT_UNKNOWN, PATCH_AGENT_UNFIT, PATCH_NOBODY_FITS.
    """
    for wish in patch.retarget_pending:
        task = tasks.get(wish.task_id)
        if task is None:
            raise PlanRejected("PATCH_TASK_UNKNOWN", task=wish.task_id, act="retarget")
        _check_agent(task, wish.assignee, wish.task_id, chooser, roster)
    for added in patch.add_tasks:
        task = _as_task(added)
        missing = missing_judges(added.verify, roster) if added.verify is not None else []
        if missing:
            raise PlanRejected("PATCH_AGENT_UNKNOWN", task=added.key, agent=", ".join(missing))
        if added.assignee is not None:
            _check_agent(task, added.assignee, added.key, chooser, roster)
        elif not chooser.eligible(task):
            raise PlanRejected("PATCH_NOBODY_FITS", task=added.key)


def _check_agent(
    task: TaskSnapshot,
    name: str,
    shown: str,
    chooser: AgentChooser,
    roster: Mapping[str, AgentConfig],
) -> None:
    if name not in roster:
        raise PlanRejected("PATCH_AGENT_UNKNOWN", task=shown, agent=name)
    unmet = chooser.unmet(task, roster[name])
    if unmet:
        raise PlanRejected("PATCH_AGENT_UNFIT", task=shown, agent=name, unmet=", ".join(unmet))


def _as_task(added: AddedTask) -> TaskSnapshot:
    """As much of a task as a scheduler looks at."""
    doc = added.model_dump(by_alias=True, exclude_none=True)
    return cast("TaskSnapshot", {**doc, "id": added.key, "status": "pending"})
