"""Calls written as text: what counts as one, and where they are looked for at all."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oma_desktop.engine.llm.base import ModelReply, ModelRequest
from oma_desktop.engine.llm.text_calls import calls_in, with_text_calls
from tests.core.engine.llm.conftest import HELLO
from tests.core.engine.llm.loopback import Loopback, turn

OFFERED = {"look", "act"}
LOOK = {"name": "look", "arguments": {"q": "a}b"}}
TOOLS = [{"name": n, "description": n, "inputSchema": {"type": "object"}} for n in OFFERED]
TEXT = json.dumps(LOOK)


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        (TEXT, [("look", {"q": "a}b"})]),
        (f"Sure.\n```json\n{TEXT}\n```\nDone.", [("look", {"q": "a}b"})]),
        (f"<tool_call>\n{TEXT}\n</tool_call>", [("look", {"q": "a}b"})]),
        (f"<tool_call>{TEXT}", [("look", {"q": "a}b"})]),
        ('{"name": "act", "parameters": {}}', [("act", {})]),
        ('{"name": "act", "input": {"n": 1}}', [("act", {"n": 1})]),
        ('{"type": "function", "function": {"name": "act", "arguments": "{}"}}', [("act", {})]),
        ('{"name": "act", "arguments": "{\\"n\\": 1}"}', [("act", {"n": 1})]),
        (
            '[{"name": "act", "arguments": {}}, {"name": "look", "arguments": {}}]',
            [("act", {}), ("look", {})],
        ),
        # tags are the stronger sign: what stands beside them is talk
        (
            f'{{"name": "act", "arguments": {{}}}} <tool_call>{TEXT}</tool_call>',
            [("look", {"q": "a}b"})],
        ),
        (f"I call {TEXT}. So: {TEXT}", [("look", {"q": "a}b"})]),
        # none
        ("", []),
        ("just {text} here", []),
        ('{"name": "other", "arguments": {}}', []),
        ('{"name": "act"}', []),
        ('{"name": "act", "arguments": "no json"}', []),
        ('{"name": "act", "arguments": [1]}', []),
        ('{"name": "act", "arguments": {"n": ', []),
        ('{"example": {"name": "act", "arguments": {}}}', []),
        (f"<think>maybe {TEXT}</think> No.", []),
        (f"<think>maybe {TEXT}", []),
    ],
)
def test_what_is_a_call(text, calls):
    assert calls_in(text, OFFERED) == calls


def test_a_text_full_of_braces_costs_no_time():
    began = time.perf_counter()
    assert calls_in('{"a":' * 20_000, OFFERED) == []
    assert calls_in("{" * 1_000_000, OFFERED) == []
    assert time.perf_counter() - began < 5


@given(st.text(alphabet='{}[]"<>tool_call:act,\\', max_size=80))
def test_nothing_raises(text):
    for name, arguments in calls_in(text, OFFERED):
        assert name in OFFERED
        assert isinstance(arguments, dict)


@pytest.mark.parametrize("stop", ["max_tokens", "content_filter"])
def test_a_reply_that_was_cut_is_left_alone(stop):
    reply = ModelReply([{"type": "text", "text": TEXT}], stop, None)
    assert with_text_calls(reply, TOOLS, lambda: "x") is reply


REQUEST = ModelRequest("m", HELLO.messages, tools=TOOLS)


async def test_on_a_server_of_ones_own_they_count(bench):
    async with Loopback([turn(text=TEXT)]) as server:
        got = await bench.ask(bench.adapter(server.base_url), REQUEST)
    assert got.calls == [("look", {"q": "a}b"})]
    assert got.reply.stop_reason == "tool_use"
    assert got.text == TEXT
    (call,) = [b for b in got.reply.content if b["type"] == "tool_use"]
    assert call["id"] == "made-up-id"


@pytest.mark.parametrize(
    ("wish", "host", "counted"),
    [
        (None, "model.example", False),
        (True, "model.example", True),
        (None, "127.0.0.1", True),
        (False, "127.0.0.1", False),
    ],
)
async def test_elsewhere_only_by_wish(bench, monkeypatch, wish, host, counted):
    async with Loopback([turn(text=TEXT)]) as server:
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{server.port}")
        monkeypatch.setenv("no_proxy", "")
        request = ModelRequest("m", HELLO.messages, tools=TOOLS, text_calls=wish)
        got = await bench.ask(bench.adapter(f"http://{host}:{server.port}/v1"), request)
    assert bool(got.calls) is counted


async def test_a_proper_call_is_the_only_one(bench):
    answer = turn(text=TEXT, tools=[("c1", "act", {"n": 1})])
    async with Loopback([answer]) as server:
        got = await bench.ask(bench.adapter(server.base_url), REQUEST)
    assert got.calls == [("act", {"n": 1})]


async def test_without_tools_text_is_text(bench):
    async with Loopback([turn(text=TEXT)]) as server:
        got = await bench.ask(bench.adapter(server.base_url))
    assert got.calls == []
