"""What a run costs per task, with and without a store, and against the peer's way of saving.

Run: PYTHONPATH=. python tests/bench/bench_engine.py [--short] [FOLDER]. The folder should be on the
disk in question. Every task calls one tool and then answers; models and tools take no time, so what
is measured is the engine. All comparisons are within this run.

Peer's way (P19): a whole encode of everything and a write of the whole file at each boundary, here
with our faster encoder, at 200 and 400 tasks. "raw" writes and fsyncs the bytes our run wrote.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typing_extensions import override

from oma_desktop.base.clock import SystemClock
from oma_desktop.base.collector import collect_less
from oma_desktop.base.lanes import Lanes
from oma_desktop.base.supervisor import Supervisor
from oma_desktop.engine.agents.team import Team
from oma_desktop.engine.cancel import CancelToken
from oma_desktop.engine.llm.base import ModelEvent, ModelReply, ModelRequest
from oma_desktop.engine.options import CheckpointOptions, RunOptions
from oma_desktop.engine.orchestrator import OpenMultiAgent
from oma_desktop.engine.saving.checkpointing import CheckpointWriter
from oma_desktop.engine.saving.encoding import SnapshotEncoder
from oma_desktop.engine.saving.queue_pages import QueuePages
from oma_desktop.engine.saving.snapshotting import capture
from oma_desktop.engine.tools.registry import ToolContext, ToolOutput, ToolRegistry, ToolSpec
from oma_desktop.model.json_value import JsonObject
from oma_desktop.model.team import AgentConfig, OrchestratorOptions, TaskSpec, TeamConfig
from oma_desktop.store.file_calls import FileCalls
from oma_desktop.store.filestore import FileStore
from tests.bench.bench_store import raw_save

STRATEGIES = ("dependency-first", "round-robin", "least-busy", "capability-match", "composite")
LARGEST = {1: 100, 5: 1000, 50: 5000}
"""With few at once each boundary is a write of its own, and more tasks are only more gigabytes."""
ANSWER = "Found it: 结果 is in the third paragraph, as the reference says. " * 8


class Instant:
    """A model that calls the tool once and then answers, in no time."""

    name = "instant"

    async def stream(self, request: ModelRequest, token: CancelToken) -> AsyncIterator[ModelEvent]:
        usage = {"input_tokens": 20, "output_tokens": 10}
        if len(request.messages) == 1:
            call = {"type": "tool_use", "id": "c1", "name": "look", "input": {"q": "it"}}
            yield ModelReply(content=[call], stop_reason="tool_use", usage=usage)  # type: ignore[list-item]
        else:
            text = {"type": "text", "text": ANSWER}
            yield ModelReply(content=[text], stop_reason="end_turn", usage=usage)  # type: ignore[list-item]

    async def close(self) -> None:
        pass


async def look(_input: JsonObject, _context: ToolContext) -> ToolOutput:
    return ToolOutput(data="three lines of what was found")


def team(n_agents: int) -> Team:
    agents = [AgentConfig(name=f"w{n}", tools=["look"]) for n in range(n_agents)]
    schema: JsonObject = {"type": "object", "properties": {"q": {"type": "string"}}}
    tool = ToolSpec(name="look", description="", input_schema=schema, run=look)
    model = Instant()
    return Team(
        TeamConfig(name="bench", agents=agents), ToolRegistry([tool]), adapter_for=lambda _a: model
    )


class Counted(FileCalls):
    """Counts files that were replaced and the bytes that went into each."""

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self._now = 0

    @override
    def write(self, fd: int, data: memoryview) -> int:
        n = super().write(fd, data)
        self._now += n
        return n

    @override
    def replace(self, source: Path, target: Path) -> None:
        super().replace(source, target)
        self.sizes.append(self._now)
        self._now = 0


@dataclass(frozen=True)
class Ran:
    """One run: seconds on the wall, and the size of each write."""

    seconds: float
    sizes: tuple[int, ...] = ()

    @property
    def bytes(self) -> int:
        return sum(self.sizes)


def run(
    tasks: int, concurrency: int, *, strategy: str = STRATEGIES[0], place: Path | None = None
) -> Ran:
    """One whole run in a loop of its own."""
    calls = Counted()
    checkpoint = None
    if place is not None:
        place.unlink(missing_ok=True)
        store = FileStore(place, clock=SystemClock(), calls=calls)
        checkpoint = CheckpointOptions(store, run_id="bench")
    specs = [TaskSpec(title=f"task {n}", description="look for it") for n in range(tasks)]

    async def whole() -> float:
        lanes, supervisor = Lanes(), Supervisor()
        options = OrchestratorOptions(max_concurrency=concurrency, scheduling_strategy=strategy)  # type: ignore[arg-type]
        oma = OpenMultiAgent(options, clock=SystemClock(), supervisor=supervisor, lanes=lanes)
        start = time.perf_counter()
        result = await oma.run_tasks(team(concurrency), specs, RunOptions(checkpoint=checkpoint))
        took = time.perf_counter() - start
        assert result.success, result.status
        await supervisor.close()
        lanes.close()
        return took

    return Ran(asyncio.run(whole()), tuple(calls.sizes))


# ---------------------------------------------------------------- the peer's way of saving


class EachBoundary:
    """Replaces the writer's `save`: everything is encoded and the file written, each time."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._turn = asyncio.Lock()
        self.sizes: list[int] = []

    async def save(self, writer: CheckpointWriter, _boundary: str) -> bool:
        async with self._turn:
            moment = capture(
                writer._state,
                now="2026-01-01T00:00:00.000Z",
                memory=None,
                pages=QueuePages(),
            )
            text = SnapshotEncoder(quoted=False).encode(moment)
            value = b"".join(text.pieces).decode()
            entry = {"key": "k", "value": value, "createdAt": "2026-01-01T00:00:00.000Z"}
            data = json.dumps({"version": 1, "entries": [entry]}, ensure_ascii=False).encode()
            self.sizes.append(len(data))
            await asyncio.to_thread(raw_save, self._place, data)
        return True


