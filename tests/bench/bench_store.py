"""How much a save costs beyond the disk: FileStore against temp + fsync + rename of ready bytes.

Run: python tests/bench/bench_store.py [FOLDER]. The folder should be on the disk in question.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Self

from oma_desktop.base.clock import SystemClock
from oma_desktop.store.filestore import FileStore

ROUNDS = 7
OTHERS = 40
TEXT = '{"type":"tool_result","content":"结果 ok, see \\"log\\"","tool_use_id":"call_1"},'


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


def measure(folder: Path, megabytes: int) -> None:
    store = FileStore(folder / f"store-{megabytes}.json", clock=SystemClock())
    each = TEXT * (megabytes * 500_000 // OTHERS // len(TEXT.encode()))
    with store.batch():  # half of the bytes lie in entries that do not change
        for n in range(OTHERS):
            store.set(f"shared/{n}", each)
    snapshot = TEXT * (megabytes * 500_000 // len(TEXT.encode()))
    saves = []
    with Stalls() as stalls:
        for n in range(ROUNDS):
            value = f"{n}{snapshot}"
            saves.append(timed(partial(store.set, "checkpoint", value)))
    data = store.path.read_bytes()
    raws = [timed(partial(raw_save, folder / "raw.json", data)) for _ in range(ROUNDS)]
    save, raw = statistics.median(saves), statistics.median(raws)
    print(
        f"{len(data) / 1e6:5.1f} MB  save {save:7.1f} ms  raw {raw:7.1f} ms  "
        f"ratio {save / raw:4.2f}  worst wait of another thread {stalls.worst_ms:5.1f} ms"
    )


def main() -> None:
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if len(sys.argv) > 1 else None) as folder:
        for megabytes in (1, 5, 20):
            measure(Path(folder), megabytes)


if __name__ == "__main__":
    main()
