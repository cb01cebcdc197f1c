"""What goes over the wire (engine.md 8.2, case s17)."""

import json

import pytest

from oma_desktop.engine.llm.base import ModelRequest
from oma_desktop.engine.llm.openai_request import encode_request
from oma_desktop.model.errors import Refused

PNG = {"type": "base64", "media_type": "image/png", "data": "iVBORw0="}


def text(value):
    return {"type": "text", "text": value}


def use(id_, **arguments):
    return {"type": "tool_use", "id": id_, "name": "f", "input": arguments}


def result(id_, content, **more):
    return {"type": "tool_result", "tool_use_id": id_, "content": content, **more}


def user(*blocks):
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks):
    return {"role": "assistant", "content": list(blocks)}


def wire(*messages, echo=None, **options):
    body = encode_request(ModelRequest("m", list(messages), **options), echo_reasoning_of=echo)
    return json.loads(body)


def sent(*messages, **options):
    return wire(*messages, **options)["messages"]


def test_system_and_plain_text():
    assert sent(user(text("hi")), system_prompt="be good") == [
        {"role": "system", "content": "be good"},
        {"role": "user", "content": "hi"},
    ]
    assert sent(user(text("hi")), system_prompt="")[0]["role"] == "user"


def test_several_blocks_become_parts():
    image = {"type": "image", "source": PNG}
    assert sent(user(text("a"), image))[0]["content"] == [
        {"type": "text", "text": "a"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0="}},
    ]


def test_assistant_text_and_calls():
    assert sent(assistant(text("a"), text("b"), use("c1", city="北京"))) == [
        {
            "role": "assistant",
            "content": "ab",
            "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "function": {"name": "f", "arguments": '{"city":"北京"}'},
                }
            ],
        }
    ]


def test_only_calls_means_null_content_and_nothing_means_nothing():
    assert sent(assistant(use("c1")))[0]["content"] is None
    assert sent(assistant({"type": "reasoning", "text": "hm"}), assistant()) == []


def test_idea_56_tool_results_come_before_the_rest_of_their_message():
    messages = sent(
        user(text("note"), result("c1", "one"), result("c2", "two", is_error=True), text("more"))
    )
    assert messages == [
        {"role": "tool", "tool_call_id": "c1", "content": "one"},
        {"role": "tool", "tool_call_id": "c2", "content": "two"},
        {
            "role": "user",
            "content": [{"type": "text", "text": "note"}, {"type": "text", "text": "more"}],
        },
    ]


def test_media_of_results_follow_in_one_labelled_user_message():
    pdf = {"type": "file", "filename": "a.pdf", "source": {**PNG, "media_type": "application/pdf"}}
    picture = {
        "type": "image",
        "source": {"type": "url", "media_type": "image/png", "url": "https://x/p"},
    }
    tool, second, after = sent(
        user(result("c1", [text("see"), picture, pdf]), result("c2", "plain"))
    )
    assert tool["content"] == (
        "see\n[image: see attachment 1 below]\n[file: see attachment 2 below]"
    )
    assert second == {"role": "tool", "tool_call_id": "c2", "content": "plain"}
    assert after["role"] == "user"
    assert after["content"] == [
        {"type": "text", "text": "[attachment 1, from tool call c1]"},
        {"type": "image_url", "image_url": {"url": "https://x/p"}},
        {"type": "text", "text": "[attachment 2, from tool call c1]"},
        {
            "type": "file",
            "file": {
                "filename": "a.pdf",
                "file_data": "data:application/pdf;base64,iVBORw0=",
            },
        },
    ]


def test_a_file_by_address_is_refused_before_any_io():
    source = {"type": "url", "media_type": "application/pdf", "url": "https://x/a.pdf"}
    part = {"type": "file", "filename": "a.pdf", "source": source}
    with pytest.raises(Refused) as caught:
        sent(user(result("c1", [part])))
    assert caught.value.code == "UNSUPPORTED_TOOL_RESULT_CONTENT"


def test_reasoning_goes_back_only_to_its_own_service_and_only_with_tools():
    own = {"type": "reasoning", "text": "own", "provenance": "deepseek"}
    other = {"type": "reasoning", "text": "other", "provenance": "anthropic"}
    talk = (assistant(own, other, text("a")), user(text("b")))
    work = (*talk, assistant(own, use("c1")), user(result("c1", "r")))
    assert all("reasoning_content" not in m for m in sent(*work))
    assert all("reasoning_content" not in m for m in sent(*talk, echo="deepseek"))
    assert [m.get("reasoning_content") for m in sent(*work, echo="deepseek")] == [
        "own",
        None,
        "own",
        None,
    ]


