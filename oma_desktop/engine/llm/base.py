"""What the engine asks of a model endpoint (engine.md 8.1): one streaming call, one clean end."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Literal, Protocol

from oma_desktop.engine.cancel import CancelToken
from oma_desktop.model.json_value import JsonObject
from oma_desktop.model.message import ContentBlock, Message, TokenUsage, ToolDefinition


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One turn. `task_title`, `agent`, `attempt`, `turn`, `phase`: for scripted models and logs.

    `turn` counts the turns before this one, also those no longer in `messages`; `summary` is a call
    that sums up a conversation (engine.md 3.9). With `reasoning_as_text` reasoning the wire has no
    place for is sent as text, shortened from `reasoning_chars` characters on. `text_calls` says
    whether tool calls written as text count; None: where the server is a local one.
    """

    model: str
    messages: list[Message]
    system_prompt: str | None = None
    tools: list[ToolDefinition] = field(default_factory=list)
    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    min_p: float | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    parallel_tool_calls: bool | None = None
    extra_body: JsonObject | None = None
    thinking: JsonObject | None = None
    agent: str = ""
    task_title: str = ""
    attempt: int = 1
    turn: int = 0
    phase: Literal["turn", "summary"] = "turn"
    reasoning_as_text: bool = False
    reasoning_chars: int | None = None
    text_calls: bool | None = None


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of visible or reasoning text; a draft until the turn is complete."""

    text: str
    kind: Literal["text", "reasoning"] = "text"


@dataclass(frozen=True, slots=True)
class InvalidArguments:
    """A tool call whose arguments were not a JSON object (DEV-27): it must never execute."""

    call_id: str
    raw: str
    problem: str


@dataclass(frozen=True, slots=True)
class ModelReply:
    """The complete turn: only a clean end of the stream makes one.

    `content` keeps model order; tool_use blocks with unusable arguments have `input` {} and an
    entry in `invalid_arguments`. `usage` is None where the provider reported none.
    """

    content: list[ContentBlock]
    stop_reason: str
    usage: TokenUsage | None
    model: str = ""
    id: str = ""
    invalid_arguments: tuple[InvalidArguments, ...] = ()


ModelEvent = TextDelta | ModelReply


class ModelAdapter(Protocol):
    """One endpoint. `stream` yields drafts, then exactly one ModelReply as its last item.

    Raises a ProviderError (kind, status, retryable, retry_after_s as facts) when there is no clean
    end; partial text is lost with it. Retries happen inside, and never after the first streamed
    byte. When `token.aborted` the connection is closed and asyncio.CancelledError is NOT used:
    ProviderError("LLM_CALL_ABORTED") is raised.
    """

    name: str

    @property
    def is_local(self) -> bool:
        """A server on the own machine or network: its models often cannot call tools (8.5)."""
        return False

    @property
    def goes_to(self) -> str | None:
        """The address calls go to; None: it does not say, so no egress policy lets it pass."""
        return None

    @property
    def is_offline(self) -> bool:
        """It reaches nothing outside this process: no egress policy concerns it."""
        return False

    def stream(self, request: ModelRequest, token: CancelToken) -> AsyncIterator[ModelEvent]:
        """Start the turn."""
        ...

    async def close(self) -> None:
        """Release connections."""
        ...
