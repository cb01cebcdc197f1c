"""Tool calls that a model wrote as text, because its server has no better way (engine.md 8.2).

Looked for only where no call came the proper way. Text is weak evidence: a name must be one of the
tools offered, what stands in thinking does not count, and the same call written twice is one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from oma_desktop.engine.llm.base import ModelReply
from oma_desktop.engine.llm.openai_calls import parse_arguments
from oma_desktop.model.json_value import JsonObject, JsonValue
from oma_desktop.model.message import ContentBlock, ToolDefinition, ToolUseBlock

MAX_STARTS: Final = 500
"""How many places of a text are tried at most: a long text full of braces costs no time."""

_TAG: Final = re.compile(r"<tool_call>\s*(?=\{)")
_THOUGHT: Final = re.compile(r"<(think|thinking)>.*?(</\1>|\Z)", re.DOTALL)
_BRACE: Final = re.compile(r"\{")
_ARGUMENTS: Final = ("arguments", "parameters", "input")
_DECODER: Final = json.JSONDecoder()


def with_text_calls(
    reply: ModelReply, tools: Sequence[ToolDefinition], new_id: Callable[[], str]
) -> ModelReply:
    """Return the reply with the calls its text holds; as it is when it has calls, or none in text.

    A reply cut off by a limit is left alone: what it meant to call is not known.
    """
    if not tools or reply.stop_reason != "end_turn":
        return reply
    text = "\n".join(block["text"] for block in reply.content if block["type"] == "text")
    calls = calls_in(text, {tool["name"] for tool in tools})
    if not calls or any(block["type"] == "tool_use" for block in reply.content):
        return reply
    blocks: list[ContentBlock] = [_block(new_id(), name, input_) for name, input_ in calls]
    return replace(reply, content=[*reply.content, *blocks], stop_reason="tool_use")


def _block(call_id: str, name: str, input_: JsonObject) -> ToolUseBlock:
    return {"type": "tool_use", "id": call_id, "name": name, "input": input_}


def calls_in(text: str, offered: set[str]) -> list[tuple[str, JsonObject]]:
    """Return the calls written in `<tool_call>` tags, or without any as JSON, in their order."""
    said = _THOUGHT.sub("", text)
    for starts in (_TAG, _BRACE):
        calls: list[tuple[str, JsonObject]] = []
        for found in _objects(said, starts):
            call = _call(found, offered)
            if call is not None and call not in calls:
                calls.append(call)
        if calls:
            return calls
    return []


def _objects(text: str, starts: re.Pattern[str]) -> Iterator[JsonValue]:
    """Every JSON value that begins where `starts` says, none inside another."""
    at = 0
    for _ in range(MAX_STARTS):
        start = starts.search(text, at)
        if start is None:
            return
        brace = start.end() if starts is _TAG else start.start()
        try:
            value, at = _DECODER.raw_decode(text, brace)
        except (ValueError, RecursionError):
            at = brace + 1
        else:
            yield value


def _call(found: JsonValue, offered: set[str]) -> tuple[str, JsonObject] | None:
    if isinstance(found, dict) and isinstance(found.get("function"), dict):
        found = found["function"]
    if not isinstance(found, dict):
        return None
    name = found.get("name")
    given = next((found[key] for key in _ARGUMENTS if key in found), None)
    if not isinstance(name, str) or name not in offered or given is None:
        return None
    if isinstance(given, str):
        given = parse_arguments(given)
    return (name, given) if isinstance(given, dict) else None
