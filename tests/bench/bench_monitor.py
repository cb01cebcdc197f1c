"""How a big, busy store is followed: a 20 MB checkpoint replaced every 200 ms for ten seconds.

Run it with `python -m tests.bench.bench_monitor [--seconds N] [--tasks N]`. It prints the longest
gap of the loop, how fresh the pictures were, and memory of both processes at start and end.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import statistics
import tempfile
import time
from pathlib import Path

import psutil

from oma_desktop.base.clock import SystemClock
from oma_desktop.base.lanes import Lanes
from oma_desktop.base.supervisor import Supervisor
from oma_desktop.model.view import StoreView
from oma_desktop.monitor.facade import Monitor
from oma_desktop.monitor.reader import Reader


def big_store(n_tasks: int, goal: str) -> bytes:
    """About 10 KB for each finished task: five rounds of one call."""
    tasks, results = [], []
    for i in range(n_tasks):
        tasks.append(
            {
                "id": f"t{i}",
                "title": f"Task {i}",
                "description": "Look into part of the matter and write down what was found. " * 4,
                "status": "completed" if i < n_tasks - 3 else "in_progress",
                "assignee": f"worker-{i % 7}",
                "dependsOn": [f"t{i - 1}"] if i % 5 else [],
                "createdAt": "2026-01-05T08:00:00.000Z",
                "updatedAt": "2026-01-05T08:00:05.000Z",
            }
        )
        messages, records = [], []
        for r in range(5):
            call = {"type": "tool_use", "id": f"c{i}-{r}", "name": "grep", "input": {"q": f"{r}"}}
            text = f"line {r} of the result of task {i}\n" * 40
            messages.append({"role": "assistant", "content": [call]})
            result = {"type": "tool_result", "tool_use_id": call["id"], "content": text}
            messages.append({"role": "user", "content": [result]})
            records.append(
                {"toolName": "grep", "input": call["input"], "output": text[:200], "duration": 3}
            )
        agent = {
            "success": True,
            "output": "done",
            "messages": messages,
            "tokenUsage": {"input_tokens": 900, "output_tokens": 100},
            "toolCalls": records,
        }
        if i < n_tasks - 3:
            results.append({"taskId": f"t{i}", "result": "done", "agentResult": agent})
    ids = {s: [t["id"] for t in tasks if t["status"] == s] for s in ("completed", "in_progress")}
    snapshot = {
        "version": 4,
        "mode": "runTasks",
        "createdAt": "2026-01-05T08:00:05.000Z",
        "identity": {
            "runId": "big",
            "attempt": 1,
            "lastTraceId": "0" * 31 + "1",
            "lastRootSpanId": "0" * 15 + "1",
        },
        "goal": goal,
        "queue": {
            "version": 1,
            "tasks": tasks,
            "pending": [],
            "inProgress": ids["in_progress"],
            "completed": ids["completed"],
            "failed": [],
            "blocked": [],
            "skipped": [],
        },
        "completedTaskResults": results,
        "inFlightTasks": [],
        "pendingApprovals": [],
        "approvalDecisions": [],
    }
    entry = {
        "key": "__oma_checkpoint__/big/latest",
        "value": json.dumps(snapshot),
        "createdAt": "2026-01-05T08:00:00.000Z",
    }
    return json.dumps({"version": 1, "entries": [entry]}, separators=(",", ":")).encode()


def write_often(path: str, n_tasks: int, seconds: float) -> None:
    """The writer, in its own process: same bytes but for the goal, which is the time."""
    data = big_store(n_tasks, "@" * 20)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        began = time.monotonic()
        temp = Path(f"{path}.tmp-1-0")
        temp.write_bytes(data.replace(b"@" * 20, f"{time.monotonic():020.6f}".encode()))
        temp.replace(path)
        time.sleep(max(0.0, 0.2 - (time.monotonic() - began)))


class Gauge:
    """Measures the loop from inside and the ages of pictures."""

    def __init__(self) -> None:
        self.gaps: list[float] = []
        self.ages: list[float] = []
        self.news = asyncio.Event()

    async def beat(self) -> None:
        last = time.monotonic()
        while True:
            await asyncio.sleep(0.002)
            now = time.monotonic()
            self.gaps.append(now - last - 0.002)
            last = now

    def on_view(self, view: StoreView) -> None:
        if view.runs and view.runs[0].goal:
            self.ages.append(time.monotonic() - float(view.runs[0].goal))
        self.news.set()


def report(name: str, gaps: list[float]) -> None:
    spread = statistics.quantiles(gaps, n=1000)
    print(
        f"{name}: longest gap {max(gaps) * 1e3:.1f} ms, p99.9 {spread[998] * 1e3:.1f}, "
        f"p99 {spread[989] * 1e3:.1f}, above 50 ms: {sum(g > 0.05 for g in gaps)}"
    )


async def watch(path: Path, n_tasks: int, seconds: float) -> None:
    gauge = Gauge()
    lanes, supervisor = Lanes(), Supervisor()
    reader = Reader(lanes)
    monitor = Monitor(SystemClock(), supervisor, lanes, gauge.on_view, print, print, reader=reader)
    supervisor.spawn(gauge.beat(), name="gauge")
    await asyncio.sleep(2)
    report("idle", gauge.gaps)
    monitor.add(str(path))
    await gauge.news.wait()
    gauge.gaps.clear()
    me = psutil.Process()
    writer = multiprocessing.get_context("spawn").Process(
        target=write_often, args=(str(path), n_tasks, seconds)
    )
    writer.start()
    memory: list[tuple[float, float]] = []
    while writer.is_alive():
        await asyncio.sleep(seconds / 10)
        child = psutil.Process(reader.process.pid) if reader.process.pid else None
        memory.append((rss(me), rss(child)))
    report("busy", gauge.gaps)
    ages = sorted(gauge.ages)
    print(f"pictures: {len(ages)}, age median {ages[len(ages) // 2]:.2f} s, worst {ages[-1]:.2f} s")
    print("memory (window, reader) MB:", " ".join(f"{a:.0f},{b:.0f}" for a, b in memory))
    await monitor.close()
    await supervisor.close()
    lanes.close()


def rss(process: psutil.Process | None) -> float:
    try:
        return process.memory_info().rss / 1e6 if process else 0.0
    except psutil.NoSuchProcess:
        return 0.0


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--tasks", type=int, default=1700)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "big.json"
        path.write_bytes(big_store(options.tasks, f"{time.monotonic():020.6f}"))
        print(f"store: {path.stat().st_size / 1e6:.1f} MB, {options.tasks} tasks")
        asyncio.run(watch(path, options.tasks, options.seconds))


if __name__ == "__main__":
    main()