def run_as_the_peer(tasks: int, concurrency: int, place: Path) -> Ran:
    """The same run with the peer's algorithm behind its boundaries."""
    saving: EachBoundary | None = None

    async def save(self: CheckpointWriter, boundary: str) -> bool:
        nonlocal saving
        saving = saving or EachBoundary(place.with_suffix(".peer"))
        return await saving.save(self, boundary)

    before = CheckpointWriter.save
    CheckpointWriter.save = save  # type: ignore[method-assign]
    try:
        took = run(tasks, concurrency, place=place).seconds
    finally:
        CheckpointWriter.save = before  # type: ignore[method-assign]
    assert saving is not None
    return Ran(took, tuple(saving.sizes))


# ---------------------------------------------------------------- what is printed


def without_a_store(sizes: tuple[int, ...]) -> dict[tuple[str, int, int], float]:
    """Milliseconds per task; flat within 1.5 from the smallest to the largest is the goal."""
    print("\nwithout a store: ms per task")
    head = "".join(f"{n:>10}" for n in sizes)
    print(f"{'strategy':18} {'at once':>7} {head}   largest / smallest")
    found: dict[tuple[str, int, int], float] = {}
    run(sizes[0], 5)  # what is done once
    collect_less()  # as the command line and the window do
    for strategy in STRATEGIES:
        for concurrency in (1, 5, 50):
            row = []
            for tasks in sizes:
                best = min(
                    run(tasks, concurrency, strategy=strategy).seconds
                    for _ in range(3 if tasks <= 1000 else 2)
                )
                row.append(best / tasks * 1000)
                found[strategy, concurrency, tasks] = row[-1]
            cells = "".join(f"{ms:10.3f}" for ms in row)
            print(f"{strategy:18} {concurrency:7} {cells}   {row[-1] / row[0]:5.2f}")
    return found


