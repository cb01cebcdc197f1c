"""OpenAI-compatible chat completions: the adapter, the one owner of retries (engine.md 8.2-8.6)."""

from __future__ import annotations

import asyncio
import json
import random
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from typing import Final

import httpx
from typing_extensions import override

from oma_desktop.base.clock import Clock
from oma_desktop.engine.cancel import CancelToken
from oma_desktop.engine.llm.base import ModelAdapter, ModelEvent, ModelRequest, TextDelta
from oma_desktop.engine.llm.http import TIMEOUT, HttpEndpoint, interruptible
from oma_desktop.engine.llm.openai_request import encode_request
from oma_desktop.engine.llm.openai_stream import TurnStream
from oma_desktop.engine.llm.retry_policy import RetryNotice, RetryPolicy
from oma_desktop.engine.llm.sse import SseReader
from oma_desktop.model.errors import BadReply, ProviderError, Refused
from oma_desktop.model.json_value import JsonObject

PATH: Final = "/chat/completions"
# After the finish reason only a usage chunk and [DONE] can come; some servers send neither.
USAGE_WAIT_S: Final = 5.0
# A connection is only reused when its last bytes were read; they are usually there already.
DRAIN_WAIT_S: Final = 0.1


def _new_call_id() -> str:
    return f"call_{uuid.uuid4().hex[:24]}"


def _ignore(_notice: RetryNotice) -> None:
    """The default listener."""


class OpenAIChatAdapter(ModelAdapter):
    """One OpenAI-compatible endpoint; safe for any number of concurrent turns.

    `name` is the provider id: it is the provenance of reasoning and the `provider` fact of errors.
    `on_retry` is called before each repeat and must not raise.
    """

    def __init__(
        self,
        *,
        provider: str,
        base_url: str,
        key: str | None,
        clock: Clock,
        echo_reasoning: bool = False,
        on_retry: Callable[[RetryNotice], None] = _ignore,
        new_id: Callable[[], str] = _new_call_id,
        jitter: Callable[[], float] = random.random,
        timeout: httpx.Timeout = TIMEOUT,
    ) -> None:
        """Raises InvalidInput for an unusable address, key or proxy; opens no connection."""
        self.name = provider
        self._http = HttpEndpoint(
            base_url, provider=provider, key=key, now=clock.now, timeout=timeout
        )
        self._clock = clock
        self._echo = echo_reasoning
        self._policy = RetryPolicy(jitter)
        self._on_retry = on_retry
        self._new_id = new_id

    @property
    def origin(self) -> str:
        """Where requests go: scheme, host and port."""
        return self._http.origin

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
        retry_after_s, message and partial (text received so far).
        """
        body = encode_request(request, echo_reasoning_of=self.name if self._echo else None)
        retries = 0
        while True:
            turn = TurnStream(provider=self.name, new_id=self._new_id)
            try:
                async with aclosing(self._attempt(body, turn, token)) as events:
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

    async def _attempt(
        self, body: bytes, turn: TurnStream, token: CancelToken
    ) -> AsyncGenerator[ModelEvent, None]:
        async with self._http.post(PATH, body, token) as response:
            kind = response.headers.get("content-type", "")
            if "html" in kind:
                raise Refused("LLM_NOT_A_STREAM", found=kind)
            async with aclosing(self._http.chunks(response)) as chunks:
                if "json" in kind and "event-stream" not in kind and "ndjson" not in kind:
                    for delta in turn.take_chunk(await _document(chunks, token)):
                        yield delta
                else:
                    async with aclosing(_deltas(chunks, turn, token)) as deltas:
                        async for delta in deltas:
                            yield delta
        yield turn.reply()

    def _explained(
        self, error: ProviderError, turn: TurnStream, request: ModelRequest
    ) -> ProviderError:
        error.facts.setdefault("provider", self.name)
        error.facts.setdefault("model", request.model)
        error.facts.setdefault("retryable", error.retryable)
        if turn.partial:
            error.facts["partial"] = turn.partial
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
    chunks: AsyncIterator[bytes], turn: TurnStream, token: CancelToken
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
        for event in events:
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
