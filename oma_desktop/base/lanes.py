"""The named executors: one ordered worker for bytes, two for computing (house.md 2.7)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


class Lanes:
    """`store`: every write and fsync, in submission order. `work`: tails, decoding, layout.

    Invariant: no other thread of ours exists but watchdog's and the window's own.
    """

    def __init__(self) -> None:
        self._store = ThreadPoolExecutor(1, thread_name_prefix="oma-store")
        self._work = ThreadPoolExecutor(2, thread_name_prefix="oma-work")

    @property
    def work_executor(self) -> ThreadPoolExecutor:
        """For `loop.set_default_executor`."""
        return self._work

    async def store(self, fn: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run blocking store work; calls run one at a time, in the order they were made."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._store, lambda: fn(*args, **kwargs))

    async def work(self, fn: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run computing that would hold the loop; values in, values out."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._work, lambda: fn(*args, **kwargs))

    def close(self, *, wait: bool = True) -> None:
        """Finish the store lane (when `wait`), drop queued work."""
        self._work.shutdown(wait=False, cancel_futures=True)
        self._store.shutdown(wait=wait)
