"""`run_tasks` and `run_from_plan`: known tasks to their end (engine.md 1.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from oma_desktop.engine.agents.team import Team
from oma_desktop.engine.identity import new_identity, one_run_id
from oma_desktop.engine.operations.foundation import Foundation
from oma_desktop.engine.operations.memory_setup import give_memory
from oma_desktop.engine.operations.plan_tasks import (
    PLAN_AGENTS_MISSING,
    missing_agents,
    tasks_from_plan,
)
from oma_desktop.engine.operations.results import team_result
from oma_desktop.engine.options import RunOptions
from oma_desktop.engine.run_state import RunState
from oma_desktop.engine.saving.heartbeat import taken
from oma_desktop.engine.saving.places import place_of_new_run
from oma_desktop.engine.slices import breathe
from oma_desktop.engine.tasks.planning import NewTasks, tasks_from_specs, unresolved_text
from oma_desktop.model.plan import PlanArtifact
from oma_desktop.model.result import RunIdentity, RunStatus, TeamRunResult
from oma_desktop.model.team import TaskSpec
from oma_desktop.store.checkpoint import Checkpoint


async def start(base: Foundation, team: Team, work: NewTasks, options: RunOptions) -> TeamRunResult:
    """Run new tasks from the first one on. Without tasks nothing runs or is saved (DEV-31)."""
    base.check_recovery(team, options, work.mode)
    checkpoint = options.checkpoint
    run_id = one_run_id(options.run_id, checkpoint.run_id if checkpoint else None)
    identity = new_identity(run_id, base.services.ids)
    state = state_of(base, team, work, options=options, identity=identity)
    await breathe()
    if not work.tasks:
        return team_result(state, RunStatus("ok"))
    async with taken(checkpoint.lock if checkpoint else None, base.services.lanes):
        place = await free_place(base, options, identity.run_id)
        give_memory(state, team.config, checkpoint, base.services)
        return await base.attempt(team, state, options, place).run()


async def free_place(base: Foundation, options: RunOptions, run_id: str) -> Checkpoint | None:
    """Where a new run is saved; raises Conflict CHECKPOINT_EXISTS."""
    if options.checkpoint is None:
        return None
    return await base.services.lanes.store(place_of_new_run, options.checkpoint, run_id)


def work_of_specs(
    base: Foundation, team: Team, specs: Sequence[TaskSpec], goal: str | None
) -> NewTasks:
    """Tasks as a person wrote them. Raises PlanRejected."""
    made = tasks_from_specs(
        specs,
        agents={a.name for a in team.config.agents},
        new_id=base.services.ids.uuid,
        now=base.now(),
    )
    return replace(made, goal=goal)


def work_of_plan(base: Foundation, team: Team, plan: PlanArtifact, goal: str | None) -> NewTasks:
    """The tasks of a frozen plan, verbatim; missing agents are announced. Raises PlanRejected."""
    work = tasks_from_plan(plan, now=base.now())
    missing = missing_agents(plan, team.config)
    if missing:
        data = {"code": PLAN_AGENTS_MISSING, "agents": missing}
        base.services.bus.emit("warning", data=data)
    return replace(work, goal=work.goal or goal)


def state_of(
    base: Foundation, team: Team, work: NewTasks, *, options: RunOptions, identity: RunIdentity
) -> RunState:
    """A new run of these tasks; those with dependencies nothing answers to have failed."""
    state = base.fresh_state(work.mode, team, options, identity)
    state.goal = work.goal
    state.verify = dict(work.verify)
    state.queue.add_batch(work.tasks)
    for task_id, missing in work.unresolved.items():
        if state.queue.status(task_id) in {"pending", "blocked"}:
            state.queue.fail(task_id, unresolved_text(missing))
    return state
