"""What happens to a conversation before each model call (engine.md 3.2 steps 5 and 6, 3.9)."""

from __future__ import annotations

import copy
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeAlias

from oma_desktop.engine.agents.context.compact import compact
from oma_desktop.engine.agents.context.sliding import slide
from oma_desktop.engine.agents.context.summary import Ask, Summaries
from oma_desktop.engine.agents.context.tokens import Estimator
from oma_desktop.engine.agents.context.tool_results import compress_results
from oma_desktop.engine.agents.hooks import Call, HookFailed
from oma_desktop.engine.agents.pairing import pairing_problem
from oma_desktop.engine.llm.message_check import check_messages
from oma_desktop.model.context_options import (
    Compact,
    SlidingWindow,
    Summarize,
    threshold,
)
from oma_desktop.model.errors import Refused
from oma_desktop.model.message import Message
from oma_desktop.model.team import AgentConfig

Compress: TypeAlias = Callable[[list[Message], int], Awaitable[object] | object]
"""A strategy of one's own: (messages, estimated tokens) -> the messages to go on with."""

RESULT_CHARS: Final = 500


class ContextControl:
    """One agent's strategy. Pure but for the summary call and a strategy of the team's own, which
    takes the place of the configured one.

    Messages are replaced, never changed: those that stay as they are stay the same objects.
    """

    def __init__(
        self, agent: AgentConfig, *, custom: Compress | None, call: Call, ask: Ask
    ) -> None:
        self._strategy = agent.context_strategy
        self._min_chars = threshold(agent.compress_tool_results, default=RESULT_CHARS)
        self._custom = custom
        self._call = call
        self._estimator = Estimator()
        self._summaries = Summaries(ask)

    async def before_call(self, messages: list[Message], *, turns: int) -> list[Message]:
        """Return the conversation for the next call; `turns` counts the calls made so far.

        Raises what the summary call raises, and HookFailed for a strategy of the team's own.
        """
        if turns and self._min_chars is not None:
            messages = compress_results(messages, min_chars=self._min_chars)
        if self._custom is not None:
            return await self._own(messages, self._custom)
        strategy = self._strategy
        if isinstance(strategy, SlidingWindow):
            return slide(messages, max_turns=strategy.max_turns)
        if isinstance(strategy, Summarize) and self._exceeds(messages, strategy.max_tokens):
            return await self._summaries.shorten(messages)
        if isinstance(strategy, Compact) and self._exceeds(messages, strategy.max_tokens):
            return compact(messages, strategy)
        return messages

    def _exceeds(self, messages: list[Message], limit: int) -> bool:
        return self._estimator.tokens(messages) > limit

    async def _own(self, messages: list[Message], custom: Compress) -> list[Message]:
        """The function works on copies; what it gives back unchanged is put back as it was."""
        copies = copy.deepcopy(messages)
        estimate = self._estimator.tokens(messages)
        answer = await self._call("compress", custom, list(copies), estimate)
        known = {id(copied): message for copied, message in zip(copies, messages, strict=True)}
        made = _checked(answer)
        return [_original(message, known.get(id(message))) for message in made]


def _original(message: Message, known: Message | None) -> Message:
    return known if known is not None and known == message else message


def _checked(answer: object) -> list[Message]:
    if not isinstance(answer, Sequence) or isinstance(answer, str) or not answer:
        raise HookFailed(
            "HOOK_FAILED", hook="compress", problem="answer", found=type(answer).__name__
        )
    messages: list[Message] = list(answer)
    try:
        check_messages(messages)
    except Refused as refused:
        found = f"{refused.facts['where']}: {refused.facts['problem']}"
        raise HookFailed("HOOK_FAILED", hook="compress", problem="answer", found=found) from None
    problem = pairing_problem(messages)
    if problem is None and messages[-1]["role"] != "user":
        problem = "the last message is not from the user"
    if problem is not None:
        raise HookFailed("HOOK_FAILED", hook="compress", problem="answer", found=problem)
    return messages
