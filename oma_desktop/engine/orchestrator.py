"""The front door of the engine: run tasks, restore runs (engine.md 1.1, 7.7)."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from oma_desktop.base.clock import Clock
from oma_desktop.base.lanes import Lanes
from oma_desktop.base.ms_iso import to_ms_iso
from oma_desktop.base.supervisor import Supervisor
from oma_desktop.engine.attempt import Execute, Services
from oma_desktop.engine.attempt_run import AttemptRun, run_agent
from oma_desktop.engine.budget import RunBudget, smallest
from oma_desktop.engine.bus import EventBus
from oma_desktop.engine.checks import check_team, clean_metadata
from oma_desktop.engine.heartbeat import taken
from oma_desktop.engine.identity import Ids, RandomIds, continued_identity, new_identity, one_run_id
from oma_desktop.engine.lone_agent import run_alone
from oma_desktop.engine.memory_setup import give_memory, restore_memory
from oma_desktop.engine.message_bus import MessageBus
from oma_desktop.engine.options import RestoreOptions, RunAgentOptions, RunOptions
from oma_desktop.engine.places import ledger_of, place_of_new_run, place_of_saved_run
from oma_desktop.engine.plan_tasks import (
    PLAN_AGENTS_MISSING,
    missing_agents,
    tasks_from_plan,
)
from oma_desktop.engine.planning import (
    NewTasks,
    refuse_broken_graph,
    tasks_from_specs,
    unresolved_text,
)
from oma_desktop.engine.queue import APPROVAL_REJECTED, TaskQueue
from oma_desktop.engine.reconciliation import Verdict, adopt, reconcile, verdict
from oma_desktop.engine.restore import doubt, refuse_missing_agents, revive
from oma_desktop.engine.restored_verify import verify_again
from oma_desktop.engine.results import team_result
from oma_desktop.engine.run_state import RunState
from oma_desktop.engine.team import Team
from oma_desktop.model.checkpoint import CheckpointSnapshot
from oma_desktop.model.checkpoint_loader import LoadedSnapshot, own_facts
from oma_desktop.model.errors import InvalidInput
from oma_desktop.model.json_value import JsonObject
from oma_desktop.model.message import Message
from oma_desktop.model.plan import PlanArtifact
from oma_desktop.model.result import AgentRunResult, RunIdentity, RunStatus, TeamRunResult
from oma_desktop.model.team import AgentConfig, OrchestratorOptions, TaskSpec
from oma_desktop.store.checkpoint import Checkpoint


class OpenMultiAgent:
    """Runs teams. One instance may run several runs, one after the other or at the same time.

    Everything from outside comes in here: clock, tasks, executors, ids, chance, events. `execute`
    runs one agent on one job; the default is the built-in runner.
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
    ) -> None:
        self._options = options or OrchestratorOptions()
        self.bus = bus or EventBus()
        self._services = Services(
            clock=clock,
            supervisor=supervisor,
            lanes=lanes,
            ids=ids or RandomIds(),
            rng=rng,
            bus=self.bus,
            execute=execute or run_agent(clock=clock, bus=self.bus, supervisor=supervisor),
        )

    async def run_tasks(
        self, team: Team, specs: Sequence[TaskSpec], options: RunOptions | None = None
    ) -> TeamRunResult:
        """Run a list of tasks with their dependencies to the end or to a suspension.

        Raises before anything runs: InvalidInput (run id, metadata, team), PlanRejected (graph,
        assignees, requirements), Conflict CHECKPOINT_EXISTS, Locked. Raises after the drain what
        ends a run as a fault (StaleDecision, Locked LOCK_LOST).
        """
        options = options or RunOptions()
        check_team(team)
        return await self._start(team, self._work(team, specs, options.goal), options)

    async def run_from_plan(
        self, team: Team, plan: PlanArtifact, options: RunOptions | None = None
    ) -> TeamRunResult:
        """Replay a frozen plan: ids, dependencies and assignees as stored (formats.md 6).

        Raises like `run_tasks`; PlanRejected also for ids used twice (W13) or with outer spaces
        (W10). An assignee outside the team is announced now and fails its task at its turn.
        """
        options = options or RunOptions()
        check_team(team)
        return await self._start(team, self._replay(team, plan, options.goal), options)

    async def _start(self, team: Team, work: NewTasks, options: RunOptions) -> TeamRunResult:
        """Run new tasks from the first one on. Without tasks nothing runs or is saved (DEV-31)."""
        checkpoint = options.checkpoint
        run_id = one_run_id(options.run_id, checkpoint.run_id if checkpoint else None)
        identity = new_identity(run_id, self._services.ids)
        state = self._new_state(team, work, options, identity)
        if not work.tasks:
            return team_result(state, RunStatus("ok"))
        async with taken(checkpoint.lock if checkpoint else None, self._services.lanes):
            place = None
            if checkpoint is not None:
                place = await self._services.lanes.store(
                    place_of_new_run, checkpoint, identity.run_id
                )
            give_memory(state, team.config, checkpoint, self._services)
            return await self._attempt(team, state, options, place)

    async def run_agent(
        self,
        team: Team,
        agent: AgentConfig,
        prompt: str | list[Message],
        options: RunAgentOptions | None = None,
    ) -> AgentRunResult:
        """Run one fresh agent on one prompt or conversation, alone; see `engine/lone_agent.py`.

        `agent` need not be one of the team, which lends its models, tools and gates. Raises
        InvalidInput (run id, metadata) and Refused INVALID_MESSAGE; everything else is a result.
        """
        return await run_alone(
            team,
            agent,
            prompt,
            options or RunAgentOptions(),
            orchestrator=self._options,
            services=self._services,
        )

    async def restore(self, team: Team, options: RestoreOptions) -> TeamRunResult:
        """Go on with a saved run, else run `specs` or `plan`, else do nothing (W8, DEV-11, DEV-31).

        A restore that waits for a decision and has nothing else to do starts no attempt and saves
        nothing. Raises Corrupt, SchemaTooNew, InvalidInput, PlanRejected, ApprovalError and Locked
        before anything is changed; later as `run_tasks`.
        """
        check_team(team)
        if options.specs is not None and options.plan is not None:
            raise InvalidInput("RESTORE_TWO_SOURCES")
        wanted = one_run_id(options.run_id, options.checkpoint.run_id)
        metadata = clean_metadata(options.metadata)
        async with taken(options.checkpoint.lock, self._services.lanes):
            place = await self._services.lanes.store(place_of_saved_run, options.checkpoint, wanted)
            loaded = await self._services.lanes.store(place.load_latest)
            if loaded is None or not loaded.snapshot["queue"]["tasks"]:
                return await self._without_checkpoint(team, options, place)
            return await self._go_on(team, options, place, loaded, metadata)

    # ------------------------------------------------------------------ new runs

    def _work(self, team: Team, specs: Sequence[TaskSpec], goal: str | None) -> NewTasks:
        made = tasks_from_specs(
            specs,
            agents={a.name for a in team.config.agents},
            new_id=self._services.ids.uuid,
            now=self._now(),
        )
        return replace(made, goal=goal)

    def _replay(self, team: Team, plan: PlanArtifact, goal: str | None) -> NewTasks:
        work = tasks_from_plan(plan, now=self._now())
        missing = missing_agents(plan, team.config)
        if missing:
            self.bus.emit("warning", data={"code": PLAN_AGENTS_MISSING, "agents": missing})
        return replace(work, goal=work.goal or goal)

    def _new_state(
        self, team: Team, made: NewTasks, options: RunOptions, identity: RunIdentity
    ) -> RunState:
        services = self._services
        queue = TaskQueue(now=self._now, listener=self._queue_listener)
        queue.add_batch(made.tasks)
        messages = MessageBus(now=self._now, new_id=services.ids.uuid)
        for message in team.config.messages:
            messages.send(str(message["from"]), str(message["to"]), str(message["content"]))
        for task_id, missing in made.unresolved.items():
            if queue.status(task_id) in {"pending", "blocked"}:
                queue.fail(task_id, unresolved_text(missing))
        limit = smallest(options.max_token_budget, self._options.max_token_budget)
        return RunState(
            verify=dict(made.verify),
            mode=made.mode,
            identity=identity,
            queue=queue,
            messages=messages,
            budget=RunBudget(limit),
            goal=made.goal,
            metadata=clean_metadata(options.metadata),
        )

    # ------------------------------------------------------------------ saved runs

    async def _without_checkpoint(
        self, team: Team, options: RestoreOptions, place: Checkpoint
    ) -> TeamRunResult:
        wanted = one_run_id(options.run_id, options.checkpoint.run_id)
        work: NewTasks | None = None
        if options.plan is not None:
            work = self._replay(team, options.plan, options.goal)
        elif options.specs is not None:
            work = self._work(team, options.specs, options.goal)
        if work is None or not work.tasks:
            return TeamRunResult(RunStatus("ok"), new_identity(wanted, self._services.ids))
        run = RunOptions(
            run_id=options.run_id,
            metadata=options.metadata,
            max_token_budget=options.max_token_budget,
            token=options.token,
            goal=options.goal,
        )
        state = self._new_state(team, work, run, new_identity(wanted, self._services.ids))
        give_memory(state, team.config, options.checkpoint, self._services)
        return await self._attempt(team, state, options, place)

    async def _go_on(
        self,
        team: Team,
        options: RestoreOptions,
        place: Checkpoint,
        loaded: LoadedSnapshot,
        metadata: JsonObject | None,
    ) -> TeamRunResult:
        services = self._services
        snapshot = loaded.snapshot
        requested = one_run_id(options.run_id, options.checkpoint.run_id)
        identity = continued_identity(snapshot, requested, services.ids)
        refuse_broken_graph(snapshot["queue"]["tasks"])
        agents = {a.name for a in team.config.agents}
        refuse_missing_agents(snapshot, agents)
        verify = verify_again(
            snapshot, agents, retry_failed=options.retry_failed, specs=options.specs or ()
        )
        ledger = ledger_of(options.checkpoint.store, services.clock)
        found = await reconcile(snapshot, ledger, services.lanes)
        state = revive(
            snapshot,
            identity,
            own=own_facts(snapshot),
            budget_limit=smallest(options.max_token_budget, self._options.max_token_budget),
            now=self._now,
            new_id=services.ids.uuid,
            queue_listener=self._queue_listener,
            retry_failed=options.retry_failed,
        )
        state.metadata = metadata if metadata is not None else state.metadata
        state.goal = state.goal or options.goal
        state.run_masked = options.run_masked
        state.verify = verify
        state.warnings += [problem.code for problem in loaded.problems]
        adopt(state, snapshot, found)
        doubt(state, own_facts(snapshot))
        match verdict(state, found):
            case Verdict.SUSPENDED:
                return team_result(state, RunStatus("suspended", "APPROVAL_PENDING"))
            case Verdict.REJECTED_BEFORE:
                return team_result(state, RunStatus("rejected", "APPROVAL_REJECTED"))
            case Verdict.PLAN_ONLY:
                state.pending.clear()
                return team_result(state, RunStatus("ok"), plan_only=True)
            case Verdict.REJECTED:
                return await self._rejected(team, state, options, place, snapshot)
            case Verdict.RUN:
                await restore_memory(
                    state, team.config, options.checkpoint, self._services, snapshot=snapshot
                )
                return await self._attempt(team, state, options, place, must_save=True)

    async def _rejected(
        self,
        team: Team,
        state: RunState,
        options: RestoreOptions,
        place: Checkpoint,
        snapshot: CheckpointSnapshot,
    ) -> TeamRunResult:
        """A reviewer refused the boundary the run stood at: the rest is skipped for good."""
        state.entries.clear()
        state.carried.clear()
        state.pending.clear()
        for task_id in state.queue.skip_remaining(APPROVAL_REJECTED):
            self.bus.emit("task_skipped", task=task_id)
        await restore_memory(
            state, team.config, options.checkpoint, self._services, snapshot=snapshot
        )
        run = AttemptRun(
            team, self._options, self._services, state=state, options=options, place=place
        )
        return await run.only_end(RunStatus("rejected", "APPROVAL_REJECTED"), "approval")

    # ------------------------------------------------------------------ both

    async def _attempt(
        self,
        team: Team,
        state: RunState,
        options: RunOptions | RestoreOptions,
        place: Checkpoint | None,
        *,
        must_save: bool = False,
    ) -> TeamRunResult:
        run = AttemptRun(
            team, self._options, self._services, state=state, options=options, place=place
        )
        return await run.run(must_save=must_save)

    def _now(self) -> str:
        return to_ms_iso(self._services.clock.now())

    def _queue_listener(self, event: str, task_id: str) -> None:
        """Every change of a task's status is told, cascades included (DEV-17)."""
        if event != "all_complete":
            self.bus.emit("task_status", task=task_id, data={"to": _STATUS_OF[event]})


_STATUS_OF: Mapping[str, str] = {
    "ready": "pending",
    "complete": "completed",
    "failed": "failed",
    "skipped": "skipped",
}
