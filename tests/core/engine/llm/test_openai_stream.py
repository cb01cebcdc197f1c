"""The turn machine on the recorded streams, whole and in random pieces (cases s18, s29-s34)."""

import json
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oma_desktop.engine.llm.openai_stream import TurnStream
from oma_desktop.engine.llm.sse import SseReader
from oma_desktop.model.errors import BadReply, ProviderError, Refused, Unreachable
from tests.core.engine.llm.loopback import sse


def run(body, sizes=()):
    """Feed a machine by pieces; returns (machine, text of the deltas)."""
    turn, reader, at, seen = TurnStream(provider="demo", new_id=_ids()), SseReader(), 0, ""
    pieces = []
    for size in sizes:
        pieces.append(body[at : at + size])
        at += size
    for events in [*map(reader.feed, [*pieces, body[at:]]), reader.finish()]:
        for event in events:
            seen += "".join(d.text for d in turn.take(event) if d.kind == "text")
    return turn, seen


def _ids():
    numbers = iter(range(1, 99))
    return lambda: f"made-{next(numbers)}"


def calls(reply):
    return [(b["id"], b["name"], b["input"]) for b in reply.content if b["type"] == "tool_use"]


def stream(*deltas, finish="stop", **more):
    chunks = [{"choices": [{"index": 0, "delta": d}]} for d in deltas]
    end = {"choices": [{"index": 0, "delta": {}, "finish_reason": finish}], **more}
    turn, _ = run(sse(*chunks, end))
    return turn.reply()


def call(arguments, *, index=0, id=None, name=None, **more):  # noqa: A002
    function = {"arguments": arguments} | ({"name": name} if name else {})
    place = {} if index is None else {"index": index}
    return {"tool_calls": [{**place, "id": id, "function": function, **more}]}


# --- the recorded streams -------------------------------------------------------------------

WEATHER = [
    ("c1", "get_weather", {"city": "北京"}),
    ("c2", "get_weather", {"city": "上海"}),
    ("c3", "get_weather", {"city": "广州"}),
]
RECORDED = {
    "s18-unicode-line-separators/stream.sse": ("x\u2028yz\u0085w", [], None),
    "s29-empty-arguments/empty.sse": ("", [("call_e", "list_dir", {})], None),
    "s29-empty-arguments/null.sse": ("", [("call_n", "list_dir", {})], None),
    "s29-empty-arguments/missing.sse": ("", [("call_m", "list_dir", {})], None),
    "s30-parallel-same-index/same-index.sse": ("", WEATHER, None),
    "s31-usage-only-chunk/usage-empty.sse": ("ok", [], (7, 3)),
    "s31-usage-only-chunk/usage-null.sse": ("ok", [], (7, 3)),
    "s31-usage-only-chunk/usage-missing.sse": ("ok", [], (7, 3)),
    "s31-usage-only-chunk/first-empty.sse": ("ok", [], (7, 3)),
    "s31-usage-only-chunk/combined.sse": ("ok", [], (7, 3)),
    "s32-eof-without-done/finished-no-done.sse": ("all good", [], None),
    **{
        f"s33-sse-framing/{name}.sse": ("你好 ok", [("c1", "noop", {})], None)
        for name in ("crlf", "cr", "nospace", "comments", "done-space")
    },
}


def check(body, expected, sizes=()):
    text, expected_calls, usage = expected
    turn, seen = run(body, sizes)
    reply = turn.reply()
    assert seen == text
    assert "".join(b["text"] for b in reply.content if b["type"] == "text") == text
    assert calls(reply) == expected_calls
    assert reply.invalid_arguments == ()
    assert reply.stop_reason == ("tool_use" if expected_calls else "end_turn")
    counted = reply.usage and (reply.usage["input_tokens"], reply.usage["output_tokens"])
    assert counted == usage


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_whole_and_byte_by_byte(cases, name):
    body = cases(name)
    check(body, RECORDED[name])
    check(body, RECORDED[name], [1] * len(body))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(st.data())
def test_recorded_in_random_pieces(cases, data):
    name = data.draw(st.sampled_from(sorted(RECORDED)))
    check(cases(name), RECORDED[name], data.draw(st.lists(st.integers(0, 300), max_size=40)))


def test_garbage_arguments_are_named_and_never_become_arguments(cases):
    reply = run(cases("s29-empty-arguments/garbage.sse"))[0].reply()
    assert calls(reply) == [("call_g", "write_file", {})]
    (bad,) = reply.invalid_arguments
    assert (bad.call_id, bad.raw) == ("call_g", '{"path": ')
    assert bad.problem


