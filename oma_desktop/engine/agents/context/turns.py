"""Where a conversation may be cut, and how a note gets into it (engine.md 3.9, 8.4).

A turn is an assistant message with the messages that follow it. Cuts are only made before a turn,
so a call and its result stay together; notes go into an existing user message, so two user messages
never follow each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from oma_desktop.model.message import ContentBlock, Message, TextBlock


def head_length(messages: Sequence[Message]) -> int:
    """How many messages the part that is always kept has: up to the first user message."""
    for index, message in enumerate(messages):
        if message["role"] == "user":
            return index + 1
    return 0


def cuts(messages: Sequence[Message]) -> Iterator[int]:
    """Every index, after the head, before which the conversation may be cut.

    That is before an assistant message which follows a user message.
    """
    for index in range(head_length(messages) + 1, len(messages)):
        if messages[index]["role"] == "assistant" and messages[index - 1]["role"] == "user":
            yield index


def noted(tail: Sequence[Message], text: str) -> list[Message]:
    """Return the messages with a note before the other words of their first user message.

    Results of calls stay first in their message: endpoints demand it. Without a user message there
    is no place for a note, and none is made.
    """
    note: TextBlock = {"type": "text", "text": text}
    for index, message in enumerate(tail):
        if message["role"] == "user":
            content = message["content"]
            at = _after_results(content)
            told: Message = {**message, "content": [*content[:at], note, *content[at:]]}
            return [*tail[:index], told, *tail[index + 1 :]]
    return list(tail)


def _after_results(content: Sequence[ContentBlock]) -> int:
    results = [i for i, block in enumerate(content) if block["type"] == "tool_result"]
    return results[-1] + 1 if results else 0
