"""`summarize`: a model call of its own sums up the older half (engine.md 3.9)."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeAlias, cast

from oma_desktop.engine.agents.context.markers import image_marker
from oma_desktop.engine.agents.context.turns import cuts, head_length, noted
from oma_desktop.model.json_text import stringify
from oma_desktop.model.json_value import JsonValue
from oma_desktop.model.message import ContentBlock, Message, ToolResultPart

Ask: TypeAlias = Callable[[str, str], Awaitable[str]]
"""(instruction, transcript) -> the summary; raises OmaError."""

INSTRUCTION: Final = (
    "You sum up the earlier part of a conversation between a user and an assistant that works with "
    "tools. Your summary takes the place of that part. Keep what later steps need: what was asked, "
    "facts, names, numbers, paths and results found, decisions and their reasons, what failed, and "
    "what is still open. Write plain text and add nothing that is not in the conversation."
)
FEWEST: Final = 4
_REMEMBERED: Final = 8


class Summaries:
    """Sums up; the same messages are asked about only once, however often they come again."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._known: dict[str, str] = {}

    async def shorten(self, messages: Sequence[Message]) -> list[Message]:
        """Return the conversation with a summary in the place of its older half.

        Unchanged where there is nothing to cut or the model has nothing to say. Raises what the
        call raises.
        """
        at = _middle(messages)
        if at == 0:
            return list(messages)
        head = head_length(messages)
        summary = await self._of(messages[head:at])
        if not summary:
            return list(messages)
        note = f"[Summary of the earlier part of this conversation]\n{summary}"
        return [*messages[:head], *noted(messages[at:], note)]

    async def _of(self, old: Sequence[Message]) -> str:
        text = transcript(old)
        signature = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        if signature not in self._known:
            summary = (await self._ask(INSTRUCTION, text)).strip()
            if len(self._known) >= _REMEMBERED:
                del self._known[next(iter(self._known))]
            self._known[signature] = summary
        return self._known[signature]


def _middle(messages: Sequence[Message]) -> int:
    """The cut nearest before the middle of what follows the head, else the first one; 0: none."""
    if len(messages) < FEWEST:
        return 0
    places = list(cuts(messages))
    head = head_length(messages)
    middle = head + (len(messages) - head) // 2
    before = [place for place in places if place <= middle]
    return before[-1] if before else (places[0] if places else 0)


def transcript(messages: Sequence[Message]) -> str:
    """The messages as text for the summarising model; media are named, not sent."""
    return "\n\n".join(
        f"{message['role'].upper()}:\n{lines}"
        for message in messages
        if (lines := "\n".join(filter(None, map(_line, message["content"]))))
    )


def _line(block: ContentBlock) -> str:
    match block["type"]:
        case "text":
            return block["text"]
        case "tool_use":
            return f"[calls {block['name']} with {stringify(cast('JsonValue', block['input']))}]"
        case "tool_result":
            kind = "error" if block.get("is_error") else "result"
            return f"[{kind} of a call] {_result(block['content'])}"
        case "image":
            return image_marker(block["source"]["media_type"])
    return ""


def _result(content: str | list[ToolResultPart]) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(
        part["text"] if part["type"] == "text" else f"[{part['type']} left out]" for part in content
    )
