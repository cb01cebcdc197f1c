"""Tool call ids as they are stored: never empty, unique inside their turn (DEV-02, case s04).

An id names a call inside one turn only: models that number per turn send the same id again later,
and that is a new call. The id the provider sent is kept wherever it can be; without spaces around
it, since a request for a decision about the call would name it without them (W10).

A call without the name of a tool gets one no tool has: a checkpoint cannot hold it otherwise (L30).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from oma_desktop.engine.llm.base import InvalidArguments
from oma_desktop.model.json_text import js_trim
from oma_desktop.model.message import ContentBlock, Message, ToolUseBlock

NAMELESS: Final = "unnamed_tool"


def normalise(
    content: Sequence[ContentBlock],
    invalid: Sequence[InvalidArguments],
    *,
    new_id: Callable[[], str],
) -> tuple[list[ContentBlock], dict[str, InvalidArguments]]:
    """Return blocks with usable ids and names, and the unusable arguments by stored id (DEV-27).

    Blocks that need no change are the same objects. `new_id` gives the part after `call_`.
    """
    taken = {js_trim(b["id"]) for b in content if b["type"] == "tool_use"}
    seen: set[str] = set()
    waiting = list(invalid)
    blocks: list[ContentBlock] = []
    unusable: dict[str, InvalidArguments] = {}
    for block in content:
        if block["type"] != "tool_use":
            blocks.append(block)
            continue
        fixed = _with_id(_with_name(block), seen=seen, taken=taken, new_id=new_id)
        seen.add(fixed["id"])
        blocks.append(fixed)
        problem = next((w for w in waiting if w.call_id == block["id"]), None)
        if problem is not None and not block["input"]:
            waiting.remove(problem)
            unusable[fixed["id"]] = problem
    return blocks, unusable


def _with_name(block: ToolUseBlock) -> ToolUseBlock:
    return block if js_trim(block["name"]) else {**block, "name": NAMELESS}


def _with_id(
    block: ToolUseBlock, *, seen: set[str], taken: set[str], new_id: Callable[[], str]
) -> ToolUseBlock:
    wanted = js_trim(block["id"])
    if wanted and wanted not in seen:
        return block if wanted == block["id"] else {**block, "id": wanted}
    if not wanted:
        return {**block, "id": f"call_{new_id()}"}
    number = 2
    while f"{wanted}_{number}" in taken or f"{wanted}_{number}" in seen:
        number += 1
    return {**block, "id": f"{wanted}_{number}"}


def occurrence(call_id: str, messages: Sequence[Message]) -> int:
    """How many calls of the conversation had this id so far, the last one included."""
    return sum(
        1
        for message in messages
        if message["role"] == "assistant"
        for block in message["content"]
        if block["type"] == "tool_use" and block["id"] == call_id
    )
