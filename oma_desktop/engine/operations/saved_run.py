"""`restore`: a saved run goes on (engine.md 7.7)."""

from __future__ import annotations

from oma_desktop.engine.agents.team import Team
from oma_desktop.engine.coordination.synthesis import closing_of
from oma_desktop.engine.identity import (
    continued_identity,
    new_identity,
    one_run_id,
    unchanged_identity,
)
from oma_desktop.engine.operations.checks import check_team, clean_metadata
from oma_desktop.engine.operations.foundation import Foundation
from oma_desktop.engine.operations.memory_setup import give_memory, restore_memory
from oma_desktop.engine.operations.new_run import state_of, work_of_plan, work_of_specs
from oma_desktop.engine.operations.restore import doubt, refuse_missing_agents, revive
from oma_desktop.engine.operations.restored_cost import COST_RECOUNTED, cost_of_results, saved_cost
from oma_desktop.engine.operations.restored_verify import verify_again
from oma_desktop.engine.operations.results import team_result
from oma_desktop.engine.options import RestoreOptions, RunOptions
from oma_desktop.engine.queueing.queue import APPROVAL_REJECTED
from oma_desktop.engine.run_state import RunState
from oma_desktop.engine.saving.heartbeat import taken
from oma_desktop.engine.saving.places import ledger_of, place_of_saved_run
from oma_desktop.engine.saving.reconciliation import (
    STARTS_NOTHING,
    Verdict,
    adopt,
    reconcile,
    verdict,
)
from oma_desktop.engine.tasks.planning import NewTasks, refuse_broken_graph
from oma_desktop.engine.tasks.prompt import team_context
from oma_desktop.model.checkpoint import CheckpointSnapshot, RunMode
from oma_desktop.model.checkpoint_loader import LoadedSnapshot, own_facts
from oma_desktop.model.errors import InvalidInput
from oma_desktop.model.json_value import JsonObject
from oma_desktop.model.result import RunIdentity, RunStatus, TeamRunResult
from oma_desktop.store.checkpoint import Checkpoint


