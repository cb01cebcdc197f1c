"""What the operator is told while a run of this process goes: events of the engine as notices.

A bar is for what changes how far the run can be trusted or what the operator would do next; all
else with a sentence is kept for Problems alone (`Notice.quiet`). What the map shows already, as a
task that failed or an approval that is due, is no notice (engine.md 1.10, ux.md C12).
"""

from __future__ import annotations

from typing import Final

from oma_desktop.base.sentences import catalogue, describe
from oma_desktop.base.sentences.recovery import TOLD as RECOVERY
from oma_desktop.base.text import tr
from oma_desktop.engine.bus import EventBus, ProgressEvent
from oma_desktop.engine.coordination.coordinator import DECOMPOSE, SYNTHESIS
from oma_desktop.engine.coordination.profiling import ROUTE
from oma_desktop.engine.tasks.judging import JUDGING
from oma_desktop.model.view import RunRef
from oma_desktop.viewmodel.feed import Feed, Notice

_SPOKEN: Final = {
    **RECOVERY,
    "CONFIRMATION_MISSING": "CALL_NOT_CONFIRMED",
    "VERIFICATION_REJECTED": "ANSWER_NOT_ACCEPTED",
    "APPROVAL_STALE_DECISION": "APPROVED_CALL_STALE",
    "INVALID_ASSIGNEE": "ASSIGNEE_REPLACED",
    "ROUTING_FAILED": "GOAL_ROUTED_BY_WORDING",
    "ROUTING_PROFILER_FAILED": "GOAL_ROUTED_BY_WORDING",
    "ROUTING_TIMEOUT": "GOAL_ROUTED_BY_WORDING",
    "approval_row_failed": "APPROVAL_ROW_NOT_SAVED",
    "checkpoint_save_failed": "CHECKPOINT_SAVE_FAILED",
    "memory_read_failed": "MEMORY_NOTES_NOT_READ",
    "memory_write_failed": "MEMORY_NOTE_NOT_SAVED",
    "synthesis_failed": "ANSWER_FAILED",
}
"""Codes and kinds whose own sentence is for another reader, or who have none."""

_BARS: Final = {
    **{code: "warning" for code in RECOVERY.values() if code != "RECOVERED_TASK_SUCCEEDED"},
    "APPROVAL_ROW_NOT_SAVED": "error",
    "CHECKPOINT_SAVE_FAILED": "error",
    "ANSWER_FAILED": "error",
    "RUN_END_NOT_SAVED": "error",
    "APPROVED_CALL_STALE": "warning",
    "APPROVED_TOOL_GONE": "warning",
    "CALL_NOT_CONFIRMED": "warning",
    "COST_BUDGET_EXCEEDED": "warning",
    "GATE_FAILED": "warning",
    "GOAL_ROUTED_BY_WORDING": "warning",
    "LOCK_TAKEN_OVER": "warning",
    "PLAN_AGENTS_MISSING": "warning",
    "RESUME_INPUT_MASKED": "warning",
    "RUN_TOKENS_USED_UP": "warning",
    "TRUST_NOT_KEPT": "warning",
    "ANSWER_NOT_ACCEPTED": "warning",
    "PLAN_REPAIRED": "info",
    "VERIFY_CANNOT_WAIT": "warning",
}
"""What gets a bar, and how urgent it is."""


class Telling:
    """Hears one attempt and puts what is worth it into the feed. `run` is set once it is known."""

    def __init__(self, feed: Feed) -> None:
        self.bus = EventBus()
        self.run: RunRef | None = None
        self._feed = feed
        self._titles = {
            ROUTE: tr("the goal"),
            DECOMPOSE: tr("the plan"),
            SYNTHESIS: tr("the answer"),
        }
        self.bus.subscribe(self._hear)

    def _hear(self, event: ProgressEvent) -> None:
        if event.type == "task_start" and event.task is not None:
            self._titles[event.task] = str(event.data.get("title", event.task))
        code = _code_of(event)
        if code:
            facts = self._facts(event)
            level = _BARS.get(code, "warning")
            notice = Notice(level, code, facts, self.run, quiet=code not in _BARS)
            self._feed.notice.emit(notice)

    def _facts(self, event: ProgressEvent) -> dict[str, object]:
        facts = {key: _plain(value) for key, value in event.data.items() if key != "code"}
        task = (event.task or "").partition(JUDGING)[0]
        title = event.data.get("taskTitle") or self._titles.get(task, task)
        facts.setdefault("title", title)
        facts.setdefault("task", title)
        facts.setdefault("agent", event.agent or "")
        cause = _cause(event)
        if cause:
            facts["error"] = cause
        return facts


def _code_of(event: ProgressEvent) -> str:
    """The code of the sentence an event deserves; an empty text for none."""
    said = event.data.get("kind") if event.type == "error" else event.data.get("code")
    match event.type:
        case "error":
            pass  # without a kind it is a task that failed, or a plan: both are told elsewhere
        case "warning":
            said = said or event.data.get("kind")
        case "budget_exceeded":
            said = {"TOKEN_BUDGET_EXCEEDED": "RUN_TOKENS_USED_UP"}.get(str(said), said)
            said = said or "TOKEN_BUDGET_EXCEEDED"
        case "plan_revision":
            said = "PLAN_REPAIRED"
        case "loop_detected":
            said = "AGENT_REPEATS"
        case "task_retry":
            said = "TASK_GOES_TO_FALLBACK" if "nextModel" in event.data else "TASK_TRIED_AGAIN"
        case _:
            return ""
    return _SPOKEN.get(str(said), str(said)) if said else ""


def _cause(event: ProgressEvent) -> str:
    """What stood in the way, as words: the engine names the code of the rule or of the fault."""
    cause = str(event.data.get("code" if event.type == "error" else "problem"))
    said = describe(cause, event.data).title.rstrip(".。") if cause in catalogue() else ""
    return "" if "{" in said else said  # its facts are not here: the event's own words are


def _plain(value: object) -> object:
    """Lists as people write them; everything else stays."""
    return ", ".join(str(item) for item in value) if isinstance(value, list | tuple) else value
