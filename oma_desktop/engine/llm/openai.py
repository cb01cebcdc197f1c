"""OpenAI-compatible chat completions as an adapter (engine.md 8.2, 8.3)."""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import httpx

from oma_desktop.base.clock import Clock
from oma_desktop.engine.llm.base import ModelRequest
from oma_desktop.engine.llm.http import TIMEOUT, HttpEndpoint
from oma_desktop.engine.llm.openai_request import encode_request
from oma_desktop.engine.llm.openai_stream import TurnStream
from oma_desktop.engine.llm.retry_policy import RetryNotice
from oma_desktop.engine.llm.streamed import StreamedAdapter, ignore

PATH: Final = "/chat/completions"


def new_call_id() -> str:
    """An id for a call the server gave none."""
    return f"call_{uuid.uuid4().hex[:24]}"


@dataclass(frozen=True, slots=True)
class OpenAIWire:
    """Requests and answers of chat completions (see streamed.Wire)."""

    provider: str
    echo_reasoning: bool
    new_id: Callable[[], str]
    streams: bool = True

    def path_of(self, request: ModelRequest) -> str:
        """The same for all."""
        return PATH

    def encode(self, request: ModelRequest) -> bytes:
        """See `encode_request`."""
        echo = self.provider if self.echo_reasoning else None
        return encode_request(request, echo_reasoning_of=echo, stream=self.streams)

    def turn(self) -> TurnStream:
        """See `TurnStream`."""
        return TurnStream(provider=self.provider, new_id=self.new_id)


class OpenAIChatAdapter(StreamedAdapter):
    """One OpenAI-compatible endpoint."""

    def __init__(
        self,
        *,
        provider: str,
        base_url: str,
        key: str | None,
        clock: Clock,
        echo_reasoning: bool = False,
        on_retry: Callable[[RetryNotice], None] = ignore,
        new_id: Callable[[], str] = new_call_id,
        jitter: Callable[[], float] = random.random,
        timeout: httpx.Timeout = TIMEOUT,
        streams: bool = True,
    ) -> None:
        """Raises InvalidInput for an unusable address, key or proxy; opens no connection.

        `streams` False asks for whole answers.
        """
        http = HttpEndpoint(base_url, provider=provider, key=key, now=clock.now, timeout=timeout)
        wire = OpenAIWire(provider, echo_reasoning, new_id, streams)
        super().__init__(wire, http, clock=clock, on_retry=on_retry, jitter=jitter)
