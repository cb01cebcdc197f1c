"""One agent without a queue (engine.md 1.1 `runAgent`).

It starts fresh, works with the tools it was granted except delegation, and is never saved: what
would have to wait for a person fails closed, with a tool result that says why.
"""

from __future__ import annotations

from dataclasses import replace

from oma_desktop.engine.agents.agent_outcome import failed
from oma_desktop.engine.agents.team import AgentJob, Team
from oma_desktop.engine.attempt import Services
from oma_desktop.engine.budget import smallest
from oma_desktop.engine.bus import EventBus
from oma_desktop.engine.cost import RunCost
from oma_desktop.engine.egress import policed
from oma_desktop.engine.identity import check_run_id, new_identity
from oma_desktop.engine.llm.message_check import check_messages
from oma_desktop.engine.metering import metered
from oma_desktop.engine.operations.checks import clean_metadata
from oma_desktop.engine.options import RunAgentOptions
from oma_desktop.engine.tasks.task_work import fault
from oma_desktop.engine.tools.confirmation import CONFIRMATION_MISSING, Confirmation, flags_of
from oma_desktop.engine.tools.grants import DELEGATE
from oma_desktop.model.errors import BudgetExceeded, OmaError
from oma_desktop.model.message import Message
from oma_desktop.model.result import AgentRunResult, ErrorInfo, RunStatus
from oma_desktop.model.team import AgentConfig, OrchestratorOptions

NOT_RESUMABLE = "RUN_AGENT_NOT_RESUMABLE"


async def run_alone(
    team: Team,
    agent: AgentConfig,
    prompt: str | list[Message],
    options: RunAgentOptions,
    *,
    orchestrator: OrchestratorOptions,
    services: Services,
    cost: RunCost,
) -> AgentRunResult:
    """Run the agent once. Its ceiling is the smallest of its own, the call's, the orchestrator's.

    Emits `agent_start` with the prompt or the messages and `agent_complete` with the result. An
    operator's suspend ends it like a cancel: there is nothing to go on from.
    """
    metadata = clean_metadata(options.metadata)
    run_id = None if options.run_id is None else check_run_id(options.run_id)
    identity = new_identity(run_id, services.ids)
    if isinstance(prompt, str):
        given: dict[str, object] = {"prompt": prompt}
    else:
        check_messages(prompt)
        given = {"messages": prompt}
    if metadata is not None:
        given["metadata"] = metadata
    worker = _alone(agent, smallest(options.max_token_budget, orchestrator.max_token_budget))
    confirmation = Confirmation(
        required=team.gates.confirm_consequential or orchestrator.require_consequential_confirmation
    )
    own = replace(team, gates=replace(team.gates, confirmation=confirmation))
    services.bus.emit("agent_start", agent=agent.name, data=given)
    job = AgentJob(identity.run_id, "", "", prompt, options.token)
    try:
        execute = policed(services.execute, orchestrator.egress_policy, options.egress_policy)
        result = await metered(execute, cost)(own, worker, job)
    except OmaError as error:
        result = fault(error)
    result = _within(cost, agent, result, services.bus)
    result = replace(
        _ended(_confirmed(result, confirmation)),
        identity=identity,
        flags=tuple(flags_of([worker], team.tools)),
    )
    services.bus.emit("agent_complete", agent=agent.name, data=result.to_json())
    return result


def _within(
    cost: RunCost, agent: AgentConfig, result: AgentRunResult, bus: EventBus
) -> AgentRunResult:
    if not cost.exceeded:
        return result
    facts = {"agent": agent.name, "used": round(cost.spent, 6), "budget": cost.limit}
    error = BudgetExceeded("COST_BUDGET_EXCEEDED", **facts)
    bus.emit("budget_exceeded", agent=agent.name, data={"code": error.code, **facts})
    return replace(failed(result, error), budget_exceeded=True)


def _alone(agent: AgentConfig, limit: int | None) -> AgentConfig:
    return agent.model_copy(
        update={
            "delegate": False,
            "disallowed_tools": [*agent.disallowed_tools, DELEGATE],
            "max_token_budget": smallest(agent.max_token_budget, limit),
        }
    )


def _confirmed(result: AgentRunResult, confirmation: Confirmation) -> AgentRunResult:
    """A consequential call that nobody confirmed rejects a run that went well otherwise."""
    if not confirmation.missing:
        return result
    result = replace(result, confirmation_required=True)
    if not result.success:
        return result
    return replace(result, success=False, status=RunStatus("rejected", CONFIRMATION_MISSING))


def _ended(result: AgentRunResult) -> AgentRunResult:
    """Nothing was saved, so a suspended agent is a stopped one."""
    if not result.suspended:
        return result
    info = ErrorInfo("cancellation", code=NOT_RESUMABLE, retryable=False)
    return replace(
        result,
        suspended=False,
        aborted=True,
        status=RunStatus("cancelled", NOT_RESUMABLE),
        error_info=info,
        pending_approvals=(),
        entry=None,
    )
