"""The gate before a coordinator's plan is carried out (engine.md 5.1, 5.2).

Until it lets the plan through nothing is on disk that a restore could run: a restore never asks it.
"""

from __future__ import annotations

from oma_desktop.engine.attempt import Attempt
from oma_desktop.engine.tasks.run_gate import RunGate
from oma_desktop.model.errors import ApprovalError


class PlanGate:
    """Asks once, about the whole plan."""

    def __init__(self, attempt: Attempt, *, plan_only: bool) -> None:
        self._attempt = attempt
        self._question = attempt.team.gates.plan
        self._plan_only = plan_only
        self._gate = RunGate(attempt, "plan")

    @property
    def active(self) -> bool:
        """Whether anybody is asked."""
        return self._question is not None

    async def passes(self) -> bool:
        """True: the plan stands. False: it was refused, waits for a person, or the run stopped."""
        if self._question is None:
            return True
        tasks = self._attempt.state.queue.tasks
        facts: dict[str, object] = {"tasks": [t["title"] for t in tasks]}
        decision = await self._gate.ask(self._question(tasks), facts)
        if decision is not None and decision.action == "suspend":
            await self._suspend(decision.reason)
        allowed = decision is not None and decision.action == "allow"
        self._attempt.state.confirmation.given |= allowed  # somebody stands behind it (5.7)
        return allowed

    async def _suspend(self, reason: str | None) -> None:
        try:
            await self._attempt.approvals.suspend_plan(
                self._attempt.state.queue.tasks, reason, plan_only=self._plan_only
            )
        except ApprovalError as error:
            self._gate.refused(error)
        else:
            self._attempt.state.coordination.planning = False  # the request is on disk with it
