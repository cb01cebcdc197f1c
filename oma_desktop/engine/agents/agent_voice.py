"""How one agent run is heard: progress events, its stream, its warnings (engine.md 1.10, 1.11)."""

from __future__ import annotations

from oma_desktop.engine.agents.loop_detection import LoopInfo
from oma_desktop.engine.agents.stream import AgentStream
from oma_desktop.engine.bus import EventBus
from oma_desktop.engine.llm.base import TextDelta
from oma_desktop.model.errors import BudgetExceeded


class AgentVoice:
    """Says everything about one agent run, to the bus and to its stream; raises nothing."""

    def __init__(self, bus: EventBus, stream: AgentStream, *, agent: str, task: str) -> None:
        self.stream = stream
        self._bus = bus
        self._agent = agent
        self._task = task or None
        self._warnings: list[str] = []

    @property
    def warnings(self) -> tuple[str, ...]:
        """The codes that were noted, each once, in order."""
        return tuple(self._warnings)

    def emit(self, type_: str, **data: object) -> None:
        """One progress event of this agent and task."""
        self._bus.emit(type_, agent=self._agent, task=self._task, data=data)

    def draft(self, draft: TextDelta) -> None:
        """A piece of an answer that is being made."""
        self.emit("text_delta", text=draft.text, kind=draft.kind)
        self.stream.tell(draft.kind, draft.text)

    def loop(self, info: LoopInfo) -> None:
        """A repetition that is not accepted."""
        self.emit("loop_detected", kind=info.kind, repetitions=info.repetitions)
        self.stream.tell("loop_detected", info)

    def budget(self, error: BudgetExceeded) -> None:
        """The first crossing of the agent's budget."""
        self.emit("budget_exceeded", used=error.facts["used"], budget=error.facts["budget"])
        self.stream.tell("budget_exceeded", error)

    def warn(self, code: str) -> None:
        """A warning, told and noted once."""
        if code not in self._warnings:
            self.note(code)
            self.emit("warning", code=code)

    def note(self, code: str) -> None:
        """A warning somebody else has told."""
        if code not in self._warnings:
            self._warnings.append(code)
