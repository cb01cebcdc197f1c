"""Messages and options to the body of a chat-completions request (engine.md 8.2)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, cast

from oma_desktop.engine.llm.base import ModelRequest
from oma_desktop.engine.llm.message_check import check_messages
from oma_desktop.engine.llm.request_text import body_bytes, compact, thinking_text
from oma_desktop.model.errors import Refused
from oma_desktop.model.json_value import JsonObject, JsonValue
from oma_desktop.model.message import (
    ContentBlock,
    FilePart,
    ImagePart,
    MediaSource,
    Message,
    ToolDefinition,
    ToolResultBlock,
)

STRUCTURAL: Final = frozenset({"model", "messages", "tools", "stream", "stream_options"})

_SAMPLING: Final = (
    "max_tokens",
    "temperature",
    "top_p",
    "top_k",
    "min_p",
    "frequency_penalty",
    "presence_penalty",
    "parallel_tool_calls",
)


def encode_request(
    request: ModelRequest, *, echo_reasoning_of: str | None = None, stream: bool = True
) -> bytes:
    """Return the JSON body: sampling, overridden by `extra_body`, overridden by the structure.

    `echo_reasoning_of` is the provenance whose reasoning is sent back as `reasoning_content` once
    the conversation has tool calls; `stream` asks for the answer in pieces. Never contains a lone
    surrogate (case s17). Raises Refused INVALID_MESSAGE or UNSUPPORTED_TOOL_RESULT_CONTENT.
    """
    check_messages(request.messages)
    return body_bytes(
        lambda: build_request(request, echo_reasoning_of=echo_reasoning_of, stream=stream)
    )


def build_request(
    request: ModelRequest, *, echo_reasoning_of: str | None = None, stream: bool = True
) -> JsonObject:
    """Return the body as JSON values."""
    body: JsonObject = {}
    for name in _SAMPLING:
        value = getattr(request, name)
        if value is not None:
            body[name] = value
    extra = request.extra_body or {}
    body.update({name: value for name, value in extra.items() if name not in STRUCTURAL})
    body["model"] = request.model
    body["messages"] = cast("JsonValue", list(_messages(request, echo_reasoning_of)))
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    body["stream"] = stream
    if stream:
        body["stream_options"] = {"include_usage": True}
    return body


def _tool(tool: ToolDefinition) -> JsonValue:
    return {
        "type": "function",
        "function": {
            "name": tool["name"],
            "description": tool["description"],
            "parameters": tool["inputSchema"],
        },
    }


def _messages(request: ModelRequest, echo: str | None) -> Iterator[JsonObject]:
    if request.system_prompt:
        yield {"role": "system", "content": request.system_prompt}
    blocks = (block for message in request.messages for block in message["content"])
    if echo is not None and not any(block["type"] == "tool_use" for block in blocks):
        echo = None
    for message in request.messages:
        if message["role"] == "assistant":
            yield from _assistant(message, echo, request)
        else:
            yield from _user(message)


def _assistant(message: Message, echo: str | None, request: ModelRequest) -> Iterator[JsonObject]:
    """Nothing is sent for a message with neither text nor calls: the wire cannot hold it."""
    texts: list[str] = []
    calls: list[JsonValue] = []
    thoughts: list[str] = []
    for block in message["content"]:
        if block["type"] == "text":
            texts.append(block["text"])
        elif block["type"] == "tool_use":
            function: JsonObject = {"name": block["name"], "arguments": compact(block["input"])}
            calls.append({"id": block["id"], "type": "function", "function": function})
        elif block["type"] == "reasoning" and echo and block.get("provenance") == echo:
            thoughts.append(block["text"])
        elif block["type"] == "reasoning" and request.reasoning_as_text and block["text"]:
            texts.append(thinking_text(block["text"], request.reasoning_chars))
    text = "".join(texts)
    if not text and not calls:
        return
    wire: JsonObject = {"role": "assistant", "content": text or None}
    if thoughts:
        wire["reasoning_content"] = "".join(thoughts)
    if calls:
        wire["tool_calls"] = calls
    yield wire


def _user(message: Message) -> Iterator[JsonObject]:
    """Tool results first, each its own message; then media and the rest as one user message."""
    parts: list[JsonObject] = []
    n_media = 0
    for block in message["content"]:
        if block["type"] == "tool_result":
            media = _media_of(block)
            yield {
                "role": "tool",
                "tool_call_id": block["tool_use_id"],
                "content": _result_text(block, first=n_media + 1),
            }
            for item in media:
                n_media += 1
                label = f"[attachment {n_media}, from tool call {block['tool_use_id']}]"
                parts += [_text_part(label), _media_part(item)]
    parts += [part for block in message["content"] if (part := _user_part(block)) is not None]
    if len(parts) == 1 and parts[0]["type"] == "text":
        yield {"role": "user", "content": parts[0]["text"]}
    elif parts:
        yield {"role": "user", "content": cast("JsonValue", parts)}


def _user_part(block: ContentBlock) -> JsonObject | None:
    if block["type"] == "text":
        return _text_part(block["text"])
    if block["type"] == "image":
        return {"type": "image_url", "image_url": {"url": _url(block["source"])}}
    return None


def _text_part(text: str) -> JsonObject:
    return {"type": "text", "text": text}


def _media_of(block: ToolResultBlock) -> list[ImagePart | FilePart]:
    content = block["content"]
    if isinstance(content, str):
        return []
    return [part for part in content if part["type"] != "text"]


def _result_text(block: ToolResultBlock, *, first: int) -> str:
    """Return the text view; media are named by the label under which they follow."""
    content = block["content"]
    if isinstance(content, str):
        return content
    lines: list[str] = []
    for part in content:
        if part["type"] == "text":
            lines.append(part["text"])
        else:
            lines.append(f"[{part['type']}: see attachment {first} below]")
            first += 1
    return "\n".join(lines)


def _media_part(part: ImagePart | FilePart) -> JsonObject:
    if part["type"] == "image":
        return {"type": "image_url", "image_url": {"url": _url(part["source"])}}
    if part["source"]["type"] == "url":
        raise Refused("UNSUPPORTED_TOOL_RESULT_CONTENT", found="file by URL", retryable=False)
    return {
        "type": "file",
        "file": {"filename": part["filename"], "file_data": _url(part["source"])},
    }


def _url(source: MediaSource) -> str:
    if source["type"] == "url":
        return source["url"]
    return f"data:{source['media_type']};base64,{source['data']}"
