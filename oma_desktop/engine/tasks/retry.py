"""Task retries: how often, how long in between (engine.md 2.7)."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from typing import Final

from oma_desktop.base.clock import Clock
from oma_desktop.base.supervisor import Supervisor
from oma_desktop.engine.cancel import CancelToken, StopReason
from oma_desktop.model.checkpoint import TaskSnapshot
from oma_desktop.model.result import AgentRunResult

MAX_DELAY_MS: Final = 30_000.0
DEFAULT_DELAY_MS: Final = 1_000.0
DEFAULT_BACKOFF: Final = 2.0


def max_attempts(task: TaskSnapshot) -> int:
    """1 + maxRetries; a missing, negative or non-finite count means no retry."""
    wanted = task.get("maxRetries", 0)
    return 1 + max(0, int(_finite(wanted, 0.0)))


def nominal_delay_ms(*, base_ms: float, backoff: float, attempt: int) -> float:
    """min(base * backoff^(attempt-1), 30000); attempts count from 1."""
    try:
        return min(base_ms * backoff ** (attempt - 1), MAX_DELAY_MS)
    except OverflowError:  # JavaScript gives Infinity here (formats.md T21)
        return MAX_DELAY_MS if base_ms > 0 else 0.0


def jittered_ms(nominal_ms: float, draw: float) -> int:
    """A point in [d/2, d], rounded half up as the peer does; `draw` is in [0, 1)."""
    return math.floor(nominal_ms / 2 + draw * nominal_ms / 2 + 0.5)


def delay_ms(task: TaskSnapshot, *, attempt: int, rng: Callable[[], float]) -> int:
    """The pause after the failed `attempt` (from 1), jitter included."""
    base = max(0.0, _finite(task.get("retryDelayMs", DEFAULT_DELAY_MS), DEFAULT_DELAY_MS))
    backoff = max(1.0, _finite(task.get("retryBackoff", DEFAULT_BACKOFF), DEFAULT_BACKOFF))
    return jittered_ms(nominal_delay_ms(base_ms=base, backoff=backoff, attempt=attempt), rng())


def asked_delay_ms(result: AgentRunResult) -> int:
    """How long the endpoint asked to be left alone (`Retry-After`), else 0 (engine.md 8.6)."""
    wish = None if result.error_info is None else result.error_info.retry_after_s
    return math.ceil(wish * 1000) if wish is not None and 0 < wish < math.inf else 0


def _finite(value: float, otherwise: float) -> float:
    return float(value) if math.isfinite(value) else otherwise


def may_retry(result: AgentRunResult, token: CancelToken) -> bool:
    """Whether a further attempt makes sense; one without structured error may be repeated."""
    return not token.stopped and is_retryable(result)


def is_retryable(result: AgentRunResult) -> bool:
    """Whether the result is a failure that a further attempt could mend."""
    if result.success or result.suspended:
        return False
    return result.error_info is None or result.error_info.retryable is not False


def is_provider_failure(result: AgentRunResult) -> bool:
    """Whether the endpoint failed in a way that another one may not (engine.md 2.7)."""
    info = result.error_info
    if info is None or not is_retryable(result):
        return False
    return info.kind == "provider" or info.code == "LLM_CALL_TIMEOUT"


async def pause(
    delay_s: float, *, clock: Clock, token: CancelToken, supervisor: Supervisor
) -> bool:
    """Sleep between attempts; a stop ends it early, and then False says: do not try again."""
    if token.stopped:
        return False
    stop: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def on_stop(_reason: StopReason) -> None:
        if not stop.done():
            stop.set_result(None)

    forget = token.on_stop(on_stop)
    sleeper = supervisor.spawn(clock.sleep(delay_s), name="pause before a retry")
    assert sleeper is not None
    try:
        await asyncio.wait({sleeper, stop}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        forget()
        sleeper.cancel()
    return not token.stopped