def test_idea_66_precedence_sampling_extra_structure():
    body = wire(
        user(text("hi")),
        max_tokens=5,
        temperature=0.5,
        top_p=0.9,
        top_k=3,
        min_p=0.1,
        frequency_penalty=0.2,
        presence_penalty=0.3,
        parallel_tool_calls=False,
        extra_body={"temperature": 1, "seed": 7, "model": "evil", "stream": False, "tools": [1]},
    )
    assert body == {
        "max_tokens": 5,
        "temperature": 1,
        "top_p": 0.9,
        "top_k": 3,
        "min_p": 0.1,
        "frequency_penalty": 0.2,
        "presence_penalty": 0.3,
        "parallel_tool_calls": False,
        "seed": 7,
        "model": "m",
        "messages": [{"role": "user", "content": "hi"}],
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_tools_are_sent_when_there_are_some():
    tool = {"name": "f", "description": "d", "inputSchema": {"type": "object"}}
    assert wire(user(text("hi")), tools=[tool])["tools"] == [
        {
            "type": "function",
            "function": {"name": "f", "description": "d", "parameters": {"type": "object"}},
        }
    ]
    assert "tools" not in wire(user(text("hi")))


def test_lone_surrogates_never_leave(cases):
    lines = [json.loads(x) for x in cases("s17-lone-surrogate/journal.jsonl").splitlines()]
    results = [result(x["data"]["callId"], x["data"]["content"]) for x in lines]
    calls = assistant(*(use(r["tool_use_id"], text=r["content"]) for r in results))
    body = encode_request(ModelRequest("m", [calls, user(*results)]))
    messages = json.loads(body)["messages"]
    assert [m["content"] for m in messages[1:]] == [
        "ok \ufffd... cut",
        "\ufffd tail half",
        "pair 🔥 fine",
    ]
    assert "🔥" in messages[0]["tool_calls"][2]["function"]["arguments"]
    assert b"\xed\xa0" not in body  # no surrogate, encoded or escaped
    assert b"\\ud83d" not in body


def test_halves_that_met_are_joined():
    assert sent(user(text("\ud83d" + "\udd25")))[0]["content"] == "🔥"


@pytest.mark.parametrize(
    "message",
    [
        {"role": "system", "content": []},
        {"role": "user", "content": "text"},
        {"role": "user", "content": [{"text": "x"}]},
        user({"type": "tool_result", "content": "x"}),
        user(result("c", "x", is_error="no")),
        user(result("c", [])),
        user(result("c", [text("x")], is_error=True)),
        user(result("c", [{"type": "image", "source": {"type": "base64"}}])),
        user(result("c", [{"type": "file", "filename": " ", "source": PNG}])),
        assistant(use("c", x=float("nan"))),
    ],
)
def test_malformed_messages_are_named_before_any_io(message):
    with pytest.raises(Refused) as caught:
        sent(message)
    assert caught.value.code == "INVALID_MESSAGE"


def test_reasoning_without_a_place_on_the_wire_may_go_as_text():
    thought = {"type": "reasoning", "text": "hm", "provenance": "other"}
    kept = {"reasoning_as_text": True}
    assert sent(assistant(thought, text("so")), **kept)[0]["content"] == (
        "<thinking>\nhm\n</thinking>\nso"
    )
    assert sent(assistant(thought, use("a")), **kept)[0]["content"] == (
        "<thinking>\nhm\n</thinking>\n"
    )
    assert sent(assistant(thought, text("so")))[0]["content"] == "so"
    hidden = {"type": "reasoning", "text": "", "redactedData": "opaque"}
    assert sent(assistant(hidden, text("so")), **kept)[0]["content"] == "so"
    long = {"type": "reasoning", "text": "a" * 70 + "b" * 100 + "c" * 30}
    said = sent(assistant(long, text("so")), reasoning_chars=100, **kept)[0]["content"]
    assert said == (
        f"<thinking>\n{'a' * 70}\n[... 100 characters left out ...]\n{'c' * 30}\n</thinking>\nso"
    )


def test_reasoning_of_a_service_that_wants_it_back_is_not_sent_twice():
    own = {"type": "reasoning", "text": "own", "provenance": "deepseek"}
    work = [user(text("t")), assistant(own, use("a")), user(result("a", "x"))]
    told = sent(*work, echo="deepseek", reasoning_as_text=True)
    assert (told[1]["content"], told[1]["reasoning_content"]) == (None, "own")