def with_a_store(folder: Path, sizes: tuple[int, ...], without: Any) -> None:
    print("\nwith FileStore: (with - without) / raw write and fsync of the same bytes")
    smallest: dict[int, float] = {}
    for concurrency in (1, 5, 50):
        for tasks in sizes:
            if tasks > LARGEST[concurrency]:
                continue
            place = folder / f"run-{tasks}-{concurrency}.json"
            ran = run(tasks, concurrency, place=place)
            raw = raw_seconds(folder, ran.sizes)
            each = ran.seconds / tasks * 1000
            smallest.setdefault(concurrency, each)
            plain = without[STRATEGIES[0], concurrency, tasks] * tasks / 1000
            print(
                f"{tasks:5} tasks, {concurrency:2} at once: {ran.seconds:7.2f} s  "
                f"{each:6.2f} ms per task ({each / smallest[concurrency]:4.2f} of the smallest)  "
                f"{len(ran.sizes):5} writes  {ran.bytes / 1e6:8.1f} MB  raw {raw:6.2f} s  "
                f"cost / raw {(ran.seconds - plain) / raw:5.2f}"
            )


def raw_seconds(folder: Path, sizes: tuple[int, ...]) -> float:
    """How long the same writes take with ready bytes and nothing else going on."""
    data = os.urandom(1024) * (max(sizes) // 1024 + 1)
    start = time.perf_counter()
    for size in sizes:
        raw_save(folder / "raw.json", data[:size])
    return time.perf_counter() - start


def against_the_peer(folder: Path, sizes: tuple[int, ...]) -> None:
    print("\nagainst the peer's algorithm, 50 at once")
    for tasks in sizes:
        ours = run(tasks, 50, place=folder / "ours.json")
        peer = run_as_the_peer(tasks, 50, folder / "peer.json")
        print(
            f"{tasks:5} tasks: writes {len(peer.sizes)} / {len(ours.sizes)}  "
            f"bytes {peer.bytes / 1e6:.1f} / {ours.bytes / 1e6:.1f} MB = "
            f"{peer.bytes / ours.bytes:.0f} x fewer  time {peer.seconds / ours.seconds:.1f} x less"
        )


def memory(folder: Path, tasks: int) -> None:
    """Peak memory of a run above that of a process that only imported the engine."""
    place = folder / "memory.json"
    idle, busy = (peak_of(place, n) for n in (0, tasks))
    snapshot = place.stat().st_size
    print(
        f"\nmemory, {tasks} tasks, 50 at once: peak {(busy - idle) / 1e6:.0f} MB above idle "
        f"({idle / 1e6:.0f} MB), final store {snapshot / 1e6:.1f} MB, "
        f"ratio {(busy - idle) / snapshot:.1f}"
    )


def peak_of(place: Path, tasks: int) -> int:
    command = [sys.executable, __file__, "--peak", str(tasks), str(place)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=os.environ)
    return int(done.stdout)


def own_peak() -> int:
    """Peak resident bytes of this process; what `getrusage` says holds the parent's peak too."""
    try:
        status = Path("/proc/self/status").read_text("ascii")
    except FileNotFoundError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return next(int(r.split()[1]) for r in status.splitlines() if r.startswith("VmHWM")) * 1024


def main(arguments: list[str]) -> None:
    if arguments[:1] == ["--peak"]:
        if int(arguments[1]):
            run(int(arguments[1]), 50, place=Path(arguments[2]))
        print(own_peak())
        return
    short = "--short" in arguments
    where = [a for a in arguments if not a.startswith("--")]
    sizes = (100, 400) if short else (100, 1000, 5000)
    with tempfile.TemporaryDirectory(dir=where[0] if where else None) as name:
        folder = Path(name)
        without = without_a_store(sizes)
        with_a_store(folder, sizes, without)
        against_the_peer(folder, (200,) if short else (200, 400))
        memory(folder, sizes[-1])


if __name__ == "__main__":
    main(sys.argv[1:])
