"""The `scripted` provider: replies from a file through the same streaming path as any other."""

from __future__ import annotations

import asyncio
import itertools
import math
from collections.abc import AsyncIterator, Callable
from typing import Final, cast

from typing_extensions import override

from oma_desktop.base.clock import Clock
from oma_desktop.engine.cancel import CancelToken
from oma_desktop.engine.llm.anthropic_stream import MessageTurn
from oma_desktop.engine.llm.base import (
    InvalidArguments,
    ModelAdapter,
    ModelEvent,
    ModelReply,
    ModelRequest,
    TextDelta,
)
from oma_desktop.engine.llm.openai_calls import parse_arguments
from oma_desktop.engine.llm.openai_stream import TurnStream
from oma_desktop.engine.llm.provider_error import from_status
from oma_desktop.engine.llm.sse import SseReader
from oma_desktop.engine.llm.streamed import Turn
from oma_desktop.model.errors import ProviderError, Refused
from oma_desktop.model.json_text import stringify, utf16_length
from oma_desktop.model.json_value import JsonObject, JsonValue
from oma_desktop.model.message import ContentBlock, Message, ReasoningBlock, TokenUsage
from oma_desktop.model.script import (
    Script,
    ScriptedAttempts,
    ScriptedCall,
    ScriptedError,
    ScriptedReasoning,
    ScriptedReply,
    ScriptedStream,
)

CHUNK_LENGTH: Final = 24
NAP_S: Final = 0.1
"""Long waits are cut into naps, so that a stop is noticed in time."""


class ScriptedAdapter(ModelAdapter):
    """Answers by task title and turn. `speed` multiplies every delay; 0 means none at all."""

    name = "scripted"

    def __init__(self, script: Script, *, clock: Clock, speed: float = 1.0) -> None:
        self._script = script
        self._clock = clock
        self._speed = speed

    @property
    @override
    def is_offline(self) -> bool:
        """A file answers."""
        return True

    @override
    async def stream(self, request: ModelRequest, token: CancelToken) -> AsyncIterator[ModelEvent]:
        """Yield drafts of the scripted reply, then the reply.

        Raises Refused SCRIPT_REPLY_MISSING when the file has nothing for this task, and the
        scripted error where the script wants one.
        """
        reply = self._summary(request) if request.phase == "summary" else self._find(request)
        await self._wait(reply.delay_ms, token)
        pause = self._script.chunk_ms if reply.chunk_ms is None else reply.chunk_ms
        if reply.stream is not None:
            async for event in self._bytes(reply.stream, pause, token):
                yield event
            return
        if reply.reasoning is not None and reply.reasoning.text:
            yield TextDelta(reply.reasoning.text, "reasoning")
        for start in range(0, len(reply.text), CHUNK_LENGTH):
            await self._wait(pause, token)
            yield TextDelta(reply.text[start : start + CHUNK_LENGTH])
        if reply.error is not None:
            raise _error(reply.error, reply)
        content = _content(reply)
        yield ModelReply(
            content=content,
            invalid_arguments=_unusable(reply),
            stop_reason=reply.stop_reason or ("tool_use" if reply.tools else "end_turn"),
            usage=reply.usage or usage_of(request.messages, content),
            model=request.model or "scripted",
            id=f"scripted-{turn_of(request.messages)}",
        )

    async def _bytes(
        self, stream: ScriptedStream, pause: float, token: CancelToken
    ) -> AsyncIterator[ModelEvent]:
        """Read scripted bytes as those of a server; raises what they deserve."""
        reader, turn = SseReader(), _turn(stream, self.name)
        body = stream.body.encode("utf-8", "surrogatepass")
        size = stream.piece_bytes or max(1, len(body))
        pieces = [body[at : at + size] for at in range(0, len(body), size)]
        for piece in [*pieces, b""]:
            await self._wait(pause, token)
            for event in reader.feed(piece) if piece else reader.finish():
                for delta in turn.take(event):
                    yield delta
        yield turn.reply()

    @override
    async def close(self) -> None:
        """Nothing to release."""

    def _find(self, request: ModelRequest) -> ScriptedReply:
        replies = self._script.replies
        title = request.task_title or "@other"
        for key in (f"{request.agent}::{title}", title, f"{request.agent}::@default", "@default"):
            if found := replies.get(key):
                turns = found
                if isinstance(found, ScriptedAttempts):
                    turns = found.attempts[min(request.attempt, len(found.attempts)) - 1]
                if turns:
                    turns = cast("list[ScriptedReply]", turns)
                    number = max(turn_of(request.messages), request.turn)
                    return turns[min(number, len(turns) - 1)]
        raise Refused(
            "SCRIPT_REPLY_MISSING",
            agent=request.agent,
            task=title,
            provider=self.name,
            retryable=False,
        )

    def _summary(self, request: ModelRequest) -> ScriptedReply:
        """A script may say how it sums up (`@summary`); it need not."""
        found = self._script.replies.get("@summary")
        if isinstance(found, list) and found:
            return found[0]
        return ScriptedReply(text=f"A scripted summary for {request.task_title}.")

    async def _wait(self, delay_ms: float, token: CancelToken) -> None:
        left = delay_ms / 1000 * self._speed
        while left > 0 and not token.aborted:
            await self._clock.sleep(min(left, NAP_S))
            left -= NAP_S
        await asyncio.sleep(0)
        if token.aborted:
            raise ProviderError("LLM_CALL_ABORTED", provider=self.name, retryable=False)


