"""How long the loop stands still while a big run is saved on the store lane (product.md 3.3).

Run: PYTHONPATH=. python tests/bench/bench_store_gaps.py [TASKS] [KILOBYTES PER RESULT] [FOLDER].
A ticker of 1 ms on the loop measures gaps; `gc` says which of them were the garbage collector's.
"""

from __future__ import annotations

import asyncio
import gc
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from oma_desktop.base.clock import SystemClock
from oma_desktop.base.lanes import Lanes
from oma_desktop.base.supervisor import Supervisor
from oma_desktop.engine.agents.team import Team
from oma_desktop.engine.bus import EventBus
from oma_desktop.engine.options import CheckpointOptions, RunOptions
from oma_desktop.engine.orchestrator import OpenMultiAgent
from oma_desktop.engine.tools.gate import Gates
from oma_desktop.engine.tools.registry import ToolRegistry
from oma_desktop.model.result import AgentRunResult
from oma_desktop.model.team import AgentConfig, OrchestratorOptions, TaskSpec, TeamConfig
from oma_desktop.store.filestore import FileStore
from tests.bench.big_run import saying

WIDTH = 8


def _clocks() -> tuple[float, float, float]:
    return time.perf_counter(), time.thread_time(), time.process_time()


class Gaps:
    """Gaps of the loop, and the collector's pauses in this process, in milliseconds."""

    def __init__(self) -> None:
        self.gaps: list[tuple[float, float, float]] = []
        self.collections: list[tuple[int, float]] = []
        self._began = 0.0

    async def tick(self) -> None:
        last = _clocks()
        while True:
            await asyncio.sleep(0.001)
            now = _clocks()
            wall, loop, process = ((b - a) * 1000 for a, b in zip(last, now, strict=True))
            self.gaps.append((wall - 1, loop, process - loop))
            last = now

    def collector(self, phase: str, facts: dict[str, int]) -> None:
        if phase == "start":
            self._began = time.perf_counter()
        else:
            took = (time.perf_counter() - self._began) * 1000
            self.collections.append((facts["generation"], took))

    def report(self) -> None:
        gaps = sorted(self.gaps)
        worst = ", ".join(f"{g:.0f} ({mine:.0f}+{lanes:.0f})" for g, mine, lanes in gaps[:-11:-1])
        print(
            f"gaps of the loop: p50 {gaps[len(gaps) // 2][0]:.1f}  "
            f"p99 {gaps[len(gaps) * 99 // 100][0]:.1f} ms\n"
            f"worst (computing of the loop + of the lanes meanwhile; the rest is the machine's): "
            f"{worst} ms"
        )
        for generation in range(3):
            took = [t for g, t in self.collections if g == generation]
            if took:
                print(
                    f"collector, generation {generation}: {len(took)} times, "
                    f"worst {max(took):.1f} ms"
                )


async def run(tasks: int, kilobytes: int, folder: Path) -> None:
    done = 0

    async def work(_team: Team, _agent: AgentConfig, _job: Any) -> AgentRunResult:
        nonlocal done
        done += 1
        await asyncio.sleep(0.002)
        messages = [saying(done, kilobytes * 250) for _ in range(4)]
        spent: Any = {"input_tokens": 1, "output_tokens": 1}
        return AgentRunResult(True, "done", messages=messages, token_usage=spent)

    clock, lanes, supervisor = SystemClock(), Lanes(), Supervisor()
    store = FileStore(folder / "run.json", clock=clock)
    agents = [AgentConfig(name=f"a{n}") for n in range(WIDTH)]
    team = Team(
        config=TeamConfig(name="t", agents=agents, shared_memory=True),
        tools=ToolRegistry(()),
        adapter_for=lambda _: None,  # type: ignore[arg-type,return-value]
        gates=Gates(),
    )
    bus = EventBus()
    saves = 0

    def count(event: Any) -> None:
        nonlocal saves
        saves += event.type == "checkpoint_saved"

    bus.subscribe(count)
    oma = OpenMultiAgent(
        OrchestratorOptions(max_concurrency=WIDTH),
        clock=clock,
        supervisor=supervisor,
        lanes=lanes,
        bus=bus,
        execute=work,
    )
    specs = [
        TaskSpec(title=f"T{n}", description="do", assignee=f"a{n % WIDTH}") for n in range(tasks)
    ]
    options = RunOptions(checkpoint=CheckpointOptions(store))
    gaps = Gaps()
    gc.callbacks.append(gaps.collector)
    ticker = asyncio.get_running_loop().create_task(gaps.tick())
    start = time.perf_counter()
    try:
        result = await oma.run_tasks(team, specs, options)
    finally:
        ticker.cancel()
        gc.callbacks.remove(gaps.collector)
    assert result.success
    size = store.path.stat().st_size / 1e6
    took = time.perf_counter() - start
    print(f"{tasks} tasks, {size:.1f} MB, {saves} saves in {took:.1f} s")
    gaps.report()
    await supervisor.close()
    lanes.close()


def main() -> None:
    tasks, kilobytes = (int(a) for a in [*sys.argv[1:3], "2000", "6"][:2])
    with tempfile.TemporaryDirectory(dir=sys.argv[3] if len(sys.argv) > 3 else None) as folder:
        asyncio.run(run(tasks, kilobytes, Path(folder)))


if __name__ == "__main__":
    main()
