"""SSE framing: the same events however the bytes are cut (cases s18, s33)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oma_desktop.engine.llm.sse import SseEvent, SseReader
from oma_desktop.model.errors import BadReply


def read(body, sizes=()):
    reader, at, events = SseReader(), 0, []
    for size in sizes:
        events += reader.feed(body[at : at + size])
        at += size
    return events + reader.feed(body[at:]) + reader.finish()


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_every_line_end(end):
    body = end.join(["data: 一", "", ": ping", "", "event: x", "data:a", "data: b", "", ""])
    assert read(body.encode()) == [SseEvent("一"), SseEvent("a\nb", "x")]


@pytest.mark.parametrize(
    ("body", "events"),
    [
        (b"data: a", ["a"]),
        (b"data: a\n", ["a"]),
        (b"data: a\r", ["a"]),
        (b"data: a\r\n\r\n", ["a"]),
        (b"\xef\xbb\xbfdata: a\n\n", ["a"]),
        (b"data\n\ndata:\n\n", []),
        (b"data:  a\n\n", [" a"]),
        (b"id: 1\nretry: 5\nother: x\nplain\ndata: a\n\n", ["a"]),
        ("data: x\u2028y\u0085z\x0b\x0c\x1e\n\n".encode(), ["x\u2028y\u0085z\x0b\x0c\x1e"]),
        (b"data: \xff\n\n", ["\ufffd"]),
        (b"", []),
    ],
)
def test_framing(body, events):
    assert [e.data for e in read(body)] == events


fields = st.sampled_from(
    ["data: 北京🔥", "data:b", "data:  c", ": ping", "event: e", "retry: 3", ""]
)
ends = st.sampled_from(["\n", "\r\n", "\r"])


@given(st.lists(st.tuples(fields, ends), max_size=12), st.lists(st.integers(0, 5), max_size=60))
def test_cuts_change_nothing(lines, sizes):
    body = "".join(text + end for text, end in lines).encode()
    assert read(body, sizes) == read(body)


def test_an_endless_event_is_refused():
    reader = SseReader(max_event_bytes=100)
    for _ in range(50):
        reader.feed(b"data: 1\n\n")
    reader.feed(b"data: " + b"1" * 90)
    with pytest.raises(BadReply) as caught:
        reader.feed(b"1" * 10)
    assert caught.value.code == "LLM_EVENT_TOO_LONG"
