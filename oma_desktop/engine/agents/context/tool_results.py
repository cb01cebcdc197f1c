"""`compressToolResults`: results the model has answered make room (engine.md 3.9; idea 64)."""

from __future__ import annotations

from collections.abc import Sequence

from oma_desktop.engine.agents.context.markers import rewritten, without_result
from oma_desktop.model.message import ContentBlock, Message


def compress_results(messages: Sequence[Message], *, min_chars: int) -> list[Message]:
    """Replace long results that were answered; the newest message with results stays whole.

    Messages without a change are the very same objects.
    """
    spared = newest_results(messages)
    answered = max((i for i, m in enumerate(messages) if m["role"] == "assistant"), default=0)

    def shorter(index: int) -> Message:
        def change(block: ContentBlock) -> ContentBlock:
            if block["type"] != "tool_result":
                return block
            return without_result(block, messages, index, at_least=min_chars)

        return rewritten(messages[index], change)

    return [
        shorter(index)
        if index < answered and index != spared and message["role"] == "user"
        else message
        for index, message in enumerate(messages)
    ]


def newest_results(messages: Sequence[Message]) -> int:
    """The index of the last message that holds results, or -1."""
    for index in range(len(messages) - 1, -1, -1):
        if any(block["type"] == "tool_result" for block in messages[index]["content"]):
            return index
    return -1