@pytest.mark.parametrize(("name", "partial"), [("cut-text", "first half"), ("cut-call", "")])
def test_a_cut_stream_is_no_reply(cases, name, partial):
    turn, _ = run(cases(f"s32-eof-without-done/{name}.sse"))
    assert turn.started
    with pytest.raises(Unreachable) as caught:
        turn.reply()
    assert caught.value.code == "LLM_STREAM_CUT"
    assert caught.value.facts == {"provider": "demo", "retryable": True, "partial": partial}


def test_any_cut_before_the_finish_reason_is_no_reply(cases):
    body = cases("s32-eof-without-done/finished-no-done.sse")
    for end in range(body.index(b'"finish_reason":"stop"')):
        reader, turn = SseReader(), TurnStream(provider="demo", new_id=_ids())
        for event in reader.feed(body[:end]):
            turn.take(event)
        with pytest.raises(Unreachable):
            turn.reply()


def test_error_in_the_stream(cases):
    with pytest.raises(Unreachable) as caught:
        run(cases("s34-error-event-mid-stream/openai-error.sse"))
    facts = caught.value.facts
    assert facts["status"] == 502
    assert (facts["message"], facts["partial"]) == ("upstream failed", "par")


@pytest.mark.parametrize("name", ["before-content", "after-text", "after-tool"])
def test_a_foreign_error_event_is_an_error_too(cases, name):
    with pytest.raises(ProviderError) as caught:
        run(cases(f"s34-error-event-mid-stream/{name}.sse"))
    assert caught.value.facts["retryable"] is True


# --- what servers do with ids and indexes ------------------------------------------------------


def test_a_second_name_after_complete_json_is_a_second_call():
    reply = stream(
        call('{"a":1}', name="f"),
        call("", name="f"),
        call('{"a":2}', name="f"),
        call("{}", name="g"),
    )
    assert calls(reply) == [
        ("made-1", "f", {"a": 1}),
        ("made-2", "f", {"a": 2}),
        ("made-3", "g", {}),
    ]


def test_the_id_may_be_repeated_on_every_delta():
    reply = stream(
        call('{"a":', id="x", name="f"), call('"b"', id="x", name="f"), call("}", id="x", name="f")
    )
    assert calls(reply) == [("x", "f", {"a": "b"})]


def test_a_whole_call_sent_twice_runs_once():
    whole = call('{"a":1}', id="x", name="f")
    assert calls(stream(whole, whole)) == [("x", "f", {"a": 1})]


def test_without_index_the_position_counts_and_the_id_leads():
    both = {
        "tool_calls": [
            {"id": "x", "function": {"name": "f", "arguments": '{"a":'}},
            {"id": "y", "function": {"name": "g", "arguments": '{"b":'}},
        ]
    }
    reply = stream(both, call("2}", index=None, id="y"), call("1}", index=None, id="x"))
    assert calls(reply) == [("x", "f", {"a": 1}), ("y", "g", {"b": 2})]


def test_interleaved_indexes():
    reply = stream(
        call("", index=0, id="x", name="f"),
        call("", index=1, id="y", name="g"),
        call('{"b":2}', index=1),
        call('{"a":1}', index=0),
    )
    assert calls(reply) == [("x", "f", {"a": 1}), ("y", "g", {"b": 2})]


def test_equal_and_empty_ids_become_different():
    reply = stream(
        call("{}", index=0, id="x", name="f"),
        call("{}", index=1, id="x", name="f"),
        call("{}", index=2, id="", name="f"),
    )
    assert [c[0] for c in calls(reply)] == ["x", "made-1", "made-2"]


def test_arguments_as_an_object():
    assert calls(stream(call({"a": 1}, id="x", name="f"))) == [("x", "f", {"a": 1})]


@pytest.mark.parametrize("raw", ["[1]", '"x"', "{}{}", '{"a":NaN}', "{" * 100_000, "7"])
def test_unusable_arguments(raw):
    reply = stream(call(raw, id="x", name="f"))
    assert calls(reply) == [("x", "f", {})]
    assert [bad.raw for bad in reply.invalid_arguments] == [raw]


def test_a_call_that_lost_its_arguments_at_the_limit_does_not_run():
    reply = stream(call("", id="x", name="f"), finish="length")
    assert [bad.call_id for bad in reply.invalid_arguments] == ["x"]
    assert reply.stop_reason == "max_tokens"


