"""When a failed request is sent again, and after how long (engine.md 8.6, case s35)."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

from oma_desktop.model.errors import ProviderError

# What a failed call may ask of the task level at most: nobody sleeps for ever on a header.
LONGEST_WISH_S: Final = 3600.0

_SECONDS: Final = re.compile(r"[0-9]+(\.[0-9]+)?")


def parse_retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """Return the wished wait in whole seconds, 0 to 3600, or None where nothing usable is said.

    `retry-after-ms` wins over `Retry-After`; that may be seconds, a fraction (rounded up) or a
    date in any of the three HTTP forms. Never raises.
    """
    ms = headers.get("retry-after-ms", "").strip()
    if _SECONDS.fullmatch(ms):
        return _bounded(float(ms) / 1000)
    text = headers.get("retry-after", "").strip()
    if _SECONDS.fullmatch(text):
        return _bounded(math.ceil(float(text))) if len(text) < 300 else LONGEST_WISH_S
    try:
        at = parsedate_to_datetime(text)
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
    at = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
    return _bounded((at - now).total_seconds())


def _bounded(seconds: float) -> float:
    return min(max(float(seconds), 0.0), LONGEST_WISH_S)


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Up to `max_retries` repeats; half a second doubled up to `cap_s`, less up to a quarter.

    `jitter` returns a number in [0, 1). A wish of the server is honoured up to `max_wish_s`.
    """

    jitter: Callable[[], float]
    max_retries: int = 2
    base_s: float = 0.5
    cap_s: float = 8.0
    max_wish_s: float = 60.0

    def delay_s(self, error: ProviderError, *, retries: int, started: bool) -> float | None:
        """Return the wait before the next try, or None when there is none.

        `retries` counts the repeats made; `started` says that a piece of the answer was received.
        """
        if started or retries >= self.max_retries or not error.facts.get("retryable"):
            return None
        wish = error.facts.get("retry_after_s")
        if isinstance(wish, (int, float)):
            return float(wish) if wish <= self.max_wish_s else None
        delay = min(self.cap_s, self.base_s * 2**retries)
        return float(delay * (1 - 0.25 * self.jitter()))


@dataclass(frozen=True, slots=True)
class RetryNotice:
    """One repeat that is about to happen: the data of an `llm_retry` event."""

    provider: str
    agent: str
    task_title: str
    retry: int
    delay_s: float
    code: str
    status: int | None
