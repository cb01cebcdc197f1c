"""Cooperative stop: a token with a reason, checked at safe points (engine.md 15.1).

`asyncio.Task.cancel` is for leaving the process only: a stopped run still drains, commits, saves.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from enum import StrEnum


class StopReason(StrEnum):
    """Why a run stops early."""

    SUSPEND = "suspend"  # operator: finish the step, save, stop; resumable, nothing is lost
    CANCEL = "cancel"  # operator: stop now, tasks in flight fail, the rest is skipped
    TIMEOUT = "timeout"
    BUDGET = "budget"


class CancelToken:
    """A one-way switch. The first reason wins; children follow their parent, never the reverse."""

    def __init__(self, parent: CancelToken | None = None) -> None:
        self._reason: StopReason | None = None
        self._event = asyncio.Event()
        self._listeners: list[Callable[[StopReason], None]] = []
        if parent is not None:
            if parent.reason is not None:
                self.stop(parent.reason)
            else:
                parent.on_stop(self.stop)

    @property
    def reason(self) -> StopReason | None:
        """The reason, or None while nothing was asked."""
        return self._reason

    @property
    def stopped(self) -> bool:
        """True once any stop was asked."""
        return self._reason is not None

    @property
    def aborted(self) -> bool:
        """True for every reason but SUSPEND: a running step is interrupted, not finished."""
        return self._reason is not None and self._reason is not StopReason.SUSPEND

    def stop(self, reason: StopReason) -> None:
        """Ask to stop. A CANCEL after a SUSPEND strengthens it; anything else is ignored."""
        if self._reason is reason:
            return
        if self._reason is not None and not (
            self._reason is StopReason.SUSPEND and reason is not StopReason.SUSPEND
        ):
            return
        self._reason = reason
        self._event.set()
        for listener in list(self._listeners):
            listener(reason)

    def on_stop(self, listener: Callable[[StopReason], None]) -> Callable[[], None]:
        """Call `listener` at each (strengthened) stop; returns a function that unsubscribes."""
        self._listeners.append(listener)

        def forget() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return forget

    async def wait(self) -> StopReason:
        """Return once a stop was asked."""
        await self._event.wait()
        assert self._reason is not None
        return self._reason
