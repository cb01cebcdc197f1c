"""Slots for agent runs: one semaphore for tasks and for what they delegate (engine.md 2.5)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Pool:
    """At most `size` agents run at once; who waits is served in order.

    Invariant: nobody waits for a slot while holding one, so nobody waits for ever. Hence a
    delegation, whose caller holds a slot, starts only when one is free (`has_room`).
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._slots = asyncio.Semaphore(size)

    @property
    def has_room(self) -> bool:
        """Whether `slot` would begin at once; true until the next await of the caller."""
        return not self._slots.locked()

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Wait for a slot and hold it."""
        async with self._slots:
            yield

    @asynccontextmanager
    async def lent(self) -> AsyncIterator[None]:
        """Give the slot that is held to others, and take one again at the end."""
        self._slots.release()
        try:
            yield
        finally:
            await self._slots.acquire()
