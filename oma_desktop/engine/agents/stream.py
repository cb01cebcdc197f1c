"""What one agent says and does as it happens: its stream (engine.md 1.11; idea 63)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Literal, Self, TypeAlias

from oma_desktop.model.result import AgentRunResult, ErrorInfo

log = logging.getLogger(__name__)

StreamType: TypeAlias = Literal[
    "text",
    "reasoning",
    "tool_use",
    "tool_result",
    "loop_detected",
    "budget_exceeded",
    "done",
    "error",
]


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """One event. `data`: text of a draft, a tool_use or tool_result block (not to be changed),
    LoopInfo, BudgetExceeded, and at the end an AgentRunResult (`done`) or ErrorInfo (`error`).
    """

    type: StreamType
    data: object
    agent: str
    task: str


OnAgentStream: TypeAlias = Callable[[StreamEvent], None]
_FAILED: Final = frozenset({"error", "timeout", "rejected"})


class AgentStream:
    """The stream of one agent run. As a context it ends with exactly one `done` or `error`.

    A listener that raises is logged and hears nothing more; the run goes on (idea 63).
    """

    def __init__(self, listener: OnAgentStream | None, *, agent: str, task: str) -> None:
        self._listener = listener
        self._agent = agent
        self._task = task
        self._ended = False

    def tell(self, type_: StreamType, data: object) -> None:
        """Pass on one event."""
        if self._listener is None:
            return
        try:
            self._listener(StreamEvent(type_, data, self._agent, self._task))
        except Exception:
            log.exception("the stream listener of agent %s failed at %s", self._agent, type_)
            self._listener = None

    def end(self, result: AgentRunResult) -> None:
        """Tell how it ended. A suspension, a stop and a used-up budget are no errors."""
        self._ended = True
        if result.status.code in _FAILED:
            self.tell("error", result.error_info or ErrorInfo("unknown"))
        else:
            self.tell("done", result)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """A defect or the end of the process: the stream ends too."""
        if not self._ended:
            name = None if error is None else type(error).__name__
            self.tell("error", ErrorInfo("framework", code="ENGINE_FAULT", name=name))
