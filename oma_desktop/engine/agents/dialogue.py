"""A conversation with one agent, prompt after prompt, begun with its `history` (engine.md 1.3)."""

from __future__ import annotations

import copy
from collections.abc import Awaitable, Callable
from typing import TypeAlias, cast

from oma_desktop.engine.agents.runner_state import answered
from oma_desktop.engine.llm.message_check import check_messages
from oma_desktop.model.message import Message
from oma_desktop.model.result import AgentRunResult
from oma_desktop.model.team import AgentConfig

Ask: TypeAlias = Callable[[AgentConfig, list[Message]], Awaitable[AgentRunResult]]
"""Runs the agent once on a whole conversation, as `OpenMultiAgent.run_agent` does."""


class Dialogue:
    """Remembers what was said. Only whole exchanges count: one that failed leaves no trace.

    `history` of the agent comes first, as a copy; calls in it without a result are answered with an
    error, nothing of it runs. One prompt at a time: a second one raises RuntimeError.
    """

    def __init__(self, agent: AgentConfig, ask: Ask) -> None:
        """Raises Refused INVALID_MESSAGE for a history that is no list of messages."""
        seeds = cast("list[Message]", copy.deepcopy(agent.history or []))
        check_messages(seeds)
        self._agent = agent
        self._ask = ask
        self._said = answered(seeds)
        self._busy = False

    @property
    def messages(self) -> list[Message]:
        """What was said so far: a list of one's own, its messages are not to be changed."""
        return list(self._said)

    async def prompt(self, text: str) -> AgentRunResult:
        """Say something and return the result of the agent's run."""
        if self._busy:
            raise RuntimeError("the agent has not answered the last prompt yet")
        self._busy = True
        asked: Message = {"role": "user", "content": [{"type": "text", "text": text}]}
        said = _joined(self._said, asked)
        try:
            result = await self._ask(self._agent, list(said))
        finally:
            self._busy = False
        if result.success:
            self._said = answered([*said, *result.messages])
        return result

    def forget(self) -> None:
        """Begin anew, without the history too."""
        self._said = []


def _joined(said: list[Message], asked: Message) -> list[Message]:
    """Two user messages never follow each other: a prompt after one joins it."""
    if not said or said[-1]["role"] != "user":
        return [*said, asked]
    last = said[-1]
    return [*said[:-1], {"role": "user", "content": [*last["content"], *asked["content"]]}]
