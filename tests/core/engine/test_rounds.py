"""Rounds: what the gate between them holds, also when the program dies (engine.md 2.4)."""

import asyncio
from dataclasses import replace

import pytest

from oma_desktop.engine.tools.gate import Gates
from tests.core.engine.run_world import RunWorld, bad, ok, spec, statuses

PLAN = (spec("A"), spec("B"), spec("C", "A"), spec("D", "C"))


class Door:
    """A gate that answers `answer` and remembers what it was asked and when."""

    def __init__(self, answer=True):
        self.answer = answer
        self.asked = []

    async def __call__(self, done, following):
        self.asked.append(([t["title"] for t in done], [t["title"] for t in following]))
        return self.answer


def world(door, *, slow=(), **more):
    started = []

    async def work(world_, _agent, job):
        started.append(job.task_title)
        if job.task_title in slow:
            await world_.clock.sleep(10)
        await asyncio.sleep(0)
        return more.get(job.task_title) or ok(job.task_title)

    made = RunWorld(agents=("a", "b"), gates=Gates(round=door), work=work)
    made.started = started
    return made


def at(made, **wanted):
    """The number of the first save in which these tasks have these states."""
    return next(
        n
        for n, document in enumerate(made.store.saved)
        if wanted.items() <= made.statuses(document).items()
    )


async def crash(made, door, **wanted):
    """Go on from a save, in another program with another door."""
    other = made.crashed(at(made, **wanted))
    other.team = replace(other.team, gates=Gates(round=door))
    made.started.clear()
    return other, await other.restore()


async def test_a_crash_in_the_middle_of_a_round_lets_nothing_past_the_gate():
    first = world(Door(), slow=("B",))
    assert (await first.run(*PLAN)).success
    door = Door({"action": "suspend"})
    other, result = await crash(first, door, A="completed", B="in_progress", C="pending")
    assert door.asked == [(["A", "B"], ["C"])]
    assert first.started == ["B"]
    assert result.status.code == "suspended"
    other.decide()
    result = await other.restore()
    assert first.started == ["B", "C"]
    assert door.asked[1:] == [(["C"], ["D"])]
    assert result.status.code == "suspended"


async def test_a_crash_between_two_rounds_asks_again():
    first = world(Door())
    await first.run(*PLAN)
    door = Door(False)
    _other, result = await crash(first, door, A="completed", B="completed", C="pending")
    assert first.started == []
    assert door.asked == [(["A"], ["C"])]  # what C builds on, whichever attempt did it
    assert result.status.code == "rejected"


async def test_what_was_let_through_and_began_is_not_asked_about_again():
    first = world(Door(), slow=("C",))
    await first.run(*PLAN, spec("E", "A"))
    door = Door()
    _other, result = await crash(first, door, C="in_progress", E="completed")
    assert result.success
    assert first.started == ["C", "D"]
    assert door.asked == [(["C"], ["D"])]


@pytest.mark.parametrize("crashed_again", [False, True])
async def test_an_approved_round_is_not_asked_about_again(crashed_again):
    first = world(Door({"action": "suspend"}))
    assert (await first.run(*PLAN)).status.code == "suspended"
    first.decide()
    first.store.saved.clear()
    first.started.clear()
    door = Door()
    first.team = replace(first.team, gates=Gates(round=door))
    result = await first.restore()
    assert result.success
    if crashed_again:  # right after the next attempt had begun
        door = Door()
        _other, result = await crash(first, door, C="pending")
    assert first.started == ["C", "D"]
    assert door.asked == [(["C"], ["D"])]
    assert statuses(result) == dict.fromkeys("ABCD", "completed")


async def test_a_failed_round_does_not_hide_what_waits_after_a_crash():
    first = world(Door(), slow=("B",), B=bad(retryable=False))
    await first.run(*PLAN)
    door = Door(False)
    _other, result = await crash(first, door, A="completed", B="in_progress", C="pending")
    assert first.started == ["B"]
    assert [following for _done, following in door.asked] == [["C"]]
    assert result.status.code == "rejected"


async def test_the_first_round_begins_without_a_question_after_a_crash_too():
    first = world(Door(), slow=("B",))
    await first.run(*PLAN)
    door = Door()
    _other, result = await crash(first, door, A="pending", B="pending")
    assert result.success
    assert sorted(first.started[:2]) == ["A", "B"]
    assert door.asked == [(["A", "B"], ["C"]), (["C"], ["D"])]
