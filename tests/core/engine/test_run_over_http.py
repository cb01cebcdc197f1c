"""Whole runs over a real socket: what executes, what the model is told, what is saved (s29-s34)."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from oma_desktop.base.lanes import Lanes
from oma_desktop.base.supervisor import Supervisor
from oma_desktop.engine.bus import EventBus
from oma_desktop.engine.launching.wiring import World, retry_events, wire
from oma_desktop.engine.options import CheckpointOptions, RestoreOptions, RunOptions
from oma_desktop.engine.orchestrator import OpenMultiAgent
from oma_desktop.engine.tools.registry import ToolOutput, ToolSpec
from oma_desktop.model.runfile_reading import read_run_file
from oma_desktop.store.in_memory import InMemoryStore
from tests.core.engine.llm.loopback import Answer, Loopback, turn

CASES = Path(__file__).parents[2] / "cases"
TOOLS = ("list_dir", "write_file", "get_weather", "delete_file", "noop")


class Clock:
    """Stands still; waits are over at once."""

    def now(self):
        return datetime(2026, 1, 5, 8, tzinfo=UTC)

    def monotonic(self):
        return 0.0

    async def sleep(self, delay_s):
        pass


class Desk:
    """One engine, one store, tools that write down what they really did."""

    def __init__(self):
        self.clock = Clock()
        self.store = InMemoryStore(clock=self.clock)
        self.bus = EventBus()
        self.events = []
        self.bus.subscribe(self.events.append)
        self.done = []
        self.providers = {}
        self.supervisor = Supervisor()
        self.lanes = Lanes()

    def tool(self, name):
        async def run(arguments, _context):
            self.done.append((name, arguments))
            return ToolOutput(f"{name} did it")

        return ToolSpec(name, f"does {name}", {"type": "object"}, run)

    def wired(self, server, tasks, **agent):
        document = {
            "team": {
                "name": "t",
                "agents": [
                    {
                        "name": "a",
                        "model": "m",
                        "provider": "openai",
                        "baseURL": server.base_url,
                        "tools": list(TOOLS),
                        **agent,
                    }
                ],
            },
            "tasks": tasks,
            "providers": self.providers,
        }
        run_file = read_run_file(json.dumps(document).encode(), name="r.json")
        world = World(
            self.clock,
            environ={},
            stored_key=lambda provider: None,
            tools=tuple(map(self.tool, TOOLS)),
            on_retry=retry_events(self.bus),
        )
        return wire(run_file, base_dir=Path(), world=world)

    def engine(self, wired):
        return OpenMultiAgent(
            wired.orchestrator,
            clock=self.clock,
            supervisor=self.supervisor,
            lanes=self.lanes,
            bus=self.bus,
        )

    async def run(self, server, *, tasks=None, **agent):
        """Run the tasks to their end; returns the result."""
        wired = self.wired(server, tasks or [{"title": "x", "description": "do x"}], **agent)
        place = CheckpointOptions(self.store, run_id="r")
        try:
            options = RunOptions(run_id="r", checkpoint=place)
            return await self.engine(wired).run_tasks(wired.team, wired.specs, options)
        finally:
            await wired.close()

    async def restore(self, server, **options):
        wired = self.wired(server, [{"title": "x", "description": "do x"}])
        place = CheckpointOptions(self.store, run_id="r")
        try:
            return await self.engine(wired).restore(wired.team, RestoreOptions(place, **options))
        finally:
            await wired.close()


@pytest.fixture
async def desk():
    made = Desk()
    yield made
    assert await made.supervisor.close() == []
    made.lanes.close()


def case(name, **more):
    return Answer((CASES / name).read_bytes(), **more)


async def test_a_run_of_several_turns_and_tasks(desk):
    answers = [
        turn(tools=[("c1", "get_weather", {"city": "北京"}), ("c2", "noop", {})], reasoning="hm"),
        turn(text="sunny"),
        turn(text="written"),
    ]
    tasks = [
        {"title": "look", "description": "look"},
        {"title": "write", "description": "write", "dependsOn": ["look"]},
    ]
    async with Loopback(answers) as server:
        result = await desk.run(server, tasks=tasks)
        first, second, third = server.requests
    assert result.success
    assert desk.done == [("get_weather", {"city": "北京"}), ("noop", {})]
    assert second.roles == ["user", "assistant", "tool", "tool"]
    assert [m["content"] for m in second.body["messages"][2:]] == [
        "get_weather did it",
        "noop did it",
    ]
    assert second.body["messages"][1]["tool_calls"][0]["id"] == "c1"
    assert "sunny" in json.dumps(third.body["messages"])
    assert [t["function"]["name"] for t in first.body["tools"]] == list(TOOLS)
    assert result.total_usage == {"input_tokens": 21, "output_tokens": 9}
    drafts = "".join(e.data["text"] for e in desk.events if e.type == "text_delta")
    assert "sunny" in drafts


@pytest.mark.parametrize("name", ["empty", "null", "missing"])
async def test_s29_no_arguments(desk, name):
    async with Loopback([case(f"s29-empty-arguments/{name}.sse"), turn(text="ok")]) as server:
        result = await desk.run(server)
    assert result.success
    assert desk.done == [("list_dir", {})]


async def test_s29_broken_arguments_are_answered_not_executed(desk):
    async with Loopback([case("s29-empty-arguments/garbage.sse"), turn(text="ok")]) as server:
        result = await desk.run(server)
        (told,) = [m for m in server.requests[1].body["messages"] if m["role"] == "tool"]
    assert result.success
    assert desk.done == []
    assert told["tool_call_id"] == "call_g"
    assert "argument" in told["content"].lower()


async def test_s30_three_calls_at_one_index(desk):
    answers = [case("s30-parallel-same-index/same-index.sse"), turn(text="ok")]
    async with Loopback(answers) as server:
        result = await desk.run(server)
        told = [m for m in server.requests[1].body["messages"] if m["role"] == "tool"]
    assert result.success
    assert [arguments["city"] for _, arguments in desk.done] == ["北京", "上海", "广州"]
    assert [m["tool_call_id"] for m in told] == ["c1", "c2", "c3"]


@pytest.mark.parametrize("name", ["cut-text", "cut-call"])
@pytest.mark.parametrize("cut", [True, False])
async def test_s32_half_an_answer_is_no_answer(desk, name, cut):
    async with Loopback([case(f"s32-eof-without-done/{name}.sse", cut=cut)]) as server:
        result = await desk.run(server)
        assert len(server.requests) == 1
    assert not result.success
    assert "broke off before its end" in (result.tasks[0]["result"])
    assert desk.done == []
    for entry in desk.store.list():
        assert "delete_file" not in entry.value
        assert "first half" not in entry.value
    async with Loopback([turn(text="whole")]) as server:
        again = await desk.restore(server, retry_failed=True)
        assert server.requests[0].roles == ["user"]
    assert again.success


async def test_s32_a_task_with_retries_asks_again(desk):
    tasks = [{"title": "x", "description": "do x", "maxRetries": 1}]
    answers = [case("s32-eof-without-done/cut-call.sse"), turn(text="whole")]
    async with Loopback(answers) as server:
        result = await desk.run(server, tasks=tasks)
    assert result.success
    assert desk.done == []


async def test_s34_error_after_text_runs_nothing_and_is_not_replayed(desk):
    async with Loopback([case("s34-error-event-mid-stream/openai-error.sse")]) as server:
        result = await desk.run(server)
        assert len(server.requests) == 1
    assert not result.success
    assert desk.done == []


async def test_repeats_are_events(desk):
    busy = Answer(b"{}", 529, {"Content-Type": "application/json"})
    async with Loopback([busy, busy, turn(text="ok")]) as server:
        result = await desk.run(server)
    assert result.success
    repeats = [e for e in desk.events if e.type == "llm_retry"]
    assert [(e.agent, e.data["status"], e.data["retry"]) for e in repeats] == [
        ("a", 529, 1),
        ("a", 529, 2),
    ]


async def test_calls_in_text_run_like_any_other_on_a_local_server(desk):
    """A small model that cannot call tools properly still works, unless the agent says no."""
    written = '<tool_call>{"name": "noop", "arguments": {}}</tool_call>'
    async with Loopback([turn(text=written), turn(text="ok")]) as server:
        assert (await desk.run(server)).success
        told = [m for m in server.requests[1].body["messages"] if m["role"] == "tool"]
    assert desk.done == [("noop", {})]
    assert [m["content"] for m in told] == ["noop did it"]


async def test_calls_in_text_can_be_switched_off(desk):
    written = '<tool_call>{"name": "noop", "arguments": {}}</tool_call>'
    async with Loopback([turn(text=written)]) as server:
        assert (await desk.run(server, textToolCalls=False)).success
    assert desk.done == []
