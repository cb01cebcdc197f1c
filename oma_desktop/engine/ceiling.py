"""The token ceiling of a run while it is crossed (engine.md 3.8)."""

from __future__ import annotations

from oma_desktop.engine.attempt import Attempt
from oma_desktop.engine.control import Stop
from oma_desktop.model.result import ErrorInfo, RunStatus


def over_ceiling(attempt: Attempt, *, agent: str | None = None) -> bool:
    """Stop the run when its ceiling is crossed; announced once. True when the ceiling is crossed.

    `agent` did the last work, where that is known.
    """
    budget = attempt.state.budget
    if not budget.exceeded:
        return False
    if attempt.control.stop is None:
        facts = {"used": budget.used, "budget": budget.limit}
        attempt.services.bus.emit("budget_exceeded", agent=agent, data=facts)
        message = f"used={budget.used}, budget={budget.limit}"
        info = ErrorInfo("budget", code="TOKEN_BUDGET_EXCEEDED", message=message)
        attempt.control.ask(Stop(RunStatus("budget_exhausted", info.code), "budget", error=info))
    return True
