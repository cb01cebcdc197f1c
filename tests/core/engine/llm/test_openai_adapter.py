"""The adapter against a real socket (cases s29-s35, engine.md 8.6)."""

import asyncio
import json
import logging

import pytest

from oma_desktop.engine.cancel import CancelToken, StopReason
from oma_desktop.engine.llm.base import ModelRequest, TextDelta
from oma_desktop.model.errors import (
    BadReply,
    InvalidInput,
    ProviderError,
    RateLimited,
    Refused,
    Unreachable,
)
from tests.core.engine.llm.loopback import Answer, Loopback, turn

FRAMING = ["crlf", "cr", "nospace", "comments", "done-space"]


@pytest.mark.parametrize("sizes", [None, [1], [7, 1, 64]])
@pytest.mark.parametrize("name", FRAMING)
async def test_framing_over_a_socket(bench, cases, name, sizes):
    body = cases(f"s33-sse-framing/{name}.sse")
    async with Loopback([Answer(body, sizes=sizes)]) as server:
        got = await bench.ask(bench.adapter(server.base_url))
    assert (got.text, got.calls) == ("你好 ok", [("noop", {})])
    assert "".join(d.text for d in got.deltas) == "你好 ok"


async def test_the_request_and_the_connection_are_used_well(bench):
    async with Loopback([turn(text="one"), turn(text="two")]) as server:
        adapter = bench.adapter(server.base_url + "/")
        assert adapter.origin == f"http://127.0.0.1:{server.port}"
        texts = [(await bench.ask(adapter)).text for _ in range(2)]
        assert texts == ["one", "two"]
        assert server.n_connections == 1
        (request, _) = server.requests
    assert request.path == "/v1/chat/completions"
    assert request.headers["authorization"] == "Bearer sk-secret-1"
    assert request.headers["content-type"] == "application/json"
    assert request.body["stream"] is True


async def test_no_key_means_no_header(bench):
    async with Loopback([turn(text="hi")]) as server:
        await bench.ask(bench.adapter(server.base_url, key=""))
        assert "authorization" not in server.requests[0].headers


async def test_drafts_come_before_the_end(bench):
    """The first delta is there while the server still holds the rest (DEV-22)."""
    first = turn(text="abc").body.split(b"\n\n")[:2]
    async with Loopback([Answer(b"\n\n".join([*first, b""]), hang=True)]) as server:
        adapter, token = bench.adapter(server.base_url), CancelToken()
        events = adapter.stream(_request(), token)
        assert await anext(events) == TextDelta("a")
        token.stop(StopReason.CANCEL)
        with pytest.raises(ProviderError, match="LLM_CALL_ABORTED"):
            await anext(events)
        await asyncio.wait_for(server.client_gone.wait(), 5)


def _request():
    return ModelRequest("m", [{"role": "user", "content": [{"type": "text", "text": "hi"}]}])


@pytest.mark.parametrize("body", [b"", b": waiting\n\n"])
async def test_abort_closes_the_connection_before_the_first_byte(bench, body):
    async with Loopback([Answer(body, hang=True)]) as server:
        adapter, token = bench.adapter(server.base_url), CancelToken()
        waiting = asyncio.ensure_future(bench.ask(adapter, token=token))  # noqa: TID251
        await asyncio.wait_for(server.hanging.wait(), 5)
        token.stop(StopReason.SUSPEND)  # an operator's suspend lets the turn finish
        await asyncio.sleep(0)
        assert not waiting.done()
        token.stop(StopReason.CANCEL)
        with pytest.raises(ProviderError) as caught:
            await asyncio.wait_for(waiting, 5)
        assert caught.value.code == "LLM_CALL_ABORTED"
        await asyncio.wait_for(server.client_gone.wait(), 5)
    assert bench.notices == []


async def test_an_aborted_token_sends_nothing(bench):
    async with Loopback([turn(text="hi")]) as server:
        token = CancelToken()
        token.stop(StopReason.TIMEOUT)
        with pytest.raises(ProviderError, match="LLM_CALL_ABORTED"):
            await bench.ask(bench.adapter(server.base_url), token=token)
        assert server.n_connections == 0


async def test_leaving_early_closes_the_connection(bench):
    async with Loopback(
        [Answer(turn(text="abc").body.split(b"\n\ndata: [DONE]")[0], hang=True)]
    ) as s:
        events = bench.adapter(s.base_url).stream(_request(), CancelToken())
        await anext(events)
        await events.aclose()
        await asyncio.wait_for(s.client_gone.wait(), 5)


