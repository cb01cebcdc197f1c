"""Anthropic messages as an adapter (engine.md 8.4)."""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import httpx

from oma_desktop.base.clock import Clock
from oma_desktop.engine.llm.anthropic_request import encode_request
from oma_desktop.engine.llm.anthropic_stream import MessageTurn
from oma_desktop.engine.llm.base import ModelRequest
from oma_desktop.engine.llm.http import TIMEOUT, HttpEndpoint
from oma_desktop.engine.llm.retry_policy import RetryNotice
from oma_desktop.engine.llm.streamed import StreamedAdapter, ignore

VERSION: Final = "2023-06-01"


def new_call_id() -> str:
    """An id for a call the server gave none."""
    return f"toolu_{uuid.uuid4().hex[:24]}"


@dataclass(frozen=True, slots=True)
class MessagesWire:
    """Requests and answers of the messages protocol (see streamed.Wire)."""

    provider: str
    new_id: Callable[[], str]
    path: str
    streams: bool = True

    def path_of(self, request: ModelRequest) -> str:
        """The same for all."""
        return self.path

    def encode(self, request: ModelRequest) -> bytes:
        """See `encode_request`."""
        return encode_request(request, provider=self.provider, stream=self.streams)

    def turn(self) -> MessageTurn:
        """See `MessageTurn`."""
        return MessageTurn(provider=self.provider, new_id=self.new_id)


class AnthropicAdapter(StreamedAdapter):
    """One endpoint of the messages protocol; `base_url` with or without the final `/v1`."""

    def __init__(
        self,
        *,
        provider: str,
        base_url: str,
        key: str | None,
        clock: Clock,
        on_retry: Callable[[RetryNotice], None] = ignore,
        new_id: Callable[[], str] = new_call_id,
        jitter: Callable[[], float] = random.random,
        timeout: httpx.Timeout = TIMEOUT,
        streams: bool = True,
    ) -> None:
        """Raises InvalidInput for an unusable address, key or proxy; opens no connection.

        `streams` False asks for whole answers.
        """
        http = HttpEndpoint(
            base_url,
            provider=provider,
            key=key,
            now=clock.now,
            timeout=timeout,
            key_header="x-api-key",
            headers={"anthropic-version": VERSION},
        )
        versioned = base_url.rstrip("/").endswith("/v1")
        path = "/messages" if versioned else "/v1/messages"
        wire = MessagesWire(provider, new_id, path, streams)
        super().__init__(wire, http, clock=clock, on_retry=on_retry, jitter=jitter)
