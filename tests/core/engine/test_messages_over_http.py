"""Whole runs on the messages protocol: thinking over tools and restores, pictures, usage."""

import base64
import json

import pytest

from oma_desktop.engine.cancel import CancelToken, StopReason
from oma_desktop.engine.options import CheckpointOptions, RestoreOptions, RunOptions
from oma_desktop.engine.tools.registry import ToolOutput, ToolSpec
from tests.core.engine.llm.loopback import Answer, Loopback, _chunk, sse
from tests.core.engine.llm.test_anthropic_adapter import (
    call,
    delta,
    end,
    event,
    opened,
    start,
    text,
)
from tests.core.engine.test_run_over_http import Desk

SIGNATURE = "EqQBCkYIBxgCKkBx+/==\u00e9"
THINKING = {"enabled": True, "budgetTokens": 1024}
PNG = base64.b64encode(b"not really a picture").decode()
PDF = base64.b64encode(b"%PDF-1.4 not really").decode()


def thought(index, words):
    return (
        opened(index, type="thinking", thinking="", signature="")
        + delta(index, type="thinking_delta", thinking=words)
        + delta(index, type="signature_delta", signature=SIGNATURE[:7])
        + delta(index, type="signature_delta", signature=SIGNATURE[7:])
    )


FIRST = (
    start(input_tokens=10, cache_creation_input_tokens=5, cache_read_input_tokens=100)
    + thought(0, "  look first,\n先看 ")
    + opened(1, type="redacted_thinking", data="b3BhcXVl+/==")
    + text(2, "I look.")
    + call(3, "toolu_1", "noop", "{}")
    + end("tool_use", tokens=9)
)
LAST = start(input_tokens=20) + text(0, "done") + end(tokens=2)
SAID = [
    {"type": "thinking", "thinking": "  look first,\n先看 ", "signature": SIGNATURE},
    {"type": "redacted_thinking", "data": "b3BhcXVl+/=="},
    {"type": "text", "text": "I look."},
    {"type": "tool_use", "id": "toolu_1", "name": "noop", "input": {}},
]


def answer(body, **more):
    return Answer(body.encode(), **more)


class MessagesDesk(Desk):
    """Agents that speak messages; a tool may hold up the run."""

    def __init__(self):
        super().__init__()
        self.token = CancelToken()
        self.suspend_in_tool = False
        self.gives = None
        self.providers = {"mine": {"type": "anthropic", "baseURL": "http://127.0.0.1:1"}}

    def tool(self, name):
        async def run(arguments, _context):
            self.done.append((name, arguments))
            if self.suspend_in_tool:
                self.token.stop(StopReason.SUSPEND)
            return ToolOutput(f"{name} did it", model_output=self.gives)

        return ToolSpec(name, f"does {name}", {"type": "object"}, run)

    def team(self, server, **agent):
        at = {"provider": "anthropic", "baseURL": f"http://127.0.0.1:{server.port}"}
        tasks = [{"title": "x", "description": "do x"}]
        return self.wired(server, tasks, **{**at, "thinking": THINKING, **agent})

    async def play(self, server, **agent):
        wired = self.team(server, **agent)
        place = CheckpointOptions(self.store, run_id="r")
        options = RunOptions(run_id="r", checkpoint=place, token=self.token)
        try:
            return await self.engine(wired).run_tasks(wired.team, wired.specs, options)
        finally:
            await wired.close()

    async def go_on(self, server, **agent):
        wired = self.team(server, **agent)
        place = CheckpointOptions(self.store, run_id="r")
        try:
            return await self.engine(wired).restore(wired.team, RestoreOptions(place))
        finally:
            await wired.close()


@pytest.fixture
async def desk():
    made = MessagesDesk()
    yield made
    assert await made.supervisor.close() == []
    made.lanes.close()


