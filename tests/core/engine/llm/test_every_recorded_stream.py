"""Every stream of `tests/cases`, from a byte-level server: how it is cut changes nothing.

Each is asked for whole, byte by byte and in random pieces, on both wires; a stream of the other
wire is an error on this one, and always the same.
"""

import asyncio
import gc
import json
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oma_desktop.engine.cancel import CancelToken, StopReason
from oma_desktop.engine.llm.anthropic import AnthropicAdapter
from oma_desktop.engine.llm.openai_stream import TurnStream
from oma_desktop.engine.llm.sse import SseReader
from oma_desktop.model.errors import ProviderError, RateLimited
from tests.core.engine.llm.loopback import Answer, Loopback, turn
from tests.core.engine.llm.test_anthropic_adapter import end, event, start, text

CASES = Path(__file__).parents[3] / "cases"
STREAMS = sorted(str(p.relative_to(CASES)) for p in CASES.glob("s*/*.sse"))
WIRES = ["openai", "anthropic"]
ENDS = [b"\n", b"\r\n", b"\r"]


def adapter(bench, wire, server):
    if wire == "openai":
        return bench.adapter(server.base_url)
    made = AnthropicAdapter(
        provider="demo",
        base_url=server.base_url,
        key="sk-secret-1",
        clock=bench.clock,
        on_retry=bench.notices.append,
        new_id=lambda: "made-up-id",
        jitter=lambda: 0.0,
    )
    bench.adapters.append(made)
    return made


async def outcome(bench, wire, body, sizes=None):
    """What one stream gives, told so that two can be compared."""
    bench.notices.clear()
    async with Loopback([Answer(body, sizes=sizes)] * 3) as server:
        try:
            got = await bench.ask(adapter(bench, wire, server))
        except ProviderError as error:
            return error.code, error.facts, len(server.requests)
    reply = got.reply
    drafts = {kind: "".join(d.text for d in got.deltas if d.kind == kind) for kind in ("text",)}
    return drafts, reply.content, reply.stop_reason, reply.usage, reply.invalid_arguments


def test_the_streams_of_the_issue_are_here():
    found = {name.split("-")[0] for name in STREAMS}
    assert found == {"s18", "s29", "s30", "s31", "s32", "s33", "s34"}


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("name", STREAMS)
async def test_however_it_is_cut(bench, name, wire):
    body = (CASES / name).read_bytes()
    whole = await outcome(bench, wire, body)
    assert await outcome(bench, wire, body, [1]) == whole
    for seed in range(3):
        chance = random.Random(f"{name} {seed}")
        sizes = [chance.randint(1, 40) for _ in range(200)]
        assert await outcome(bench, wire, body, sizes) == whole


async def test_s18_all_line_separators_of_unicode_are_text(bench):
    drafts, *_ = await outcome(
        bench, "openai", (CASES / "s18-unicode-line-separators/stream.sse").read_bytes(), [1]
    )
    assert {"\u2028", "\u2029", "\x85"} & set(drafts["text"])


@given(
    st.sampled_from([name for name in STREAMS if "error" not in name]),
    st.sampled_from(ENDS),
    st.lists(st.integers(1, 60), max_size=60),
)
def test_line_ends_and_cuts_change_nothing(name, line_end, sizes):
    body = (CASES / name).read_bytes().replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    assert events(body.replace(b"\n", line_end), sizes) == events(body, [])


def events(body, sizes):
    reader, found, at = SseReader(), [], 0
    for size in sizes:
        found += reader.feed(body[at : at + size])
        at += size
    return [*found, *reader.feed(body[at:]), *reader.finish()]


# --- waiting, on both wires ----------------------------------------------------------------------


GOOD = {
    "openai": turn(text="ok"),
    "anthropic": Answer((start() + text(0, "ok") + end()).encode()),
}


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    ("headers", "waited"),
    [
        ({"Retry-After": "7"}, 7),
        ({"Retry-After": "0"}, 0),
        ({"Retry-After": "Mon, 05 Jan 2026 08:00:09 GMT"}, 9),
        ({"Retry-After": "Monday, 05-Jan-26 08:00:09 GMT"}, 9),
        ({"Retry-After": "Mon Jan  5 08:00:09 2026"}, 9),
        ({"Retry-After": "Mon, 05 Jan 2026 07:00:00 GMT"}, 0),
        ({"retry-after-ms": "1500"}, 1.5),
        ({"retry-after-ms": "250", "Retry-After": "9"}, 0.25),
        ({"Retry-After": "soon"}, 0.5),
        ({}, 0.5),
    ],
)
@pytest.mark.parametrize("status", [429, 503, 529])
async def test_every_form_of_retry_after(bench, wire, headers, waited, status):
    async with Loopback([Answer(b"{}", status, headers), GOOD[wire]]) as server:
        assert (await bench.ask(adapter(bench, wire, server))).text == "ok"
    assert bench.clock.slept == [waited]


