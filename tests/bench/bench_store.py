"""How much a save costs beyond the disk, how many writes many callers cause, who waits meanwhile.

Run: PYTHONPATH=. python tests/bench/bench_store.py [FOLDER]. The folder should be on the disk in
question. Everything is compared within one run; "raw" is temp + fsync + rename + folder fsync of
the same bytes, ready and in one piece.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from oma_desktop.base.clock import SystemClock
from oma_desktop.base.lanes import Lanes
from oma_desktop.engine.bus import EventBus
from oma_desktop.engine.saving.checkpointing import CheckpointWriter
from oma_desktop.engine.saving.encoding import SnapshotEncoder
from oma_desktop.engine.saving.queue_pages import QueuePages
from oma_desktop.engine.saving.snapshotting import Captured, capture
from oma_desktop.store.checkpoint import Checkpoint
from oma_desktop.store.file_calls import FileCalls
from oma_desktop.store.filestore import FileStore
from tests.bench.big_run import BigRun, big_run

ROUNDS = 15
AT = "2026-01-01T00:00:00.000Z"


def timed(act: Callable[[], object]) -> float:
    start = time.perf_counter()
    act()
    return (time.perf_counter() - start) * 1000


def raw_save(path: Path, data: bytes) -> None:
    temp = path.with_name("raw.tmp")
    fd = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
    os.fsync(fd)
    os.close(fd)
    temp.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)


class Stalls:
    """The longest time another thread (the window's, in the product) waited for its turn."""

    def __init__(self) -> None:
        self.worst_ms = 0.0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)  # noqa: TID251 - a bench measures one

    def _run(self) -> None:
        last = time.perf_counter()
        while not self._stop.is_set():
            time.sleep(0.001)
            now = time.perf_counter()
            self.worst_ms = max(self.worst_ms, (now - last) * 1000 - 1)
            last = now

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()


class Counted(FileCalls):
    """Counts files that were replaced."""

    replaced = 0

    def replace(self, source: Path, target: Path) -> None:
        super().replace(source, target)
        self.replaced += 1


def measure_saves(folder: Path, megabytes: int) -> None:
    """Steady state: one entry in flight of some 45 KB is new at each save, nothing else."""
    run = big_run(tasks=200, done=190, megabytes=megabytes)
    store = FileStore(folder / f"store-{megabytes}.json", clock=SystemClock())
    place = Checkpoint(store, run_id="bench")
    encoder, pages = SnapshotEncoder(), QueuePages()

    def save(moment: Captured) -> None:
        place.save_text(encoder.encode(moment), run_id="bench", created_at=moment.created_at)

    first = timed(lambda: save(capture(run.state, now=AT, memory=None, pages=pages)))
    raws: list[float] = []
    saves: list[float] = []
    for n in range(ROUNDS):  # turn and turn about: the disk has its moods
        moment = changed(run, n, pages)
        saves.append(timed(lambda moment=moment: save(moment)))
        data = store.path.read_bytes()
        raws.append(timed(lambda data=data: raw_save(folder / "raw.json", data)))
    with Stalls() as ours:
        for n in range(ROUNDS):
            save(changed(run, n, pages))
    with Stalls() as theirs:
        for _ in range(ROUNDS):
            raw_save(folder / "raw.json", data)
    save_ms, raw_ms = statistics.median(saves), statistics.median(raws)
    print(
        f"{len(data) / 1e6:5.1f} MB  first save {first:6.1f}  save {save_ms:6.1f}  "
        f"raw {raw_ms:6.1f} ms  ratio {save_ms / raw_ms:4.2f} "
        f"(fastest {min(saves) / min(raws):4.2f})  worst wait of another thread "
        f"{ours.worst_ms:4.1f} ms, raw {theirs.worst_ms:4.1f} ms"
    )


def changed(run: BigRun, n: int, pages: QueuePages) -> Captured:
    run.change(n)
    return capture(run.state, now=f"{AT[:-5]}.{n:03}Z", memory=None, pages=pages)


