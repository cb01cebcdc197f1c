"""Messages between agents of a team (engine.md 1.2, 1.10; formats.md 1.6.6)."""

from __future__ import annotations

import itertools
import logging

from oma_desktop.engine.memory.message_bus import MessageBus
from oma_desktop.engine.tools.registry import ToolOutput, ToolRegistry, ToolSpec
from tests.core.engine.run_world import RunWorld, spec
from tests.core.engine.test_delegation import BOSS, ask, team, turn


def a_bus():
    ids = itertools.count(1)
    return MessageBus(now=lambda: "2026-01-01T00:00:00.000Z", new_id=lambda: f"m{next(ids)}")


def texts(messages):
    return [m["content"] for m in messages]


def test_who_gets_what():
    bus = a_bus()
    bus.send("a", "b", "for b")
    bus.broadcast("a", "for all")
    bus.send("b", "a", "back")
    bus.send("c", "b", "from c")
    assert texts(bus.addressed_to("b")) == ["for b", "for all", "from c"]
    assert texts(bus.addressed_to("a")) == ["back"]
    assert texts(bus.conversation("a", "b")) == ["for b", "back"]
    assert texts(bus.conversation("b", "a")) == ["for b", "back"]
    assert bus.conversation("a", "a") == []


def test_read_and_unread():
    bus = a_bus()
    first = bus.send("a", "b", "one")
    bus.send("a", "b", "two")
    bus.mark_read("b", [first["id"]])
    assert texts(bus.unread("b")) == ["two"]
    assert texts(bus.addressed_to("b")) == ["one", "two"]


def test_listeners_hear_at_once_survive_a_restore_and_stop_nobody(caplog):
    bus, heard = a_bus(), []
    bus.subscribe(lambda _m: 1 / 0)
    forget = bus.subscribe(heard.append)
    sent = bus.send("a", "b", "one")
    assert heard == [sent]
    snapshot = bus.snapshot()
    assert set(snapshot) == {"version", "messages", "readState"}
    bus.restore(snapshot)
    with caplog.at_level(logging.CRITICAL):
        bus.send("a", "b", "two")
    assert texts(heard) == ["one", "two"]
    forget()
    bus.send("a", "b", "three")
    assert texts(heard) == ["one", "two"]


# --- in a run ------------------------------------------------------------------------------------

SEND = {"note": {"schema": {}, "results": {"*": {"data": "sent"}}}}


def writing(world: RunWorld):
    """The scripted tool `note` really writes to its agent's colleagues."""

    async def run(_input, context):
        context.send_message("b", f"news of {context.agent}")
        return ToolOutput(data="sent")

    note = ToolSpec("note", "", {"type": "object"}, run)
    from dataclasses import replace

    world.team = replace(world.team, tools=ToolRegistry([note]))
    return world


async def test_what_a_tool_writes_is_announced_saved_and_in_the_prompt_of_the_receiver():
    replies = {
        "One": [turn("", ("n1", "note", {})), turn("end")],
        "Two": [turn("two")],
    }
    world = writing(team(replies, {"name": "a", "tools": ["note"]}, "b", tools=SEND))
    prompts = []
    adapter = world.team.adapter_for(None)
    real = adapter.stream

    def listen(request, token):
        prompts.append((request.agent, request.messages[0]["content"][0]["text"]))
        return real(request, token)

    adapter.stream = listen
    first, second = spec("One", assignee="a"), spec("Two", "One", assignee="b")
    result = await world.run(first, second, real_runner=True)
    assert result.success
    (event,) = world.of("message")
    assert (event.agent, event.data["to"], event.data["content"]) == ("a", "b", "news of a")
    assert texts(world.snapshot()["messageBus"]["messages"]) == ["news of a"]
    assert [("news of a" in text) for agent, text in prompts if agent == "b"] == [True]
    assert not any("news of a" in text for agent, text in prompts if agent == "a")


async def test_a_delegated_agent_writes_in_its_own_name():
    replies = {
        "Story": [turn("", ask("d1", "expert")), turn("end")],
        "expert::@other": [turn("", ("n1", "note", {})), turn("end")],
    }
    world = team(replies, BOSS, {"name": "expert", "tools": ["note"]}, "b", tools=SEND)
    await writing(world).run(spec("Story", assignee="boss"), real_runner=True)
    assert [e.agent for e in world.of("message")] == ["expert"]
