"""The guard over consequential calls, put into the gates of one attempt (engine.md 5.7, DEV-16)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from oma_desktop.engine.agents.team import Team
from oma_desktop.engine.coordination.routing import best_agent
from oma_desktop.engine.options import RestoreOptions, RunOptions, TeamRunOptions
from oma_desktop.engine.run_state import RunState
from oma_desktop.engine.tools.confirmation import continued, flags_of
from oma_desktop.model.team import AgentConfig, OrchestratorOptions


def guarded(
    team: Team,
    state: RunState,
    orchestrator: OrchestratorOptions,
    options: RunOptions | RestoreOptions,
) -> Team:
    """Return the team whose executors, whoever uses them, share one view of what is confirmed.

    The option is for runs of a goal without a declared governance: whoever writes the tasks or the
    plan has decided already. A host that asks for it in its gates gets it everywhere. Sets
    `confirmation` and `flags` of the state.
    """
    confirmation = continued(state.own_extra, state.decisions.values())
    if isinstance(options, TeamRunOptions) and options.governance is not None:
        confirmation.governed = True
    open_goal = state.mode == "runTeam" and not confirmation.governed
    asked = orchestrator.require_consequential_confirmation and open_goal
    confirmation.required = team.gates.confirm_consequential or asked
    state.confirmation = confirmation
    flag(team, state)
    return replace(team, gates=replace(team.gates, confirmation=confirmation))


def flag(team: Team, state: RunState) -> None:
    """Set the flags of a run of a goal without a declaration; again when its route changed."""
    if state.mode == "runTeam" and not state.confirmation.governed:
        state.flags[:] = flags_of(_who_acts(team, state), team.tools)


def _who_acts(team: Team, state: RunState) -> Sequence[AgentConfig]:
    roster = team.config.agents
    routing = state.coordination.routing or {}
    return [best_agent(state.goal or "", roster)] if routing.get("mode") == "single" else roster
