"""Fixtures of the adapter tests: an adapter with a fake clock, and a way to read a whole turn."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest

from oma_desktop.base.sentences import one_line
from oma_desktop.engine.cancel import CancelToken
from oma_desktop.engine.llm.base import ModelReply, ModelRequest, TextDelta
from oma_desktop.engine.llm.openai import OpenAIChatAdapter
from oma_desktop.engine.llm.retry_policy import RetryNotice
from oma_desktop.model.errors import ProviderError

HELLO = ModelRequest("m", [{"role": "user", "content": [{"type": "text", "text": "hello"}]}])


@dataclass
class FakeClock:
    """Sleeps at once and remembers how long."""

    at: datetime = datetime(2026, 1, 5, 8, tzinfo=UTC)
    slept: list[float] = field(default_factory=list)

    def now(self) -> datetime:
        return self.at

    def monotonic(self) -> float:
        return sum(self.slept)

    async def sleep(self, delay_s: float) -> None:
        self.slept.append(delay_s)


@dataclass
class Turn:
    """What one call of `stream` gave."""

    deltas: list[TextDelta]
    reply: ModelReply

    @property
    def text(self) -> str:
        return "".join(b["text"] for b in self.reply.content if b["type"] == "text")

    @property
    def calls(self) -> list[tuple[str, dict[str, Any]]]:
        return [(b["name"], b["input"]) for b in self.reply.content if b["type"] == "tool_use"]


@dataclass
class Bench:
    """Makes adapters that share one clock and one list of retry notices."""

    clock: FakeClock = field(default_factory=FakeClock)
    notices: list[RetryNotice] = field(default_factory=list)
    adapters: list[OpenAIChatAdapter] = field(default_factory=list)

    def adapter(self, base_url: str, **more: Any) -> OpenAIChatAdapter:
        options: dict[str, Any] = {
            "provider": "demo",
            "key": "sk-secret-1",
            "clock": self.clock,
            "on_retry": self.notices.append,
            "new_id": lambda: "made-up-id",
            "jitter": lambda: 0.0,
        }
        adapter = OpenAIChatAdapter(base_url=base_url, **{**options, **more})
        self.adapters.append(adapter)
        return adapter

    async def fail(self, adapter: OpenAIChatAdapter, request: ModelRequest = HELLO) -> str:
        """Return the sentence of the error one turn ends with."""
        with pytest.raises(ProviderError) as caught:
            await self.ask(adapter, request)
        return one_line(caught.value.code, caught.value.facts)

    async def ask(
        self,
        adapter: OpenAIChatAdapter,
        request: ModelRequest = HELLO,
        token: CancelToken | None = None,
    ) -> Turn:
        """Read one turn to its end."""
        events = [e async for e in adapter.stream(request, token or CancelToken())]
        *deltas, reply = events
        assert isinstance(reply, ModelReply)
        assert all(isinstance(d, TextDelta) for d in deltas)
        return Turn(deltas, reply)


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    made = Bench()
    yield made
    for adapter in made.adapters:
        await adapter.close()


@pytest.fixture
def cases() -> Callable[[str], bytes]:
    """Read a file of tests/cases."""
    from pathlib import Path

    root = Path(__file__).parents[3] / "cases"
    return lambda name: (root / name).read_bytes()
