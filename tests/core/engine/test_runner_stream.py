"""The stream of one agent: complete, in order, one end, harmless (engine.md 1.11; idea 63)."""

import asyncio
from dataclasses import replace

import pytest

from oma_desktop.base.supervisor import Supervisor
from oma_desktop.engine.cancel import StopReason
from oma_desktop.engine.llm.base import ModelReply
from oma_desktop.engine.tools.gate import suspend
from oma_desktop.model.errors import BudgetExceeded
from oma_desktop.model.result import AgentRunResult, ErrorInfo
from tests.core.engine.runner_world import (
    Probe,
    World,
    drive,
    problem,
    say,
    until_stopped,
)

TWO = (("c1", "look", {"q": "a"}), ("c2", "look", {"q": "b"}))


def listening(*turns, **more):
    told = []
    world = World(*turns, tools=[Probe().spec()], on_stream=told.append, **more)
    return world, told


def kinds(told):
    return [event.type for event in told]


async def test_a_run_is_told_in_order_and_ends_once():
    world, told = listening(say("looking", *TWO), say("done"))
    result = await world.run()
    assert kinds(told) == [
        "text",
        "tool_use",
        "tool_use",
        "tool_result",
        "tool_result",
        "text",
        "done",
    ]
    assert [e.data for e in told[1:3]] == result.messages[0]["content"][1:]
    assert [e.data for e in told[3:5]] == result.messages[1]["content"]
    assert (told[0].data, told[0].agent, told[0].task) == ("looking", "w", "t1")
    assert told[-1].data is result


async def test_dev_22_text_and_reasoning_come_as_drafts():
    turn = say("done")
    thought = {"type": "reasoning", "text": "hm", "signature": "s", "provenance": "fake"}
    world, told = listening(replace(turn, content=[thought, *turn.content]))
    result = await world.run()
    assert [(e.type, e.data) for e in told[:2]] == [("reasoning", "hm"), ("text", "done")]
    assert result.messages[0]["content"][0] == thought


async def test_replayed_results_are_told_too():
    world = World(say("looking", *TWO), say("done"), tools=[Probe().spec()])
    await world.run()
    again, told = listening(say("looking", *TWO), say("done"))
    await again.run(resume=world.ledger.saves[2][1])
    assert kinds(told) == ["tool_result", "tool_result", "text", "done"]


async def test_a_budget_is_told_and_is_no_error():
    world, told = listening(say("", TWO[0]), say("done"), maxTokenBudget=5)
    await world.run()
    assert kinds(told) == ["budget_exceeded", "tool_use", "tool_result", "done"]
    assert isinstance(told[0].data, BudgetExceeded)


async def test_a_loop_is_told_before_the_calls_of_its_turn():
    world, told = listening(
        say("", ("x", "look", {})), loopDetection={"onLoopDetected": "warn"}, maxTurns=9
    )
    await world.run()
    assert kinds(told) == [
        *["tool_use", "tool_result"] * 2,
        "loop_detected",
        *["tool_use", "tool_result"],
        "loop_detected",
        "done",
    ]
    loop = told[4].data
    assert (loop.kind, loop.repetitions) == ("tool_repetition", 3)
    assert loop.detail


@pytest.mark.parametrize(
    ("turns", "options", "end"),
    [
        ([problem()], {}, "error"),
        ([until_stopped], {"timeoutMs": 1000}, "error"),
        ([until_stopped], {"callTimeoutMs": 1000}, "error"),
        ([say("no json")], {"outputSchema": {"type": "object"}}, "error"),
        ([say("", *TWO)], {"maxTurns": 1}, "done"),
        ([say("", *TWO)], {"maxTurns": 1, "failOn": ["MAX_TURNS_REACHED"]}, "error"),
    ],
)
async def test_exactly_one_end_whatever_happens(turns, options, end):
    world, told = listening(*turns, **options)
    await world.run()
    ends = [event for event in told if event.type in {"done", "error"}]
    assert [e.type for e in ends] == [end]
    assert told[-1] is ends[0]
    assert isinstance(ends[0].data, AgentRunResult if end == "done" else ErrorInfo)


async def test_a_suspension_and_a_stop_are_no_errors():
    async def gate(_call):
        return suspend()

    world, told = listening(say("", *TWO), gate=gate)
    assert (await world.run()).suspended
    assert kinds(told) == ["tool_use", "tool_use", "done"]
    world, told = listening(say("never"))
    world.token.stop(StopReason.CANCEL)
    await world.run()
    assert kinds(told) == ["done"]


async def test_the_stream_of_a_cancelled_task_ends_too():
    world, told = listening(until_stopped)
    supervisor = Supervisor()
    task = supervisor.spawn(world.runner(supervisor).run(), name="runner")
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await supervisor.close()
    assert kinds(told) == ["error"]
    assert told[0].data.code == "ENGINE_FAULT"


@pytest.mark.parametrize("fails_at", ["text", "tool_use", "tool_result", "done"])
async def test_idea_63_a_listener_that_raises_neither_fails_nor_repeats_the_run(fails_at, caplog):
    heard = []

    def bad(event):
        heard.append(event.type)
        if event.type == fails_at:
            raise RuntimeError("listener")

    probe = Probe()
    world = World(say("looking", TWO[0]), say("done"), tools=[probe.spec()], on_stream=bad)
    supervisor = Supervisor()
    task = supervisor.spawn(world.runner(supervisor).run(), name="runner")
    await drive(task, world.clock)
    result = task.result()
    await supervisor.close()
    assert (result.success, result.output) == (True, "done")
    assert (len(world.model.requests), len(probe.calls)) == (2, 1)
    assert heard[-1] == fails_at
    assert heard.count(fails_at) == 1
    assert "stream listener" in caplog.text


async def test_dev_07_a_stream_changes_nothing_about_the_result():
    turns = [say("no json"), say('{"a": 1}')]
    schema = {"outputSchema": {"type": "object", "required": ["a"]}}
    world, told = listening(*turns, **schema)
    plain = await World(*turns, tools=[Probe().spec()], **schema).run()
    streamed = await world.run()
    assert (streamed.structured, streamed.messages) == (plain.structured, plain.messages)
    assert kinds(told) == ["text", "text", "done"]
    assert isinstance(turns[0], ModelReply)


@pytest.mark.parametrize("reason", [None, StopReason.CANCEL])
async def test_dev_07_a_stream_does_not_turn_a_time_limit_or_a_stop_into_success(reason):
    world, told = listening(until_stopped, timeoutMs=3000)

    async def stopping(request, token):
        if reason is not None:
            world.token.stop(reason)
        return await until_stopped(request, token)

    world.model.turns = (stopping,)
    result = await world.run()
    assert not result.success
    assert result.status.code == ("timeout" if reason is None else "cancelled")
    assert kinds(told) == ["error" if reason is None else "done"]
