"""The messages protocol against a real socket: whole, in bytes, in pieces (cases s29-s34)."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oma_desktop.engine.llm.anthropic import AnthropicAdapter
from oma_desktop.engine.llm.anthropic_stream import MessageTurn
from oma_desktop.engine.llm.base import TextDelta
from oma_desktop.engine.llm.sse import SseReader
from oma_desktop.model.errors import BadReply, ProviderError, RateLimited, Refused, Unreachable
from tests.core.engine.llm.loopback import Answer, Loopback


def event(kind, **data):
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **data}, ensure_ascii=False)}\n\n"


def start(**usage):
    message = {"id": "msg_1", "model": "claude-x", "content": [], "stop_reason": None}
    return event("message_start", message={**message, "usage": usage or {"input_tokens": 12}})


def opened(index, **block):
    return event("content_block_start", index=index, content_block=block)


def delta(index, **change):
    return event("content_block_delta", index=index, delta=change)


def end(reason="end_turn", tokens=7):
    last = event("message_delta", delta={"stop_reason": reason}, usage={"output_tokens": tokens})
    return last + event("message_stop")


def text(index, *pieces):
    return opened(index, type="text", text="") + "".join(
        delta(index, type="text_delta", text=p) for p in pieces
    )


def call(index, call_id, name, *pieces, **block):
    begun = opened(index, type="tool_use", id=call_id, name=name, input=block.get("input", {}))
    return begun + "".join(delta(index, type="input_json_delta", partial_json=p) for p in pieces)


WHOLE = (
    start(
        input_tokens=12, cache_creation_input_tokens=3, cache_read_input_tokens=100, output_tokens=1
    )
    + event("ping")
    + opened(0, type="thinking", thinking="", signature="")
    + delta(0, type="thinking_delta", thinking="let me ")
    + delta(0, type="thinking_delta", thinking="看")
    + delta(0, type="signature_delta", signature="c2ln")
    + delta(0, type="signature_delta", signature="+/=")
    + event("content_block_stop", index=0)
    + opened(1, type="redacted_thinking", data="b3BhcXVl")
    + text(2, "你好", " there")
    + call(3, "toolu_1", "look", '{"q": ', '"a"}')
    + call(4, "toolu_2", "noop")
    + end("tool_use")
)
REPLY = [
    {"type": "reasoning", "text": "let me 看", "signature": "c2ln+/=", "provenance": "demo"},
    {"type": "reasoning", "text": "", "redactedData": "b3BhcXVl", "provenance": "demo"},
    {"type": "text", "text": "你好 there"},
    {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"q": "a"}},
    {"type": "tool_use", "id": "toolu_2", "name": "noop", "input": {}},
]


@pytest.fixture
def adapter(bench):
    def made(server, **more):
        options = {
            "provider": "demo",
            "key": "sk-secret-1",
            "clock": bench.clock,
            "on_retry": bench.notices.append,
            "new_id": lambda: "made-up-id",
            "jitter": lambda: 0.0,
            "base_url": f"http://127.0.0.1:{server.port}",
        }
        it = AnthropicAdapter(**{**options, **more})
        bench.adapters.append(it)
        return it

    return made


def read(data: bytes, sizes=None):
    """Feed a turn without a socket."""
    turn, reader = MessageTurn(provider="demo", new_id=lambda: "made-up-id"), SseReader()
    shown: list[TextDelta] = []
    at = 0
    for size in sizes or [len(data)]:
        for one in reader.feed(data[at : at + size]):
            shown += turn.take(one)
        at += size
    for one in [*reader.feed(data[at:]), *reader.finish()]:
        shown += turn.take(one)
    return turn, shown


@pytest.mark.parametrize("sizes", [None, [1], [7, 1, 64]])
async def test_a_whole_turn_over_a_socket(bench, adapter, sizes) -> None:
    async with Loopback([Answer(WHOLE.encode(), sizes=sizes)]) as server:
        got = await bench.ask(adapter(server))
        (request,) = server.requests
    assert got.reply.content == REPLY
    assert got.reply.usage == {"input_tokens": 115, "output_tokens": 7}
    assert (got.reply.stop_reason, got.reply.id, got.reply.model) == (
        "tool_use",
        "msg_1",
        "claude-x",
    )
    assert "".join(d.text for d in got.deltas if d.kind == "text") == "你好 there"
    assert "".join(d.text for d in got.deltas if d.kind == "reasoning") == "let me 看"
    assert request.path == "/v1/messages"
    assert request.headers["x-api-key"] == "sk-secret-1"
    assert request.headers["anthropic-version"] == "2023-06-01"
    assert "authorization" not in request.headers
    assert request.body["stream"] is True


@pytest.mark.parametrize("tail", ["", "/", "/v1", "/v1/", "/anthropic", "/anthropic/v1"])
async def test_the_version_is_in_the_path_once(bench, adapter, tail) -> None:
    async with Loopback([Answer((start() + text(0, "hi") + end()).encode())]) as server:
        base = f"http://127.0.0.1:{server.port}{tail}"
        await bench.ask(adapter(server, base_url=base))
        before = "/anthropic" if "anthropic" in tail else ""
        assert server.requests[0].path == f"{before}/v1/messages"


@given(st.lists(st.integers(1, 90), max_size=60), st.sampled_from([b"\n", b"\r\n", b"\r"]))
def test_how_the_bytes_are_cut_changes_nothing(sizes, line_end) -> None:
    turn, _ = read(WHOLE.encode().replace(b"\n", line_end), sizes)
    assert turn.reply().content == REPLY


@pytest.mark.parametrize(
    ("name", "error", "partial"),
    [
        ("before-content.sse", RateLimited, ""),
        ("after-text.sse", RateLimited, "half an ans"),
        ("after-tool.sse", BadReply, ""),
    ],
)
def test_s34_an_error_in_the_stream_is_a_failed_turn(cases, name, error, partial) -> None:
    with pytest.raises(error) as caught:
        read(cases(f"s34-error-event-mid-stream/{name}"))
    assert caught.value.facts["partial"] == partial
    assert caught.value.facts["retryable"] is True


async def test_s34_only_what_came_before_the_answer_is_repeated(bench, adapter, cases) -> None:
    before = cases("s34-error-event-mid-stream/before-content.sse")
    good = (start() + text(0, "at last") + end()).encode()
    async with Loopback([Answer(before), Answer(good)]) as server:
        assert (await bench.ask(adapter(server))).text == "at last"
    after = cases("s34-error-event-mid-stream/after-text.sse")
    async with Loopback([Answer(after), Answer(good)]) as server:
        with pytest.raises(ProviderError):
            await bench.ask(adapter(server))
        assert len(server.requests) == 1
    assert len(bench.notices) == 1


async def test_s34_an_overloaded_service_is_asked_again(bench, adapter, cases) -> None:
    busy = Answer(cases("s34-error-event-mid-stream/http-529.json"), status=529, headers={})
    good = Answer((start() + text(0, "ok") + end()).encode())
    async with Loopback([busy, busy, good]) as server:
        assert (await bench.ask(adapter(server))).text == "ok"
    assert [n.status for n in bench.notices] == [529, 529]


def test_s32_a_cut_stream_is_an_error_and_a_stop_reason_is_an_end() -> None:
    cut, _ = read((start() + text(0, "half")).encode())
    with pytest.raises(Unreachable) as caught:
        cut.reply()
    assert caught.value.facts["partial"] == "half"
    whole, _ = read((start() + text(0, "all") + end().split("event: message_stop")[0]).encode())
    assert whole.reply().stop_reason == "end_turn"


def test_s29_no_arguments_are_none_and_broken_ones_never_run() -> None:
    turn, _ = read(
        (start() + call(0, "a", "x") + call(1, "b", "y", '{"q":') + end("tool_use")).encode()
    )
    reply = turn.reply()
    assert [b["input"] for b in reply.content] == [{}, {}]
    (bad,) = reply.invalid_arguments
    assert (bad.call_id, bad.raw) == ("b", '{"q":')


def test_arguments_lost_to_the_output_limit_never_run() -> None:
    turn, _ = read((start() + call(0, "a", "x") + end("max_tokens")).encode())
    reply = turn.reply()
    assert [b.call_id for b in reply.invalid_arguments] == ["a"]


def test_input_sent_with_the_start_counts() -> None:
    turn, _ = read((start() + call(0, "a", "x", input={"q": 1}) + end("tool_use")).encode())
    assert turn.reply().content[0]["input"] == {"q": 1}


def test_figures_are_cumulative_and_never_added_twice() -> None:
    grown = event("message_delta", delta={}, usage={"input_tokens": 12, "output_tokens": 3})
    turn, _ = read(
        (start(input_tokens=12, output_tokens=1) + text(0, "x") + grown + end()).encode()
    )
    assert turn.reply().usage == {"input_tokens": 12, "output_tokens": 7}
    silent = event("message_start", message={"id": "m"}) + text(0, "x")
    unknown, _ = read((silent + event("message_stop")).encode())
    assert unknown.reply().usage is None


def test_unknown_blocks_are_told_and_empty_ones_left_out() -> None:
    turn, _ = read((start() + opened(0, type="server_tool_use") + text(1) + end()).encode())
    assert turn.reply().content == [
        {"type": "text", "text": "[unsupported content: server_tool_use]"}
    ]


async def test_a_server_that_does_not_stream_is_understood(bench, adapter) -> None:
    content = [
        {"type": "text", "text": "hi"},
        {"type": "tool_use", "id": "a", "name": "x", "input": {"q": 1}},
    ]
    document = {
        "type": "message",
        "id": "m",
        "content": content,
        "stop_reason": None,
        "usage": {"input_tokens": 1, "output_tokens": 2},
    }
    answer = Answer(json.dumps(document).encode(), headers={"Content-Type": "application/json"})
    async with Loopback([answer]) as server:
        got = await bench.ask(adapter(server))
    assert (got.text, got.calls, got.reply.stop_reason) == ("hi", [("x", {"q": 1})], "tool_use")


@pytest.mark.parametrize("status", [400, 401, 403, 404])
async def test_what_a_repeat_will_not_change_is_not_repeated(bench, adapter, status) -> None:
    body = {"type": "error", "error": {"type": "x", "message": "key sk-secret-1 is bad"}}
    async with Loopback([Answer(json.dumps(body).encode(), status=status, headers={})]) as server:
        with pytest.raises(Refused) as caught:
            await bench.ask(adapter(server))
    assert "sk-secret-1" not in str(caught.value.facts)
    assert bench.notices == []


@pytest.mark.parametrize("data", ["data: nope\n\n", "data: []\n\n", 'data: {"type":"error"}\n\n'])
def test_what_is_no_event_fails_the_turn(data) -> None:
    with pytest.raises((BadReply, ProviderError)):
        read((start() + data).encode())


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "index", "delta", "content_block", "message", "usage", "text", "id"]
            ),
            inner
            | st.sampled_from(
                [
                    "content_block_start",
                    "content_block_delta",
                    "message_start",
                    "message_delta",
                    "message_stop",
                    "text_delta",
                    "tool_use",
                    "text",
                ]
            ),
            max_size=5,
        )
    ),
    max_leaves=12,
)


@given(st.lists(JSON, max_size=6))
def test_any_json_gives_a_reply_or_a_provider_error(documents) -> None:
    data = "".join(f"data: {json.dumps(d)}\n\n" for d in documents) + end()
    try:
        turn, _ = read(data.encode())
        turn.reply()
    except ProviderError:
        pass
