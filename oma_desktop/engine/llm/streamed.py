"""One streaming endpoint, whatever it speaks: request, drafts, clean end, the one owner of retries
(engine.md 8.6). What the bytes mean is the business of a `Wire`.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from typing import Final, Protocol

from typing_extensions import override

from oma_desktop.base.clock import Clock
from oma_desktop.engine.cancel import CancelToken
from oma_desktop.engine.llm.base import (
    ModelAdapter,
    ModelEvent,
    ModelReply,
    ModelRequest,
    TextDelta,
)
from oma_desktop.engine.llm.http import HttpEndpoint, interruptible
from oma_desktop.engine.llm.retry_policy import RetryNotice, RetryPolicy
from oma_desktop.engine.llm.sse import SseEvent, SseReader
from oma_desktop.engine.llm.text_calls import with_text_calls
from oma_desktop.model.errors import BadReply, ProviderError, Refused
from oma_desktop.model.json_value import JsonObject
from oma_desktop.model.message import TokenUsage

# After the end of the answer little can come; some servers send it late, some never.
USAGE_WAIT_S: Final = 5.0
# What a fast server sends in one piece is hundreds of events; others have their turn in between.
EVENTS_AT_ONCE: Final = 64
# A connection is only reused when its last bytes were read; they are usually there already.
DRAIN_WAIT_S: Final = 0.1


class Turn(Protocol):
    """One answer being received: open, ended by a clean end, or failed.

    Invariants: `reply` succeeds only after a clean end; `started` is True from the first piece of
    answer on, after which nothing may be sent again (engine.md 8.6).
    """

    done: bool
    """Nothing more can come."""

    @property
    def started(self) -> bool:
        """A piece of the answer was received."""
        ...

    @property
    def ended(self) -> bool:
        """The end is clean; figures may still follow until `done`."""
        ...

    @property
    def partial(self) -> str:
        """The visible text so far."""
        ...

    @property
    def usage(self) -> TokenUsage | None:
        """What the service has counted so far; None while it said nothing."""
        ...

    def take(self, event: SseEvent) -> list[TextDelta]:
        """Consume one event, return what became visible. Raises ProviderError."""
        ...

    def take_document(self, document: JsonObject) -> list[TextDelta]:
        """Consume the whole answer of a server that did not stream. Raises ProviderError."""
        ...

    def reply(self) -> ModelReply:
        """Return the complete answer. Raises ProviderError when there is none."""
        ...


class Wire(Protocol):
    """How one protocol spells requests and answers."""

    def path_of(self, request: ModelRequest) -> str:
        """Return where a request goes, below the base address."""
        ...

    @property
    def streams(self) -> bool:
        """Whether answers are asked for in pieces."""
        ...

    def encode(self, request: ModelRequest) -> bytes:
        """Return the body. Raises Refused for what cannot be said on this wire."""
        ...

    def turn(self) -> Turn:
        """Return what receives one answer."""
        ...

    @property
    def new_id(self) -> Callable[[], str]:
        """What names a call the server gave no id."""
        ...


def ignore(_notice: RetryNotice) -> None:
    """The default listener to retries."""


class StreamedAdapter(ModelAdapter):
    """One endpoint; safe for any number of concurrent turns.

    `name` is the provider id: it is the provenance of reasoning and the `provider` fact of errors.
    `on_retry` is called before each repeat and must not raise.
    """

    def __init__(
        self,
        wire: Wire,
        http: HttpEndpoint,
        *,
        clock: Clock,
        on_retry: Callable[[RetryNotice], None] = ignore,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self.name = http.provider
        self._wire = wire
        self._http = http
        self._clock = clock
        self._policy = RetryPolicy(jitter)
        self._on_retry = on_retry

    @property
    def origin(self) -> str:
        """Where requests go: scheme, host and port."""
        return self._http.origin

    @property
    def proxy(self) -> str | None:
        """The proxy calls go through, without its password."""
        return self._http.proxy

    @property
    @override
    def goes_to(self) -> str:
        """See ModelAdapter; redirects are refused, so calls go nowhere else."""
        return self._http.origin

    @property
    @override
    def is_local(self) -> bool:
        """Whether the server is one's own (see ModelAdapter)."""
        return self._http.is_local

    @override
    async def stream(
        self, request: ModelRequest, token: CancelToken
    ) -> AsyncGenerator[ModelEvent, None]:
        """Yield drafts, then the reply (see ModelAdapter.stream).

        Raises a ProviderError with the facts provider, retryable and, where known, status,
        retry_after_s, message, partial (text received so far) and usage (reported so far).
        """
        body = self._wire.encode(request)
        retries = 0
        while True:
            turn = self._wire.turn()
            try:
                async with aclosing(self._attempt(request, body, turn, token)) as events:
                    async for event in events:
                        yield event
            except ProviderError as error:
                failure = self._explained(error, turn, request)
                delay = self._policy.delay_s(failure, retries=retries, started=turn.started)
                if delay is None:
                    raise failure from None
            else:
                return
            retries += 1
            self._on_retry(self._notice(failure, request, retries, delay))
            async with interruptible(token):
                await self._clock.sleep(delay)

    async def once(
        self, request: ModelRequest, token: CancelToken
    ) -> AsyncGenerator[ModelEvent, None]:
        """As `stream`, but a failure is final: for asking whether anybody is there."""
        body = self._wire.encode(request)
        turn = self._wire.turn()
        try:
            async with aclosing(self._attempt(request, body, turn, token)) as events:
                async for event in events:
                    yield event
        except ProviderError as error:
            raise self._explained(error, turn, request) from None

    async def _attempt(
        self, request: ModelRequest, body: bytes, turn: Turn, token: CancelToken
    ) -> AsyncGenerator[ModelEvent, None]:
        async with self._http.post(self._wire.path_of(request), body, token) as response:
            kind = response.headers.get("content-type", "")
            if "html" in kind:
                raise Refused("LLM_NOT_A_STREAM", found=kind)
            async with aclosing(self._http.chunks(response)) as chunks:
                if self._is_whole(kind):
                    for delta in turn.take_document(await _document(chunks, token)):
                        yield delta
                else:
                    async with aclosing(_deltas(chunks, turn, token)) as deltas:
                        async for delta in deltas:
                            yield delta
        yield self._read(turn.reply(), request)

    def _is_whole(self, kind: str) -> bool:
        """Say whether an answer of this content type comes in one piece."""
        if "event-stream" in kind or "ndjson" in kind:
            return False
        return "json" in kind or not self._wire.streams

    def _read(self, reply: ModelReply, request: ModelRequest) -> ModelReply:
        """Look for calls in the text where that is wanted (engine.md 8.2)."""
        wanted = self.is_local if request.text_calls is None else request.text_calls
        return with_text_calls(reply, request.tools, self._wire.new_id) if wanted else reply

    def _explained(self, error: ProviderError, turn: Turn, request: ModelRequest) -> ProviderError:
        error.facts.setdefault("provider", self.name)
        error.facts.setdefault("model", request.model)
        error.facts.setdefault("retryable", error.retryable)
        if turn.partial:
            error.facts["partial"] = turn.partial
        if turn.usage is not None:
            error.facts["usage"] = turn.usage
        return self._http.redact(error)

    def _notice(
        self, error: ProviderError, request: ModelRequest, retries: int, delay_s: float
    ) -> RetryNotice:
        status = error.facts.get("status")
        return RetryNotice(
            provider=self.name,
            agent=request.agent,
            task_title=request.task_title,
            retry=retries,
            delay_s=delay_s,
            code=error.code,
            status=status if isinstance(status, int) else None,
        )

    @override
    async def close(self) -> None:
        """Release connections."""
        await self._http.close()


