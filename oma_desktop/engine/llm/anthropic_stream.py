"""One messages turn as a state machine: open, ended by a clean end, or failed (engine.md 8.4).

A turn is complete only when a stop reason or `message_stop` was seen. Figures are cumulative: the
largest counts, none is added twice.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from oma_desktop.engine.llm.base import InvalidArguments, ModelReply, TextDelta
from oma_desktop.engine.llm.openai_calls import object_of, parse_arguments, text_of
from oma_desktop.engine.llm.provider_error import from_stream_error
from oma_desktop.engine.llm.sse import SseEvent
from oma_desktop.model.errors import BadReply, ProviderError, Unreachable
from oma_desktop.model.json_value import JsonObject, JsonValue
from oma_desktop.model.message import ContentBlock, ReasoningBlock, TokenUsage

_INPUT: Final = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
_CUT: Final = "the output limit was reached before the arguments"


@dataclass(slots=True)
class _Block:
    """A content block that grows. `raw` is the JSON of a tool's input so far."""

    kind: str
    about: JsonObject
    text: list[str] = field(default_factory=list)
    signature: list[str] = field(default_factory=list)
    raw: list[str] = field(default_factory=list)


class MessageTurn:
    """Consumes the events of one response (see streamed.Turn)."""

    def __init__(self, *, provider: str, new_id: Callable[[], str]) -> None:
        self._provider = provider
        self._new_id = new_id
        self._blocks: dict[int, _Block] = {}
        self._figures: dict[str, int] = {}
        self._id = ""
        self._model = ""
        self._stop_reason = ""
        self._began = False
        self.done = False

    @property
    def started(self) -> bool:
        """True once a piece of the answer was received."""
        return bool(self._blocks)

    @property
    def ended(self) -> bool:
        """True once the end is clean."""
        return self.done or bool(self._stop_reason)

    @property
    def partial(self) -> str:
        """The visible text so far."""
        return "".join("".join(b.text) for b in self._blocks.values() if b.kind == "text")

    # ------------------------------------------------------------------ receiving

    def take(self, event: SseEvent) -> list[TextDelta]:
        """Consume one event, return what became visible.

        Raises a ProviderError for an error in the stream (case s34) and for data that is no object.
        """
        data = event.data.strip()
        if self.done or not data:
            return []
        try:
            found = json.loads(data)
        except (ValueError, RecursionError):
            raise self._fail(BadReply("LLM_BAD_STREAM", found=data[:200])) from None
        if not isinstance(found, dict):
            raise self._fail(BadReply("LLM_BAD_STREAM", found=data[:200]))
        kind = text_of(found.get("type")) or event.name
        if kind == "error" or found.get("error"):
            raise self._fail(from_stream_error(found.get("error") or found, self._provider))
        return self._event(kind, found)

    def _event(self, kind: str, found: JsonObject) -> list[TextDelta]:
        match kind:
            case "message_start":
                self._message(object_of(found.get("message")))
            case "content_block_start":
                return self._begin(_index(found), object_of(found.get("content_block")))
            case "content_block_delta":
                return self._grow(_index(found), object_of(found.get("delta")))
            case "message_delta":
                delta = object_of(found.get("delta"))
                self._stop_reason = text_of(delta.get("stop_reason")) or self._stop_reason
                self._count(found.get("usage"))
            case "message_stop":
                self.done = True
        return []

    def take_document(self, document: JsonObject) -> list[TextDelta]:
        """Consume the whole message of a server that did not stream."""
        if document.get("error"):
            raise self._fail(from_stream_error(document["error"], self._provider))
        self._message(document)
        shown: list[TextDelta] = []
        blocks = document.get("content")
        for index, block in enumerate(blocks if isinstance(blocks, list) else []):
            shown += self._begin(index, object_of(block))
        self._stop_reason = text_of(document.get("stop_reason"))
        self.done = self._began and isinstance(blocks, list)
        return shown

    def _message(self, message: JsonObject) -> None:
        self._began = True
        self._id = text_of(message.get("id")) or self._id
        self._model = text_of(message.get("model")) or self._model
        self._count(message.get("usage"))

    def _begin(self, index: int, about: JsonObject) -> list[TextDelta]:
        block = self._blocks[index] = _Block(text_of(about.get("type")), about)
        word = "thinking" if block.kind == "thinking" else "text"
        shown = self._say(block, text_of(about.get(word)))
        if signature := text_of(about.get("signature")):
            block.signature.append(signature)
        return shown

    def _grow(self, index: int, delta: JsonObject) -> list[TextDelta]:
        kind = text_of(delta.get("type"))
        block = self._blocks.get(index)
        if block is None:  # a server that never opened it
            opened = {"input_json_delta": "tool_use", "thinking_delta": "thinking"}.get(
                kind, "text"
            )
            block = self._blocks[index] = _Block(opened, {"type": opened})
        match kind:
            case "text_delta":
                return self._say(block, text_of(delta.get("text")))
            case "thinking_delta":
                return self._say(block, text_of(delta.get("thinking")))
            case "signature_delta":
                block.signature.append(text_of(delta.get("signature")))
            case "input_json_delta":
                block.raw.append(text_of(delta.get("partial_json")))
        return []

    def _say(self, block: _Block, text: str) -> list[TextDelta]:
        if not text:
            return []
        block.text.append(text)
        return [TextDelta(text, "reasoning" if block.kind == "thinking" else "text")]

    def _count(self, usage: JsonValue) -> None:
        if not isinstance(usage, dict):
            return
        for name in (*_INPUT, "output_tokens"):
            value = usage.get(name)
            if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
                self._figures[name] = max(self._figures.get(name, 0), value)

    # ------------------------------------------------------------------ the answer

    def reply(self) -> ModelReply:
        """Return the complete turn after the end of the bytes.

        Raises Unreachable when the stream was cut, BadReply when it held no answer at all.
        """
        if not self.ended:
            raise self._fail(Unreachable("LLM_STREAM_CUT"))
        if not self._began and not self._blocks:
            raise self._fail(BadReply("LLM_EMPTY_REPLY"))
        bad: list[InvalidArguments] = []
        content = self._content(bad)
        stop = self._stop_reason or "end_turn"
        if stop == "end_turn" and any(b["type"] == "tool_use" for b in content):
            stop = "tool_use"
        return ModelReply(
            content=content,
            stop_reason=stop,
            usage=self.usage,
            model=self._model,
            id=self._id,
            invalid_arguments=tuple(bad),
        )

    def _content(self, bad: list[InvalidArguments]) -> list[ContentBlock]:
        content: list[ContentBlock] = []
        last = list(self._blocks)[-1:]
        for index, block in self._blocks.items():
            text = "".join(block.text)
            match block.kind:
                case "text":
                    if text:
                        content.append({"type": "text", "text": text})
                case "thinking" | "redacted_thinking":
                    content.append(self._reasoning(block, text))
                case "tool_use":
                    cut = self._stop_reason == "max_tokens" and [index] == last
                    content.append(self._call(block, bad, cut=cut))
                case other:
                    content.append({"type": "text", "text": f"[unsupported content: {other}]"})
        return content

    def _reasoning(self, block: _Block, text: str) -> ReasoningBlock:
        thought: ReasoningBlock = {"type": "reasoning", "text": text}
        if block.kind == "redacted_thinking":
            thought["redactedData"] = text_of(block.about.get("data"))
        elif block.signature:
            thought["signature"] = "".join(block.signature)
        thought["provenance"] = self._provider
        return thought

    def _call(self, block: _Block, bad: list[InvalidArguments], *, cut: bool) -> ContentBlock:
        """A call whose input is no JSON object is kept and must never run (DEV-27)."""
        call_id = text_of(block.about.get("id")) or self._new_id()
        raw = "".join(block.raw)
        given = object_of(block.about.get("input"))
        arguments = parse_arguments(raw) if raw.strip() or not given else given
        if cut and not raw.strip() and not given:
            arguments = _CUT
        if isinstance(arguments, str):
            bad.append(InvalidArguments(call_id, raw, arguments))
            arguments = {}
        name = text_of(block.about.get("name"))
        return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}

    @property
    def usage(self) -> TokenUsage | None:
        """What the service has counted so far; None while it said nothing.

        Tokens read from and written to the service's cache are input too.
        """
        if not self._figures:
            return None
        return {
            "input_tokens": sum(self._figures.get(name, 0) for name in _INPUT),
            "output_tokens": self._figures.get("output_tokens", 0),
        }

    def _fail(self, error: ProviderError) -> ProviderError:
        error.facts.setdefault("provider", self._provider)
        error.facts.setdefault("retryable", error.retryable)
        error.facts["partial"] = self.partial
        return error


def _index(found: JsonObject) -> int:
    index = found.get("index")
    return index if isinstance(index, int) and not isinstance(index, bool) else 0
