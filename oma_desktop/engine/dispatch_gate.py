"""The gate before a task starts (engine.md 5.1, 5.2, 5.5; P04, P05)."""

from __future__ import annotations

from oma_desktop.engine.attempt import Attempt
from oma_desktop.engine.control import Stop, fatal
from oma_desktop.engine.tools.gate import GateDecision, GateFailed, read_answer
from oma_desktop.engine.tools.race import Ended, Race
from oma_desktop.model.checkpoint import TaskSnapshot
from oma_desktop.model.errors import ApprovalError, OmaError
from oma_desktop.model.result import ErrorInfo, RunStatus


class DispatchGate:
    """Asks whether a task may start. Decisions already made are used, never asked again."""

    def __init__(self, attempt: Attempt) -> None:
        self._attempt = attempt
        services = attempt.services
        self._race = Race(supervisor=services.supervisor, clock=services.clock)

    async def passes(self, task_id: str) -> bool:
        """True: start it now. False: it stays as it is, or the run stops."""
        state = self._attempt.state
        task = state.queue.get(task_id)
        try:
            if self._attempt.approvals.take_dispatch(task):
                state.dispatched.add(task_id)
                return True
            if task_id in state.dispatched or self._attempt.team.gates.dispatch is None:
                return True
            decision = await self._ask(task)
            if decision is not None and decision.action == "suspend":
                await self._attempt.approvals.suspend_dispatch(task, decision.reason)
        except GateFailed as error:
            self._stop("error", error, ErrorInfo("callback", code=error.code, message=str(error)))
            return False
        except ApprovalError as error:
            self._refused(error)
            return False
        if decision is not None and decision.action == "deny":
            reason = decision.reason or "dispatch denied"
            self._attempt.control.ask(Stop(RunStatus("rejected", reason), "gate"))
        return decision is not None and decision.action == "allow"

    async def _ask(self, task: TaskSnapshot) -> GateDecision | None:
        """Return the answer; None when the run was stopped meanwhile. Raises GateFailed."""
        gate = self._attempt.team.gates.dispatch
        assert gate is not None
        self._attempt.services.bus.emit(
            "gate_call", task=task["id"], data={"gate": "dispatch", "title": task["title"]}
        )
        outcome = await self._race.run(
            gate(task), name=f"dispatch gate {task['id']}", token=self._attempt.control.token
        )
        match outcome.ended:
            case Ended.DONE:
                return read_answer(outcome.value, gate="dispatch", accepts_bool=True)
            case Ended.STOPPED:
                return None
            case _:
                found = type(outcome.error).__name__ if outcome.error else outcome.ended.value
                raise GateFailed("GATE_FAILED", gate="dispatch", problem="raised", found=found)

    def _refused(self, error: ApprovalError) -> None:
        if error.code == "APPROVAL_STALE_DECISION":
            self._attempt.control.ask(fatal(error))
        else:
            info = ErrorInfo("validation", code=error.code, message=str(error), retryable=False)
            self._stop("error", error, info)

    def _stop(self, code: str, error: OmaError, info: ErrorInfo) -> None:
        assert code == "error"
        self._attempt.control.ask(Stop(RunStatus("error", error.code), "gate", error=info))
