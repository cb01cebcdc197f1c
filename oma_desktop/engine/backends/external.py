"""Runs a task on an external agent: the whole of it or nothing (engine.md 10.2-10.4).

What such an agent did is known when it ends, so there are no turns and no boundaries; a task that
was interrupted begins again. It has no tools of ours, so no call of it can be suspended.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from oma_desktop.base.clock import Clock
from oma_desktop.base.lanes import Lanes
from oma_desktop.base.supervisor import Supervisor
from oma_desktop.engine.agents.agent_outcome import failed, stopped
from oma_desktop.engine.agents.deadline import Deadline
from oma_desktop.engine.agents.team import AgentJob, Team
from oma_desktop.engine.backends.acp_agent import AcpAgents
from oma_desktop.engine.backends.answer import Answer, Asked
from oma_desktop.engine.backends.faults import BackendUnusable
from oma_desktop.engine.backends.process_agent import ProcessAgent
from oma_desktop.engine.backends.prompt import prompt_of
from oma_desktop.engine.bus import EventBus
from oma_desktop.engine.cancel import CancelToken, StopReason
from oma_desktop.engine.spans import span
from oma_desktop.engine.tools.builtin.command import CommandRunner
from oma_desktop.model.backend import AcpBackend, ProcessBackend
from oma_desktop.model.errors import OmaError
from oma_desktop.model.message import Message
from oma_desktop.model.result import AgentRunResult, RunStatus
from oma_desktop.model.team import AgentConfig


class ExternalAgents:
    """The programs of one team in one attempt. `environ` is ours; they see a few names of it.

    `close` ends what still runs.
    """

    def __init__(
        self,
        *,
        clock: Clock,
        lanes: Lanes,
        supervisor: Supervisor,
        bus: EventBus,
        environ: Mapping[str, str],
    ) -> None:
        self._clock = clock
        self._supervisor = supervisor
        self._bus = bus
        self._process = ProcessAgent(CommandRunner(clock=clock, lanes=lanes), environ)
        self._acp = AcpAgents(clock=clock, lanes=lanes, supervisor=supervisor, environ=environ)

    async def close(self) -> None:
        """End the programs that wait for more work."""
        await self._acp.close()

    async def run(self, team: Team, agent: AgentConfig, job: AgentJob) -> AgentRunResult:
        """Do the whole job. Never raises for what the program did: it ends in the result."""
        kind = None if agent.backend is None else agent.backend.kind
        with span(
            "agent", "invoke_agent", agent_name=agent.name, task_id=job.task_id, agent_backend=kind
        ) as recorded:
            result = await self._run(team, agent, job)
            recorded.ended(result)
            return result

    async def _run(self, team: Team, agent: AgentConfig, job: AgentJob) -> AgentRunResult:
        deadline = Deadline(
            job.token, limit_ms=agent.timeout_ms, clock=self._clock, supervisor=self._supervisor
        )
        with deadline as token:
            if token.reason is StopReason.SUSPEND:
                return replace(
                    _result(Answer("")),
                    success=False,
                    suspended=True,
                    status=RunStatus("suspended"),
                )
            try:
                answer = await self._answer(team, agent, job, token)
            except OmaError as error:
                whole = _result(Answer(""))
                ended = whole if token.aborted else failed(whole, error)
            else:
                ended = _result(answer)
            if token.aborted and token.reason is not None:
                return stopped(ended, token.reason, retryable=deadline.expired or None)
            return ended

    async def _answer(
        self, team: Team, agent: AgentConfig, job: AgentJob, token: CancelToken
    ) -> Answer:
        def on_text(text: str) -> None:
            self._emit(agent, job, "text_delta", text=text, kind="text")

        def on_tool(title: str, kind: str, status: str) -> None:
            self._emit(agent, job, "external_tool", title=title, kind=kind, status=status)

        asked = Asked(
            agent,
            job,
            prompt_of(agent, job),
            gates=team.gates,
            token=token,
            on_text=on_text,
            on_tool=on_tool,
        )
        match agent.backend:
            case ProcessBackend() as process:
                return await self._process.ask(process, asked)
            case AcpBackend() as acp:
                return await self._acp.ask(acp, asked)
            case None:
                raise BackendUnusable("BACKEND_UNAVAILABLE", agent=agent.name)

    def _emit(self, agent: AgentConfig, job: AgentJob, type_: str, **data: object) -> None:
        bus = job.bus or self._bus
        bus.emit(type_, agent=agent.name, task=job.task_id, data=data)


def _result(answer: Answer) -> AgentRunResult:
    said: list[Message] = []
    if answer.text:
        said.append({"role": "assistant", "content": [{"type": "text", "text": answer.text}]})
    warnings = ("OUTPUT_TRUNCATED",) if answer.early else ()
    if answer.usage is None:
        warnings = (*warnings, "USAGE_UNKNOWN")
    return AgentRunResult(
        True,
        answer.text,
        messages=said,
        token_usage=answer.counted,
        tool_calls=answer.records,
        budget_exceeded=answer.early,
        warnings=warnings,
    )
