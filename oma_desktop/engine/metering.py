"""Every model call of a run passes a meter (engine.md 3.8): whoever makes it, its cost counts."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

from typing_extensions import override

from oma_desktop.engine.agents.agent_outcome import failed
from oma_desktop.engine.agents.team import AgentJob, Team
from oma_desktop.engine.attempt import Execute
from oma_desktop.engine.cancel import CancelToken
from oma_desktop.engine.cost import CostEstimateInvalid, ModelUse, RunCost
from oma_desktop.engine.llm.base import ModelAdapter, ModelEvent, ModelReply, ModelRequest
from oma_desktop.engine.llm.passing import PassingAdapter
from oma_desktop.engine.llm.provider_error import usage_in
from oma_desktop.model.errors import ProviderError
from oma_desktop.model.message import TokenUsage
from oma_desktop.model.result import AgentRunResult
from oma_desktop.model.team import AgentConfig


def metered(execute: Execute, cost: RunCost) -> Execute:
    """Run agents with a meter on their models; an invalid estimate fails the agent's work."""
    if not cost.known:
        return execute

    async def run(team: Team, agent: AgentConfig, job: AgentJob) -> AgentRunResult:
        meter = _Meter(cost, agent)
        watched = replace(team, adapter_for=lambda who: _Metered(team.adapter_for(who), meter))
        result = await execute(watched, agent, job)
        return meter.judge(result)

    return run


class _Meter:
    """Counts for one agent run and remembers what was wrong."""

    def __init__(self, cost: RunCost, agent: AgentConfig) -> None:
        self._cost = cost
        self._agent = agent
        self._problem: CostEstimateInvalid | None = None

    def count(self, model: str, usage: TokenUsage) -> None:
        """Never raises: the call happened, and what it gave is not lost for its price."""
        agent = self._agent
        try:
            self._cost.add(ModelUse(agent.name, agent.provider or "", model, usage))
        except CostEstimateInvalid as problem:
            self._problem = self._problem or problem

    def judge(self, result: AgentRunResult) -> AgentRunResult:
        """Fail the work when its cost cannot be known; what waits or was stopped goes on later."""
        if self._problem is None or result.suspended or result.aborted:
            return result
        bad = failed(result, self._problem)
        assert bad.error_info is not None
        return replace(bad, error_info=replace(bad.error_info, kind="budget"))


class _Metered(PassingAdapter):
    """An adapter that tells the meter what its calls used."""

    def __init__(self, inner: ModelAdapter, meter: _Meter) -> None:
        super().__init__(inner)
        self._meter = meter

    @override
    async def stream(self, request: ModelRequest, token: CancelToken) -> AsyncIterator[ModelEvent]:
        """Pass everything on; also a call that broke off may have cost something."""
        model = request.model or self.name
        try:
            async for event in self.inner.stream(request, token):
                if isinstance(event, ModelReply) and event.usage is not None:
                    self._meter.count(model, event.usage)
                yield event
        except ProviderError as error:
            if (spent := usage_in(error)) is not None:
                self._meter.count(model, spent)
            raise
