"""What every operation of the front door stands on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from oma_desktop.base.ms_iso import to_ms_iso
from oma_desktop.engine.agents.team import Team
from oma_desktop.engine.attempt import Services
from oma_desktop.engine.budget import RunBudget, smallest
from oma_desktop.engine.cost import EstimateCost, RunCost, smallest_cost
from oma_desktop.engine.memory.message_bus import MessageBus
from oma_desktop.engine.operations.attempt_run import AttemptRun
from oma_desktop.engine.operations.checks import clean_metadata
from oma_desktop.engine.options import (
    CheckpointOptions,
    ExecutionRouter,
    RestoreOptions,
    RunOptions,
)
from oma_desktop.engine.queueing.queue import TaskQueue
from oma_desktop.engine.recovery_options import RecoveryOptions, checked_recovery
from oma_desktop.engine.run_state import RunState
from oma_desktop.model.checkpoint import RunMode
from oma_desktop.model.errors import InvalidInput
from oma_desktop.model.result import RunIdentity
from oma_desktop.model.team import OrchestratorOptions
from oma_desktop.store.checkpoint import Checkpoint

Run = TypeVar("Run", bound=RunOptions)

_STATUS_OF: Final[Mapping[str, str]] = {
    "ready": "pending",
    "complete": "completed",
    "failed": "failed",
    "skipped": "skipped",
}


@dataclass(frozen=True, slots=True)
class Foundation:
    """Options and services of one orchestrator, and what is made of them for every run."""

    options: OrchestratorOptions
    services: Services
    router: ExecutionRouter | None = None
    recovery: RecoveryOptions | None = None
    estimate: EstimateCost | None = None
    checkpoint: CheckpointOptions | None = None

    def placed(self, options: Run) -> Run:
        """The options of a run, saved where the engine says if they do not say it themselves."""
        place = options.checkpoint if options.checkpoint is not None else self.checkpoint
        if place is not None and not place.enabled:
            place = None
        return replace(options, checkpoint=place)

    def now(self) -> str:
        """The present as ms-ISO text."""
        return to_ms_iso(self.services.clock.now())

    def limit(self, run_limit: int | None) -> int | None:
        """The token ceiling of a run (engine.md 1.1: by minimum)."""
        return smallest(run_limit, self.options.max_token_budget)

    def cost(self, run_limit: float | None, *, spent: float = 0.0) -> RunCost:
        """The cost of a run so far, and its ceiling. Raises InvalidInput COST_ESTIMATE_MISSING."""
        limit = smallest_cost(run_limit, self.options.max_cost_budget)
        if limit is not None and self.estimate is None:
            raise InvalidInput("COST_ESTIMATE_MISSING")
        return RunCost(self.estimate, limit, spent=spent)

    def fresh_state(
        self, mode: RunMode, team: Team, options: RunOptions, identity: RunIdentity
    ) -> RunState:
        """A new run without tasks yet. Raises InvalidInput RUN_METADATA_INVALID."""
        messages = MessageBus(now=self.now, new_id=self.services.ids.uuid)
        for message in team.config.messages:
            messages.send(str(message["from"]), str(message["to"]), str(message["content"]))
        return RunState(
            mode=mode,
            identity=identity,
            queue=TaskQueue(now=self.now, listener=self.teller(identity.run_id)),
            messages=messages,
            budget=RunBudget(self.limit(options.max_token_budget)),
            cost=self.cost(options.max_cost_budget),
            goal=options.goal,
            metadata=clean_metadata(options.metadata),
        )

    def attempt(
        self,
        team: Team,
        state: RunState,
        options: RunOptions | RestoreOptions,
        place: Checkpoint | None,
    ) -> AttemptRun:
        """One attempt of a run, ready to go."""
        return AttemptRun(
            team,
            self.options,
            self.services,
            state=state,
            options=options,
            place=place,
            recovery=self.recovery,
        )

    def check_recovery(
        self, team: Team, options: RunOptions | RestoreOptions, mode: RunMode
    ) -> None:
        """Refuse a recovery that cannot work, before anything is touched (engine.md 6.1)."""
        wanted = options.recovery if options.recovery is not None else self.recovery
        checked_recovery(wanted, team=team, mode=mode)

    def teller(self, run_id: str) -> Callable[[str, str], None]:
        """Every change of a task's status is told, cascades included (DEV-17)."""
        bus = self.services.bus.of_run(run_id)

        def tell(event: str, task_id: str) -> None:
            if event != "all_complete":
                bus.emit("task_status", task=task_id, data={"to": _STATUS_OF[event]})

        return tell
