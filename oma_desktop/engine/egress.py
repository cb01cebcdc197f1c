"""No model call leaves for where a policy forbids it: judged before each one (engine.md 8.7).

Not covered, as in the peer: tools, MCP servers, agents that are programs, hooks, exporters.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import TypeAlias

from typing_extensions import override

from oma_desktop.engine.agents.team import AgentJob, Team
from oma_desktop.engine.attempt import Execute
from oma_desktop.engine.cancel import CancelToken
from oma_desktop.engine.llm.base import ModelAdapter, ModelEvent, ModelRequest
from oma_desktop.engine.llm.passing import PassingAdapter
from oma_desktop.model.egress import AllowlistPolicy, OfflinePolicy, allowed, origin_of
from oma_desktop.model.errors import EgressDenied
from oma_desktop.model.result import AgentRunResult
from oma_desktop.model.team import AgentConfig

Policy: TypeAlias = OfflinePolicy | AllowlistPolicy | None


def judge(agent: AgentConfig, address: str | None, policies: tuple[Policy, ...]) -> None:
    """Raise EgressDenied when calls of the agent may not go to `address`.

    None is an adapter that does not say where it goes: with any policy it is refused.
    """
    ours = (*policies, agent.egress_policy)
    if all(policy is None for policy in ours):
        return
    origin = None if address is None else origin_of(address)
    if origin is None:
        raise EgressDenied("EGRESS_POLICY_UNSUPPORTED", agent=agent.name)
    if not allowed(origin, ours):
        raise EgressDenied("EGRESS_POLICY_DENIED", agent=agent.name, origin=origin)


def policed(execute: Execute, *policies: Policy) -> Execute:
    """Run agents so that the policies, and each agent's own, stand before every model call."""

    async def run(team: Team, agent: AgentConfig, job: AgentJob) -> AgentRunResult:
        return await execute(
            replace(team, adapter_for=lambda who: _policed(team, who, policies)), agent, job
        )

    return run


def _policed(team: Team, agent: AgentConfig, policies: tuple[Policy, ...]) -> ModelAdapter:
    adapter = team.adapter_for(agent)
    if all(policy is None for policy in (*policies, agent.egress_policy)):
        return adapter
    return _Policed(adapter, agent, policies)


class _Policed(PassingAdapter):
    """An adapter that is asked where it goes before each turn."""

    def __init__(
        self, inner: ModelAdapter, agent: AgentConfig, policies: tuple[Policy, ...]
    ) -> None:
        super().__init__(inner)
        self._agent = agent
        self._policies = policies

    @override
    async def stream(self, request: ModelRequest, token: CancelToken) -> AsyncIterator[ModelEvent]:
        """Judge, then pass everything on. Raises EgressDenied, then nothing was sent."""
        if not self.inner.is_offline:
            judge(self._agent, self.inner.goes_to, self._policies)
        async for event in self.inner.stream(request, token):
            yield event
