"""A big store in the whole window: no callback of the loop takes long (product.md 3.3)."""

import asyncio
import gc
import sys

import pytest

from oma_desktop.app.interpreter import favour_loop
from tests.app.support import until
from tests.bench.bench_monitor import big_store

N_TASKS = 950  # about 10 MB
LIMIT_S = 0.05
MARGIN = 2  # shared machines


@pytest.fixture
def frozen():
    """The start of the program is over."""
    before, lots = sys.getswitchinterval(), gc.get_threshold()
    favour_loop()
    yield
    gc.unfreeze()
    gc.set_threshold(*lots)
    sys.setswitchinterval(before)


def written(path, goal):
    """Replace a store as a writer does; return its size."""
    data = big_store(N_TASKS, goal)
    new = path.with_suffix(".new")
    new.write_bytes(data)
    new.replace(path)
    return len(data)


async def test_a_big_store_stalls_nothing(bench, tmp_path, frozen, capsys, monkeypatch):
    path = tmp_path / "checkpoint.json"
    size = await asyncio.to_thread(written, path, "first")
    assert size > 9_000_000
    bench.window.show()
    await asyncio.sleep(0.1)
    guard = asyncio.get_running_loop().guard
    worst = {"cpu": 0.0, "what": ""}
    note = guard.note

    def watch(handle, wall_s, cpu_s):
        if cpu_s > worst["cpu"]:
            worst.update(cpu=cpu_s, what=repr(handle)[:120])
        note(handle, wall_s, cpu_s)

    monkeypatch.setattr(guard, "note", watch)
    bench.session.open_paths([str(path)])
    await until(lambda: bench.map.model.picture.placed is not None, 60)
    assert bench.outline.model.lines() == []  # hidden: nothing is made
    goals = []
    bench.feed.changed.connect(lambda _: goals.append(bench.feed.stores()[0].runs[0].goal))
    for goal in ("second", "third"):
        await asyncio.to_thread(written, path, goal)
        await until(lambda goal=goal: goal in goals, 60)
    bench.window.keys.show_view("outline")
    await until(lambda: bench.outline.model.index_of(("task", "t9")).isValid())
    assert len(bench.outline.model.lines()) == 1 + N_TASKS  # no turn, no call
    with capsys.disabled():
        print(f"\n  {size / 1e6:.1f} MB: worst callback {worst['cpu'] * 1e3:.1f} ms CPU")
    assert worst["cpu"] < LIMIT_S * MARGIN, worst