def measure_encoding(results: int) -> None:
    """What an unchanged completed result costs at each save."""
    run = big_run(tasks=results + 1, done=results, megabytes=results * 4 / 1000)
    encoder, pages = SnapshotEncoder(), QueuePages()
    encoder.encode(capture(run.state, now=AT, memory=None, pages=pages))
    captured: list[float] = []
    encoded: list[float] = []
    for n in range(ROUNDS * 3):
        run.change(n)
        start = time.thread_time()
        moment = capture(run.state, now=AT, memory=None, pages=pages)
        middle = time.thread_time()
        encoder.encode(moment)
        captured.append((middle - start) * 1000)
        encoded.append((time.thread_time() - middle) * 1000)
    print(
        f"{results:5} completed results  on the loop {statistics.median(captured):5.2f} ms  "
        f"encoding {statistics.median(encoded):5.2f} ms"
    )


@contextmanager
def counted(folder: Path, name: str, reference: float | None) -> Any:
    calls = Counted()
    start = time.perf_counter()
    box: dict[str, Any] = {"calls": calls, "path": folder / f"{name}.json"}
    yield box
    took = box["ms"] = (time.perf_counter() - start) * 1000
    more = "" if reference is None else f"  {reference / took:5.1f}x faster"
    print(f"{name:28} {calls.replaced:5} writes  {took:8.1f} ms{more}")


def measure_groups(folder: Path) -> None:
    """1,000 saves of 50 callers, each waiting for its own; keys differ, so nothing is skipped."""
    with counted(folder, "one write per save", None) as one:
        store = FileStore(one["path"], clock=SystemClock(), calls=one["calls"])
        for n in range(1000):
            store.set(f"k{n % 50}", str(n))
    with counted(folder, "50 threads, one store", one["ms"]) as box:
        store = FileStore(box["path"], clock=SystemClock(), calls=box["calls"])
        with ThreadPoolExecutor(50) as pool:
            for _ in pool.map(lambda k: [store.set(f"k{k}", str(n)) for n in range(20)], range(50)):
                pass
    with counted(folder, "50 tasks, one run", one["ms"]) as box:
        store = FileStore(box["path"], clock=SystemClock(), calls=box["calls"])
        asyncio.run(tasks_of_one_run(store))
    with counted(folder, "50 tasks, one run each", one["ms"]) as box:
        store = FileStore(box["path"], clock=SystemClock(), calls=box["calls"])
        asyncio.run(tasks_of_many_runs(store))


async def tasks_of_one_run(store: FileStore) -> None:
    lanes = Lanes()
    run = big_run(tasks=50, done=25, megabytes=0.05)
    writer = writer_of(store, run, lanes, "one")

    async def task(k: int) -> None:
        for n in range(20):
            run.change(k * 20 + n)
            assert await writer.save("bench")

    await asyncio.gather(*(task(k) for k in range(50)))
    lanes.close()


async def tasks_of_many_runs(store: FileStore) -> None:
    lanes = Lanes()

    async def task(k: int) -> None:
        run = big_run(tasks=5, done=2, megabytes=0.005)
        writer = writer_of(store, run, lanes, f"run-{k}")
        for n in range(20):
            run.change(n)
            assert await writer.save("bench")

    await asyncio.gather(*(task(k) for k in range(50)))
    lanes.close()


def writer_of(store: FileStore, run: BigRun, lanes: Lanes, run_id: str) -> CheckpointWriter:
    place = Checkpoint(store, run_id=run_id)
    return CheckpointWriter(place, run.state, lanes=lanes, clock=SystemClock(), bus=EventBus())


def main() -> None:
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if len(sys.argv) > 1 else None) as folder:
        for megabytes in (1, 5, 20):
            measure_saves(Path(folder), megabytes)
        for results in (10, 100, 1000, 5000):
            measure_encoding(results)
        measure_groups(Path(folder))


if __name__ == "__main__":
    main()
