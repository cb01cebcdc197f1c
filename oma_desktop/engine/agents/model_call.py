"""The streamed model calls of an agent, each with a deadline of its own (engine.md 3.8; DEV-22)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from oma_desktop.base.clock import Clock
from oma_desktop.base.supervisor import Supervisor
from oma_desktop.engine.agents import structured_output
from oma_desktop.engine.agents.deadline import Deadline
from oma_desktop.engine.agents.team import AgentJob, Team
from oma_desktop.engine.cancel import CancelToken
from oma_desktop.engine.llm.base import ModelAdapter, ModelReply, ModelRequest, TextDelta
from oma_desktop.engine.llm.provider_error import usage_in
from oma_desktop.engine.spans import span
from oma_desktop.engine.tools.grants import granted
from oma_desktop.model.context_options import Summarize, threshold
from oma_desktop.model.errors import BadReply, CallTimeout, OmaError
from oma_desktop.model.message import Message
from oma_desktop.model.team import AgentConfig

REASONING_CHARS: Final = 1200


class ModelCall:
    """Asks the agent's model, turn after turn. Drafts go to `on_draft`, never into the result."""

    def __init__(
        self,
        job: AgentJob,
        *,
        agent: AgentConfig,
        team: Team,
        clock: Clock,
        supervisor: Supervisor,
        on_draft: Callable[[TextDelta], None],
    ) -> None:
        self._job = job
        self._agent = agent
        self._team = team
        self._clock = clock
        self._supervisor = supervisor
        self._on_draft = on_draft
        self._adapter: ModelAdapter | None = None

    async def ask(
        self, conversation: list[Message], token: CancelToken, *, turn: int
    ) -> ModelReply:
        """Return one whole turn; `turn` counts those before it.

        Raises CallTimeout when the call's own limit came first, BadReply when the stream ended
        without a reply, and whatever OmaError the endpoint raised.
        """
        return await self._recorded(self._request(conversation, turn), token, self._on_draft)

    async def sum_up(
        self, instruction: str, text: str, token: CancelToken, *, turn: int
    ) -> ModelReply:
        """Return a summary of a transcript: a call of its own, without tools (engine.md 3.9).

        Its drafts are nobody's answer and are not told. Wire fields meant for the agent's own model
        do not go to another one. Raises like `ask`.
        """
        agent = self._agent
        strategy = agent.context_strategy
        named = strategy.summary_model if isinstance(strategy, Summarize) else None
        request = ModelRequest(
            model=named or agent.model or "",
            messages=[{"role": "user", "content": [{"type": "text", "text": text}]}],
            system_prompt=instruction,
            max_tokens=agent.max_tokens,
            extra_body=agent.extra_body if named in {None, agent.model} else None,
            agent=agent.name,
            task_title=self._job.task_title,
            attempt=self._job.attempt,
            turn=turn,
            phase="summary",
        )
        return await self._recorded(request, token, lambda _draft: None)

    @property
    def ignores_tools_often(self) -> bool:
        """Whether this is a local server and tools are offered (engine.md 8.5)."""
        return self._ready().is_local and bool(granted(self._agent, self._team.tools))

    def _ready(self) -> ModelAdapter:
        self._adapter = self._adapter or self._team.adapter_for(self._agent)
        return self._adapter

    async def _recorded(
        self, request: ModelRequest, token: CancelToken, on_draft: Callable[[TextDelta], None]
    ) -> ModelReply:
        about = span(
            "llm",
            "chat",
            llm_model=request.model,
            llm_provider=self._agent.provider,
            llm_turn=request.turn,
            llm_phase=request.phase,
        )
        with about as recorded:
            reply = await self._whole(request, token, on_draft)
            recorded.set(llm_stop_reason=reply.stop_reason)
            if reply.usage is not None:
                recorded.usage(reply.usage)
            return reply

    async def _whole(
        self, request: ModelRequest, token: CancelToken, on_draft: Callable[[TextDelta], None]
    ) -> ModelReply:
        adapter = self._ready()
        limit = self._agent.call_timeout_ms
        call = Deadline(token, limit_ms=limit, clock=self._clock, supervisor=self._supervisor)
        reply: ModelReply | None = None
        with call as call_token:
            try:
                async for event in adapter.stream(request, call_token):
                    if isinstance(event, TextDelta):
                        on_draft(event)
                    else:
                        reply = event
            except OmaError as error:
                if not call.expired or token.aborted:
                    raise
                raise CallTimeout(
                    "LLM_CALL_TIMEOUT",
                    agent=self._agent.name,
                    timeout_ms=limit,
                    usage=usage_in(error),
                ) from None
        if reply is None:
            raise BadReply("MODEL_REPLY_MISSING", agent=self._agent.name, provider=adapter.name)
        return reply

    def _request(self, conversation: list[Message], turn: int) -> ModelRequest:
        agent = self._agent
        as_text = bool(agent.preserve_reasoning_as_text)
        shorten = (
            as_text if agent.compress_reasoning_text is None else agent.compress_reasoning_text
        )
        return ModelRequest(
            model=agent.model or "",
            messages=list(conversation),
            system_prompt=_system_prompt(agent),
            tools=[tool.definition for tool in granted(agent, self._team.tools)],
            max_tokens=agent.max_tokens,
            temperature=agent.temperature,
            top_p=agent.top_p,
            top_k=agent.top_k,
            min_p=agent.min_p,
            frequency_penalty=agent.frequency_penalty,
            presence_penalty=agent.presence_penalty,
            parallel_tool_calls=agent.parallel_tool_calls,
            extra_body=agent.extra_body,
            thinking=agent.thinking,
            agent=agent.name,
            task_title=self._job.task_title,
            attempt=self._job.attempt,
            turn=turn,
            reasoning_as_text=as_text,
            text_calls=agent.text_tool_calls,
            reasoning_chars=threshold(shorten, default=REASONING_CHARS),
        )


def _system_prompt(agent: AgentConfig) -> str | None:
    if agent.output_schema is None:
        return agent.system_prompt
    asked = structured_output.instruction(agent.output_schema)
    return f"{agent.system_prompt}\n\n{asked}" if agent.system_prompt else asked
