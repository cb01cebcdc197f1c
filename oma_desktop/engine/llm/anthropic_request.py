"""Messages and options to the body of a messages request (engine.md 8.4)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, cast

from oma_desktop.engine.llm.base import ModelRequest
from oma_desktop.engine.llm.message_check import check_messages
from oma_desktop.engine.llm.request_text import body_bytes, thinking_text
from oma_desktop.model.errors import Refused
from oma_desktop.model.json_value import JsonObject, JsonValue
from oma_desktop.model.message import (
    ContentBlock,
    FilePart,
    ImagePart,
    MediaSource,
    Message,
    ReasoningBlock,
    ToolDefinition,
    ToolResultBlock,
)

PROTOCOL: Final = "anthropic"
DEFAULT_MAX_TOKENS: Final = 4096
MIN_THINKING: Final = 1024
STRUCTURAL: Final = frozenset({"model", "messages", "system", "tools", "stream", "thinking"})
_FOREIGN: Final = frozenset({"reasoning_effort"})  # another wire's word for `thinking`
_SAMPLING: Final = ("temperature", "top_p", "top_k")
_IMAGES: Final = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
_PDF: Final = "application/pdf"


def encode_request(
    request: ModelRequest, *, provider: str = PROTOCOL, stream: bool = True
) -> bytes:
    """Return the JSON body: sampling, overridden by `extra_body`, overridden by the structure.

    `provider` is the provenance of reasoning that is sent back as it came, beside the protocol's
    own name. Raises Refused INVALID_MESSAGE, UNSUPPORTED_TOOL_RESULT_CONTENT or
    THINKING_BUDGET_INVALID; nothing was sent then.
    """
    check_messages(request.messages)
    return body_bytes(lambda: build_request(request, provider=provider, stream=stream))


def build_request(
    request: ModelRequest, *, provider: str = PROTOCOL, stream: bool = True
) -> JsonObject:
    """Return the body as JSON values."""
    body: JsonObject = {"max_tokens": request.max_tokens or DEFAULT_MAX_TOKENS}
    for name in _SAMPLING:
        value = getattr(request, name)
        if value is not None:
            body[name] = value
    extra = request.extra_body or {}
    body.update({k: v for k, v in extra.items() if k not in STRUCTURAL | _FOREIGN})
    body["model"] = request.model
    if request.system_prompt:
        body["system"] = request.system_prompt
    messages = list(_messages(request, provider))
    body["messages"] = cast("JsonValue", messages)
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    thinking = _thinking(request.thinking, body["max_tokens"])
    if thinking is not None and _began_with_thinking(messages):
        body["thinking"] = thinking
    body["stream"] = stream
    return body


def _thinking(wish: JsonObject | None, max_tokens: JsonValue) -> JsonObject | None:
    """The budget lies between the service's least one and the output limit."""
    if wish is None or wish.get("enabled") is not True:
        return None
    budget = wish.get("budgetTokens", MIN_THINKING)
    limit = max_tokens if isinstance(max_tokens, int) else 0
    if (
        isinstance(budget, bool)
        or not isinstance(budget, int)
        or not MIN_THINKING <= budget < limit
    ):
        raise Refused(
            "THINKING_BUDGET_INVALID",
            budget=budget,
            least=MIN_THINKING,
            limit=limit,
            retryable=False,
        )
    return {"type": "enabled", "budget_tokens": budget}


def _began_with_thinking(messages: list[JsonObject]) -> bool:
    """Say whether thinking may be asked for: not inside a round of calls that began without it.

    The service refuses such a round. One begins without thinking where its reasoning came from
    another service, or from none, before a restore or a change of models.
    """
    first: JsonObject | None = None
    for message in reversed(messages):
        blocks = cast("list[JsonObject]", message["content"])
        if message["role"] == "assistant":
            first = blocks[0]
        elif not any(block["type"] == "tool_result" for block in blocks):
            break
    return first is None or first["type"] in {"thinking", "redacted_thinking"}