class SavedRun:
    """One restore of one run. Used once."""

    def __init__(self, base: Foundation, team: Team, options: RestoreOptions) -> None:
        self._base = base
        self._services = base.services
        self._team = team
        self._options = options
        self._metadata = clean_metadata(options.metadata)

    async def restore(self) -> TeamRunResult:
        """See `OpenMultiAgent.restore`."""
        check_team(self._team)
        if self._options.specs is not None and self._options.plan is not None:
            raise InvalidInput("RESTORE_TWO_SOURCES")
        self._check_recovery("runFromPlan" if self._options.plan is not None else "runTasks")
        checkpoint = self._options.checkpoint
        wanted = one_run_id(self._options.run_id, checkpoint.run_id)
        async with taken(checkpoint.lock, self._services.lanes):
            place = await self._services.lanes.store(place_of_saved_run, checkpoint, wanted)
            loaded = await self._services.lanes.store(place.load_latest)
            if loaded is None or not loaded.snapshot["queue"]["tasks"]:
                return await self._without_checkpoint(place)
            return await self._go_on(place, loaded)

    def _check_recovery(self, mode: RunMode) -> None:
        self._base.check_recovery(self._team, self._options, mode)

    async def _without_checkpoint(self, place: Checkpoint) -> TeamRunResult:
        options = self._options
        wanted = one_run_id(options.run_id, options.checkpoint.run_id)
        identity = new_identity(wanted, self._services.ids)
        work = self._work()
        if work is None or not work.tasks:
            return TeamRunResult(RunStatus("ok"), identity)
        run = RunOptions(
            run_id=options.run_id,
            metadata=options.metadata,
            max_token_budget=options.max_token_budget,
            max_cost_budget=options.max_cost_budget,
            model_routing=options.model_routing,
            token=options.token,
            goal=options.goal,
            recovery=options.recovery,
        )
        state = state_of(self._base, self._team, work, options=run, identity=identity)
        give_memory(state, self._team.config, options.checkpoint, self._services)
        return await self._base.attempt(self._team, state, options, place).run()

    def _work(self) -> NewTasks | None:
        """What to run when there is no checkpoint; a plan stays a plan (DEV-11)."""
        options = self._options
        if options.plan is not None:
            return work_of_plan(self._base, self._team, options.plan, options.goal)
        if options.specs is not None:
            return work_of_specs(self._base, self._team, options.specs, options.goal)
        return None

    async def _go_on(self, place: Checkpoint, loaded: LoadedSnapshot) -> TeamRunResult:
        options, snapshot = self._options, loaded.snapshot
        self._check_recovery(snapshot["mode"])
        requested = one_run_id(options.run_id, options.checkpoint.run_id)
        identity = continued_identity(snapshot, requested, self._services.ids)
        refuse_broken_graph(snapshot["queue"]["tasks"])
        agents = {a.name for a in self._team.config.agents}
        refuse_missing_agents(snapshot, agents)
        verify = verify_again(
            snapshot, agents, retry_failed=options.retry_failed, specs=options.specs or ()
        )
        ledger = ledger_of(options.checkpoint.store, self._services.clock)
        found = await reconcile(snapshot, ledger, self._services.lanes)
        state = self._revive(loaded, identity)
        state.verify = verify
        if options.coordinator is not None and options.coordinator.reveal_coordinator:
            state.team_context = team_context(state.goal, self._team.config.agents)
        adopt(state, snapshot, found)
        doubt(state, own_facts(snapshot))
        outcome = verdict(state, found)
        if outcome in STARTS_NOTHING:
            state.identity = unchanged_identity(snapshot, identity)
        match outcome:
            case Verdict.SUSPENDED:
                return team_result(state, RunStatus("suspended", "APPROVAL_PENDING"))
            case Verdict.REJECTED_BEFORE:
                return team_result(state, RunStatus("rejected", "APPROVAL_REJECTED"))
            case Verdict.PLAN_ONLY:
                state.pending.clear()
                return team_result(state, RunStatus("ok"), plan_only=True)
            case Verdict.REJECTED:
                return await self._rejected(state, place, snapshot)
            case Verdict.RUN:
                return await self._run(state, place, snapshot)

    def _revive(self, loaded: LoadedSnapshot, identity: RunIdentity) -> RunState:
        options, snapshot = self._options, loaded.snapshot
        state = revive(
            snapshot,
            identity,
            own=own_facts(snapshot),
            budget_limit=self._base.limit(options.max_token_budget),
            now=self._base.now,
            new_id=self._services.ids.uuid,
            queue_listener=self._base.teller(identity.run_id),
            retry_failed=options.retry_failed,
        )
        if self._metadata is not None:
            state.metadata_overridden = self._metadata != (state.metadata or {})
            state.metadata = self._metadata
        state.goal = state.goal or options.goal
        state.run_masked = options.run_masked
        self._count_cost(state, own_facts(snapshot))
        state.warnings += [problem.code for problem in loaded.problems]
        return state

    def _count_cost(self, state: RunState, own: JsonObject) -> None:
        """Go on with the cost that is saved; where none is, with that of the results kept."""
        saved = saved_cost(own)
        state.cost = self._base.cost(self._options.max_cost_budget, spent=saved or 0.0)
        if saved is None and state.cost.known:
            roster = {agent.name: agent for agent in self._team.config.agents}
            if cost_of_results(state, roster):
                state.warnings.append(COST_RECOUNTED)
                data = {"code": COST_RECOUNTED}
                self._services.bus.emit("warning", data=data)

    async def _run(
        self, state: RunState, place: Checkpoint, snapshot: CheckpointSnapshot
    ) -> TeamRunResult:
        await self._remember(state, snapshot)
        attempt = self._base.attempt(self._team, state, self._options, place)
        return await attempt.run(must_save=True, closing=closing_of(state, self._options))

    async def _rejected(
        self, state: RunState, place: Checkpoint, snapshot: CheckpointSnapshot
    ) -> TeamRunResult:
        """A reviewer refused the boundary the run stood at: the rest is skipped for good."""
        for task_id in list(state.entries):
            state.give_up(task_id)
        state.pending.clear()
        for task_id in state.queue.skip_remaining(APPROVAL_REJECTED):
            self._services.bus.emit("task_skipped", task=task_id)
        await self._remember(state, snapshot)
        attempt = self._base.attempt(self._team, state, self._options, place)
        return await attempt.only_end(RunStatus("rejected", "APPROVAL_REJECTED"), "approval")

    async def _remember(self, state: RunState, snapshot: CheckpointSnapshot) -> None:
        await restore_memory(
            state,
            self._team.config,
            self._options.checkpoint,
            self._services,
            snapshot=snapshot,
        )
