"""Why a coordinator's plan cannot be used, as facts (engine.md 1.9, 1.10)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from oma_desktop.engine.agents import structured_output
from oma_desktop.engine.control import Stop
from oma_desktop.engine.coordination.plan_contract import PLAN_SCHEMA, PlanIssue
from oma_desktop.model.errors import PlanRejected
from oma_desktop.model.json_text import cut_whole
from oma_desktop.model.json_value import JsonValue
from oma_desktop.model.result import (
    ERROR_MESSAGE_LIMIT,
    AgentRunResult,
    ErrorInfo,
    RunStatus,
    StatusCode,
)

_ENDS_AS = frozenset(("timeout", "budget_exhausted"))


@dataclass(frozen=True, slots=True)
class PlanFailure:
    """One reason; `issues` in words, as far as they are known."""

    info: ErrorInfo
    status: StatusCode = "error"
    issues: tuple[str, ...] = ()

    @property
    def code(self) -> str:
        """The code of the reason."""
        return self.info.code or "COORDINATOR_PLAN_INVALID"

    def stop(self) -> Stop:
        """The end of the run for this reason."""
        return Stop(RunStatus(self.status, self.code), "coordinator", error=self.info)

    def facts(self) -> dict[str, object]:
        """The data of the `error` event."""
        facts: dict[str, object] = {"code": self.code, "error": self.info.message or self.code}
        return facts | ({"issues": list(self.issues)} if self.issues else {})


def failed_call(result: AgentRunResult) -> PlanFailure:
    """The coordinator could not be asked, or gave up."""
    cause = result.error_info
    message = (cause.message or cause.code) if cause is not None else result.status.message
    info = ErrorInfo(
        cause.kind if cause is not None else "framework",
        code="COORDINATOR_DECOMPOSITION_FAILED",
        name=cause.name if cause is not None else None,
        message=message,
        retryable=cause.retryable if cause is not None else None,
        http_status=cause.http_status if cause is not None else None,
        provider=cause.provider if cause is not None else None,
    )
    code = result.status.code
    return PlanFailure(info, code if code in _ENDS_AS else "error")


def invalid_plan(
    result: AgentRunResult, issues_of: Callable[[JsonValue], list[PlanIssue]]
) -> PlanFailure:
    """The plan is still not usable after its one repair."""
    judged = structured_output.judge(result.output, PLAN_SCHEMA)
    if judged.problem is not None:
        return _invalid("COORDINATOR_PLAN_INVALID", (judged.problem,))
    issues = issues_of(judged.value)
    kinds = {issue.kind for issue in issues}
    code = "COORDINATOR_PLAN_INVALID"
    if kinds == {"assignee"}:
        code = "INVALID_ASSIGNEE"
    elif kinds == {"dependency"}:
        code = "INVALID_TASK_DEPENDENCIES"
    return _invalid(code, tuple(issue.text for issue in issues))


def refused_plan(error: PlanRejected) -> PlanFailure:
    """The plan has the right form, but this team cannot carry it out."""
    issues = cast("list[str]", error.facts.get("issues") or [str(error)])
    return _invalid(error.code, tuple(map(str, issues)))


def _invalid(code: str, issues: tuple[str, ...]) -> PlanFailure:
    message = cut_whole(" ".join(issues) or code, ERROR_MESSAGE_LIMIT)
    return PlanFailure(
        ErrorInfo("validation", code=code, message=message, retryable=False), issues=issues
    )
