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
    message, tool_start, tool_end, text_delta; from the runner also model_call {turn, attempt},
    gate_call {gate, toolName, toolCallId}, tool_result {toolCallId}, loop_detected. `run` is the
    run's id, for listeners that hear several; None for what belongs to no run.
    """

    type: str
    agent: str | None = None
    task: str | None = None
    data: Mapping[str, object] = field(default_factory=dict)
    run: str | None = None


Listener = Callable[[ProgressEvent], None]


class EventBus:
    """Synchronous fan-out in subscription order. Listeners must be quick and may not raise.

    One that raises is logged once and dropped.
    """

    def __init__(self, *, above: EventBus | None = None, run: str | None = None) -> None:
        self._listeners: list[Listener] = []
        self._above = above
        self._run = run

    def of_run(self, run_id: str) -> EventBus:
        """The bus of one run: what is told there is heard here too, with the run's id."""
        return EventBus(above=self, run=run_id)

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
        self._deliver(ProgressEvent(type_, agent, task, data or {}, self._run))

    def _deliver(self, event: ProgressEvent) -> None:
        for listener in list(self._listeners):
            try:
                listener(event)
            except Exception:
                log.exception("progress listener dropped at %s", event.type)
                if listener in self._listeners:
                    self._listeners.remove(listener)
        if self._above is not None:
            self._above._deliver(event)  # noqa: SLF001 - a bus of the same kind
