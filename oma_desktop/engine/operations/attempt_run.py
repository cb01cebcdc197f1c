"""One attempt from its first save to its last (engine.md 2.3, 2.8; formats.md 2.12)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TypeAlias

from oma_desktop.base.clock import Clock
from oma_desktop.base.ms_iso import to_ms_iso
from oma_desktop.base.supervisor import Supervisor
from oma_desktop.engine.agents.runner import AgentRunner
from oma_desktop.engine.agents.team import AgentJob, Team
from oma_desktop.engine.attempt import Attempt, Execute, Services
from oma_desktop.engine.backends.faults import run_external
from oma_desktop.engine.bus import EventBus
from oma_desktop.engine.cancel import CancelToken, StopReason
from oma_desktop.engine.control import RunControl, Stop, fatal
from oma_desktop.engine.egress import policed
from oma_desktop.engine.metering import metered
from oma_desktop.engine.model_routes import ModelRoutes
from oma_desktop.engine.operations.guarding import guarded
from oma_desktop.engine.operations.results import final_status, team_result
from oma_desktop.engine.operations.run_log import RunLog
from oma_desktop.engine.options import RestoreOptions, RunOptions
from oma_desktop.engine.queueing.pool import Pool
from oma_desktop.engine.queueing.queue import RUN_ABORTED
from oma_desktop.engine.queueing.scheduling import AgentChooser
from oma_desktop.engine.recovery_options import RecoveryOptions, checked_recovery
from oma_desktop.engine.run_state import RunState
from oma_desktop.engine.saving.approvals import Approvals
from oma_desktop.engine.saving.checkpointing import CheckpointWriter
from oma_desktop.engine.saving.heartbeat import beating
from oma_desktop.engine.saving.places import ledger_of
from oma_desktop.engine.slices import breathe, in_slices
from oma_desktop.engine.spans import Recorded, run_span
from oma_desktop.engine.tasks.delegation import with_delegation
from oma_desktop.engine.tasks.dispatcher import Dispatcher
from oma_desktop.engine.tools.grants import granted
from oma_desktop.model.errors import ChangedOnDisk, Locked
from oma_desktop.model.json_value import JsonObject
from oma_desktop.model.result import AgentRunResult, RunStatus, TeamRunResult
from oma_desktop.model.team import AgentConfig, OrchestratorOptions
from oma_desktop.store.checkpoint import Checkpoint

Opening: TypeAlias = Callable[[Attempt], Awaitable[bool]]
Closing: TypeAlias = Callable[[Attempt], Awaitable[None]]

RUN_END_NOT_SAVED = "RUN_END_NOT_SAVED"


def run_agent(*, clock: Clock, bus: EventBus, supervisor: Supervisor) -> Execute:
    """How agents run by default: the built-in runner."""

    async def execute(team: Team, agent: AgentConfig, job: AgentJob) -> AgentRunResult:
        if agent.backend is not None:
            return await run_external(team, agent, job)
        runner = AgentRunner(
            job, agent=agent, team=team, clock=clock, bus=job.bus or bus, supervisor=supervisor
        )
        return await runner.run()

    return execute


class AttemptRun:
    """Wires one attempt together and brings it to its end. Used once."""

    def __init__(
        self,
        team: Team,
        orchestrator: OrchestratorOptions,
        services: Services,
        *,
        state: RunState,
        options: RunOptions | RestoreOptions,
        place: Checkpoint | None,
        recovery: RecoveryOptions | None = None,
    ) -> None:
        """`recovery` is the engine's own; the options may replace it. Raises as `run_tasks`."""
        team = with_delegation(team)
        wanted = options.recovery if options.recovery is not None else recovery
        repairs = checked_recovery(wanted, team=team, mode=state.mode)
        bus = services.bus.of_run(state.identity.run_id)
        execute = policed(
            _telling(bus, services.execute), orchestrator.egress_policy, options.egress_policy
        )
        execute = metered(execute, state.cost)
        services = replace(services, bus=bus, execute=execute)
        self._services = services
        self._state = state
        team = guarded(team, state, orchestrator, options)
        self._lock = options.checkpoint.lock if options.checkpoint is not None else None
        self._token = CancelToken(options.token)
        self._control = RunControl(self._token)
        self._writer: CheckpointWriter | None = None
        ledger = None
        if place is not None and options.checkpoint is not None:
            ledger = ledger_of(options.checkpoint.store, services.clock)
            self._writer = CheckpointWriter(
                place,
                state,
                lanes=services.lanes,
                clock=services.clock,
                bus=services.bus,
                on_changed=self._lock_lost,
            )
        approvals = Approvals(
            state,
            writer=self._writer,
            ledger=ledger,
            lanes=services.lanes,
            clock=services.clock,
            bus=services.bus,
        )
        policy = options.model_routing or orchestrator.model_routing
        routes = ModelRoutes(policy, orchestrator, is_leaf=state.queue.is_leaf)
        chooser = AgentChooser(
            orchestrator.scheduling_strategy,
            team.config.agents,
            grants=lambda agent: frozenset(t.name for t in granted(agent, team.tools)),
            default_provider=orchestrator.default_provider,
            weights=orchestrator.scheduling_weights,
            route=routes.first,
        )
        self._attempt = Attempt(
            team=team,
            options=orchestrator,
            services=services,
            state=state,
            control=self._control,
            approvals=approvals,
            chooser=chooser,
            writer=self._writer,
            # ceilings of nested scopes combine by minimum (engine.md 1.1; DEV-19)
            pool=Pool(min(orchestrator.max_concurrency, team.config.max_concurrency or 10**6)),
            routes=routes,
            recovery=repairs,
        )

    async def run(
        self,
        *,
        must_save: bool = False,
        opening: Opening | None = None,
        closing: Closing | None = None,
    ) -> TeamRunResult:
        """Run to the end, a suspension or a stop. Raises what ends a run as a fault.

        `opening` finds out what is to be done instead of taking the queue as it is; False from it
        means that no task runs. `closing` works after the last task. Both may stop the run.
        `must_save`: raise WriteFailed instead of starting when the attempt cannot be saved. A
        restore needs that: until then the file says that every call of the earlier attempt is at
        rest, and a crash in an attempt the file does not know would make that a lie.
        """
        log = RunLog(self._services.bus)
        state = self._state
        about = run_span(
            state.identity,
            mode=state.mode,
            metadata=state.metadata,
            overridden=state.metadata_overridden,
        )
        forget = state.messages.subscribe(self._tell_message)
        try:
            if opening is None:
                self._attempt.check_requirements()
            with about as (state.identity, recorded):
                return await self._run(log, recorded, must_save, opening, closing)
        finally:
            forget()
            log.close()
            self._control.close()

    async def _run(
        self,
        log: RunLog,
        recorded: Recorded,
        must_save: bool,
        opening: Opening | None,
        closing: Closing | None,
    ) -> TeamRunResult:
        self._announce("run_start")
        async with beating(
            self._lock,
            clock=self._services.clock,
            lanes=self._services.lanes,
            supervisor=self._services.supervisor,
            on_lost=self._lock_lost,
        ):
            if opening is None or await opening(self._attempt):
                await self._work(must_save=must_save)
                if closing is not None:
                    await closing(self._attempt)
            result = await self._finish(log)
        recorded.usage(result.total_usage)
        recorded.set(status=result.status.code)
        if not result.success and result.status.code != "suspended":
            recorded.fail(result.status.code)
        return result

    async def _work(self, *, must_save: bool) -> None:
        # The attempt number is durable before anything happens in its name (W26).
        if must_save and self._writer is not None:
            await self._writer.save_strict("attempt_started")
        else:
            await self._attempt.save("attempt_started")
        await breathe()
        dispatcher = Dispatcher(self._attempt)
        await breathe()
        await dispatcher.run()

    async def only_end(self, status: RunStatus, by: str) -> TeamRunResult:
        """Save that the run ended without running anything."""
        await self._save_end(status, by)
        self._control.close()
        return team_result(self._state, status)

    async def _finish(self, log: RunLog) -> TeamRunResult:
        stop = self._control.stop
        status, by, error = final_status(self._state, stop)
        await self._save_end(status, by)
        if stop is not None and status.code != "suspended":
            await self._skip_the_rest(stop)
        self._announce("run_end", status.code)
        if stop is not None and stop.raises is not None:
            raise stop.raises
        plan_only = self._state.coordination.plan_only and status.code == "ok"
        result = team_result(self._state, status, error, plan_only=plan_only, attempted=True)
        return replace(result, saved=self._has_saved(), log=log.to_json())

    def _has_saved(self) -> bool:
        return self._writer is not None and self._writer.saves > 0

    async def _skip_the_rest(self, stop: Stop) -> None:
        """Only now, after the last save: what a stop skips stays as it was in the file (DEV-12)."""
        queue, parked = self._state.queue, self._state.parked
        reason = RUN_ABORTED if stop.by == "operator" else f"Skipped: {stop.status.code}."
        async for task_id in in_slices(queue.skip_remaining(reason, but=parked)):
            self._services.bus.emit("task_skipped", task=task_id)
        for task_id in parked:
            queue.fail(task_id, stop.status.code)

    def _lock_lost(self, error: Locked | ChangedOnDisk) -> None:
        """Somebody else writes this store now: stop at once and write nothing more."""
        if self._writer is not None:
            self._writer.forbid(error)
        self._control.ask(fatal(error))
        self._token.stop(StopReason.CANCEL)

    async def _save_end(self, status: RunStatus, by: str) -> None:
        """The last save. Nothing tries it again: a failure belongs to the result."""
        at = to_ms_iso(self._services.clock.now())
        self._state.end = {"status": status.code, "at": at, "by": by}
        if not await self._attempt.save("run_ended"):
            self._state.warnings.append(RUN_END_NOT_SAVED)
            self._services.bus.emit("warning", data={"code": RUN_END_NOT_SAVED})

    def _tell_message(self, message: JsonObject) -> None:
        self._services.bus.emit("message", agent=str(message["from"]), data=message)

    def _announce(self, event: str, status: str | None = None) -> None:
        identity = self._state.identity
        facts: dict[str, object] = {"runId": identity.run_id, "attempt": identity.attempt}
        if status is not None:
            facts["status"] = status
        self._services.bus.emit(event, data=facts)


def _telling(bus: EventBus, execute: Execute) -> Execute:
    """Agents of a run speak on the run's own bus, so that runs side by side are told apart."""

    async def run(team: Team, agent: AgentConfig, job: AgentJob) -> AgentRunResult:
        return await execute(team, agent, replace(job, bus=bus))

    return run
