"""Conversations as runners make them, for property tests."""

import itertools

from hypothesis import strategies as st

from oma_desktop.engine.agents.context.turns import head_length
from oma_desktop.engine.agents.pairing import pairing_problem

texts = st.text(max_size=40) | st.sampled_from(["x" * 700, "y" * 3000])
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
PNG = {"type": "image", "source": {"type": "url", "media_type": "image/png", "url": "http://h/p"}}


def text(words):
    return {"type": "text", "text": words}


def use(call_id, name="look", **input_):
    return {"type": "tool_use", "id": call_id, "name": name, "input": input_}


def result(call_id, content="found", **more):
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **more}


def user(*blocks):
    return {"role": "user", "content": list(blocks)}


def model(*blocks):
    return {"role": "assistant", "content": list(blocks)}


def rounds(n, *, size=1000, answer="done"):
    """A task, then n tool turns with results of `size` characters."""
    talk = [user(text("# Task"))]
    for i in range(n):
        talk += [model(text(answer), use(f"c{i}", q=i)), user(result(f"c{i}", "r" * size))]
    return talk


@st.composite
def conversations(draw):
    """Any conversation that waits for the model: alternating, every call answered."""
    talk = [user(text(draw(texts)), *draw(st.lists(st.just(IMAGE), max_size=1)))]
    for turn in range(draw(st.integers(0, 8))):
        ids = draw(st.sampled_from([[], ["same"], [f"c{turn}"], [f"c{turn}", f"d{turn}"]]))
        names = st.sampled_from(["look", "delegate_to_agent"])
        said = [text(draw(texts))] if not ids or draw(st.booleans()) else []
        talk.append(model(*said, *(use(i, draw(names), q=draw(texts)) for i in ids)))
        answers = [draw(_results(i)) for i in ids]
        more = [text(draw(texts))] if not ids or draw(st.booleans()) else []
        talk.append(user(*answers, *more))
    return talk


def _results(call_id):
    rich = st.just([text("t" * 900), PNG])
    return st.one_of(
        (texts | rich).map(lambda content: result(call_id, content)),
        texts.map(lambda content: result(call_id, content, is_error=True)),
    )


def assert_sound(before, after):
    """What every strategy must keep: pairs, alternation, the first user message, the last one."""
    assert pairing_problem(after) is None
    roles = [message["role"] for message in after]
    assert all(one != other for one, other in itertools.pairwise(roles)), roles
    assert after[: head_length(before)] == before[: head_length(before)]
    assert after[-1]["role"] == "user"
    for message in after:
        kinds = [block["type"] for block in message["content"]]
        assert kinds == sorted(kinds, key=lambda kind: kind != "tool_result") or (
            message["role"] == "assistant"
        )
