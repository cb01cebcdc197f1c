"""`run_team`: from a goal to its answer (engine.md 4.1)."""

from __future__ import annotations

from dataclasses import replace

from oma_desktop.engine.agents.team import Team
from oma_desktop.engine.attempt import Attempt
from oma_desktop.engine.coordination.coordinator import coordinator_agent
from oma_desktop.engine.coordination.decomposition import plan_goal
from oma_desktop.engine.coordination.loading import assign_all, load_plan
from oma_desktop.engine.coordination.plan_gate import PlanGate
from oma_desktop.engine.coordination.profiling import Profiling
from oma_desktop.engine.coordination.routing import Route, route
from oma_desktop.engine.coordination.single import run_single
from oma_desktop.engine.coordination.synthesis import conclude
from oma_desktop.engine.cost import smallest_cost
from oma_desktop.engine.identity import new_identity, one_run_id
from oma_desktop.engine.operations.checks import check_team
from oma_desktop.engine.operations.foundation import Foundation
from oma_desktop.engine.operations.guarding import flag
from oma_desktop.engine.operations.memory_setup import give_memory
from oma_desktop.engine.operations.new_run import free_place
from oma_desktop.engine.options import TeamRunOptions
from oma_desktop.engine.run_state import RunState
from oma_desktop.engine.saving.heartbeat import taken
from oma_desktop.engine.spans import span
from oma_desktop.engine.tasks.judging import check_judges
from oma_desktop.engine.tasks.prompt import team_context
from oma_desktop.model.errors import InvalidInput
from oma_desktop.model.execution_routing import ExecutionRouting
from oma_desktop.model.governance import Governance
from oma_desktop.model.result import TeamRunResult
from oma_desktop.model.verify import VerifySpec