async def test_thinking_goes_back_byte_for_byte_with_its_call(desk):
    async with Loopback([answer(FIRST), answer(LAST)]) as server:
        result = await desk.play(server)
        first, second = server.requests
    assert result.success
    assert first.body["thinking"] == {"type": "enabled", "budget_tokens": 1024}
    assert second.body["thinking"] == first.body["thinking"]
    asked, said, told = second.body["messages"]
    assert (asked["role"], told["role"]) == ("user", "user")
    assert said == {"role": "assistant", "content": SAID}
    assert told["content"][0]["tool_use_id"] == "toolu_1"
    assert result.total_usage == {"input_tokens": 135, "output_tokens": 11}


@pytest.mark.parametrize("provider", ["anthropic", "mine"])
async def test_thinking_outlives_a_restore(desk, provider):
    """Saved after the tool, gone on by another process: the same bytes, whatever the name.

    "anthropic" is also how the peer marks such reasoning.
    """
    desk.suspend_in_tool = True
    async with Loopback([answer(FIRST)]) as server:
        result = await desk.play(server)
    assert not result.success
    assert desk.done == [("noop", {})]
    async with Loopback([answer(LAST)]) as server:
        result = await desk.go_on(server, provider=provider)
        (request,) = server.requests
    assert result.success
    assert desk.done == [("noop", {})], "it does not run twice"
    assert request.body["messages"][1] == {"role": "assistant", "content": SAID}
    assert request.body["thinking"]["type"] == "enabled"


async def test_a_round_that_another_service_began_goes_on_without_thinking(desk):
    desk.suspend_in_tool = True
    chat = {"tool_calls": [{"id": "c1", "function": {"name": "noop", "arguments": "{}"}}]}
    body = sse(_chunk({"reasoning_content": "hm"}), _chunk(chat), _chunk({}, "tool_calls"))
    async with Loopback([Answer(body)]) as server:
        await desk.play(server, provider="openai", baseURL=server.base_url)
    async with Loopback([answer(LAST)]) as server:
        assert (await desk.go_on(server)).success
        (request,) = server.requests
    assert "thinking" not in request.body
    assert [b["type"] for b in request.body["messages"][1]["content"]] == ["tool_use"]


async def test_pictures_and_pdfs_of_tools_reach_the_model(desk):
    desk.gives = [
        {"type": "text", "text": "see"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
        {
            "type": "file",
            "filename": "a.pdf",
            "source": {"type": "base64", "media_type": "application/pdf", "data": PDF},
        },
    ]
    async with Loopback([answer(FIRST), answer(LAST)]) as server:
        assert (await desk.play(server)).success
        told = server.requests[1].body["messages"][2]["content"]
    assert [block["type"] for block in told] == ["tool_result", "document"]
    assert [part["type"] for part in told[0]["content"]] == ["text", "image"]
    assert told[0]["content"][1]["source"]["data"] == PNG
    assert (told[1]["source"]["data"], told[1]["title"]) == (PDF, "a.pdf")


async def test_a_cut_answer_is_paid_for_and_never_half_used(desk):
    half = start(input_tokens=12) + text(0, "half of it") + call(1, "toolu_1", "noop", "{}")
    async with Loopback([answer(half, cut=True)]) as server:
        result = await desk.play(server)
    assert not result.success
    assert desk.done == []
    assert result.total_usage["input_tokens"] == 12
    assert not any("half of it" in entry.value for entry in desk.store.list())


async def test_a_cut_chat_answer_is_paid_for_too(desk):
    counted = {"choices": [], "usage": {"prompt_tokens": 8, "completion_tokens": 1}}
    body = sse(_chunk({"content": "half"}), counted).removesuffix(b"data: [DONE]\n\n")
    async with Loopback([Answer(body, cut=True)]) as server:
        result = await desk.play(server, provider="openai", baseURL=server.base_url)
    assert not result.success
    assert result.total_usage == {"input_tokens": 8, "output_tokens": 1}


async def test_an_overload_inside_an_answer_keeps_what_it_used(desk):
    busy = event("error", error={"type": "overloaded_error", "message": "busy"})
    body = start(input_tokens=12) + text(0, "half") + busy
    async with Loopback([answer(body), answer(LAST)]) as server:
        result = await desk.play(server)
        assert len(server.requests) == 1
    assert result.total_usage["input_tokens"] == 12
    assert "busy" in json.dumps(result.tasks[0])
