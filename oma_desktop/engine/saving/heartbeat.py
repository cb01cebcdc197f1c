"""Keeping the writer lock for the length of an attempt (formats.md 1.7)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

from oma_desktop.base.clock import Clock
from oma_desktop.base.lanes import Lanes
from oma_desktop.base.supervisor import Supervisor
from oma_desktop.engine.options import HeldLock
from oma_desktop.model.errors import Locked, WriteFailed

BEAT_S: Final = 2.0


@asynccontextmanager
async def taken(lock: HeldLock | None, lanes: Lanes) -> AsyncIterator[None]:
    """Take the lock unless it is held already; what is taken here is given back here.

    Raises Locked when another writer lives.
    """
    if lock is None or lock.held:
        yield
        return
    await lanes.store(lock.acquire)
    try:
        yield
    finally:
        await lanes.store(lock.release)


@asynccontextmanager
async def beating(
    lock: HeldLock | None,
    *,
    clock: Clock,
    lanes: Lanes,
    supervisor: Supervisor,
    on_lost: Callable[[Locked], None],
) -> AsyncIterator[None]:
    """Say every two seconds that we live; `on_lost` is called once when somebody else took over."""
    if lock is None:
        yield
        return
    task = supervisor.spawn(_beat(lock, clock, lanes, on_lost), name="writer lock")
    assert task is not None
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task})


async def _beat(
    lock: HeldLock, clock: Clock, lanes: Lanes, on_lost: Callable[[Locked], None]
) -> None:
    while True:
        await clock.sleep(BEAT_S)
        try:
            await lanes.store(lock.beat)
        except Locked as error:
            on_lost(error)
            return
        except WriteFailed:
            continue  # a full disk may recover; an old heartbeat alone takes no lock on this host
