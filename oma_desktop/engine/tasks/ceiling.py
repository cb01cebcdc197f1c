"""The ceilings of a run while one of them is crossed (engine.md 3.8)."""

from __future__ import annotations

from oma_desktop.engine.attempt import Attempt
from oma_desktop.engine.control import Stop
from oma_desktop.model.result import ErrorInfo, RunStatus


def over_ceiling(attempt: Attempt, *, agent: str | None = None) -> bool:
    """Stop the run when a ceiling is crossed; announced once. True when one is crossed.

    `agent` did the last work, where that is known.
    """
    state = attempt.state
    if not state.over_budget:
        return False
    if attempt.control.stop is None:
        facts: dict[str, object] = {
            "code": "COST_BUDGET_EXCEEDED",
            "used": round(state.cost.spent, 6),
            "budget": state.cost.limit,
        }
        if state.budget.exceeded:
            facts = {
                "code": "TOKEN_BUDGET_EXCEEDED",
                "used": state.budget.used,
                "budget": state.budget.limit,
            }
        attempt.services.bus.emit("budget_exceeded", agent=agent, data=facts)
        message = f"used={facts['used']}, budget={facts['budget']}"
        info = ErrorInfo("budget", code=str(facts["code"]), message=message)
        attempt.control.ask(Stop(RunStatus("budget_exhausted", info.code), "budget", error=info))
    return True
