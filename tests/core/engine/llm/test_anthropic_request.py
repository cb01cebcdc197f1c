"""What is sent on the messages wire (engine.md 8.4, idea 57)."""

from __future__ import annotations

import json

import pytest

from oma_desktop.engine.llm.anthropic_request import build_request, encode_request
from oma_desktop.engine.llm.base import ModelRequest
from oma_desktop.model.errors import Refused

PNG = {"type": "base64", "media_type": "image/png", "data": "aGk="}
PDF = {"type": "base64", "media_type": "application/pdf", "data": "cGRm"}


def said(text, role="user"):
    return {"role": role, "content": [{"type": "text", "text": text}]}


def results(*blocks):
    return {"role": "user", "content": list(blocks)}


def result(content, call="c1", **more):
    return {"type": "tool_result", "tool_use_id": call, "content": content, **more}


def body(*messages, **options):
    return build_request(ModelRequest("m", list(messages), **options))


def test_idea_57_the_output_limit_is_always_sent() -> None:
    assert body(said("hi")) == {
        "max_tokens": 4096,
        "model": "m",
        "messages": [said("hi")],
        "stream": True,
    }
    assert body(said("hi"), max_tokens=9)["max_tokens"] == 9


def test_system_tools_and_sampling_have_their_places() -> None:
    tool = {"name": "look", "description": "looks", "inputSchema": {"properties": {"q": {}}}}
    sent = body(
        said("hi"),
        system_prompt="Be brief.",
        tools=[tool],
        temperature=0.5,
        top_k=3,
        min_p=0.1,
        frequency_penalty=1.0,
        parallel_tool_calls=False,
    )
    assert sent["system"] == "Be brief."
    assert sent["tools"] == [
        {
            "name": "look",
            "description": "looks",
            "input_schema": {"type": "object", "properties": {"q": {}}},
        }
    ]
    assert (sent["temperature"], sent["top_k"]) == (0.5, 3)
    assert not {"min_p", "frequency_penalty", "parallel_tool_calls"} & sent.keys()


def test_idea_66_extra_fields_override_sampling_and_never_the_structure() -> None:
    extra = {
        "temperature": 1,
        "metadata": {"user_id": "u"},
        "model": "other",
        "messages": [],
        "system": "no",
        "tools": [],
        "stream": False,
        "thinking": {},
        "reasoning_effort": "high",
    }
    sent = body(said("hi"), temperature=0.1, extra_body=extra)
    assert (sent["temperature"], sent["metadata"]) == (1, {"user_id": "u"})
    assert (sent["model"], sent["messages"], sent["stream"]) == ("m", [said("hi")], True)
    assert not {"system", "tools", "thinking", "reasoning_effort"} & sent.keys()


@pytest.mark.parametrize(
    ("thinking", "sent"),
    [
        (None, None),
        ({"enabled": False, "budgetTokens": 2000}, None),
        ({"enabled": True}, {"type": "enabled", "budget_tokens": 1024}),
        ({"enabled": True, "budgetTokens": 4095}, {"type": "enabled", "budget_tokens": 4095}),
    ],
)
def test_thinking_has_a_budget(thinking, sent) -> None:
    assert body(said("hi"), thinking=thinking).get("thinking") == sent


@pytest.mark.parametrize("budget", [1023, 4096, 0, -1, True, "2000", 2000.0])
def test_idea_57_a_budget_the_service_would_refuse_is_refused_here(budget) -> None:
    with pytest.raises(Refused) as caught:
        body(said("hi"), thinking={"enabled": True, "budgetTokens": budget})
    assert caught.value.code == "THINKING_BUDGET_INVALID"


