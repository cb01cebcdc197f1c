"""What every part of one attempt is handed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias

from oma_desktop.base.clock import Clock
from oma_desktop.base.lanes import Lanes
from oma_desktop.base.supervisor import Supervisor
from oma_desktop.engine.approvals import Approvals
from oma_desktop.engine.bus import EventBus
from oma_desktop.engine.checkpointing import CheckpointWriter
from oma_desktop.engine.control import RunControl
from oma_desktop.engine.identity import Ids
from oma_desktop.engine.pool import Pool
from oma_desktop.engine.run_state import RunState
from oma_desktop.engine.scheduling import AgentChooser
from oma_desktop.engine.team import AgentJob, Team
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
    """One attempt of one run."""

    team: Team
    options: OrchestratorOptions
    services: Services
    state: RunState
    control: RunControl
    approvals: Approvals
    chooser: AgentChooser
    writer: CheckpointWriter | None
    pool: Pool

    async def save(self, boundary: str) -> bool:
        """Best effort; nothing without a checkpoint. False when it failed, which was announced."""
        return self.writer is None or await self.writer.save(boundary)
