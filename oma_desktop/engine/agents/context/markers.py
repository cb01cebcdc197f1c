"""What is put in the place of content that is taken out of a conversation (engine.md 3.9)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from oma_desktop.engine.agents.context.tokens import content_chars
from oma_desktop.engine.tools.grants import DELEGATE
from oma_desktop.model.message import ContentBlock, Message, ToolResultBlock

RESULT: Final = "[Result left out:"
EXCERPT: Final = "[...] [Text shortened:"
IMAGE: Final = "[Image left out:"


def result_marker(tool: str, chars: int) -> str:
    """What stands for a result the model has seen before."""
    return f'{RESULT} the call of "{tool}" gave {chars} characters; call it again if you need them]'


def excerpt(text: str, *, keep: int) -> str:
    """The beginning of a text with a note of how long it was."""
    return f"{text[:keep]}{EXCERPT} it had {len(text)} characters]"


def image_marker(media_type: str) -> str:
    """What stands for an image."""
    return f"{IMAGE} {media_type}]"


def tool_of(messages: Sequence[Message], index: int, call_id: str) -> str:
    """The tool whose result stands in message `index`; "" when the call is not right before it.

    An id names a call inside one turn only, so nothing further back is looked at.
    """
    before = messages[index - 1]["content"] if index else []
    return next((b["name"] for b in before if b["type"] == "tool_use" and b["id"] == call_id), "")


def without_result(
    block: ToolResultBlock, messages: Sequence[Message], index: int, *, at_least: int
) -> ToolResultBlock:
    """Return a result of message `index` with a marker as its content, or the very same block.

    Left alone: errors, results of delegation, results shorter than `at_least` or than the marker,
    and markers.
    """
    content = block["content"]
    if block.get("is_error") or (isinstance(content, str) and content.startswith(RESULT)):
        return block
    chars = content_chars(content)
    if chars < at_least:
        return block
    tool = tool_of(messages, index, block["tool_use_id"])
    marker = result_marker(tool, chars)
    if tool == DELEGATE or chars <= len(marker):
        return block
    return {**block, "content": marker}


def rewritten(message: Message, change: Callable[[ContentBlock], ContentBlock]) -> Message:
    """Return the message with changed blocks, or the very same message when none changed."""
    changed = False
    content: list[ContentBlock] = []
    for block in message["content"]:
        new = change(block)
        changed = changed or new is not block
        content.append(new)
    return {**message, "content": content} if changed else message