def test_idea_57_own_reasoning_goes_back_byte_for_byte() -> None:
    thought = {
        "type": "reasoning",
        "text": " let me\nsee ",
        "signature": "c2ln+/=",
        "provenance": "anthropic",
    }
    hidden = {
        "type": "reasoning",
        "text": "",
        "redactedData": "b3BhcXVl",
        "provenance": "anthropic",
    }
    call = {"type": "tool_use", "id": "c1", "name": "look", "input": {"q": 1}}
    foreign = {"type": "reasoning", "text": "mine", "provenance": "deepseek"}
    unsigned = {"type": "reasoning", "text": "cut", "provenance": "anthropic"}
    message = {"role": "assistant", "content": [thought, hidden, foreign, unsigned, call]}
    sent = body(said("hi"), message)["messages"][1]["content"]
    assert sent == [
        {"type": "thinking", "thinking": " let me\nsee ", "signature": "c2ln+/="},
        {"type": "redacted_thinking", "data": "b3BhcXVl"},
        {"type": "tool_use", "id": "c1", "name": "look", "input": {"q": 1}},
    ]
    shown = body(said("hi"), message, reasoning_as_text=True)["messages"][1]["content"]
    assert [b["type"] for b in shown] == [
        "thinking",
        "redacted_thinking",
        "text",
        "text",
        "tool_use",
    ]
    assert shown[2]["text"] == "<thinking>\nmine\n</thinking>\n"


def test_tool_results_come_first_then_their_files_then_the_rest() -> None:
    rich = [
        {"type": "text", "text": "see"},
        {"type": "image", "source": PNG},
        {"type": "file", "source": PDF, "filename": "a.pdf"},
    ]
    message = results(
        {"type": "text", "text": "and now"},
        result(rich),
        result("broke", "c2", is_error=True),
    )
    sent = body(said("hi"), message)["messages"][1]["content"]
    assert sent == [
        {
            "type": "tool_result",
            "tool_use_id": "c1",
            "content": [{"type": "text", "text": "see"}, {"type": "image", "source": PNG}],
        },
        {"type": "tool_result", "tool_use_id": "c2", "content": "broke", "is_error": True},
        {"type": "document", "source": PDF, "title": "a.pdf"},
        {"type": "text", "text": "and now"},
    ]


@pytest.mark.parametrize(
    "part",
    [
        {"type": "file", "source": {**PDF, "media_type": "text/csv"}, "filename": "a.csv"},
        {"type": "image", "source": {**PNG, "media_type": "image/tiff"}},
    ],
)
def test_idea_57_what_the_service_cannot_read_is_refused_before_anything_is_sent(part) -> None:
    with pytest.raises(Refused) as caught:
        body(said("hi"), results(result([part])))
    assert caught.value.code == "UNSUPPORTED_TOOL_RESULT_CONTENT"


def test_addresses_stay_addresses_and_empty_text_is_left_out() -> None:
    url = {"type": "url", "url": "https://x.example/a.png"}
    sent = body(results({"type": "text", "text": ""}, {"type": "image", "source": url}))
    assert sent["messages"] == [
        {"role": "user", "content": [{"type": "image", "source": url}]},
    ]
    empty = {"role": "assistant", "content": [{"type": "text", "text": ""}]}
    assert len(body(said("hi"), empty)["messages"]) == 1


def test_s17_no_lone_surrogate_is_ever_sent() -> None:
    sent = encode_request(ModelRequest("m", [said("a\ud83d b \ud83d\ude00")]))
    assert json.loads(sent.decode("utf-8"))["messages"][0]["content"][0]["text"] == "a\ufffd b 😀"


THOUGHT = {"type": "reasoning", "text": "hm", "signature": "c2ln", "provenance": "anthropic"}
CALL = {"type": "tool_use", "id": "c1", "name": "look", "input": {}}
WISH = {"enabled": True, "budgetTokens": 1024}


def spoken(*blocks):
    return {"role": "assistant", "content": list(blocks)}


@pytest.mark.parametrize(
    ("history", "asked"),
    [
        ([], True),
        ([spoken(THOUGHT, CALL), results(result("ok"))], True),
        ([spoken(THOUGHT, CALL), results(result("ok")), spoken(CALL), results(result("ok"))], True),
        ([spoken(CALL), results(result("ok"))], False),
        ([spoken({**THOUGHT, "provenance": "deepseek"}, CALL), results(result("ok"))], False),
        ([spoken(CALL), results(result("ok")), said("done", "assistant"), said("next")], True),
    ],
)
def test_thinking_is_not_asked_for_in_a_round_of_calls_that_began_without(history, asked) -> None:
    """As after a restore on another service: the request would be refused for ever."""
    sent = body(said("hi"), *history, thinking=WISH)
    assert ("thinking" in sent) is asked
