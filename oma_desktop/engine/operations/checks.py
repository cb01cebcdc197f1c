"""What callers give is checked before anything runs (engine.md 1.1; formats.md 2.10.4, W12)."""

from __future__ import annotations

from oma_desktop.engine.agents.team import Team
from oma_desktop.model.errors import InvalidInput
from oma_desktop.model.json_value import JsonObject
from oma_desktop.model.metadata import clean_run_metadata, run_metadata_problem


def check_team(team: Team) -> None:
    """Raise InvalidInput for agent names that are used twice or would break keys (W12, W35).

    Also for a round gate beside a dispatch gate: they are two ways to run (engine.md 1.1).
    """
    seen: set[str] = set()
    for agent in team.config.agents:
        if agent.name in seen:
            raise InvalidInput("AGENT_NAME_TWICE", agent=agent.name)
        if "/" in agent.name or agent.name.startswith("__oma_"):
            raise InvalidInput("AGENT_NAME_INVALID", agent=agent.name)
        seen.add(agent.name)
    if team.gates.round is not None and team.gates.dispatch is not None:
        raise InvalidInput("GATES_ROUND_AND_DISPATCH")


def clean_metadata(metadata: JsonObject | None) -> JsonObject | None:
    """Validated run metadata as it is stored; raises InvalidInput RUN_METADATA_INVALID."""
    if metadata is None:
        return None
    problem = run_metadata_problem(metadata)
    if problem is not None:
        raise InvalidInput("RUN_METADATA_INVALID", key=problem[0], reason=problem[1])
    return clean_run_metadata(metadata)
