"""What every part of one attempt is handed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

from oma_desktop.base.clock import Clock
from oma_desktop.base.lanes import Lanes
from oma_desktop.base.supervisor import Supervisor
from oma_desktop.engine.agents.team import AgentJob, Team
from oma_desktop.engine.bus import EventBus
from oma_desktop.engine.control import RunControl
from oma_desktop.engine.identity import Ids
from oma_desktop.engine.model_routes import ModelRoutes
from oma_desktop.engine.queueing.pool import Pool
from oma_desktop.engine.queueing.scheduling import AgentChooser, check_requirements
from oma_desktop.engine.recovery_options import RecoveryOptions
from oma_desktop.engine.run_state import RunState
from oma_desktop.engine.saving.approvals import Approvals
from oma_desktop.engine.saving.checkpointing import CheckpointWriter
from oma_desktop.model.checkpoint import TaskSnapshot
from oma_desktop.model.result import AgentRunResult
from oma_desktop.model.team import AgentConfig, OrchestratorOptions

Execute: TypeAlias = Callable[[Team, AgentConfig, AgentJob], Awaitable[AgentRunResult]]


@dataclass(frozen=True, slots=True)
class Services:
    """The outside of the engine: time, threads, tasks, chance, ids, events, and how agents run.

    `rng` gives numbers in [0, 1).
    """

    clock: Clock
    supervisor: Supervisor
    lanes: Lanes
    ids: Ids
    rng: Callable[[], float]
    bus: EventBus
    execute: Execute


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt of one run. `recovery` is None where the plan is fixed."""

    team: Team
    options: OrchestratorOptions
    services: Services
    state: RunState
    control: RunControl
    approvals: Approvals
    chooser: AgentChooser
    writer: CheckpointWriter | None
    pool: Pool
    routes: ModelRoutes
    recovery: RecoveryOptions | None = None

    async def save(self, boundary: str) -> bool:
        """Best effort. False when it failed, which was announced.

        Nothing is saved without a checkpoint, while there is no task yet (DEV-31), before a plan
        was let through, or where one agent took the goal.
        """
        facts = self.state.coordination
        if self.writer is None or facts.planning or facts.alone or not len(self.state.queue):
            return True
        return await self.writer.save(boundary)

    def check_requirements(self, tasks: Iterable[TaskSnapshot] | None = None) -> None:
        """Raise PlanRejected when a task can have no fitting agent (engine.md 2.6).

        Looks at the queue, or at tasks that are not in it yet.
        """
        roster = {a.name: a for a in self.team.config.agents}
        check_requirements(self.state.queue if tasks is None else tasks, self.chooser, roster)
