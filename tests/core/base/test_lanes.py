"""Code of others runs aside: it can neither hold a lane nor the end of the program."""

import asyncio
import contextvars
import threading

import pytest

from oma_desktop.base.lanes import Lanes


@pytest.fixture
def lanes():
    made = Lanes()
    yield made
    made.close()


async def test_any_number_of_hanging_calls_hold_nobody_up(lanes):
    release = threading.Event()
    hanging = [asyncio.ensure_future(lanes.aside(release.wait)) for _ in range(8)]  # noqa: TID251
    async with asyncio.timeout(20):
        assert await lanes.work(lambda: "work") == "work"
        assert await lanes.aside(lambda: "aside") == "aside"
    assert lanes.close(5.0), "what runs aside is not waited for"
    release.set()
    assert await asyncio.gather(*hanging) == [True] * 8


async def test_a_call_that_nobody_waits_for_any_more_ends_quietly(lanes):
    begun, release = threading.Event(), threading.Event()

    def work():
        begun.set()
        release.wait()

    waiting = asyncio.ensure_future(lanes.aside(work))  # noqa: TID251
    async with asyncio.timeout(20):
        await lanes.aside(begun.wait)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    release.set()
    for thread in threading.enumerate():
        if thread.name.startswith("oma-aside"):
            thread.join(20)


@pytest.mark.parametrize("error", [ValueError("x"), SystemExit(3), KeyError("k")])
async def test_what_a_call_raises_reaches_who_waits(lanes, error):
    def work():
        raise error

    with pytest.raises(type(error)):
        await lanes.aside(work)


async def test_an_empty_iterator_is_an_error_like_others(lanes):
    with pytest.raises(RuntimeError, match="StopIteration"):
        await lanes.aside(next, iter(()))


async def test_the_context_goes_along(lanes):
    name = contextvars.ContextVar("name")
    name.set("ann")
    assert await lanes.aside(name.get) == "ann"
    assert await lanes.aside(lambda: threading.current_thread().daemon)
