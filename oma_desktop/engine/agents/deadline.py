"""A time limit as a token: stops with TIMEOUT at the limit, or with its parent (engine.md 3.8)."""

from __future__ import annotations

import asyncio
from types import TracebackType

from oma_desktop.base.clock import Clock
from oma_desktop.base.supervisor import Supervisor
from oma_desktop.engine.cancel import CancelToken, StopReason


class Deadline:
    """`with Deadline(...) as token:` the token follows `parent` and ends with the block.

    `expired` is True when the limit itself came first. Without a limit it only follows.
    """

    def __init__(
        self,
        parent: CancelToken,
        *,
        limit_ms: float | None,
        clock: Clock,
        supervisor: Supervisor,
    ) -> None:
        self.token = CancelToken()
        self.expired = False
        self._parent = parent
        self._limit_ms = limit_ms
        self._clock = clock
        self._supervisor = supervisor
        self._timer: asyncio.Task[None] | None = None
        self._forget = parent.on_stop(self.token.stop)
        if parent.reason is not None:
            self.token.stop(parent.reason)

    def __enter__(self) -> CancelToken:
        if self._limit_ms is not None:
            self._timer = self._supervisor.spawn(self._expire(), name="deadline")
        return self.token

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._forget()
        if self._timer is not None:
            self._timer.cancel()

    async def _expire(self) -> None:
        assert self._limit_ms is not None
        await self._clock.sleep(self._limit_ms / 1000)
        if not self._parent.aborted:
            self.expired = True
            self.token.stop(StopReason.TIMEOUT)
