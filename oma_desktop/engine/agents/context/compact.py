"""`compact`: shorten what is old, by rule and without a model (engine.md 3.9)."""

from __future__ import annotations

from collections.abc import Sequence

from oma_desktop.engine.agents.context.markers import (
    EXCERPT,
    excerpt,
    image_marker,
    rewritten,
    without_result,
)
from oma_desktop.engine.agents.context.turns import head_length
from oma_desktop.model.context_options import Compact
from oma_desktop.model.message import ContentBlock, Message


def compact(messages: Sequence[Message], wish: Compact) -> list[Message]:
    """Shorten results, long texts of the model and images between the head and the latest turns.

    Messages without a change are the very same objects; calls are never touched.
    """
    start = head_length(messages)
    end = _recent_start(messages, wish.preserve_recent_turns)

    def shorter(index: int) -> Message:
        message = messages[index]
        if message["role"] == "assistant":
            return rewritten(message, lambda block: _shorter(block, wish))

        def change(block: ContentBlock) -> ContentBlock:
            if block["type"] != "tool_result":
                return _without_image(block)
            return without_result(block, messages, index, at_least=wish.min_tool_result_chars)

        return rewritten(message, change)

    return [
        shorter(index) if start <= index < end else message
        for index, message in enumerate(messages)
    ]


def _recent_start(messages: Sequence[Message], turns: int) -> int:
    answers = [i for i, message in enumerate(messages) if message["role"] == "assistant"]
    if turns == 0:
        return len(messages)
    return answers[-turns] if len(answers) >= turns else 0


def _shorter(block: ContentBlock, wish: Compact) -> ContentBlock:
    if block["type"] != "text":
        return _without_image(block)
    text = block["text"]
    if len(text) < wish.min_text_block_chars or EXCERPT in text:
        return block
    short = excerpt(text, keep=wish.text_block_excerpt_chars)
    return {**block, "text": short} if len(short) < len(text) else block


def _without_image(block: ContentBlock) -> ContentBlock:
    if block["type"] != "image":
        return block
    return {"type": "text", "text": image_marker(block["source"]["media_type"])}