def test_idea_56_a_call_that_is_no_function_is_refused():
    with pytest.raises(Refused) as caught:
        stream(call("", id="x", name="f", type="custom"))
    assert caught.value.code == "UNSUPPORTED_TOOL_CALL"


def test_legacy_function_call():
    reply = stream(
        {"function_call": {"name": "f", "arguments": '{"a"'}},
        {"function_call": {"arguments": ":1}"}},
        finish="function_call",
    )
    assert calls(reply) == [("made-1", "f", {"a": 1})]
    assert reply.stop_reason == "tool_use"


# --- text, reasoning, usage, ends ------------------------------------------------------------


def test_reasoning_comes_first_with_its_provenance():
    reply = stream(
        {"reasoning_content": "hm"}, {"content": "a"}, {"content": [{"type": "text", "text": "b"}]}
    )
    assert reply.content == [
        {"type": "reasoning", "text": "hm", "provenance": "demo"},
        {"type": "text", "text": "ab"},
    ]


def test_reasoning_under_two_names_is_counted_once():
    reply = stream({"reasoning_content": "hm", "reasoning": "hm"}, {"reasoning": "m"})
    assert reply.content[0]["text"] == "hmm"


def test_thinking_parts_and_refusals():
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    reply = stream({"content": [thinking]}, {"refusal": "no"})
    assert [b["text"] for b in reply.content] == ["hm", "no"]


def test_only_the_first_choice_counts():
    both = {
        "choices": [
            {"index": 1, "delta": {"content": "B"}},
            {"index": 0, "delta": {"content": "A"}},
        ]
    }
    end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    turn, seen = run(sse(both, end))
    assert seen == "A"
    assert turn.reply().content == [{"type": "text", "text": "A"}]


@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("stop", "end_turn"),
        ("length", "max_tokens"),
        ("content_filter", "content_filter"),
        ("x", "x"),
    ],
)
def test_stop_reasons(reason, stop):
    assert stream({"content": "a"}, finish=reason).stop_reason == stop


@pytest.mark.parametrize("choices", [{"choices": []}, {"choices": None}, {}])
def test_idea_56_a_last_chunk_with_nothing_but_usage_is_kept(choices):
    text = {"choices": [{"delta": {"content": "a"}, "finish_reason": "stop"}]}
    last = {**choices, "usage": {"prompt_tokens": 7, "completion_tokens": 3}}
    reply = run(sse(text, last))[0].reply()
    assert reply.usage == {"input_tokens": 7, "output_tokens": 3}
    assert (reply.content, reply.stop_reason) == ([{"type": "text", "text": "a"}], "end_turn")


def test_growing_usage_is_not_added_up():
    chunks = [
        {
            "choices": [{"delta": {"content": "a"}}],
            "usage": {"prompt_tokens": 7, "completion_tokens": n},
        }
        for n in (1, 2, 3)
    ]
    end = {"choices": [{"delta": {}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 0}}
    assert run(sse(*chunks, end))[0].reply().usage == {"input_tokens": 7, "output_tokens": 3}


@pytest.mark.parametrize("usage", [None, 5, {"prompt_tokens": "x", "completion_tokens": -1}])
def test_odd_usage_is_harmless(usage):
    reply = stream({"content": "a"}, usage=usage)
    assert reply.usage in (None, {"input_tokens": 0, "output_tokens": 0})


def test_done_without_a_finish_reason_is_a_clean_end():
    turn, _ = run(sse({"choices": [{"delta": {"content": "a"}}]}))
    assert turn.reply().stop_reason == "end_turn"


def test_done_without_an_answer_is_not():
    turn, _ = run(b"data: [DONE]\n\n")
    with pytest.raises(BadReply) as caught:
        turn.reply()
    assert caught.value.code == "LLM_EMPTY_REPLY"


@pytest.mark.parametrize("data", ["{", "7", "[]", "null", "hello"])
def test_data_that_is_no_object(data):
    with pytest.raises(BadReply) as caught:
        run(f"data: {data}\n\n".encode())
    assert caught.value.code == "LLM_BAD_STREAM"


def test_finish_reason_error_is_an_error():
    with pytest.raises(BadReply):
        stream({"content": "a"}, finish="error")


KEYS = """choices delta message tool_calls function arguments id index name type usage content
reasoning_content finish_reason prompt_tokens error text""".split()  # noqa: SIM905 - shorter
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(KEYS),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.lists(json_values, max_size=4))
def test_any_json_gives_a_reply_or_a_provider_error(documents):
    with suppress(ProviderError):
        json.dumps(run(sse(*documents))[0].reply().content)
