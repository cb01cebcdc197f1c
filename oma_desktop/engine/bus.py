"""Progress events, isolated: a failing subscriber never reaches the engine (DEV-15)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ProgressEvent:
    """One `onProgress` event (engine.md 1.10). `type` is the peer's word or one of our additions.

    Additions: run_start, run_end, task_status, task_failed, checkpoint_saved, llm_retry,
    tool_start, tool_end, text_delta; from the runner also model_call {turn, attempt},
    gate_call {gate, toolName, toolCallId}, tool_result {toolCallId}, loop_detected.
    """

    type: str
    agent: str | None = None
    task: str | None = None
    data: Mapping[str, object] = field(default_factory=dict)


Listener = Callable[[ProgressEvent], None]


class EventBus:
    """Synchronous fan-out in subscription order. Listeners must be quick and may not raise.

    One that raises is logged once and dropped.
    """

    def __init__(self) -> None:
        self._listeners: list[Listener] = []

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Add a listener; returns a function that removes it."""
        self._listeners.append(listener)

        def forget() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return forget

    def emit(
        self,
        type_: str,
        *,
        agent: str | None = None,
        task: str | None = None,
        data: Mapping[str, object] | None = None,
    ) -> None:
        """Tell every listener."""
        event = ProgressEvent(type_, agent, task, data or {})
        for listener in list(self._listeners):
            try:
                listener(event)
            except Exception:
                log.exception("progress listener dropped at %s", type_)
                if listener in self._listeners:
                    self._listeners.remove(listener)