async def test_a_real_cancellation_stays_one(bench):
    async with Loopback([Answer(hang=True)]) as server:
        work = asyncio.ensure_future(bench.ask(bench.adapter(server.base_url)))  # noqa: TID251
        await asyncio.wait_for(server.hanging.wait(), 5)
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
        await asyncio.wait_for(server.client_gone.wait(), 5)


# --- ends of the stream ------------------------------------------------------------------------


@pytest.mark.parametrize("cut", [True, False])
async def test_finished_without_done_is_complete(bench, cases, cut):
    body = cases("s32-eof-without-done/finished-no-done.sse")
    async with Loopback([Answer(body, cut=cut)]) as server:
        assert (await bench.ask(bench.adapter(server.base_url))).text == "all good"


async def test_a_server_that_never_closes_is_not_waited_for(bench, cases, monkeypatch):
    from oma_desktop.engine.llm import streamed

    monkeypatch.setattr(streamed, "USAGE_WAIT_S", 0.05)
    body = cases("s32-eof-without-done/finished-no-done.sse")
    async with Loopback([Answer(body, hang=True)]) as server:
        got = await asyncio.wait_for(bench.ask(bench.adapter(server.base_url)), 5)
    assert (got.text, got.reply.usage) == ("all good", None)


@pytest.mark.parametrize("cut", [True, False])
@pytest.mark.parametrize(("name", "partial"), [("cut-text", "first half"), ("cut-call", None)])
async def test_cut_after_the_answer_began_is_not_repeated(bench, cases, name, partial, cut):
    body = cases(f"s32-eof-without-done/{name}.sse")
    async with Loopback([Answer(body, cut=cut), turn(text="again")]) as server:
        with pytest.raises(Unreachable) as caught:
            await bench.ask(bench.adapter(server.base_url))
        assert len(server.requests) == 1
    assert caught.value.facts["retryable"] is True
    assert caught.value.facts.get("partial") in (partial, "")
    assert bench.notices == []


async def test_cut_inside_a_line_is_a_cut_not_a_bad_stream(bench, cases):
    body = cases("s32-eof-without-done/cut-text.sse") + b'data: {"choi'
    async with Loopback([Answer(body)]) as server:
        with pytest.raises(Unreachable) as caught:
            await bench.ask(bench.adapter(server.base_url))
    assert (caught.value.code, caught.value.facts["partial"]) == ("LLM_STREAM_CUT", "first half")


async def test_cut_before_the_answer_began_is_repeated(bench):
    async with Loopback([Answer(b": ping\n\n", cut=True), turn(text="again")]) as server:
        assert (await bench.ask(bench.adapter(server.base_url))).text == "again"
    assert [n.code for n in bench.notices] == ["LLM_STREAM_CUT"]


async def test_error_in_the_stream_after_text(bench, cases):
    body = cases("s34-error-event-mid-stream/openai-error.sse")
    async with Loopback([Answer(body), turn(text="again")]) as server:
        with pytest.raises(ProviderError) as caught:
            await bench.ask(bench.adapter(server.base_url))
        assert len(server.requests) == 1
    assert caught.value.facts["partial"] == "par"
    assert caught.value.facts["retryable"] is True


async def test_error_in_the_stream_before_text_is_repeated(bench, cases):
    body = cases("s34-error-event-mid-stream/before-content.sse")
    async with Loopback([Answer(body), turn(text="again")]) as server:
        assert (await bench.ask(bench.adapter(server.base_url))).text == "again"
    assert [(n.code, n.status) for n in bench.notices] == [("LLM_OVERLOADED", 529)]


# --- statuses and waits ------------------------------------------------------------------------


def refusal(status, message="no", **headers):
    body = json.dumps({"error": {"message": message}}).encode()
    return Answer(body, status, {"Content-Type": "application/json", **headers})


async def test_529_twice_then_success(bench, cases):
    case = json.loads(cases("s34-error-event-mid-stream/http-529.json"))
    busy = Answer(json.dumps(case["body"]).encode(), case["status"])
    async with Loopback([busy, busy, turn(text="ok")]) as server:
        got = await bench.ask(bench.adapter(server.base_url), _named())
    assert got.text == "ok"
    assert bench.clock.slept == [0.5, 1.0]
    assert [(n.retry, n.delay_s, n.status, n.agent, n.task_title) for n in bench.notices] == [
        (1, 0.5, 529, "writer", "Draft"),
        (2, 1.0, 529, "writer", "Draft"),
    ]