@pytest.mark.parametrize("wire", WIRES)
async def test_s35_every_row(bench, wire):
    for row in json.loads((CASES / "s35-retry-after/headers.json").read_text("utf-8")):
        bench.clock.slept.clear()
        busy = Answer(b"{}", 429, {"Retry-After": row["value"]})
        async with Loopback([busy, GOOD[wire]]) as server:
            if row["wait"] == "cap":  # over a minute: the task level waits, not the connection
                with pytest.raises(RateLimited) as caught:
                    await bench.ask(adapter(bench, wire, server))
                assert caught.value.facts["retry_after_s"] == 3600
                continue
            assert (await bench.ask(adapter(bench, wire, server))).text == "ok"
        wanted = row["wait"] if isinstance(row["wait"], int) else 0.5
        assert bench.clock.slept == [pytest.approx(wanted, abs=1)], row


IN_BAND = {
    "openai": b'data: {"error": {"message": "busy", "code": 429}}\n\n',
    "anthropic": event("error", error={"type": "overloaded_error", "message": "busy"}).encode(),
}


@pytest.mark.parametrize("wire", WIRES)
async def test_an_error_instead_of_an_answer_is_repeated(bench, wire):
    async with Loopback([Answer(IN_BAND[wire]), GOOD[wire]]) as server:
        assert (await bench.ask(adapter(bench, wire, server))).text == "ok"
        assert len(server.requests) == 2


@pytest.mark.parametrize("wire", WIRES)
async def test_an_error_inside_an_answer_is_not(bench, wire):
    begun = {"openai": turn(text="half").body.split(b"\n\n")[:3], "anthropic": []}[wire]
    body = b"\n\n".join([*begun, b""]) or (start() + text(0, "half")).encode()
    async with Loopback([Answer(body + IN_BAND[wire]), GOOD[wire]]) as server:
        with pytest.raises(ProviderError) as caught:
            await bench.ask(adapter(bench, wire, server))
        assert len(server.requests) == 1
    assert caught.value.facts["retryable"] is True
    assert caught.value.facts["partial"]


# --- connections ---------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("wire", WIRES)
async def test_a_thousand_calls_leak_nothing(bench, wire):
    """One connection serves them all, and no task, generator or listener is left."""
    async with Loopback(lambda _request: GOOD[wire]) as server:
        made, token = adapter(bench, wire, server), CancelToken()
        await bench.ask(made, token=token)
        gc.collect()
        tasks = len(asyncio.all_tasks())
        for _ in range(1000):
            await bench.ask(made, token=token)
        assert server.n_connections == 1
        assert len(asyncio.all_tasks()) == tasks
        assert token._listeners == []
        await made.close()
    gc.collect()


@pytest.mark.slow
@pytest.mark.parametrize("wire", WIRES)
async def test_a_hundred_broken_calls_leak_no_connection(bench, wire):
    """Cut, refused and stopped ones: each gives its connection back or closes it."""
    kinds = [
        Answer(b": ping\n\n", cut=True),
        Answer(b"{}", 400, {}),
        Answer(b"data: nope\n\n", hang=True),
    ]
    answers = iter(kinds * 100)
    async with Loopback(lambda _request: next(answers)) as server:
        made = adapter(bench, wire, server)
        for _ in range(100):
            with pytest.raises(ProviderError):
                await bench.ask(made)
        async with asyncio.timeout(5):
            while len(server._writers) > 1:  # noqa: ASYNC110 - the server notices by itself
                await asyncio.sleep(0)


@pytest.mark.parametrize("wire", WIRES)
async def test_a_stop_closes_the_connection_at_once(bench, wire):
    body = {"openai": turn(text="half").body[:200], "anthropic": (start()).encode()}[wire]
    async with Loopback([Answer(body, hang=True)]) as server:
        token = CancelToken()

        async def stop():
            await server.hanging.wait()
            token.stop(StopReason.CANCEL)
            await server.client_gone.wait()

        with pytest.raises(ProviderError, match="LLM_CALL_ABORTED"):
            await asyncio.wait_for(
                asyncio.gather(bench.ask(adapter(bench, wire, server), token=token), stop()), 5
            )
        await asyncio.wait_for(server.client_gone.wait(), 5)


def test_usage_that_nobody_reported_is_unknown_not_nothing():
    made = TurnStream(provider="demo", new_id=lambda: "x")
    for one in SseReader().feed(turn(text="hi", usage=None).body):
        made.take(one)
    assert made.reply().usage is None
