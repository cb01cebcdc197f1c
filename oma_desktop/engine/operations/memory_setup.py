"""Giving a run its shared memory, new or restored (formats.md 1.6, 2.3)."""

from __future__ import annotations

from oma_desktop.engine.attempt import Services
from oma_desktop.engine.memory.shared_memory import SharedMemory
from oma_desktop.engine.options import CheckpointOptions
from oma_desktop.engine.run_state import RunState
from oma_desktop.model.checkpoint import CheckpointSnapshot
from oma_desktop.model.team import TeamConfig
from oma_desktop.store.in_memory import InMemoryStore


def give_memory(
    state: RunState, config: TeamConfig, checkpoint: CheckpointOptions | None, services: Services
) -> None:
    """Shared memory in the checkpoint's own store (`file`), or apart and embedded in snapshots."""
    if config.shared_memory is False:
        return
    if config.shared_memory == "file" and checkpoint is not None:
        state.memory = SharedMemory(checkpoint.store, services.lanes)
        return
    state.memory = SharedMemory(InMemoryStore(clock=services.clock), services.lanes)
    state.embed_memory = True


async def restore_memory(
    state: RunState,
    config: TeamConfig,
    checkpoint: CheckpointOptions,
    services: Services,
    *,
    snapshot: CheckpointSnapshot,
) -> None:
    """The first thing a restore changes, after every check (W9).

    A team without shared memory carries on what was saved all the same.
    """
    give_memory(state, config, checkpoint, services)
    embedded = snapshot.get("sharedMemory")
    if state.memory is None and (embedded is not None or "turnCount" in snapshot):
        state.memory = SharedMemory(InMemoryStore(clock=services.clock), services.lanes)
        state.embed_memory = embedded is not None
    if state.memory is None:
        return
    if embedded is not None:
        await state.memory.restore(embedded)
    else:
        state.memory.turn_count = snapshot.get("turnCount", 0)