def _named():
    hello = {"role": "user", "content": [{"type": "text", "text": "hi"}]}
    return ModelRequest("m", [hello], agent="writer", task_title="Draft")


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504, 529])
async def test_retryable_statuses_end_after_two_repeats(bench, status):
    async with Loopback([refusal(status)] * 3) as server:
        with pytest.raises(ProviderError) as caught:
            await bench.ask(bench.adapter(server.base_url))
        assert len(server.requests) == 3
    facts = caught.value.facts
    assert (facts["status"], facts["retryable"], facts["provider"]) == (status, True, "demo")
    assert facts["message"] == "no"
    assert caught.value.retryable


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422])
async def test_final_statuses_are_not_repeated(bench, status):
    async with Loopback([refusal(status), turn(text="x")]) as server:
        with pytest.raises(Refused) as caught:
            await bench.ask(bench.adapter(server.base_url))
        assert len(server.requests) == 1
    assert (caught.value.facts["status"], caught.value.facts["retryable"]) == (status, False)


async def test_retry_after_of_case_s35(bench, cases):
    for row in json.loads(cases("s35-retry-after/headers.json")):
        bench.clock.slept.clear()
        busy = refusal(429, **{"Retry-After": row["value"]})
        async with Loopback([busy, turn(text="ok")]) as server:
            adapter = bench.adapter(server.base_url)
            if row["wait"] == "cap":  # over a minute: the task level waits, not the connection
                with pytest.raises(RateLimited) as caught:
                    await bench.ask(adapter)
                assert caught.value.facts["retry_after_s"] == 3600
                continue
            assert (await bench.ask(adapter)).text == "ok"
        (slept,) = bench.clock.slept
        wanted = row["wait"] if isinstance(row["wait"], int) else 0.5
        assert slept == pytest.approx(wanted, abs=1), row


async def test_the_wait_can_be_stopped(bench):
    class Patient(type(bench.clock)):
        async def sleep(self, delay_s):
            await asyncio.Event().wait()

    token = CancelToken()
    stop = lambda notice: asyncio.get_running_loop().call_soon(token.stop, StopReason.CANCEL)  # noqa: E731
    async with Loopback([refusal(429, **{"Retry-After": "50"})]) as server:
        adapter = bench.adapter(server.base_url, clock=Patient(), on_retry=stop)
        with pytest.raises(ProviderError, match="LLM_CALL_ABORTED"):
            await asyncio.wait_for(bench.ask(adapter, token=token), 5)


async def test_no_connection(bench):
    async with Loopback([]) as server:
        gone = server.base_url
    with pytest.raises(Unreachable) as caught:
        await bench.ask(bench.adapter(gone))
    assert caught.value.code == "LLM_CONNECTION_REFUSED"
    assert len(bench.notices) == 2


# --- answers that are none ---------------------------------------------------------------------


async def test_idea_58_redirects_are_refused(bench):
    moved = Answer(b"", 307, {"Location": "https://elsewhere.example/v1"})
    async with Loopback([moved]) as server:
        with pytest.raises(Refused) as caught:
            await bench.ask(bench.adapter(server.base_url))
    assert caught.value.code == "LLM_REDIRECTED"
    assert caught.value.facts["target"] == "https://elsewhere.example/v1"


async def test_a_web_page_is_refused(bench):
    async with Loopback([Answer(b"<html>", headers={"Content-Type": "text/html"})]) as server:
        with pytest.raises(Refused, match="LLM_NOT_A_STREAM"):
            await bench.ask(bench.adapter(server.base_url))


async def test_a_server_that_does_not_stream(bench):
    message = {"role": "assistant", "content": "whole", "tool_calls": None}
    usage = {"prompt_tokens": 1, "completion_tokens": 2}
    document = {"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage}
    answer = Answer(json.dumps(document).encode(), headers={"Content-Type": "application/json"})
    async with Loopback([answer]) as server:
        got = await bench.ask(bench.adapter(server.base_url))
    assert got.text == "whole"
    assert got.reply.usage == {"input_tokens": 1, "output_tokens": 2}


@pytest.mark.parametrize("body", [b"oops", b"[1]"])
async def test_a_json_answer_that_is_none(bench, body):
    answer = Answer(body, headers={"Content-Type": "application/json"})
    async with Loopback([answer] * 3) as server:
        with pytest.raises(BadReply, match="LLM_BAD_STREAM"):
            await bench.ask(bench.adapter(server.base_url))


# --- keys and addresses ------------------------------------------------------------------------


async def test_the_key_is_in_no_error_and_no_log(bench, caplog):
    caplog.set_level(logging.DEBUG)
    quoted = "Incorrect key sk-secret-1 given"
    inside = b'data: {"error":{"message":"bad sk-secret-1"}}\n\n'
    for answer in (refusal(401, quoted), Answer(inside), Answer(b"data: sk-secret-1\n\n")):
        async with Loopback([answer] * 3) as server:
            with pytest.raises(ProviderError) as caught:
                await bench.ask(bench.adapter(server.base_url))
        assert "sk-secret-1" not in repr(caught.value.facts)
        assert "sk-secret-1" not in str(caught.value)
    assert "sk-secret-1" not in caplog.text


@pytest.mark.parametrize("key", ["sk-a\nb", "sk-é", "sk-\x00"])
async def test_a_key_with_odd_characters_is_named_early(bench, key):
    with pytest.raises(InvalidInput) as caught:
        bench.adapter("http://127.0.0.1:1/v1", key=key)
    assert caught.value.code == "LLM_KEY_MALFORMED"
    assert "sk-" not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "ftp://x/v1",
        "http://",
        "localhost:1",
        "http://u:p@x/",
        "http://x/#a",
        "http://[",
        "\x00",
    ],
)
async def test_addresses_that_are_none(bench, url):
    with pytest.raises(InvalidInput) as caught:
        bench.adapter(url)
    assert caught.value.code == "LLM_BAD_ENDPOINT"


