"""Messages between engine and models, exactly as they lie in checkpoints (formats.md 4).

All types are TypedDicts over plain JSON: absent keys are absent, never null (formats.md 2.5, T1).
"""

from __future__ import annotations

from typing import Literal, NotRequired, TypeAlias

from typing_extensions import TypedDict

from oma_desktop.model.json_value import JsonObject


class Base64Source(TypedDict):
    """Inline media; `data` is raw base64 without a data-URL prefix."""

    type: Literal["base64"]
    media_type: str
    data: str


class UrlSource(TypedDict):
    """Media by absolute http(s) address."""

    type: Literal["url"]
    media_type: str
    url: str


MediaSource: TypeAlias = Base64Source | UrlSource


class TextBlock(TypedDict):
    """Visible text."""

    type: Literal["text"]
    text: str


class ReasoningBlock(TypedDict):
    """Model reasoning; `signature` and `redactedData` are echoed byte for byte."""

    type: Literal["reasoning"]
    text: str
    signature: NotRequired[str]
    redactedData: NotRequired[str]
    provenance: NotRequired[str]


class ToolUseBlock(TypedDict):
    """One tool call as the model issued it."""

    type: Literal["tool_use"]
    id: str
    name: str
    input: JsonObject
    signature: NotRequired[str]


class TextPart(TypedDict):
    """Text inside a rich tool result."""

    type: Literal["text"]
    text: str


class ImagePart(TypedDict):
    """Image inside a rich tool result."""

    type: Literal["image"]
    source: MediaSource


class FilePart(TypedDict):
    """File inside a rich tool result."""

    type: Literal["file"]
    filename: str
    source: MediaSource


ToolResultPart: TypeAlias = TextPart | ImagePart | FilePart


class ToolResultBlock(TypedDict):
    """The answer to one tool call. `is_error` is absent for a plain success (formats.md 4)."""

    type: Literal["tool_result"]
    tool_use_id: str
    content: str | list[ToolResultPart]
    is_error: NotRequired[bool]


class ImageBlock(TypedDict):
    """Image in a user or assistant message."""

    type: Literal["image"]
    source: Base64Source


ContentBlock: TypeAlias = TextBlock | ReasoningBlock | ToolUseBlock | ToolResultBlock | ImageBlock


class Message(TypedDict):
    """LLMMessage of the peer. There is no system role."""

    role: Literal["user", "assistant"]
    content: list[ContentBlock]


class TokenUsage(TypedDict):
    """Tokens of one or more model calls."""

    input_tokens: int
    output_tokens: int


class ToolCallRecord(TypedDict):
    """One finished tool call; `output` is the text view, `duration` milliseconds."""

    toolName: str
    input: JsonObject
    output: str
    duration: float


class ToolDefinition(TypedDict):
    """LLMToolDef: what the model is told about a tool."""

    name: str
    description: str
    inputSchema: JsonObject
