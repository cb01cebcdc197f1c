"""Lets the first wish through at once and merges the ones that come meanwhile (house.md 2.3.3)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from oma_desktop.base.clock import Clock
from oma_desktop.base.supervisor import Supervisor

GAP_S: Final = 0.1
"""Never read more often than this (ux.md C2): engines save after every single tool result."""


class Debounce:
    """Runs `go` once per wish or burst of wishes, never twice at a time.

    Invariants: a wish made before or during a run is followed by a run that began after it; runs
    begin at least `gap_s` apart, and a slow run is followed by a rest of half its length.
    """

    def __init__(
        self,
        go: Callable[[], Awaitable[None]],
        *,
        name: str,
        clock: Clock,
        supervisor: Supervisor,
        gap_s: float = GAP_S,
    ) -> None:
        self._go = go
        self._name = name
        self._clock = clock
        self._supervisor = supervisor
        self._gap_s = gap_s
        self._wanted = False
        self._runs = False
        self._closed = False

    def ask(self) -> None:
        """Wish for a run, now or as soon as allowed."""
        self._wanted = True
        if not self._runs and not self._closed:
            self._runs = True
            self._supervisor.spawn(self._run(), name=self._name)

    def close(self) -> None:
        """Start no further run; one that goes on is not disturbed."""
        self._closed = True

    async def _run(self) -> None:
        try:
            while self._wanted and not self._closed:
                self._wanted = False
                began = self._clock.monotonic()
                await self._go()
                took = self._clock.monotonic() - began
                await self._clock.sleep(max(self._gap_s - took, took / 2))
        finally:
            self._runs = False
