"""Waiting for one thing while a stop, or a time limit, may come first."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import Enum
from typing import Generic, TypeVar

from oma_desktop.base.clock import Clock
from oma_desktop.base.supervisor import Supervisor
from oma_desktop.engine.cancel import CancelToken, StopReason

T = TypeVar("T")
S = TypeVar("S")


class Ended(Enum):
    """What came first. LOST: the work itself was cancelled from inside."""

    DONE = "done"
    RAISED = "raised"
    LOST = "lost"
    STOPPED = "stopped"
    TIMEOUT = "timeout"


@dataclass(frozen=True, slots=True)
class Outcome(Generic[T]):
    """How a race ended; `value` with DONE, `error` with RAISED."""

    ended: Ended
    value: T | None = None
    error: Exception | None = None


class Race:
    """Runs foreign code (tools, gates) so that it can neither raise into nor outlive its caller.

    `grace_s` is how long work may go on after a stop, to finish what it is doing.
    """

    def __init__(self, *, supervisor: Supervisor, clock: Clock) -> None:
        self._supervisor = supervisor
        self._clock = clock

    async def run(
        self,
        work: Awaitable[T],
        *,
        name: str,
        token: CancelToken,
        only_abort: bool = False,
        grace_s: float = 0.0,
        limit_s: float | None = None,
    ) -> Outcome[T]:
        """Wait for `work`; give up at a stop (`only_abort`: not for SUSPEND) or at the limit.

        Work that is given up is cancelled. A cancellation of the caller goes through.
        """
        task = self._supervisor.spawn(_guarded(work), name=name)
        assert task is not None
        stopped: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def on_stop(reason: StopReason) -> None:
            if not stopped.done() and not (only_abort and reason is StopReason.SUSPEND):
                stopped.set_result(None)

        forget = token.on_stop(on_stop)
        if token.reason is not None:
            on_stop(token.reason)
        try:
            return await self._first(task, stopped, grace_s=grace_s, limit_s=limit_s)
        finally:
            forget()
            task.cancel()

    async def _first(
        self,
        task: asyncio.Task[Outcome[T]],
        stopped: asyncio.Future[None],
        *,
        grace_s: float,
        limit_s: float | None,
    ) -> Outcome[T]:
        if not await self._wait(task, stopped, limit_s):
            return Outcome(Ended.TIMEOUT)
        if not task.done() and grace_s > 0:
            await self._wait(task, None, grace_s)
        if not task.done():
            return Outcome(Ended.STOPPED)
        return Outcome(Ended.LOST) if task.cancelled() else task.result()

    async def _wait(
        self,
        task: asyncio.Task[Outcome[T]],
        stopped: asyncio.Future[None] | None,
        limit_s: float | None,
    ) -> bool:
        """Return False when only the time ran out."""
        waiting: set[asyncio.Future[object]] = {task, *([stopped] if stopped else [])}  # type: ignore[arg-type]
        timer = None
        if limit_s is not None:
            timer = self._supervisor.spawn(self._clock.sleep(limit_s), name="time limit")
            assert timer is not None
            waiting.add(timer)  # type: ignore[arg-type]
        try:
            done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if timer is not None:
                timer.cancel()
        return done != {timer}


async def _guarded(work: Awaitable[T]) -> Outcome[T]:
    try:
        return Outcome(Ended.DONE, value=await work)
    except Exception as error:  # noqa: BLE001 - the boundary around tools and gates
        return Outcome(Ended.RAISED, error=error)
    except SystemExit as leaving:  # foreign code leaves its own work, not the program
        return Outcome(Ended.RAISED, error=RuntimeError(f"SystemExit: {leaving}"))


def guarded_call(function: Callable[[S], T], argument: S) -> Outcome[T]:
    """The same boundary for a plain function of others: what it raises is an outcome."""
    try:
        return Outcome(Ended.DONE, value=function(argument))
    except Exception as error:  # noqa: BLE001 - the boundary around foreign code, as above
        return Outcome(Ended.RAISED, error=error)
