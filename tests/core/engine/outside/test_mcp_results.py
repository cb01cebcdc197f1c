"""Answers of MCP servers, whatever they hold (engine.md 10.1)."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oma_desktop.engine.tools.outside.mcp_results import output_of_answer
from oma_desktop.engine.tools.results import judge

TEXT = {"type": "text", "text": "hello"}
PNG = {"type": "image", "data": "cG5n", "mimeType": "image/png"}


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ({"toolResult": "old", "content": [TEXT], "structuredContent": {"n": 1}}, "old"),
        ({"toolResult": {"n": 1}}, '{"n":1}'),
        ({"content": [TEXT, TEXT], "structuredContent": {"n": 1}}, "hello\nhello"),
        ({"content": [], "structuredContent": {"n": 1}}, '{"n":1}'),
        ({"structuredContent": [1]}, "[1]"),
        ({"content": []}, ""),
        ({"other": 1}, '{"other":1}'),
        ({"content": "text"}, '{"content":"text"}'),
    ],
)
def test_the_first_kind_of_result_that_is_there_counts(answer, text):
    output = output_of_answer(answer)
    assert (output.data, output.is_error, output.model_output) == (text, None, None)


@pytest.mark.parametrize(
    ("block", "text"),
    [
        ({"type": "audio", "data": "AAAA", "mimeType": "audio/wav"},
         "[audio: audio/wav; 4 characters of base64]"),
        ({"type": "image", "data": "not base64!", "mimeType": "image/png"},
         "[image: image/png; 11 characters of base64]"),
        ({"type": "image", "data": "cG5n", "mimeType": "no type"},
         "[image: no type; 4 characters of base64]"),
        ({"type": "resource", "resource": {"uri": "file:///a", "text": "inside"}}, "inside"),
        ({"type": "resource_link", "name": "n", "uri": "file:///a"}, "[link: n; file:///a]"),
        ({"type": "resource_link", "name": "n", "uri": "http://[bad"}, "[link: n; http://[bad]"),
        ({"type": "new", "x": 1}, '{"type":"new","x":1}'),
        ("bare", '"bare"'),
        (None, "null"),
    ],
)  # fmt: skip
def test_what_is_no_known_content_is_told_as_text(block, text):
    assert output_of_answer({"content": [block]}).data == text


def test_idea_61_an_error_is_text_whatever_it_holds():
    output = output_of_answer({"content": [TEXT, PNG], "isError": True})
    assert (output.is_error, output.model_output) == (True, None)
    assert output.data == "hello\n[image: image/png; inline data]"
    assert output_of_answer({"isError": True, "structuredContent": {"n": 1}}).is_error is True


def test_binary_resources_and_links_are_files_and_pictures():
    blob = {"uri": "mem://x/a%20b.png", "blob": "cG5n", "mimeType": "image/png"}
    nameless = {"uri": "mem:", "blob": "cG5n"}
    link = {"type": "resource_link", "name": "n", "uri": "https://a.test/x", "mimeType": "text/csv"}
    blocks = [{"type": "resource", "resource": r} for r in (blob, nameless)]
    picture, file, linked = output_of_answer({"content": [*blocks, link]}).model_output
    assert picture["type"] == "image"
    assert (file["filename"], file["source"]["media_type"]) == ("file", "application/octet-stream")
    assert linked == {
        "type": "file",
        "filename": "n",
        "source": {"type": "url", "media_type": "text/csv", "url": "https://a.test/x"},
    }


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)
kinds = st.sampled_from(["text", "image", "audio", "resource", "resource_link", "x"])
blocks = st.fixed_dictionaries(
    {"type": kinds},
    optional=dict.fromkeys(
        ("text", "data", "mimeType", "uri", "name", "title", "resource"), json_values
    ),
)


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "content": st.lists(blocks | json_values, max_size=3) | json_values,
            "isError": json_values,
            "toolResult": json_values,
            "structuredContent": json_values,
        },
    )
)
def test_every_answer_becomes_a_result_that_can_be_used_and_saved(answer):
    block = judge(output_of_answer(answer), tool="t", call_id="c", limit=None)
    json.dumps(block)
    assert "its result cannot be used" not in str(block["content"])