def _tool(tool: ToolDefinition) -> JsonValue:
    return {
        "name": tool["name"],
        "description": tool["description"],
        "input_schema": {"type": "object", **tool["inputSchema"]},
    }


def _messages(request: ModelRequest, provider: str) -> Iterator[JsonObject]:
    for message in request.messages:
        if message["role"] == "assistant":
            blocks = list(_assistant(message, provider, request))
        else:
            blocks = list(_user(message))
        if blocks:
            yield {"role": message["role"], "content": cast("JsonValue", blocks)}


def _assistant(message: Message, provider: str, request: ModelRequest) -> Iterator[JsonObject]:
    for block in message["content"]:
        if block["type"] == "text":
            if block["text"]:  # the service refuses empty text
                yield {"type": "text", "text": block["text"]}
        elif block["type"] == "tool_use":
            yield {
                "type": "tool_use",
                "id": block["id"],
                "name": block["name"],
                "input": block["input"],
            }
        elif block["type"] == "reasoning":
            yield from _reasoning(block, provider, request)


def _reasoning(block: ReasoningBlock, provider: str, request: ModelRequest) -> Iterator[JsonObject]:
    """Own reasoning goes back byte for byte; its signature covers the text."""
    own = block.get("provenance") in {provider, PROTOCOL}
    if own and "redactedData" in block:
        yield {"type": "redacted_thinking", "data": block["redactedData"]}
    elif own and block.get("signature"):
        yield {"type": "thinking", "thinking": block["text"], "signature": block["signature"]}
    elif request.reasoning_as_text and block["text"]:
        yield {"type": "text", "text": thinking_text(block["text"], request.reasoning_chars)}


def _user(message: Message) -> Iterator[JsonObject]:
    """Tool results come first, then the files of them, then what was said."""
    results = [b for b in message["content"] if b["type"] == "tool_result"]
    yield from map(_result, results)
    for result in results:
        yield from _documents(result)
    for block in message["content"]:
        part = _said(block)
        if part is not None:
            yield part


def _said(block: ContentBlock) -> JsonObject | None:
    if block["type"] == "text" and block["text"]:
        return {"type": "text", "text": block["text"]}
    if block["type"] == "image":
        return {"type": "image", "source": _image_source(block["source"])}
    return None


def _result(block: ToolResultBlock) -> JsonObject:
    wire: JsonObject = {"type": "tool_result", "tool_use_id": block["tool_use_id"]}
    content = block["content"]
    if isinstance(content, str):
        wire["content"] = content
    else:
        wire["content"] = [_part(part) for part in content if part["type"] != "file"]
    if block.get("is_error"):
        wire["is_error"] = True
    return wire


def _part(part: object) -> JsonValue:
    found = cast("JsonObject", part)
    if found["type"] == "text":
        return {"type": "text", "text": found["text"]}
    return {"type": "image", "source": _image_source(cast("ImagePart", part)["source"])}


def _documents(block: ToolResultBlock) -> Iterator[JsonObject]:
    """PDF files stand beside the result; the wire has no place for others."""
    if isinstance(block["content"], str):
        return
    for part in block["content"]:
        if part["type"] == "file":
            yield _document(part)


def _document(part: FilePart) -> JsonObject:
    source = part["source"]
    if source["type"] == "url":
        found: JsonObject = {"type": "url", "url": source["url"]}
    elif source["media_type"] == _PDF:
        found = {"type": "base64", "media_type": _PDF, "data": source["data"]}
    else:
        raise _unsupported(source["media_type"])
    document: JsonObject = {"type": "document", "source": found}
    if part.get("filename"):
        document["title"] = part["filename"]
    return document


def _image_source(source: MediaSource) -> JsonObject:
    if source["type"] == "url":
        return {"type": "url", "url": source["url"]}
    if source["media_type"] not in _IMAGES:
        raise _unsupported(source["media_type"])
    return {"type": "base64", "media_type": source["media_type"], "data": source["data"]}


def _unsupported(found: str) -> Refused:
    return Refused("UNSUPPORTED_TOOL_RESULT_CONTENT", found=found, retryable=False)
