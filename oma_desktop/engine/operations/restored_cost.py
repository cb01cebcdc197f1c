"""The cost of a run when it is restored (formats.md 2.12 `usage.cost`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, cast

from oma_desktop.engine.cost import CostEstimateInvalid, ModelUse, is_cost
from oma_desktop.engine.llm.presets import SCRIPTED
from oma_desktop.engine.operations.restore import usage_of
from oma_desktop.engine.queueing.nested_usage import entry_usage
from oma_desktop.engine.run_state import RunState
from oma_desktop.model.json_value import JsonObject
from oma_desktop.model.lenient import object_at
from oma_desktop.model.message import TokenUsage
from oma_desktop.model.team import AgentConfig

COST_RECOUNTED: Final = "COST_RECOUNTED"


def saved_cost(own: JsonObject) -> float | None:
    """What earlier attempts cost, as our own fact says; None when a peer dropped it."""
    found = object_at(own, "usage").get("cost")
    return float(cast("float", found)) if is_cost(found) else None


def cost_of_results(state: RunState, roster: Mapping[str, AgentConfig]) -> bool:
    """Count what is kept of earlier attempts by the prices of now; True when that was anything.

    It is the least it can have cost: what failed or delegated work cost is not known any more.
    """
    before = state.cost.spent
    for name, usage in _known(state):
        agent = roster.get(name)
        if agent is None:
            continue
        use = ModelUse(name, agent.provider or "", agent.model or SCRIPTED, usage)
        try:
            state.cost.add(use)
        except CostEstimateInvalid:
            continue  # the next call of this agent says so, and fails its task
    return state.cost.spent > before


def _known(state: RunState) -> Iterator[tuple[str, TokenUsage]]:
    for task_id, result in state.completed.items():
        task = state.queue.get(task_id)
        yield result.get("assignee", task.get("assignee", "")), usage_of(result)
    for entry in state.entries.values():
        yield entry["assignee"], entry_usage(entry)
