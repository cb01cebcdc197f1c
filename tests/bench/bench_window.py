"""The whole window while a 20 MB checkpoint is replaced every 200 ms (product.md 3.3, issue 2).

Run it with `python -m tests.bench.bench_window [--seconds N] [--tasks N]`. It prints the longest
callback of the loop by wall clock and by CPU time of its thread, the longest silence of a 2 ms
ticker, how fresh the screen was, and memory from start to end. Idle figures of the same process
come first: they tell what the machine itself does.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import os
import statistics
import tempfile
import time
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import psutil

from oma_desktop.app.interpreter import favour_loop
from oma_desktop.app.loop import StallGuard, loop_factory
from oma_desktop.app.main import make_application
from oma_desktop.app.workbench import Workbench
from oma_desktop.base.clock import SystemClock
from oma_desktop.base.lanes import Lanes
from oma_desktop.base.supervisor import Supervisor
from tests.bench.bench_monitor import write_often

WALL_LIMIT_S = 0.05


class Ticker:
    """Wakes every 2 ms: what a person would feel as a frozen window is a long silence here."""

    def __init__(self) -> None:
        self.gaps: list[float] = []

    async def run(self) -> None:
        last = time.perf_counter()
        while True:
            await asyncio.sleep(0.002)
            now = time.perf_counter()
            self.gaps.append(now - last - 0.002)
            last = now


def say(name: str, ticker: Ticker, guard: StallGuard) -> None:
    """Print one phase and forget it."""
    cut = statistics.quantiles(ticker.gaps, n=1000)
    print(
        f"{name}: longest callback {guard.worst_wall_s * 1e3:.1f} ms, "
        f"callbacks above 50 ms: {len(guard.stalls)}, "
        f"longest silence {max(ticker.gaps) * 1e3:.1f} ms, p99.9 {cut[998] * 1e3:.1f} ms, "
        f"p99 {cut[989] * 1e3:.1f} ms"
    )
    for stall in guard.stalls[:5]:
        print(f"  {stall.wall_s * 1e3:.0f} ms wall, {stall.cpu_s * 1e3:.0f} ms CPU: {stall.what}")
    ticker.gaps.clear()
    guard.stalls.clear()
    guard.worst_wall_s = 0.0


async def measure(path: Path, n_tasks: int, seconds: float, guard: StallGuard) -> None:
    """Idle, then busy."""
    lanes, supervisor, ticker = Lanes(), Supervisor(), Ticker()
    bench = Workbench(clock=SystemClock(), lanes=lanes, supervisor=supervisor)
    bench.window.show()
    favour_loop()
    supervisor.spawn(ticker.run(), name="ticker")
    await asyncio.sleep(2)
    say("empty window, idle", ticker, guard)
    ages: list[float] = []

    def on_changed(_paths: object) -> None:
        for store in bench.feed.stores():
            written = store.runs[0].goal if store.runs else None
            ages.extend([time.monotonic() - float(written)] if written else [])

    bench.feed.changed.connect(on_changed)
    writer = multiprocessing.get_context("spawn").Process(
        target=write_often, args=(str(path), n_tasks, seconds)
    )
    writer.start()
    while not await asyncio.to_thread(path.exists):  # noqa: ASYNC110 - another process
        await asyncio.sleep(0.05)
    bench.session.open_paths([str(path)])
    me, memory = psutil.Process(), []
    while writer.is_alive():
        await asyncio.sleep(seconds / 10)
        memory.append(me.memory_info().rss / 1e6)
    size = (await asyncio.to_thread(path.stat)).st_size
    say(f"{n_tasks} tasks, {size / 1e6:.0f} MB, replaced every 200 ms", ticker, guard)
    ages.sort()
    if ages:
        print(
            f"pictures: {len(ages)}, age median {ages[len(ages) // 2]:.2f} s, worst {ages[-1]:.2f}"
        )
    print("memory of the window, MB:", " ".join(f"{m:.0f}" for m in memory))
    await bench.close()
    await supervisor.close()
    lanes.close()


def main() -> None:
    """Parse, run, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--tasks", type=int, default=1800)
    options = parser.parse_args()
    guard = StallGuard(wall_s=WALL_LIMIT_S, cpu_s=1e9)
    app = make_application()
    with (
        tempfile.TemporaryDirectory() as folder,
        asyncio.Runner(loop_factory=loop_factory(app, guard)) as runner,
    ):
        path = Path(folder) / "checkpoint.json"
        runner.run(measure(path, options.tasks, options.seconds, guard))


if __name__ == "__main__":
    main()