async def _deltas(
    chunks: AsyncIterator[bytes], turn: Turn, token: CancelToken
) -> AsyncGenerator[TextDelta, None]:
    """Feed the turn until it is done or the bytes end; errors after a clean end do not count."""
    reader = SseReader()
    while not turn.done:
        try:
            async with interruptible(token, USAGE_WAIT_S if turn.ended else None):
                chunk = await anext(chunks, b"")
        except (TimeoutError, ProviderError):
            if turn.ended and not token.aborted:
                return
            raise
        events = reader.feed(chunk) if chunk else reader.finish()
        for number, event in enumerate(events, 1):
            if number % EVENTS_AT_ONCE == 0:
                await asyncio.sleep(0)  # a server in a hurry must not hold the window
            try:
                deltas = turn.take(event)
            except BadReply:
                if chunk:
                    raise
                deltas = []  # the end of the bytes cut a line: `reply` says whether that matters
            for delta in deltas:
                yield delta
        if not chunk:
            return
    await _drain(chunks)


async def _drain(chunks: AsyncIterator[bytes]) -> None:
    try:
        async with asyncio.timeout(DRAIN_WAIT_S):
            async for _ in chunks:
                pass
    except (TimeoutError, ProviderError):
        pass  # the connection is closed instead of reused


async def _document(chunks: AsyncIterator[bytes], token: CancelToken) -> JsonObject:
    """Return the whole completion of a server that ignored `stream: true`."""
    async with interruptible(token):
        body = b"".join([chunk async for chunk in chunks])
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        raise BadReply("LLM_BAD_STREAM", found=body[:200].decode("utf-8", "replace")) from None
    if not isinstance(document, dict):
        raise BadReply("LLM_BAD_STREAM", found=body[:200].decode("utf-8", "replace"))
    return document