async def test_loopback_goes_past_the_proxy(bench, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "")
    async with Loopback([turn(text="direct")]) as server:
        assert (await bench.ask(bench.adapter(server.base_url))).text == "direct"


async def test_other_hosts_go_through_the_proxy(bench, monkeypatch):
    async with Loopback([turn(text="by proxy")]) as server:
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{server.port}")
        monkeypatch.setenv("NO_PROXY", "")
        got = await bench.ask(bench.adapter("http://model.example/v1"))
        assert server.requests[0].path == "http://model.example/v1/chat/completions"
    assert got.text == "by proxy"


async def test_a_proxy_that_cannot_be_used(bench, monkeypatch):
    monkeypatch.setenv("ALL_PROXY", "gopher://127.0.0.1:1")
    with pytest.raises(InvalidInput, match="LLM_PROXY_UNUSABLE"):
        bench.adapter("http://model.example/v1")


async def test_a_closed_adapter_opens_again(bench):
    async with Loopback([turn(text="one"), turn(text="two")]) as server:
        adapter = bench.adapter(server.base_url)
        await bench.ask(adapter)
        await adapter.close()
        assert (await bench.ask(adapter)).text == "two"
        assert server.n_connections == 2


# --- sentences ---------------------------------------------------------------------------------


HTML = {"Content-Type": "text/html"}
JSON = {"Content-Type": "application/json"}


@pytest.mark.parametrize(
    "answer",
    [
        *(refusal(status) for status in (400, 401, 403, 404, 408, 409, 429, 500, 503, 529)),
        refusal(429, **{"Retry-After": "900"}),
        refusal(503, **{"Retry-After": "900"}),
        Answer(b"", 307, {"Location": "https://x"}),
        Answer(b"<html>", headers=HTML),
        Answer(b"oops", headers=JSON),
        Answer(b"oops", 500, headers=HTML),
        Answer(b"data: oops\n\n"),
        Answer(b"data: [DONE]\n\n"),
        Answer(b"", cut=True),
        Answer(b""),
        Answer(b'data: {"error": {"message": "x"}}\n\n'),
        Answer(b'data: {"error": {"message": "x", "code": 429}}\n\n'),
        Answer(b'data: {"choices":[{"delta":{"tool_calls":[{"type":"custom"}]}}]}\n\n'),
    ],
)
async def test_every_failure_reads_as_a_whole_sentence(bench, answer):
    async with Loopback([answer] * 3) as server:
        sentence = await bench.fail(bench.adapter(server.base_url))
    assert "{" not in sentence
    assert "demo" in sentence or "model" in sentence
    assert "Something went wrong" not in sentence


async def test_a_damaged_conversation_reads_as_a_sentence(bench):
    broken = {"type": "tool_use", "id": "c", "name": "f", "input": {"x": float("nan")}}
    request = ModelRequest("m", [{"role": "assistant", "content": [broken]}])
    sentence = await bench.fail(bench.adapter("http://127.0.0.1:1/v1"), request)
    assert "{" not in sentence


@pytest.mark.parametrize(
    ("address", "local"),
    [
        ("http://127.0.0.1:11434/v1", True),
        ("http://localhost:8080/v1", True),
        ("http://192.168.1.20:8000/v1", True),
        ("http://[::1]:8000/v1", True),
        ("http://box.local:1234/v1", True),
        ("https://api.openai.com/v1", False),
        ("https://8.8.8.8/v1", False),
        ("https://localhost.example.com/v1", False),
    ],
)
async def test_a_server_of_ones_own_is_known_by_its_address(bench, address, local):
    assert bench.adapter(address).is_local == local
