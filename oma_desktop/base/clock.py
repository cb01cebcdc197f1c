"""Time as a dependency: the only place that reads the system clock."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime
from typing import Protocol

from oma_desktop.base.ms_iso import to_ms_iso

__all__ = ["Clock", "SystemClock", "to_ms_iso"]


class Clock(Protocol):
    """Wall time, a monotonic counter and sleeping; tests inject a fake one."""

    def now(self) -> datetime:
        """Aware UTC, cut to milliseconds (formats.md 0.2: ms-ISO)."""
        ...

    def monotonic(self) -> float:
        """Seconds that never go back."""
        ...

    async def sleep(self, delay_s: float) -> None:
        """Wait at least `delay_s`; Qt timers may fire early (house.md 4.1 #13)."""
        ...


class SystemClock:
    """The real one."""

    def now(self) -> datetime:
        """Aware UTC, cut to milliseconds."""
        now = datetime.now(UTC)  # noqa: TID251 - this is the one place
        return now.replace(microsecond=now.microsecond // 1000 * 1000)

    def monotonic(self) -> float:
        """Seconds that never go back."""
        return time.monotonic()

    async def sleep(self, delay_s: float) -> None:
        """Wait until the monotonic clock has really passed the delay."""
        end = time.monotonic() + delay_s
        while (left := end - time.monotonic()) > 0:  # noqa: ASYNC110 - Qt timers fire early
            await asyncio.sleep(left)
        if delay_s <= 0:
            await asyncio.sleep(0)
