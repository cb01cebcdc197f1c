"""Azure OpenAI: chat completions below a deployment, with a version and a header of its own
(engine.md 8.8). Addresses that end in `/openai/v1` are its newer form, without both.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

import httpx
from typing_extensions import override

from oma_desktop.base.clock import Clock
from oma_desktop.engine.llm.base import ModelRequest
from oma_desktop.engine.llm.http import TIMEOUT, HttpEndpoint
from oma_desktop.engine.llm.openai import PATH, OpenAIWire, new_call_id
from oma_desktop.engine.llm.retry_policy import RetryNotice
from oma_desktop.engine.llm.streamed import StreamedAdapter, ignore

DEFAULT_VERSION: Final = "2024-10-21"
_UNVERSIONED: Final = "/openai/v1"


@dataclass(frozen=True, slots=True)
class AzureWire(OpenAIWire):
    """`deployment` stands for every model; without it the model's name is its deployment's."""

    deployment: str | None = None
    versioned: bool = True

    @override
    def path_of(self, request: ModelRequest) -> str:
        """Return the path below the address of the resource."""
        if not self.versioned:
            return PATH
        return f"/openai/deployments/{quote(self.deployment or request.model, safe='')}{PATH}"


class AzureChatAdapter(StreamedAdapter):
    """One Azure OpenAI resource; `base_url` is its address, with or without `/openai`."""

    def __init__(
        self,
        *,
        provider: str,
        base_url: str,
        key: str | None,
        clock: Clock,
        api_version: str = DEFAULT_VERSION,
        deployment: str | None = None,
        on_retry: Callable[[RetryNotice], None] = ignore,
        new_id: Callable[[], str] = new_call_id,
        jitter: Callable[[], float] = random.random,
        timeout: httpx.Timeout = TIMEOUT,
        streams: bool = True,
    ) -> None:
        """As OpenAIChatAdapter."""
        base = base_url.rstrip("/")
        versioned = not base.endswith(_UNVERSIONED)
        http = HttpEndpoint(
            base.removesuffix("/openai"),
            provider=provider,
            key=key,
            now=clock.now,
            timeout=timeout,
            key_header="api-key",
            query={"api-version": api_version} if versioned else None,
        )
        wire = AzureWire(
            provider,
            echo_reasoning=False,
            new_id=new_id,
            streams=streams,
            deployment=deployment,
            versioned=versioned,
        )
        super().__init__(wire, http, clock=clock, on_retry=on_retry, jitter=jitter)
