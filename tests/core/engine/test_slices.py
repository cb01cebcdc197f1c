"""Thousands of tasks that end at once leave the loop its turns."""

from __future__ import annotations

import asyncio

from oma_desktop.engine.cancel import StopReason
from oma_desktop.engine.queueing.queue import TaskQueue
from oma_desktop.engine.saving import reconciliation
from oma_desktop.engine.slices import SLICE, in_slices
from oma_desktop.engine.tools.gate import GateDecision, Gates
from tests.bench.big_run import big_run
from tests.core.engine.run_world import RunWorld, bad, ok, spec, statuses

MANY = 2 * SLICE + 1


class Turns:
    """Counts the turns of the loop while it is asked to."""

    def __init__(self):
        self.count = 0
        self._on = True
        asyncio.get_running_loop().call_soon(self._turn)

    def _turn(self):
        self.count += 1
        if self._on:
            asyncio.get_running_loop().call_soon(self._turn)

    def stop(self):
        self._on = False


async def test_every_slice_is_followed_by_a_turn():
    turns = Turns()
    seen = [(item, turns.count) async for item in in_slices("abcde", 2)]
    turns.stop()
    assert "".join(item for item, _ in seen) == "abcde"
    at = [count for _, count in seen]
    assert at[0] == at[1] < at[2] == at[3] < at[4]


async def told_of_many(world, event, *specs):
    """Run, and return at which turns of the loop each of these events was told."""
    turns, told = Turns(), []
    world.bus.subscribe(lambda e: told.append(turns.count) if e.type == event else None)
    result = await world.run(*specs, checkpoint=None)
    turns.stop()
    return result, told


async def test_a_failure_that_ends_thousands_is_told_in_slices():
    async def work(_world, _agent, _job):
        return bad(retryable=False)

    waiting = [spec(f"T{n}", "R") for n in range(MANY)]
    world = RunWorld(agents=("a",), work=work)
    result, told = await told_of_many(world, "task_failed", spec("R"), *waiting)
    assert set(statuses(result).values()) == {"failed"}
    assert len(told) == MANY + 1
    assert len(set(told)) == 3


async def test_hundreds_of_open_requests_are_checked_in_slices(monkeypatch):
    async def hold(_task):
        return GateDecision("suspend", "look")

    world = RunWorld(agents=("a",), gates=Gates(dispatch=hold))
    await world.run(*[spec(f"T{n}") for n in range(120)])
    turns, checked = Turns(), []
    check = reconciliation.check_request

    def seen(snapshot, request):
        checked.append(turns.count)
        check(snapshot, request)

    monkeypatch.setattr(reconciliation, "check_request", seen)
    result = await world.restore()
    turns.stop()
    assert result.status.code == "suspended"
    assert (len(checked), len(set(checked))) == (120, 3)


class Counted(dict):
    """Counts how often it is gone through."""

    times = 0

    def values(self):
        self.times += 1
        return super().values()


def test_open_requests_are_gone_through_once_however_many_tasks_wait():
    state = big_run(tasks=200, done=0, megabytes=0.01).state
    state.entries.clear()
    tasks = state.queue.tasks
    state.queue = TaskQueue(now=lambda: "")
    state.queue.load({**task, "status": "pending"} for task in tasks)
    ready = [task["id"] for task in tasks]
    state.pending = Counted(
        (f"apr_{i}", {"id": f"apr_{i}", "scope": "task_dispatch", "boundary": i}) for i in ready
    )
    assert not reconciliation.something_can_run(state)
    assert state.pending.times == 1
    state.decisions = {f"apr_{ready[-1]}": {"decision": "approved"}}
    assert reconciliation.something_can_run(state)
    assert state.pending.times == 2


async def test_a_stop_that_skips_thousands_is_told_in_slices():
    async def work(world, _agent, _job):
        world.token.stop(StopReason.CANCEL)
        return ok()

    world = RunWorld(agents=("a",), work=work, max_concurrency=1)
    result, told = await told_of_many(
        world, "task_skipped", *[spec(f"T{n}") for n in range(MANY + 1)]
    )
    assert list(statuses(result).values()).count("skipped") == MANY
    assert len(set(told)) == 3