class TeamRun:
    """One goal, one attempt. Used once."""

    def __init__(self, base: Foundation, team: Team, goal: str, options: TeamRunOptions) -> None:
        self._base = base
        self._team = team
        self._goal = goal
        self._options = options
        self._roster = team.config.agents
        self._routing = base.options.execution_routing or ExecutionRouting()

    async def run(self) -> TeamRunResult:
        """See `OpenMultiAgent.run_team`."""
        return self._with_governance(await self._run())

    async def _run(self) -> TeamRunResult:
        self._check()
        way = await self._route()
        state = self._state()
        state.coordination.routing = way.to_json()
        if way.mode == "single" and not self._is_asked_about(way):
            return await self._single(state)
        return await self._as_team(state, profiled=way.mode == "single")

    def _check(self) -> None:
        check_team(self._team)
        judges = self._options.coordinator.verify_judges
        if judges:
            names = {a.name for a in self._roster}
            check_judges({"coordinator": VerifySpec(judges=judges)}, names)
        self._base.check_recovery(self._team, self._options, "runTeam")
        if not self._goal.strip():
            raise InvalidInput("GOAL_EMPTY")
        if self._options.mode == "single" and self._options.plan_only:
            raise InvalidInput("RUN_MODE_CONFLICT")
        if self._options.governance is not None:
            self._options.governance.check(self._roster)

    def _state(self) -> RunState:
        options, checkpoint = self._options, self._options.checkpoint
        run_id = one_run_id(options.run_id, checkpoint.run_id if checkpoint else None)
        identity = new_identity(run_id, self._base.services.ids)
        options = replace(options, goal=self._goal)
        state = self._base.fresh_state("runTeam", self._team, options, identity)
        if self._options.coordinator.reveal_coordinator:
            state.team_context = team_context(self._goal, self._roster)
        return state

    # ------------------------------------------------------------------ which way

    async def _route(self) -> Route:
        options = self._options
        if options.mode is not None:
            return Route(options.mode, "mode", "asked")
        if self._governance() is not None:
            return Route("team", "governance", "roles")
        if options.governance is not None and options.governance.gives_way(limited=self._limited):
            return Route("single", "governance", "budget")
        if options.plan_only:
            return Route("team", "plan_only", "asked")
        return await route(
            self._goal,
            self._roster,
            routers=(options.router, self._base.router),
            bus=self._base.services.bus,
            may_fall_back=self._routing.may_fall_back,
        )

    def _is_asked_about(self, way: Route) -> bool:
        """Whether a model looks at it first: only where the wording sends it to one agent."""
        return self._routing.strategy == "hybrid" and way.source == "deterministic"

    def _governance(self) -> Governance | None:
        """The roles that decide how this run goes; an explicit mode wins over them."""
        governance = self._options.governance
        if governance is None or self._options.mode is not None:
            return None
        return governance if governance.applies(limited=self._limited) else None

    @property
    def _limited(self) -> bool:
        """Whether a ceiling may make roles give way; a plan alone costs nothing of them."""
        options = self._options
        cost = smallest_cost(options.max_cost_budget, self._base.options.max_cost_budget)
        tokens = self._base.limit(options.max_token_budget)
        return not options.plan_only and (tokens is not None or cost is not None)

    def _with_governance(self, result: TeamRunResult) -> TeamRunResult:
        governance = self._options.governance
        if governance is None:
            return result
        mode_given = self._options.mode is not None
        flags = governance.flags(mode_given=mode_given, limited=self._limited)
        return replace(
            result, flags=(*result.flags, *flags), governance=self._conclusion(governance, result)
        )

    def _conclusion(
        self, governance: Governance, result: TeamRunResult
    ) -> tuple[str, str | None] | None:
        """None while nothing can be said: only a plan, or a run that waits."""
        if result.plan_only or result.status.code == "suspended":
            return None
        return governance.conclusion(
            {t["role"]: t["status"] for t in result.tasks if "role" in t},
            mode_given=self._options.mode is not None,
            exhausted=result.status.code == "budget_exhausted",
        )

    # ------------------------------------------------------------------ one agent

    async def _single(self, state: RunState) -> TeamRunResult:
        if not self._roster:
            raise InvalidInput("TEAM_EMPTY")
        options = replace(self._options, checkpoint=None)
        give_memory(state, self._team.config, None, self._base.services)

        async def opening(attempt: Attempt) -> bool:
            _tell_route(attempt)
            await run_single(attempt, self._goal, now=self._base.now())
            return False

        return await self._base.attempt(self._team, state, options, None).run(opening=opening)

    # ------------------------------------------------------------------ the team

    async def _as_team(self, state: RunState, *, profiled: bool) -> TeamRunResult:
        """With `profiled` a model looks at the goal first; it may leave it to one agent yet."""
        services, checkpoint = self._base.services, self._options.checkpoint
        async with taken(checkpoint.lock if checkpoint else None, services.lanes):
            place = await free_place(self._base, self._options, state.identity.run_id)
            give_memory(state, self._team.config, checkpoint, services)
            state.coordination.planning = True
            state.coordination.due = True
            attempt = self._base.attempt(self._team, state, self._options, place)
            if self._options.governance is not None and self._options.governance.roles:
                state.flags.clear()  # the one there is speaks of runs without a declaration (5.7)
            opening = self._look_first if profiled else self._open
            return await attempt.run(opening=opening, closing=self._close)

    async def _look_first(self, attempt: Attempt) -> bool:
        declared = self._options.governance is not None
        profiling = Profiling(attempt, settings=self._options.coordinator, declared=declared)
        way = await profiling.route(self._goal)
        if way is None:
            return False
        facts = attempt.state.coordination
        facts.routing = way.to_json()
        flag(attempt.team, attempt.state)
        if way.mode == "team":
            return await self._open(attempt)
        facts.alone = True
        facts.planning = facts.due = False
        _tell_route(attempt)
        await run_single(attempt, self._goal, now=self._base.now())
        return False

    async def _open(self, attempt: Attempt) -> bool:
        """Make the plan and have it let through."""
        _tell_route(attempt)
        if not await self._plan(attempt):
            return False
        gate = PlanGate(attempt, plan_only=self._options.plan_only)
        if gate.active or self._options.plan_only or attempt.team.gates.round is not None:
            assign_all(attempt)
        if not await gate.passes():
            return False
        if self._options.plan_only:
            attempt.state.coordination.plan_only = attempt.control.stop is None
            return False
        attempt.state.coordination.planning = False
        return True

    async def _plan(self, attempt: Attempt) -> bool:
        settings = self._options.coordinator
        agent = coordinator_agent(settings, options=self._base.options, roster=self._roster)
        governance = self._governance()
        if governance is None:
            return await plan_goal(attempt, self._goal, agent=agent, settings=settings)
        failure = load_plan(attempt, governance.specs(self._goal, self._roster))
        if failure is not None:
            attempt.control.ask(failure.stop())
        return failure is None

    async def _close(self, attempt: Attempt) -> None:
        await conclude(attempt, self._options.coordinator)


def _tell_route(attempt: Attempt) -> None:
    """Record the decision as a span of its own (engine.md 1.12)."""
    way = attempt.state.coordination.routing or {}
    facts = {f"routing_{key}": str(way[key]) for key in ("mode", "source", "reason")}
    with span("routing", "decide_execution_route", of_run=True, **facts):
        pass
