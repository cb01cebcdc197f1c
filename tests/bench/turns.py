"""Every turn of the Qt loop under a StallGuard: timers, paints and layout included."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from PySide6.QtCore import QCoreApplication

from oma_desktop.app.loop import Stall, StallGuard


@dataclass
class Turns:
    """Turns the loop by hand: one turn is everything that is due, so never less than a callback."""

    guard: StallGuard
    worst_cpu_s: float = 0.0
    worst_what: str = ""
    n: int = 0
    kept: list[Stall] = field(default_factory=list)

    def do(self, what: str, act: Callable[[], object]) -> None:
        """Measure one act of the window's own thread."""
        wall, cpu = time.perf_counter(), time.thread_time()
        act()
        took = Stall(time.perf_counter() - wall, time.thread_time() - cpu, what)
        self.n += 1
        self.guard.worst_wall_s = max(self.guard.worst_wall_s, took.wall_s)
        if took.cpu_s > self.worst_cpu_s:
            self.worst_cpu_s, self.worst_what = took.cpu_s, what
        if took.wall_s > self.guard.wall_s or took.cpu_s > self.guard.cpu_s:
            self.guard.stalls.append(took)

    def until(self, holds: Callable[[], bool], what: str, *, patience_s: float = 60.0) -> None:
        """Turn the loop until `holds`."""
        end = time.monotonic() + patience_s
        while not holds():
            if time.monotonic() > end:
                raise TimeoutError(what)
            self.do(what, QCoreApplication.processEvents)
            time.sleep(0.001)

    def some(self, n: int, what: str) -> None:
        """Turn the loop `n` times."""
        for _ in range(n):
            self.do(what, QCoreApplication.processEvents)
            time.sleep(0.001)
