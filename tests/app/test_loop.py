"""The one loop: what qasync 0.28 gets wrong and ours must not (feasibility.md 2)."""

import asyncio
import contextvars
import sys

import pytest
from PySide6.QtWidgets import QApplication

from oma_desktop.app.loop import OmaLoop, StallGuard, loop_factory


def run(main):
    app = QApplication.instance() or QApplication([])
    with asyncio.Runner(loop_factory=loop_factory(app)) as runner:
        return runner.run(main())


async def test_the_product_loop_is_under_this_test():
    assert isinstance(asyncio.get_running_loop(), OmaLoop)


async def test_cancelled_timers_are_killed():
    loop = asyncio.get_running_loop()
    before = len(loop._pump.timers)
    for _ in range(200):
        async with asyncio.timeout(60):
            await asyncio.sleep(0)
    assert len(loop._pump.timers) == before


async def test_timer_handles_know_when_and_can_be_cancelled_after_firing():
    loop = asyncio.get_running_loop()
    fired = asyncio.Event()
    handle = loop.call_later(0.001, fired.set)
    assert handle.when() > loop.time() - 1
    await fired.wait()
    handle.cancel()


async def test_very_long_timers_do_not_overflow():
    handle = asyncio.get_running_loop().call_later(90 * 24 * 3600, print)
    handle.cancel()


async def test_call_soon_keeps_order_and_context():
    loop = asyncio.get_running_loop()
    var = contextvars.ContextVar("var", default=0)
    seen = []
    done = asyncio.Event()
    for n in range(500):
        context = contextvars.copy_context()
        context.run(var.set, n)
        loop.call_soon(lambda: seen.append(var.get()), context=context)
    loop.call_soon(done.set)
    await done.wait()
    assert seen == list(range(500))


async def test_threadsafe_calls_arrive_from_another_thread():
    loop = asyncio.get_running_loop()
    got = asyncio.Event()
    await asyncio.to_thread(loop.call_soon_threadsafe, got.set)
    await got.wait()


async def test_subprocesses_work():
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", "print('x')", stdout=asyncio.subprocess.PIPE
    )
    out, _ = await process.communicate()
    assert out.strip() == b"x"


def test_system_exit_leaves_through_finally_blocks():
    cleaned = []

    async def main():
        try:
            asyncio.get_running_loop().call_soon(sys.exit, 7)
            await asyncio.sleep(30)
        finally:
            cleaned.append(True)

    with pytest.raises(SystemExit) as leaving:
        run(main)
    assert leaving.value.code == 7
    assert cleaned == [True]


def test_closed_loop_refuses_threadsafe_calls():
    async def main():
        return asyncio.get_running_loop()

    loop = run(main)
    with pytest.raises(RuntimeError):
        loop.call_soon_threadsafe(print)


def test_many_loops_one_after_the_other():
    async def main():
        await asyncio.sleep(0)
        return True

    assert all(run(main) for _ in range(20))


def test_guard_names_the_callback_that_stalls():
    app = QApplication.instance() or QApplication([])
    guard = StallGuard(cpu_s=0.01)

    async def busy():
        total = 0
        for n in range(3_000_000):
            total += n
        return total

    with asyncio.Runner(loop_factory=loop_factory(app, guard)) as runner:
        runner.run(busy())
    assert guard.stalls
    assert "task" in guard.stalls[0].what


def test_events_outside_of_the_loop_run_no_task():
    app = QApplication.instance() or QApplication([])
    loop = loop_factory(app)()
    ran = []
    try:
        loop.call_soon(lambda: ran.append(asyncio.get_running_loop()))
        app.processEvents()
        assert ran == [], "there is no running loop a task could find"
        loop.run_until_complete(asyncio.sleep(0, result=None))
        assert ran == [loop]
    finally:
        loop.close()
