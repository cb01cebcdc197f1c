"""The front door of the engine: goals, tasks, saved runs (engine.md 1.1)."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from oma_desktop.base.clock import Clock
from oma_desktop.base.lanes import Lanes
from oma_desktop.base.supervisor import Supervisor
from oma_desktop.engine.agents.team import Team
from oma_desktop.engine.attempt import Execute, Services
from oma_desktop.engine.bus import EventBus
from oma_desktop.engine.cost import EstimateCost, estimate_from
from oma_desktop.engine.identity import Ids, RandomIds
from oma_desktop.engine.operations.attempt_run import run_agent
from oma_desktop.engine.operations.checks import check_team
from oma_desktop.engine.operations.foundation import Foundation
from oma_desktop.engine.operations.lone_agent import run_alone
from oma_desktop.engine.operations.new_run import start, work_of_plan, work_of_specs
from oma_desktop.engine.operations.saved_run import SavedRun
from oma_desktop.engine.operations.team_run import TeamRun
from oma_desktop.engine.options import (
    CheckpointOptions,
    ExecutionRouter,
    RestoreOptions,
    RunAgentOptions,
    RunOptions,
    TeamRunOptions,
)
from oma_desktop.engine.recovery_options import RecoveryOptions
from oma_desktop.model.errors import InvalidInput
from oma_desktop.model.message import Message
from oma_desktop.model.plan import PlanArtifact
from oma_desktop.model.result import AgentRunResult, TeamRunResult
from oma_desktop.model.team import AgentConfig, OrchestratorOptions, TaskSpec


class OpenMultiAgent:
    """Runs teams. One instance may run several runs, one after the other or at the same time.

    Everything from outside comes in here: clock, tasks, executors, ids, chance, events. `execute`
    runs one agent on one job; the default is the built-in runner. `router` says for every goal
    whether one agent takes it; the default looks at its wording. `recovery` and `checkpoint` count
    where a run brings none of its own. `estimate_cost` says what a model call cost; without it the
    prices of the options count.
    """

    def __init__(
        self,
        options: OrchestratorOptions | None = None,
        *,
        clock: Clock,
        supervisor: Supervisor,
        lanes: Lanes,
        bus: EventBus | None = None,
        ids: Ids | None = None,
        rng: Callable[[], float] = random.random,
        execute: Execute | None = None,
        router: ExecutionRouter | None = None,
        recovery: RecoveryOptions | None = None,
        estimate_cost: EstimateCost | None = None,
        checkpoint: CheckpointOptions | None = None,
    ) -> None:
        """Raise InvalidInput COST_ESTIMATE_MISSING for a cost ceiling nobody can measure."""
        self.bus = bus or EventBus()
        services = Services(
            clock=clock,
            supervisor=supervisor,
            lanes=lanes,
            ids=ids or RandomIds(),
            rng=rng,
            bus=self.bus,
            execute=execute or run_agent(clock=clock, bus=self.bus, supervisor=supervisor),
        )
        options = options or OrchestratorOptions()
        if estimate_cost is None and options.prices:
            estimate_cost = estimate_from(options.prices)
        self._base = Foundation(options, services, router, recovery, estimate_cost, checkpoint)
        self._base.cost(None)

    async def run_team(
        self, team: Team, goal: str, options: TeamRunOptions | None = None
    ) -> TeamRunResult:
        """Reach a goal: one agent where that is enough, else plan, run and sum up (engine.md 4).

        What is wrong with the coordinator's plan is a result with status `error`, never an
        exception. Raises before anything runs: InvalidInput (run id, metadata, team, options),
        Conflict CHECKPOINT_EXISTS, Locked; where the goal is not routed, RoutingFailed,
        RoutingTimedOut, RoutingProfilerFailed, DeclarationRequired; after the drain as `run_tasks`.
        """
        options = self._base.placed(options or TeamRunOptions())
        return await TeamRun(self._base, team, goal, options).run()

    async def run_tasks(
        self, team: Team, specs: Sequence[TaskSpec], options: RunOptions | None = None
    ) -> TeamRunResult:
        """Run a list of tasks with their dependencies to the end or to a suspension.

        Raises before anything runs: InvalidInput (run id, metadata, team), PlanRejected (graph,
        assignees, requirements), Conflict CHECKPOINT_EXISTS, Locked. Raises after the drain what
        ends a run as a fault (StaleDecision, Locked LOCK_LOST).
        """
        options = self._base.placed(options or RunOptions())
        check_team(team)
        work = await self._base.services.lanes.work(
            work_of_specs, self._base, team, specs, options.goal
        )
        return await start(self._base, team, work, options)

    async def run_from_plan(
        self, team: Team, plan: PlanArtifact, options: RunOptions | None = None
    ) -> TeamRunResult:
        """Replay a frozen plan: ids, dependencies and assignees as stored (formats.md 6).

        Raises like `run_tasks`; PlanRejected also for ids used twice (W13) or with outer spaces
        (W10). An assignee outside the team is announced now and fails its task at its turn.
        """
        options = self._base.placed(options or RunOptions())
        check_team(team)
        work = work_of_plan(self._base, team, plan, options.goal)
        return await start(self._base, team, work, options)

    async def run_agent(
        self,
        team: Team,
        agent: AgentConfig,
        prompt: str | list[Message],
        options: RunAgentOptions | None = None,
    ) -> AgentRunResult:
        """Run one fresh agent on one prompt or conversation, alone (`operations/lone_agent.py`).

        `agent` need not be one of the team, which lends its models, tools and gates. Raises
        InvalidInput (run id, metadata) and Refused INVALID_MESSAGE; everything else is a result.
        """
        return await run_alone(
            team,
            agent,
            prompt,
            options or RunAgentOptions(),
            orchestrator=self._base.options,
            services=self._base.services,
            cost=self._base.cost((options or RunAgentOptions()).max_cost_budget),
        )

    async def restore(self, team: Team, options: RestoreOptions | None = None) -> TeamRunResult:
        """Go on with a saved run, else run `specs` or `plan`, else do nothing (W8, DEV-11, DEV-31).

        A restore that waits for a decision and has nothing else to do, or finds the run rejected
        before or only planned, starts no attempt, saves nothing and answers for the saved attempt
        (P13). Raises Corrupt, SchemaTooNew, InvalidInput, PlanRejected, ApprovalError and Locked
        before anything is changed; later as `run_tasks`. Without options the engine's own
        checkpoint is restored; raises InvalidInput CHECKPOINT_NOT_NAMED when it has none either.
        """
        if options is None:
            if self._base.checkpoint is None:
                raise InvalidInput("CHECKPOINT_NOT_NAMED")
            options = RestoreOptions(self._base.checkpoint)
        return await SavedRun(self._base, team, options).restore()