def turn_of(messages: list[Message]) -> int:
    """The index of the reply: how many assistant turns the conversation has (SCRIPTS.md)."""
    return sum(1 for message in messages if message["role"] == "assistant")


def usage_of(messages: list[Message], content: list[ContentBlock]) -> TokenUsage:
    """What a reply without `usage` costs: a fixed part and a quarter of the JSON text.

    The numbers reproduce the fixtures, so that restored totals can be compared with them.
    """
    asked = utf16_length(stringify(cast("JsonValue", messages)))
    said = utf16_length(stringify(cast("JsonValue", content)))
    return {
        "input_tokens": 40 + math.ceil(asked / 4),
        "output_tokens": 6 + math.ceil(said / 4),
    }


def _content(reply: ScriptedReply) -> list[ContentBlock]:
    blocks: list[ContentBlock] = []
    if reply.reasoning is not None:
        blocks.append(_reasoning(reply.reasoning))
    if reply.text:
        blocks.append({"type": "text", "text": reply.text})
    blocks.extend(
        {"type": "tool_use", "id": call.id, "name": call.name, "input": _input(call)}
        for call in reply.tools
    )
    return blocks


def _input(call: ScriptedCall) -> JsonObject:
    """The arguments; empty where they are unusable, such a call never runs."""
    if call.raw_input is None:
        return call.input
    found = parse_arguments(call.raw_input)
    return {} if isinstance(found, str) else found


def _reasoning(reasoning: ScriptedReasoning) -> ReasoningBlock:
    block: ReasoningBlock = {"type": "reasoning", "text": reasoning.text}
    if reasoning.signature is not None:
        block["signature"] = reasoning.signature
    if reasoning.redacted_data is not None:
        block["redactedData"] = reasoning.redacted_data
    if reasoning.provenance is not None:
        block["provenance"] = reasoning.provenance
    return block


def _turn(stream: ScriptedStream, provider: str) -> Turn:
    numbers = itertools.count(1)
    made: Callable[[], str] = lambda: f"scripted_{next(numbers)}"  # noqa: E731
    if stream.wire == "anthropic":
        return MessageTurn(provider=provider, new_id=made)
    return TurnStream(provider=provider, new_id=made)


def _unusable(reply: ScriptedReply) -> tuple[InvalidArguments, ...]:
    found = []
    for call in reply.tools:
        if call.raw_input is not None:
            problem = parse_arguments(call.raw_input)
            if isinstance(problem, str):
                found.append(InvalidArguments(call.id, call.raw_input, problem))
    return tuple(found)


def _error(error: ScriptedError, reply: ScriptedReply) -> ProviderError:
    if error.status is None:
        failure = ProviderError(
            "LLM_STREAM_ERROR", provider="scripted", message=error.message, retryable=True
        )
    else:
        failure = from_status(
            error.status,
            provider="scripted",
            message=error.message,
            retry_after_s=error.retry_after_s,
        )
    if reply.text:
        failure.facts["partial"] = reply.text
    if reply.usage is not None:
        failure.facts["usage"] = reply.usage
    return failure
