"""Whether calls and results of a conversation belong together, as every endpoint demands."""

from __future__ import annotations

from collections.abc import Sequence

from oma_desktop.model.message import Message


def pairing_problem(messages: Sequence[Message]) -> str | None:
    """Say which call has no result right after it, or which result no call right before it."""
    asked: set[str] = set()
    for message in messages:
        answers = {b["tool_use_id"] for b in message["content"] if b["type"] == "tool_result"}
        odd = asked ^ answers if message["role"] == "user" else asked | answers
        if odd:
            return f"calls and results do not match: {', '.join(sorted(odd))}"
        asked = {b["id"] for b in message["content"] if b["type"] == "tool_use"}
    return f"calls without a result: {', '.join(sorted(asked))}" if asked else None
