"""Runs of a goal, stopped or killed anywhere, reach it all the same (engine.md 4; W2, P12, P13)."""

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oma_desktop.engine.cancel import StopReason
from oma_desktop.model.errors import Conflict
from oma_desktop.model.runfile import Coordinator
from tests.core.engine.coordination.team_scripts import GOAL, script
from tests.core.engine.run_world import RunWorld

ALL = {"Venues", "Budget", "Agenda"}
WHOLE = {"input_tokens": 50 + 3 * 10 + 100, "output_tokens": 5}
REASONS = st.sampled_from([StopReason.SUSPEND, StopReason.CANCEL, StopReason.TIMEOUT])


def stop_at(world, nth, reason):
    """Stop the run when its nth event is heard."""
    heard = []

    def count(event):
        heard.append(event)
        if len(heard) == nth:
            world.token.stop(reason)

    return world.bus.subscribe(count)


async def finish(world):
    """Restore until nothing is left to do, or start where nothing was saved."""
    try:
        saved = world.snapshot()
    except IndexError:
        return None, await world.run_team(GOAL)
    return saved, await world.restore(real_runner=True, coordinator=Coordinator())


def total(usage):
    return usage["input_tokens"] + usage["output_tokens"]


@settings(deadline=None, max_examples=60)
@given(nth=st.integers(1, 60), reason=REASONS)
def test_a_goal_stopped_anywhere_is_reached_by_going_on(nth, reason):
    async def play():
        world = RunWorld(script=script())
        forget = stop_at(world, nth, reason)
        first = await world.run_team(GOAL)
        forget()
        if first.success:
            assert first.final_answer == "All set."
            return
        world.forget_events()
        world.token = type(world.token)()
        saved, result = await finish(world)
        assert result.success
        assert result.final_answer == "All set."
        assert {t["title"] for t in result.tasks} == ALL
        done = {t["id"] for t in first.tasks if t["status"] == "completed"}
        again = {e.task for e in world.of("task_start")}
        assert not done & again, "a finished task ran again"
        if saved is not None:
            assert not any("@decompose" in c for c in result.log["modelCalls"])
            assert total(result.total_usage) >= total(saved["omaDesktop"]["usage"])
            assert total(result.total_usage) >= total(first.total_usage) or not first.tasks

    asyncio.run(play())


@settings(deadline=None, max_examples=40)
@given(data=st.data())
def test_a_goal_killed_at_any_save_is_reached_once(data):
    async def play():
        world = RunWorld(script=script())
        whole = await world.run_team(GOAL)
        assert whole.total_usage == WHOLE
        at = data.draw(st.integers(0, len(world.store.saved) - 1))
        died = world.crashed(at=at)
        result = await died.restore(real_runner=True, coordinator=Coordinator())
        assert result.success
        assert result.final_answer == "All set."
        assert result.total_usage == WHOLE
        again = await died.restore(real_runner=True, coordinator=Coordinator())
        assert again.log["modelCalls"] == []
        assert again.total_usage == WHOLE

    asyncio.run(play())


async def test_a_second_run_over_a_saved_goal_is_refused():
    world = RunWorld(script=script())
    await world.run_team(GOAL, run_id="r")
    with pytest.raises(Conflict):
        await world.run_team(GOAL, run_id="r")
