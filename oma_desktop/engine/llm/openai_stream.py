"""One chat-completions turn as a state machine: open, ended by a clean end, or failed.

A turn is complete only when a finish reason or `[DONE]` was seen (case s32). Whatever was received
before is a draft that goes with the failure as the fact `partial`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Final

from oma_desktop.engine.llm.base import ModelReply, TextDelta
from oma_desktop.engine.llm.openai_calls import CallAssembler, object_of, text_of
from oma_desktop.engine.llm.provider_error import from_stream_error
from oma_desktop.engine.llm.sse import SseEvent
from oma_desktop.model.errors import BadReply, ProviderError, Unreachable
from oma_desktop.model.json_value import JsonObject, JsonValue
from oma_desktop.model.message import ContentBlock, ReasoningBlock, TokenUsage

DONE: Final = "[DONE]"

STOP_REASONS: Final = {
    "stop": "end_turn",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "length": "max_tokens",
}


class TurnStream:
    """Consumes the events of one response.

    Invariants: `reply` succeeds only after a clean end; `started` is True from the first piece of
    answer on, after which nothing may be sent again (engine.md 8.6).
    """

    def __init__(self, *, provider: str, new_id: Callable[[], str]) -> None:
        self._provider = provider
        self._calls = CallAssembler(new_id)
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._usage: TokenUsage | None = None
        self._finish_reason = ""
        self._had_choice = False
        self._id = ""
        self._model = ""
        self.done = False

    @property
    def started(self) -> bool:
        """True once a piece of the answer (text, reasoning or a call) was received."""
        return bool(self._text or self._reasoning or self._calls)

    @property
    def ended(self) -> bool:
        """True once the end is clean; a usage chunk may still follow until `done`."""
        return self.done or bool(self._finish_reason)

    @property
    def partial(self) -> str:
        """The visible text so far."""
        return "".join(self._text)

    @property
    def usage(self) -> TokenUsage | None:
        """What the service has counted so far; None while it said nothing."""
        return self._usage

    def take(self, event: SseEvent) -> list[TextDelta]:
        """Consume one event, return what became visible.

        Raises a ProviderError for an error sent in the stream (case s34) and for data that is not
        a JSON object.
        """
        data = event.data.strip()
        if self.done or not data:
            return []
        if data == DONE:
            self.done = True
            return []
        try:
            chunk = json.loads(data)
        except (ValueError, RecursionError):
            raise self._fail(BadReply("LLM_BAD_STREAM", found=data[:200])) from None
        if not isinstance(chunk, dict):
            raise self._fail(BadReply("LLM_BAD_STREAM", found=data[:200]))
        return self.take_chunk(chunk, named_error=event.name == "error")

    def take_document(self, document: JsonObject) -> list[TextDelta]:
        """Consume a whole completion from a server that does not stream."""
        return self.take_chunk(document)

    def take_chunk(self, chunk: JsonObject, *, named_error: bool = False) -> list[TextDelta]:
        """Consume one chunk; raises like `take`."""
        if chunk.get("error") or named_error:
            raise self._fail(from_stream_error(chunk.get("error") or chunk, self._provider))
        self._id = text_of(chunk.get("id")) or self._id
        self._model = text_of(chunk.get("model")) or self._model
        self._count(chunk.get("usage"))
        self._count(object_of(chunk.get("x_groq")).get("usage"))
        choice = _first_choice(chunk.get("choices"))
        return [] if choice is None else self._take_choice(choice)

    def _take_choice(self, choice: JsonObject) -> list[TextDelta]:
        self._had_choice = True
        if choice.get("error"):
            raise self._fail(from_stream_error(choice["error"], self._provider))
        self._count(choice.get("usage"))
        delta = object_of(choice.get("delta") or choice.get("message"))
        shown = list(self._visible(delta))
        self._calls.take(delta.get("tool_calls"))
        self._calls.take_legacy(delta.get("function_call"))
        self._finish_reason = text_of(choice.get("finish_reason")) or self._finish_reason
        if self._finish_reason == "error":
            raise self._fail(from_stream_error({}, self._provider))
        return shown

    def _visible(self, delta: JsonObject) -> Iterator[TextDelta]:
        # gateways send either name, some both with the same text
        thought = _joined(delta.get("reasoning_content")) or _joined(delta.get("reasoning"))
        content = delta.get("content")
        thought += _joined(content, kind="thinking")
        if thought:
            self._reasoning.append(thought)
            yield TextDelta(thought, "reasoning")
        text = _joined(content) + text_of(delta.get("refusal"))
        if text:
            self._text.append(text)
            yield TextDelta(text)

    def _count(self, usage: object) -> None:
        """Keep the largest figures: some servers repeat or grow them, none may be added."""
        if not isinstance(usage, dict):
            return
        before = self._usage or {"input_tokens": 0, "output_tokens": 0}
        self._usage = {
            "input_tokens": max(before["input_tokens"], _number(usage.get("prompt_tokens"))),
            "output_tokens": max(before["output_tokens"], _number(usage.get("completion_tokens"))),
        }

    def reply(self) -> ModelReply:
        """Return the complete turn after the end of the bytes.

        Raises Unreachable when the stream was cut, BadReply when it held no answer at all.
        """
        if not self.ended:
            raise self.cut()
        if not self._had_choice:
            raise self._fail(BadReply("LLM_EMPTY_REPLY"))
        reason = self._finish_reason or "stop"
        blocks, bad = self._calls.finish(truncated=reason == "length")
        stop = STOP_REASONS.get(reason, reason)
        if blocks and stop == "end_turn":
            stop = "tool_use"
        return ModelReply(
            content=[*self._prose(), *blocks],
            stop_reason=stop,
            usage=self._usage,
            model=self._model,
            id=self._id,
            invalid_arguments=tuple(bad),
        )

    def _prose(self) -> list[ContentBlock]:
        blocks: list[ContentBlock] = []
        if self._reasoning:
            thought: ReasoningBlock = {
                "type": "reasoning",
                "text": "".join(self._reasoning),
                "provenance": self._provider,
            }
            blocks.append(thought)
        if text := self.partial:
            blocks.append({"type": "text", "text": text})
        return blocks

    def cut(self) -> ProviderError:
        """Return the error of a stream that ended before its end."""
        return self._fail(Unreachable("LLM_STREAM_CUT"))

    def _fail(self, error: ProviderError) -> ProviderError:
        error.facts.setdefault("provider", self._provider)
        error.facts.setdefault("retryable", error.retryable)
        error.facts["partial"] = self.partial
        return error


def _first_choice(choices: object) -> JsonObject | None:
    """Return the choice with index 0 or without one; usage chunks have none (case s31)."""
    if not isinstance(choices, list):
        return None
    for choice in choices:
        if isinstance(choice, dict) and not choice.get("index"):
            return choice
    return None


def _joined(value: JsonValue, *, kind: str = "text") -> str:
    """Return a string, or the text of the parts of one kind in a list of parts."""
    if isinstance(value, str):
        return value if kind == "text" else ""
    if not isinstance(value, list):
        return ""
    parts = [part for part in value if isinstance(part, dict)]
    return "".join(
        _joined(part.get(kind)) for part in parts if text_of(part.get("type")) in {kind, ""}
    )


def _number(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value >= 0:
        return 0
    return int(value) if value < 2**53 else 0
