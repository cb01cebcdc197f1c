"""Debounce with a clock that only moves when somebody sleeps."""

from __future__ import annotations

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from oma_desktop.base.supervisor import Supervisor
from oma_desktop.monitor.debounce import Debounce


class SteppingClock:
    """Sleeping advances the time at once and lets others run."""

    def __init__(self) -> None:
        self.time = 0.0

    def monotonic(self) -> float:
        return self.time

    async def sleep(self, delay_s: float) -> None:
        self.time += max(0.0, delay_s)
        await asyncio.sleep(0)


async def settle(supervisor: Supervisor) -> None:
    async with asyncio.timeout(5):
        while supervisor.names:  # noqa: ASYNC110 - the clock moves with every turn of the loop
            await asyncio.sleep(0)


class Runs:
    def __init__(self, takes_s: float = 0.0) -> None:
        self.clock = SteppingClock()
        self.supervisor = Supervisor()
        self.began: list[float] = []
        self.wishes_seen: list[int] = []
        self.n_wishes = 0
        self.active = 0
        self.takes_s = takes_s
        self.debounce = Debounce(
            self.go, name="d", clock=self.clock, supervisor=self.supervisor, gap_s=0.1
        )

    async def go(self) -> None:
        assert self.active == 0
        self.active += 1
        self.began.append(self.clock.time)
        self.wishes_seen.append(self.n_wishes)
        await self.clock.sleep(self.takes_s)
        self.active -= 1

    def ask(self) -> None:
        self.n_wishes += 1
        self.debounce.ask()


async def test_the_first_wish_goes_through_at_once_and_a_burst_is_one_more() -> None:
    runs = Runs()
    runs.ask()
    await asyncio.sleep(0)
    assert runs.began == [0.0]
    for _ in range(50):
        runs.ask()
    await settle(runs.supervisor)
    assert runs.began == [0.0, 0.1]


async def test_a_slow_run_is_followed_by_a_rest() -> None:
    runs = Runs(takes_s=1.0)
    runs.ask()
    await asyncio.sleep(0)
    runs.ask()
    await settle(runs.supervisor)
    assert runs.began == [0.0, 1.5]


async def test_closed_is_closed() -> None:
    runs = Runs()
    runs.debounce.close()
    runs.ask()
    assert runs.supervisor.names == []


@given(st.lists(st.integers(0, 6), max_size=30), st.sampled_from([0.0, 0.05, 0.3]))
def test_no_wish_is_lost_and_runs_keep_their_distance(pauses: list[int], takes_s: float) -> None:
    async def play() -> Runs:
        runs = Runs(takes_s)
        for pause in pauses:
            runs.ask()
            for _ in range(pause):
                await asyncio.sleep(0)
        await settle(runs.supervisor)
        return runs

    runs = asyncio.run(play())
    if pauses:
        assert runs.wishes_seen[-1] == len(pauses)
    gaps = [b - a for a, b in zip(runs.began, runs.began[1:], strict=False)]
    assert all(gap >= 0.1 - 1e-9 for gap in gaps)
    assert len(runs.began) <= max(1, len(pauses))
