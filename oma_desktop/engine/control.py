"""Why a run stops admitting work. The first reason wins; signals are edge-triggered (DEV-32)."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from oma_desktop.engine.cancel import CancelToken, StopReason
from oma_desktop.model.errors import OmaError
from oma_desktop.model.result import ErrorInfo, RunStatus


@dataclass(frozen=True, slots=True)
class Stop:
    """A reason to stop. `raises`: what the caller gets after the drain instead of a result."""

    status: RunStatus
    by: str
    error: ErrorInfo | None = None
    raises: OmaError | None = None


class RunControl:
    """Stop reason and wake-up signal of one attempt.

    Invariant: `wake` is set by a change of state only (a task settled, a stop was asked), never by
    looking at the state, so that waiting really waits.
    """

    def __init__(self, token: CancelToken) -> None:
        self.token = token
        self._stop: Stop | None = None
        self._wake = asyncio.Event()
        self._forget = token.on_stop(self._on_stop)
        if token.reason is not None:
            self._on_stop(token.reason)

    @property
    def stop(self) -> Stop | None:
        """The reason, or None while work is admitted."""
        return self._stop

    def ask(self, stop: Stop) -> None:
        """Stop for this reason. A fault that must be raised overrules everything else."""
        if self._stop is None or (stop.raises is not None and self._stop.raises is None):
            self._stop = stop
            self.wake()

    def wake(self) -> None:
        """Something changed: look again."""
        self._wake.set()

    def looking(self) -> None:
        """Call before looking at the state; a change after this is not missed."""
        self._wake.clear()

    async def changed(self) -> None:
        """Wait for the next change after `looking`."""
        await self._wake.wait()

    def close(self) -> None:
        """Stop listening to the token."""
        self._forget()

    def _on_stop(self, reason: StopReason) -> None:
        # The token strengthens a suspend to a cancel; any other reason that came first stays.
        if self._stop is None or self._stop is _STOPS[StopReason.SUSPEND]:
            self._stop = _STOPS[reason]
        self.wake()


_STOPS = {
    StopReason.SUSPEND: Stop(RunStatus("suspended"), "operator"),
    StopReason.CANCEL: Stop(RunStatus("cancelled"), "operator"),
    StopReason.TIMEOUT: Stop(RunStatus("timeout"), "time limit"),
    StopReason.BUDGET: Stop(RunStatus("budget_exhausted"), "budget"),
}


def fatal(error: OmaError) -> Stop:
    """A fault that ends the run: drain, then raise to the caller (engine.md 1.9)."""
    info = ErrorInfo("validation", code=error.code, message=str(error), retryable=error.retryable)
    return Stop(RunStatus("error", error.code), "fault", error=info, raises=error)


def broken(error: BaseException) -> Stop:
    """A bug in the engine: drain, keep the last safe state, say so."""
    info = ErrorInfo("framework", code="ENGINE_FAULT", name=type(error).__name__)
    return Stop(RunStatus("error", "ENGINE_FAULT"), "fault", error=info)
