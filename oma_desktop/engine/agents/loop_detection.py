"""Noticing that an agent repeats itself (engine.md 3.7). Counting only; the runner acts on it."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from oma_desktop.model.hook_names import LoopDetection
from oma_desktop.model.message import Message

LoopAction: TypeAlias = Literal["warn", "terminate", "continue"]
LoopKind: TypeAlias = Literal["tool_repetition", "text_repetition"]

TOOL_WARNING: Final = (
    "You have now sent the same tool calls with the same arguments several times. The answer will "
    "not change. Try something else, or say what keeps you from finishing."
)
TEXT_WARNING: Final = (
    "You have now given the same answer several times. Take a different step, or say what keeps "
    "you from finishing."
)


_ACTIONS: Final[dict[object, LoopAction]] = {
    "warn": "warn",
    "inject": "warn",
    "terminate": "terminate",
    "continue": "continue",
}


@dataclass(frozen=True, slots=True)
class LoopSettings:
    """`loopDetection` of an agent with its defaults. `inject` is another word for `warn`."""

    repetitions: int = 3
    window: int = 4
    action: LoopAction = "warn"

    @classmethod
    def of(cls, config: LoopDetection | None) -> LoopSettings:
        """Read what an agent says; the window holds at least as many turns as must repeat."""
        wish = config or LoopDetection()
        window = max(wish.loop_detection_window, wish.max_repetitions)
        return cls(wish.max_repetitions, window, read_action(wish.on_loop_detected) or "warn")


def read_action(word: object) -> LoopAction | None:
    """Return the action a word stands for, None for anything else."""
    return _ACTIONS.get(word) if isinstance(word, str) else None


@dataclass(frozen=True, slots=True)
class LoopInfo:
    """What a loop hook is told: `detail` is the repeated call or text, `turn` counts from 1."""

    kind: LoopKind
    repetitions: int
    detail: str
    agent: str
    turn: int


@dataclass(frozen=True, slots=True)
class LoopHit:
    """A repetition: which kind, of what, how often in a row, and what to tell the model."""

    kind: LoopKind
    repetitions: int
    warning: str
    detail: str


class LoopDetector:
    """Counts equal turns at the tail. Invariant: at most `window` signatures of each kind live."""

    def __init__(self, settings: LoopSettings, history: Iterable[Message] = ()) -> None:
        self._settings = settings
        self._tools: deque[str] = deque(maxlen=settings.window)
        self._texts: deque[str] = deque(maxlen=settings.window)
        for message in history:
            if message["role"] == "assistant":
                self.see(message)

    def see(self, turn: Message) -> LoopHit | None:
        """Take in one assistant turn; return a hit when it repeats often enough.

        Repeated calls take precedence over repeated text; empty text is not counted.
        """
        calls = tool_signature(turn)
        text = text_signature(turn)
        n_tools = self._count(self._tools, calls) if calls is not None else 0
        n_texts = self._count(self._texts, text) if text else 0
        if n_tools >= self._settings.repetitions:
            return LoopHit("tool_repetition", n_tools, TOOL_WARNING, calls or "")
        if n_texts >= self._settings.repetitions:
            return LoopHit("text_repetition", n_texts, TEXT_WARNING, text)
        return None

    def _count(self, seen: deque[str], signature: str) -> int:
        seen.append(signature)
        count = 0
        for earlier in reversed(seen):
            if earlier != signature:
                break
            count += 1
        return count


def tool_signature(turn: Message) -> str | None:
    """The calls of a turn, sorted by name then input, keys sorted; None without calls."""
    calls = sorted(
        (block["name"], json.dumps(block["input"], sort_keys=True))
        for block in turn["content"]
        if block["type"] == "tool_use"
    )
    return json.dumps(calls) if calls else None


def text_signature(turn: Message) -> str:
    """The visible text with white space normalised."""
    text = " ".join(block["text"] for block in turn["content"] if block["type"] == "text")
    return " ".join(text.split())
