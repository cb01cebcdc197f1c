"""What becomes of an outcome and of a patch, told as events and warnings (engine.md 1.10)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from oma_desktop.engine.bus import EventBus
from oma_desktop.engine.run_state import RunState
from oma_desktop.engine.spans import note
from oma_desktop.engine.tasks.agent_replanner import ReplannerFailed
from oma_desktop.engine.tools.race import Outcome
from oma_desktop.model.errors import OmaError, PlanRejected, StoreError
from oma_desktop.model.json_text import cut_whole
from oma_desktop.model.json_value import JsonObject
from oma_desktop.model.plan_patch import PlanRevision, Trigger
from oma_desktop.model.redaction import TextRules
from oma_desktop.model.result import AgentRunResult

_SAID: Final = 200
_MASKED: Final = TextRules(strict=True)  # what others raise is shown and kept in the log


@dataclass(frozen=True, slots=True)
class Happened:
    """One task's outcome."""

    task_id: str
    result: AgentRunResult

    @property
    def trigger(self) -> Trigger:
        """What it counts as (engine.md 6.2)."""
        verdict = self.result.verification
        if verdict is not None and verdict.rejected:
            return "verification_rejected"
        return "success" if self.result.success else "failure"


class Telling:
    """Every decision is an event of the trigger task, in its span too; a refusal is also a warning
    of the run.
    """

    def __init__(self, state: RunState, bus: EventBus, *, revisions: Callable[[], int]) -> None:
        self._state = state
        self._bus = bus
        self._revisions = revisions

    def decided(self, happened: Happened, decision: str) -> None:
        """`already_applied`, `no_patch`, `rejected` or `applied`."""
        data: JsonObject = {
            "decision": decision,
            "trigger": happened.trigger,
            "planRevision": self._revisions(),
        }
        self._bus.emit("recovery_decision", task=happened.task_id, data=data)
        _in_span(happened, decision)

    def refused(self, happened: Happened, refusal: PlanRejected) -> None:
        """Why a patch was refused, whole; nothing of it happened."""
        if not refusal.code.startswith("RECOVERY_"):
            refusal = because("RECOVERY_PATCH_INVALID", refusal)
        self.warn(happened, refusal.code, refusal.facts)

    def not_durable(self, happened: Happened, revision: PlanRevision, error: StoreError) -> None:
        """The patched plan could not be saved; the patch was taken back."""
        facts = {"revision": revision["version"], "error": str(error), "problem": error.code}
        self.warn(happened, "PLAN_REVISION_NOT_DURABLE", facts)

    def late_success(self, happened: Happened) -> None:
        """A task that was repaired before a crash works now; its repair stays (W32)."""
        task = self._state.queue.get(happened.task_id)
        if happened.result.success and "recoveredByRevision" in task:
            facts = {"revision": task["recoveredByRevision"], "title": task["title"]}
            self.warn(happened, "RECOVERED_TASK_SUCCEEDED", facts)

    def warn(self, happened: Happened, code: str, facts: Mapping[str, object]) -> None:
        """A warning of the run, and an event of the task."""
        self._state.warnings.append(code)
        self._bus.emit("warning", task=happened.task_id, data={**facts, "code": code})
        _in_span(happened, code)

    def failed(self, happened: Happened, kind: str, answer: Outcome[object]) -> None:
        """Whoever was asked raised, or answered with something undocumented."""
        found = _MASKED(repr(answer.value)[:80] if answer.error is None else _said(answer.error))
        self._bus.emit("error", task=happened.task_id, data={"kind": kind, "error": found})
        _in_span(happened, kind)


def _said(error: Exception) -> str:
    """The sentence of a question to an agent that failed; what foreign code raised, by its kind."""
    if isinstance(error, ReplannerFailed):
        return cut_whole(str(error), _SAID).strip().rstrip(".")  # stands inside a sentence
    return repr(error)[:_SAID]


def _in_span(happened: Happened, decision: str) -> None:
    note("recovery_decision", recovery_decision=decision, plan_trigger=happened.trigger)


def because(code: str, refusal: OmaError) -> PlanRejected:
    """A refusal with its reason: the code and facts of the rule that was broken."""
    return PlanRejected(code, **{**refusal.facts, "problem": refusal.code, "error": str(refusal)})
