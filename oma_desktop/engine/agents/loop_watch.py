"""What follows when an agent repeats itself: warn, end, go on, or ask the team (engine.md 3.7)."""

from __future__ import annotations

from collections.abc import Callable

from oma_desktop.engine.agents.hooks import Call, HookFailed
from oma_desktop.engine.agents.loop_detection import (
    LoopAction,
    LoopDetector,
    LoopInfo,
    LoopSettings,
    read_action,
)
from oma_desktop.engine.agents.runner_state import RunnerState
from oma_desktop.model.message import Message
from oma_desktop.model.team import AgentConfig


class LoopWatch:
    """Looks at every turn of one agent run; changes the loop flags of its state.

    `on_loop` decides for each repetition in the place of the configured action. `tell` hears of
    each one that is not simply accepted.
    """

    def __init__(
        self,
        agent: AgentConfig,
        state: RunnerState,
        *,
        on_loop: Callable[[LoopInfo], object] | None,
        call: Call,
        tell: Callable[[LoopInfo], None],
    ) -> None:
        self._agent = agent
        self._state = state
        self._on_loop = on_loop
        self._call = call
        self._tell = tell
        self._settings = LoopSettings.of(agent.loop_detection)
        self._detector: LoopDetector | None = None

    async def look(self, turn: Message) -> tuple[str | None, bool]:
        """Return (warning to add, whether to end here) for a turn that was just appended.

        Raises HookFailed.
        """
        if self._agent.loop_detection is None:
            return None, False
        if self._detector is None:
            self._detector = LoopDetector(self._settings, _said_before(self._state))
        state = self._state
        hit = self._detector.see(turn)
        if hit is None:
            state.loop_warned = False
            return None, False
        info = LoopInfo(hit.kind, hit.repetitions, hit.detail, self._agent.name, state.turns)
        action = await self._action(info)
        if action == "continue":
            state.loop_warned = False
            return None, False
        self._tell(info)
        if action == "terminate" or state.loop_warned:
            state.loop_detected = True
            return None, True
        state.loop_warned = True
        return hit.warning, False

    async def _action(self, info: LoopInfo) -> LoopAction:
        if self._on_loop is None:
            return self._settings.action
        answer = await self._call("onLoopDetected", self._on_loop, info)
        action = read_action(answer)
        if action is None:
            found = repr(answer)[:80]
            raise HookFailed("HOOK_FAILED", hook="onLoopDetected", problem="answer", found=found)
        return action


def _said_before(state: RunnerState) -> list[Message]:
    """The turns before the newest one: what was given, then all of our own.

    Not the conversation: context strategies shorten it, and a resume must count as the run did.
    Once they have, what was given cannot be told from the rest, and only our own turns count.
    """
    own = state.messages
    given = len(state.conversation) - len(own)
    if given < 0 or state.conversation[given:] != own:
        return own[:-1]
    return [*state.conversation[:given], *own[:-1]]
