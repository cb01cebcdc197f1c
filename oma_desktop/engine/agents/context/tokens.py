"""How many tokens a conversation has, roughly: a quarter of its characters (engine.md 3.9)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final, cast

from oma_desktop.model.json_text import stringify, utf16_length
from oma_desktop.model.json_value import JsonValue
from oma_desktop.model.message import ContentBlock, FilePart, ImagePart, Message, ToolResultPart

IMAGE_CHARS: Final = 64
MEDIA_EXTRA: Final = 32


class Estimator:
    """Counts characters; a message that was counted before is not looked into again.

    Invariant: a counted message is referenced here, so its identity cannot be reused.
    """

    def __init__(self) -> None:
        self._known: dict[int, tuple[Message, int]] = {}

    def tokens(self, messages: Iterable[Message]) -> int:
        """Return the estimate for a whole conversation; what is no longer in it is forgotten."""
        known: dict[int, tuple[Message, int]] = {}
        total = 0
        for message in messages:
            counted = self._known.get(id(message)) or (message, message_chars(message))
            known[id(message)] = counted
            total += counted[1]
        self._known = known
        return math.ceil(total / 4)


def message_chars(message: Message) -> int:
    """All characters of one message that count."""
    return sum(_block_chars(block) for block in message["content"])


def _block_chars(block: ContentBlock) -> int:
    """Unknown kinds, of newer writers, count like an image."""
    if block["type"] == "text" or block["type"] == "reasoning":
        return utf16_length(block["text"])
    if block["type"] == "tool_use":
        return utf16_length(stringify(cast("JsonValue", block["input"])))
    if block["type"] == "tool_result":
        return content_chars(block["content"])
    return IMAGE_CHARS


def content_chars(content: str | list[ToolResultPart]) -> int:
    """The characters of a tool result: text as it is, media by their data and names."""
    if isinstance(content, str):
        return utf16_length(content)
    return sum(
        utf16_length(part["text"]) if part["type"] == "text" else _media_chars(part)
        for part in content
    )


def _media_chars(part: ImagePart | FilePart) -> int:
    source = part["source"]
    data = source["data"] if source["type"] == "base64" else source["url"]
    name = part["filename"] if part["type"] == "file" else ""
    return len(data) + len(source["media_type"]) + utf16_length(name) + MEDIA_EXTRA
