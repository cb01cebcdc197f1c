"""From a goal to tasks in the queue, let through by the plan gate (engine.md 4.1 rows 6-11)."""

from __future__ import annotations

from oma_desktop.engine.attempt import Attempt
from oma_desktop.engine.coordination.coordinator import COORDINATOR, DECOMPOSE, ask
from oma_desktop.engine.coordination.loading import load_plan
from oma_desktop.engine.coordination.plan_contract import (
    PLAN_SCHEMA,
    PlanIssue,
    cross_check,
    specs_of,
)
from oma_desktop.engine.coordination.plan_failure import PlanFailure, failed_call, invalid_plan
from oma_desktop.engine.coordination.prompts import goal_prompt, planning_prompt
from oma_desktop.engine.tasks.ceiling import over_ceiling
from oma_desktop.model.json_value import JsonValue
from oma_desktop.model.result import AgentRunResult
from oma_desktop.model.runfile import Coordinator
from oma_desktop.model.team import AgentConfig, TaskSpec


class Decomposition:
    """Asks the coordinator for a plan. A plan is taken whole or not at all."""

    def __init__(self, attempt: Attempt, *, agent: AgentConfig, settings: Coordinator) -> None:
        self._attempt = attempt
        self._settings = settings
        self._agents = [a.name for a in attempt.team.config.agents]
        prompt = planning_prompt(settings, attempt.team.config.agents, attempt.team.tools)
        changes = {"system_prompt": prompt, "output_schema": PLAN_SCHEMA}
        self._agent = agent.model_copy(update=changes)

    async def run(self, goal: str) -> tuple[TaskSpec, ...] | None:
        """Return the tasks; None when there is no usable plan, then the run was told to stop."""
        bus = self._attempt.services.bus
        bus.emit("agent_start", agent=COORDINATOR, data={"phase": "decomposition", "goal": goal})
        result = await ask(
            self._attempt,
            self._agent,
            title=DECOMPOSE,
            prompt=goal_prompt(goal),
            check=self._check,
        )
        self._attempt.state.coordination.decomposition = result
        if over_ceiling(self._attempt, agent=COORDINATOR):
            return None
        if not result.success:
            if self._attempt.control.stop is not None:
                return None
            self.refuse(self._failure(result))
            return None
        return specs_of(result.structured, judges=self._settings.verify_judges)

    def refuse(self, failure: PlanFailure) -> None:
        """Tell what is wrong with the plan and end the run; nothing of it is executed."""
        result = self._attempt.state.coordination.decomposition
        bus = self._attempt.services.bus
        bus.emit("error", data=failure.facts())
        if result is not None:
            bus.emit("agent_complete", agent=COORDINATOR, data=dict(result.to_json()))
        self._attempt.control.ask(failure.stop())

    def _check(self, plan: JsonValue) -> str | None:
        issues = self._issues(plan)
        return "\n".join(issue.text for issue in issues) if issues else None

    def _issues(self, plan: JsonValue) -> list[PlanIssue]:
        strict = self._attempt.options.strict_assignees
        return cross_check(plan, agents=self._agents, strict=strict)

    def _failure(self, result: AgentRunResult) -> PlanFailure:
        info = result.error_info
        if info is None or info.code != "STRUCTURED_OUTPUT_VALIDATION_FAILED":
            return failed_call(result)
        return invalid_plan(result, self._issues)


async def plan_goal(
    attempt: Attempt, goal: str, *, agent: AgentConfig, settings: Coordinator
) -> bool:
    """Fill the queue from the goal; False when there is no plan that can be carried out."""
    decomposition = Decomposition(attempt, agent=agent, settings=settings)
    specs = await decomposition.run(goal)
    if specs is None:
        return False
    failure = load_plan(attempt, specs)
    if failure is not None:
        decomposition.refuse(failure)
    return failure is None
