"""A goal one agent takes as it is (engine.md 4.1 row 5): nothing is saved, nothing can wait."""

from __future__ import annotations

from typing import Final, cast

from oma_desktop.engine.agents.team import AgentJob
from oma_desktop.engine.attempt import Attempt
from oma_desktop.engine.coordination.routing import best_agent
from oma_desktop.engine.tasks.ceiling import over_ceiling
from oma_desktop.engine.tasks.retry import is_provider_failure
from oma_desktop.engine.tasks.settling import failure_text
from oma_desktop.engine.tasks.task_work import fault
from oma_desktop.model.checkpoint import TaskSnapshot
from oma_desktop.model.errors import OmaError
from oma_desktop.model.result import AgentRunResult
from oma_desktop.model.team import AgentConfig

TASK_ID: Final = "short-circuit"


async def run_single(attempt: Attempt, goal: str, *, now: str) -> None:
    """Let the best agent answer; its run becomes the one task of the result."""
    state, bus = attempt.state, attempt.services.bus
    agent = best_agent(goal, attempt.team.config.agents)
    phase = {"phase": TASK_ID}
    bus.emit("agent_start", agent=agent.name, data={**phase, "goal": goal})
    result = await _ask(attempt, agent, goal)
    state.budget.settle(result.token_usage)
    state.queue.add_batch([_record(goal, agent, now)])
    state.queue.start(TASK_ID)
    if result.success:
        state.queue.complete_task(TASK_ID, result.output)
        state.coordination.answer = result.output
    elif attempt.control.stop is None:
        state.queue.fail(TASK_ID, failure_text(result))
    state.warnings += result.warnings if result.success else ()
    state.outcomes[TASK_ID] = result
    data = cast("dict[str, object]", {**phase, "result": result.to_json()})
    bus.emit("agent_complete", agent=agent.name, data=data)
    over_ceiling(attempt, agent=agent.name)


async def _ask(attempt: Attempt, agent: AgentConfig, goal: str) -> AgentRunResult:
    job = AgentJob(
        run_id=attempt.state.identity.run_id,
        task_id=TASK_ID,
        task_title="",
        prompt=goal,
        token=attempt.control.token,
    )
    *ways, last = attempt.routes.ways(agent, phase=TASK_ID)
    for way in ways:
        result = await _once(attempt, way, job)
        if attempt.control.token.stopped or not is_provider_failure(result):
            return result
        attempt.state.budget.settle(result.token_usage)
    return await _once(attempt, last, job)


async def _once(attempt: Attempt, agent: AgentConfig, job: AgentJob) -> AgentRunResult:
    try:
        return await attempt.services.execute(attempt.team, agent, job)
    except OmaError as error:
        return fault(error)


def _record(goal: str, agent: AgentConfig, now: str) -> TaskSnapshot:
    return {
        "id": TASK_ID,
        "title": TASK_ID,
        "description": goal,
        "status": "pending",
        "assignee": agent.name,
        "createdAt": now,
        "updatedAt": now,
    }
