"""The gate before a task starts (engine.md 5.1, 5.5; P04, P05)."""

from __future__ import annotations

from oma_desktop.engine.attempt import Attempt
from oma_desktop.engine.tasks.run_gate import RunGate
from oma_desktop.model.errors import ApprovalError


class DispatchGate:
    """Asks whether a task may start. Decisions already made are used, never asked again."""

    def __init__(self, attempt: Attempt) -> None:
        self._state = attempt.state
        self._approvals = attempt.approvals
        self._question = attempt.team.gates.dispatch
        self._gate = RunGate(attempt, "dispatch")

    def give_back(self, task_id: str) -> None:
        """The task was let through and did not begin: an approval it used up stands again."""
        self._approvals.give_back_dispatch(task_id)

    async def passes(self, task_id: str) -> bool:
        """True: start it now. False: it stays as it is, or the run stops."""
        task = self._state.queue.get(task_id)
        try:
            if self._approvals.take_dispatch(task):
                self._state.dispatched.add(task_id)
                return True
            if task_id in self._state.dispatched or self._question is None:
                return True
            decision = await self._gate.ask(self._question(task), {"title": task["title"]})
            if decision is not None and decision.action == "suspend":
                await self._approvals.suspend_dispatch(task, decision.reason)
        except ApprovalError as error:
            self._gate.refused(error)
            return False
        return decision is not None and decision.action == "allow"
