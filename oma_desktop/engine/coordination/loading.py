"""Putting a plan into the queue and naming who does what (engine.md 4.1 rows 8 and 9)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from oma_desktop.base.ms_iso import to_ms_iso
from oma_desktop.engine.attempt import Attempt
from oma_desktop.engine.coordination.plan_failure import PlanFailure, refused_plan
from oma_desktop.engine.tasks.planning import tasks_from_specs
from oma_desktop.model.errors import PlanRejected
from oma_desktop.model.team import TaskSpec


def load_plan(attempt: Attempt, specs: Sequence[TaskSpec]) -> PlanFailure | None:
    """Fill the queue; when the team cannot carry the plan out it stays empty, and why is returned.

    Where strict names are off, an unknown one is dropped with a warning and somebody is chosen.
    """
    services, state = attempt.services, attempt.state
    agents = {a.name for a in attempt.team.config.agents}
    unknown = {s.title: s.assignee for s in specs if s.assignee and s.assignee not in agents}
    if not attempt.options.strict_assignees:
        specs = [
            s.model_copy(update={"assignee": None}) if s.title in unknown else s for s in specs
        ]
    now = to_ms_iso(services.clock.now())
    try:
        made = tasks_from_specs(specs, agents=agents, new_id=services.ids.uuid, now=now)
        attempt.check_requirements(made.tasks)
    except PlanRejected as error:
        return refused_plan(error)
    state.verify.update(made.verify)
    state.queue.add_batch(made.tasks)
    for task in made.tasks:
        if task["title"] in unknown:
            _choose_for(attempt, task["id"], instead_of=unknown[task["title"]])
    return None


def _choose_for(attempt: Attempt, task_id: str, *, instead_of: str | None) -> None:
    task = attempt.state.queue.get(task_id)
    name = attempt.chooser.choose(task, {})
    attempt.state.queue.assign(task_id, name)
    facts = {
        "code": "INVALID_ASSIGNEE",
        "assignee": instead_of,
        "taskTitle": task["title"],
        "fallback": name,
    }
    attempt.services.bus.emit("warning", task=task_id, data=facts)


def assign_all(attempt: Attempt) -> None:
    """Name an agent for every task: a reviewer sees who would do it.

    Requirements were checked, so there is somebody for each.
    """
    queue = attempt.state.queue
    load = Counter(t["assignee"] for t in queue if "assignee" in t)
    for task in queue:
        if "assignee" not in task:
            name = attempt.chooser.choose(task, load)
            load[name] += 1
            queue.assign(task["id"], name)
