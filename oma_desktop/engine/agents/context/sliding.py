"""`sliding-window`: the first user message and the latest turns (engine.md 3.9; idea 51)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from oma_desktop.engine.agents.context.turns import cuts, head_length, noted
from oma_desktop.model.message import Message

_NOTE: Final = re.compile(r"\[Left out here: (\d+) earlier turns? of this conversation\]")


def slide(messages: Sequence[Message], *, max_turns: int) -> list[Message]:
    """Drop the oldest turns so that about `max_turns` remain, at least `max_turns * 2` messages.

    The first user message stays; a note in the first one after the gap says how many turns are
    missing in all. Without a place to cut the messages come back as they are.
    """
    latest = len(messages) - 2 * max_turns
    at = max((cut for cut in cuts(messages) if cut <= latest), default=0)
    if at == 0:
        return list(messages)
    head = head_length(messages)
    dropped = messages[head:at]
    missing = sum(1 for message in dropped if message["role"] == "assistant")
    return [*messages[:head], *noted(messages[at:], _note(missing + _missing_before(dropped)))]


def _note(turns: int) -> str:
    return f"[Left out here: {turns} earlier turn{'s' if turns > 1 else ''} of this conversation]"


def _missing_before(dropped: Sequence[Message]) -> int:
    """How many turns were missing before, as the note that is dropped now says."""
    return sum(
        int(found[1])
        for message in dropped
        if message["role"] == "user"
        for block in message["content"]
        if block["type"] == "text" and (found := _NOTE.fullmatch(block["text"]))
    )
