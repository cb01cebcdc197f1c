"""Asking a gate that stands before tasks, and what its answers do (engine.md 5.1, 5.2)."""

from __future__ import annotations

from collections.abc import Awaitable

from oma_desktop.base.sentences import describe
from oma_desktop.engine.attempt import Attempt
from oma_desktop.engine.control import Stop, fatal
from oma_desktop.engine.spans import span
from oma_desktop.engine.tools.gate import GateDecision, GateFailed, read_answer
from oma_desktop.engine.tools.race import Ended, Race
from oma_desktop.model.errors import ApprovalError, OmaError
from oma_desktop.model.result import ErrorInfo, RunStatus


class RunGate:
    """One question at a time. Whatever goes wrong with it lets nothing through."""

    def __init__(self, attempt: Attempt, name: str) -> None:
        self._control = attempt.control
        self._state = attempt.state
        self._bus = attempt.services.bus
        self._name = name
        services = attempt.services
        self._race = Race(supervisor=services.supervisor, clock=services.clock)

    async def ask(self, answer: Awaitable[object], facts: dict[str, object]) -> GateDecision | None:
        """Return the decision; None when the run was stopped meanwhile or the gate is broken.

        `facts` say for the log what was asked. A denial stops the run here.
        """
        self._bus.emit("gate_call", data={"gate": self._name, **facts})
        with span("callback", f"{self._name}_gate", callback_name=self._name) as recorded:
            outcome = await self._race.run(
                answer, name=f"{self._name} gate", token=self._control.token
            )
            recorded.event("approval_decision", decision=_said(outcome.value))
        if outcome.ended is Ended.STOPPED:
            return None
        try:
            if outcome.ended is not Ended.DONE:
                found = type(outcome.error).__name__ if outcome.error else outcome.ended.value
                raise GateFailed("GATE_FAILED", gate=self._name, problem="raised", found=found)
            decision = read_answer(outcome.value, gate=self._name, accepts_bool=True)
        except GateFailed as error:
            info = ErrorInfo("callback", code=error.code, message=_sentence(error))
            self._control.ask(Stop(RunStatus("error", error.code), "gate", error=info))
            return None
        if decision.action == "allow" and self._name == "plan":
            self._state.confirmation.given = True  # engine.md 5.7
        if decision.action == "deny":
            self._control.ask(Stop(RunStatus("rejected", decision.reason), "gate"))
        return decision

    def refused(self, error: ApprovalError) -> None:
        """A suspension could not be made or used: nothing is let through (engine.md 5.4)."""
        if error.code == "APPROVAL_STALE_DECISION":
            self._control.ask(fatal(error))
            return
        said = _sentence(error)
        info = ErrorInfo("validation", code=error.code, message=said, retryable=False)
        self._control.ask(Stop(RunStatus("error", error.code), "gate", error=info))


def _sentence(error: OmaError) -> str:
    """What is stored with the run and read there: a sentence, its places filled."""
    return describe(error.code, error.facts).title


def _said(answer: object) -> str | None:
    """The answer as one word, where it is one of those that mean something."""
    if isinstance(answer, bool):
        return "allow" if answer else "deny"
    return getattr(answer, "action", None)
