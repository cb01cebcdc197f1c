"""Conversations with one agent (engine.md 1.3 `history`, 3.1)."""

import pytest

from oma_desktop.engine.agents.dialogue import Dialogue
from oma_desktop.engine.agents.pairing import pairing_problem
from oma_desktop.model.errors import ProviderError
from oma_desktop.model.team import AgentConfig
from tests.core.engine.context.conversations import model, text, use, user
from tests.core.engine.runner_world import Probe, World, problem, say

SEEDS = [user(text("I am Ann.")), model(text("Hello Ann."))]


def dialogue(world, **agent):
    async def ask(agent, messages):
        world.agent = agent
        return await world.run(prompt=messages, boundaries=False)

    return Dialogue(world.agent.model_copy(update=agent), ask)


async def test_history_comes_first_and_every_exchange_is_remembered():
    world = World(say("never"), say("one"), say("two"), tools=[Probe().spec()])
    talk = dialogue(world, history=SEEDS)
    assert (await talk.prompt("Who am I?")).output == "one"
    assert (await talk.prompt("And now?")).output == "two"
    sent = world.model.requests[1].messages
    assert sent == [
        *SEEDS,
        user(text("Who am I?")),
        model(text("one")),
        user(text("And now?")),
    ]
    assert talk.messages == [*sent, model(text("two"))]
    talk.forget()
    assert talk.messages == []


async def test_history_is_a_copy_and_its_open_calls_are_answered_not_run():
    probe = Probe()
    seeds = [user(text("t")), model(use("a"))]
    world = World(say("x"), say("done"), tools=[probe.spec()])
    talk = dialogue(world, history=seeds)
    seeds[0]["content"][0]["text"] = "changed"
    await talk.prompt("go on")
    sent = world.model.requests[0].messages
    assert pairing_problem(sent) is None
    assert sent[0] == user(text("t"))
    assert [m["role"] for m in sent] == ["user", "assistant", "user"]
    assert sent[2]["content"][-1] == text("go on")
    assert probe.calls == []


async def test_an_exchange_that_failed_leaves_no_trace():
    world = World(problem())
    talk = dialogue(world)
    assert not (await talk.prompt("hello?")).success
    assert talk.messages == []


def test_a_history_that_is_none_is_refused():
    agent = AgentConfig(name="a", history=[{"role": "user", "content": [{"type": "tool_result"}]}])
    with pytest.raises(ProviderError) as caught:
        Dialogue(agent, None)
    assert caught.value.code == "INVALID_MESSAGE"


async def test_one_prompt_at_a_time():
    async def ask(_agent, _messages):
        with pytest.raises(RuntimeError):
            await talk.prompt("second")
        raise RuntimeError("end")

    talk = Dialogue(AgentConfig(name="a"), ask)
    with pytest.raises(RuntimeError, match="end"):
        await talk.prompt("first")
