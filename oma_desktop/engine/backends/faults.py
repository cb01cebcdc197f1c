"""What can go wrong with an external agent."""

from __future__ import annotations

from oma_desktop.engine.agents.agent_outcome import failed
from oma_desktop.engine.agents.team import AgentJob, Team
from oma_desktop.model.errors import EngineError
from oma_desktop.model.result import AgentRunResult
from oma_desktop.model.team import AgentConfig


class BackendFailed(EngineError):
    """An external agent did not do its work.

    BACKEND_NOT_STARTED (`command`, `reason`), BACKEND_EXIT (`command`, `status`, `said`),
    BACKEND_REFUSED (`command`), BACKEND_BROKEN (`command`, `reason`).
    """

    retryable = True


class BackendUnusable(EngineError):
    """The work does not fit an external agent; trying again changes nothing.

    BACKEND_TAKES_TEXT (`agent`): it takes one text, not messages. BACKEND_EMPTY_PROMPT (`agent`).
    BACKEND_UNAVAILABLE (`agent`): the team was wired without a way to start programs.
    """


async def run_external(team: Team, agent: AgentConfig, job: AgentJob) -> AgentRunResult:
    """Run an agent with a backend where its team can; a failed result where it cannot."""
    if team.external is not None:
        return await team.external.run(team, agent, job)
    nothing = AgentRunResult(False, "")
    return failed(nothing, BackendUnusable("BACKEND_UNAVAILABLE", agent=agent.name))
