"""Saving a run: one save at a time, the latest wins (engine.md 7.5; formats.md 2.9)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Final

from oma_desktop.base.clock import Clock
from oma_desktop.base.lanes import Lanes
from oma_desktop.base.ms_iso import to_ms_iso
from oma_desktop.engine.bus import EventBus
from oma_desktop.engine.run_state import RunState
from oma_desktop.engine.saving.encoding import SnapshotEncoder
from oma_desktop.engine.saving.queue_pages import QueuePages
from oma_desktop.engine.saving.snapshotting import Captured, capture
from oma_desktop.engine.spans import span
from oma_desktop.model.errors import ChangedOnDisk, OmaError, StoreError, WriteFailed
from oma_desktop.store.checkpoint import Checkpoint

_QUIET: Final = 4
"""Turns of the loop without a new caller after which a save begins."""
_TURNS: Final = 32
SAVE_FAILED: Final = "checkpoint_save_failed"


class CheckpointWriter:
    """Saves one run.

    Invariants: saves never overlap; a snapshot is taken in one synchronous step when its save
    starts; a waiter returns only after a save that started after its call; waiters that one save
    covers share it, except strict ones, which always get a save of their own. After `forbid` (the
    writer lock was lost) nothing is written any more. `on_changed` is told when somebody without
    the lock, the peer for one, wrote the store: no later save of ours can succeed.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        state: RunState,
        *,
        lanes: Lanes,
        clock: Clock,
        bus: EventBus,
        on_changed: Callable[[ChangedOnDisk], None] = lambda _error: None,
    ) -> None:
        self._checkpoint = checkpoint
        self._state = state
        self._lanes = lanes
        self._clock = clock
        self._bus = bus
        self._on_changed = on_changed
        self._encoder = SnapshotEncoder(quoted=checkpoint.takes_pieces, mask=checkpoint.mask())
        self._pages = QueuePages()
        self._turn = asyncio.Lock()
        self._asked = 0
        self._waiting: list[asyncio.Future[bool]] | None = None
        self._covered = 0
        self._last_ok = True
        self._forbidden: OmaError | None = None
        self.saves = 0

    @property
    def key(self) -> str:
        """The store key of this run."""
        return self._checkpoint.key

    def forbid(self, error: OmaError) -> None:
        """Never write again; later saves fail with this error."""
        self._forbidden = error

    async def save(self, boundary: str) -> bool:
        """Best effort: False when the state did not reach the disk, which was announced then.

        Who comes while a save is being written waits for the next one, with all others who do: one
        of them takes the turn, so that fifty waiters do not queue for it one by one.
        """
        self._asked += 1
        if self._waiting is not None:
            waiter: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
            self._waiting.append(waiter)
            return await waiter
        waiting = self._waiting = []
        ok = False
        try:
            async with self._turn:
                await self._gather()
                ok = await self._shared(boundary)
        finally:
            if self._waiting is waiting:
                self._waiting = None
            for waiter in waiting:
                if not waiter.done():
                    waiter.set_result(ok)
        return ok

    async def _gather(self) -> None:
        """Let those that are about to ask come along: whoever the save before released is often
        only some turns of the loop from its next boundary. Nobody waits for what takes time.
        """
        for _ in range(_TURNS):
            before = self._asked
            for _ in range(_QUIET):
                await asyncio.sleep(0)
            if self._asked == before:
                return

    async def _shared(self, boundary: str) -> bool:
        if self._covered >= self._asked:
            return self._last_ok
        self._last_ok = False  # also when the write ends in something unforeseen
        try:
            await self._write(boundary)
        except StoreError as error:
            if isinstance(error, ChangedOnDisk):
                self._on_changed(error)
            said = {"kind": SAVE_FAILED, "code": error.code, "error": str(error)}
            self._bus.emit("error", data={**error.facts, **said})
        else:
            self._last_ok = True
        return self._last_ok

    async def save_strict(self, boundary: str) -> None:
        """Return only when the state is on disk; raises StoreError."""
        self._asked += 1
        async with self._turn:
            self._last_ok = False
            await self._write(boundary)
            self._last_ok = True

    async def _write(self, boundary: str) -> None:
        state = self._state
        memory = None
        if state.embed_memory and state.memory is not None:
            memory = await state.memory.picture()
        # From here to the hand-over nothing may wait: this is the one synchronous step (DEV-03).
        self._covered = self._asked
        self._waiting = None
        moment = capture(state, now=to_ms_iso(self._clock.now()), memory=memory, pages=self._pages)
        save = self._checkpoint.enlist(partial(self._encode_and_save, moment))
        with span("checkpoint", "save_checkpoint", of_run=True, checkpoint_boundary=boundary) as it:
            size = await self._lanes.store(save)
            it.set(checkpoint_bytes=size)
        self.saves += 1
        self._bus.emit(
            "checkpoint_saved", data={"key": self.key, "bytes": size, "boundary": boundary}
        )

    def _encode_and_save(self, moment: Captured) -> int:
        """On the store lane."""
        if self._forbidden is not None:
            raise WriteFailed("CHECKPOINT_FORBIDDEN", cause=self._forbidden.code)
        text = self._encoder.encode(moment)
        self._checkpoint.save_text(
            text, run_id=self._state.identity.run_id, created_at=moment.created_at
        )
        return text.size
