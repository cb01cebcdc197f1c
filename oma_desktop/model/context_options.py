"""How an agent keeps a long conversation within bounds, as run files say it (engine.md 1.3, 3.9).

A union by `type`, so that a wrong key is told with its place and the published schema is exact.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from oma_desktop.model.described import Described, Text
from oma_desktop.model.hook_names import CallableName


class SlidingWindow(Described):
    """Keep the first user message and at least `maxTurns` turns at the end, drop what is between.

    A turn is one answer of the model with the message that follows it.
    """

    type: Literal["sliding-window"]
    max_turns: Annotated[int, Field(ge=1)]


class Summarize(Described):
    """Above `maxTokens` (estimated) a model call of its own sums up the older half.

    `summaryModel` is a model of the agent's provider; default: the agent's own.
    """

    type: Literal["summarize"]
    max_tokens: Annotated[int, Field(ge=1)]
    summary_model: Text | None = None


class Compact(Described):
    """Above `maxTokens` (estimated) old long results, texts and images are cut, without a model.

    The last `preserveRecentTurns` turns stay whole, as do the first user message, calls, errors and
    results of delegation.
    """

    type: Literal["compact"]
    max_tokens: Annotated[int, Field(ge=1)]
    preserve_recent_turns: Annotated[int, Field(ge=0)] = 4
    min_tool_result_chars: Annotated[int, Field(ge=0)] = 200
    min_text_block_chars: Annotated[int, Field(ge=0)] = 2000
    text_block_excerpt_chars: Annotated[int, Field(ge=0)] = 200


class CustomContext(Described):
    """A Python function decides before every model call: `compress` names it, `module:function`.

    It gets the messages and the estimated tokens and returns the messages to go on with.
    """

    type: Literal["custom"]
    compress: CallableName


ContextStrategy: TypeAlias = Annotated[
    SlidingWindow | Summarize | Compact | CustomContext, Field(discriminator="type")
]


class Threshold(Described):
    """From how many characters on something is shortened."""

    min_chars: Annotated[int | None, Field(ge=0)] = None


def threshold(wish: bool | Threshold | None, *, default: int) -> int | None:
    """The number of characters meant by an on/off/`{minChars}` option; None: off."""
    if isinstance(wish, Threshold):
        return default if wish.min_chars is None else wish.min_chars
    return default if wish else None
