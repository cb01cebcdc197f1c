"""From an error or a stop to the facts a result keeps (engine.md 1.8, 1.9)."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from oma_desktop.base.sentences import describe
from oma_desktop.engine.agents.hooks import HookFailed
from oma_desktop.engine.agents.runner_state import RunnerState
from oma_desktop.engine.cancel import StopReason
from oma_desktop.model.checkpoint import InFlightEntry
from oma_desktop.model.errors import (
    ApprovalError,
    BudgetExceeded,
    CallTimeout,
    EgressDenied,
    OmaError,
    ProviderError,
    StoreError,
    ToolError,
    UserError,
)
from oma_desktop.model.json_text import cut_whole
from oma_desktop.model.redaction import TextRules
from oma_desktop.model.result import (
    ERROR_MESSAGE_LIMIT,
    STATUS_MESSAGE_LIMIT,
    AgentRunResult,
    ErrorInfo,
    ErrorKind,
    RunStatus,
    StatusCode,
)

_KINDS: Final[tuple[tuple[type[OmaError], ErrorKind], ...]] = (
    (HookFailed, "callback"),
    (CallTimeout, "timeout"),
    (ProviderError, "provider"),
    (BudgetExceeded, "budget"),
    (EgressDenied, "validation"),
    (StoreError, "store"),
    (ApprovalError, "validation"),
    (ToolError, "tool"),
    (UserError, "validation"),
)
_STATUS: Final[dict[ErrorKind, StatusCode]] = {
    "timeout": "timeout",
    "budget": "budget_exhausted",
    "cancellation": "cancelled",
}
masked: Final = TextRules(strict=True)
_STOPS: Final[dict[StopReason, tuple[StatusCode, ErrorKind]]] = {
    StopReason.TIMEOUT: ("timeout", "timeout"),
    StopReason.BUDGET: ("budget_exhausted", "budget"),
}


def result_of(
    state: RunnerState, *, output: str, warnings: tuple[str, ...], entry: InFlightEntry | None
) -> AgentRunResult:
    """A successful result of what the runner has; the functions below make it something else."""
    return AgentRunResult(
        success=True,
        output=output,
        messages=list(state.messages),
        token_usage=state.spent(),
        tool_calls=list(state.records),
        loop_detected=state.loop_detected,
        budget_exceeded=state.budget_exceeded,
        warnings=warnings,
        entry=entry,
    )


def stopped(
    result: AgentRunResult, reason: StopReason, *, retryable: bool | None
) -> AgentRunResult:
    """The end of an aborted attempt, whatever else happened: late answers lose (3.10)."""
    code, kind = _STOPS.get(reason, ("cancelled", "cancellation"))
    return replace(
        result,
        success=False,
        aborted=True,
        status=RunStatus(code),
        error_info=ErrorInfo(kind=kind, retryable=retryable),
    )


def error_info(error: OmaError) -> ErrorInfo:
    """The facts of an error. The text is the endpoint's own message where it sent one, else our
    sentence: it is stored as the task's result, where people and other agents read it.

    A save or a suspension that failed is not retried: the task would begin again and run its
    committed calls a second time (DEV-30).
    """
    message = error.facts.get("message")
    status = error.facts.get("status")
    provider = error.facts.get("provider")
    wish = error.facts.get("retry_after_s")
    said = isinstance(message, str) and message
    # An endpoint may repeat a key it was sent, and our sentences quote what programs and functions
    # of others said; this text is stored and shown (engine.md 1.9).
    text = masked(str(message) if said else describe(error.code, error.facts).title)
    return ErrorInfo(
        kind=_kind(error),
        code=error.code,
        name=type(error).__name__,
        message=cut_whole(text, ERROR_MESSAGE_LIMIT),
        retryable=_may_repeat(error),
        http_status=status if isinstance(status, int) else None,
        provider=provider if isinstance(provider, str) else None,
        retry_after_s=wish if isinstance(wish, int | float) else None,
    )


def failed(result: AgentRunResult, error: OmaError) -> AgentRunResult:
    """The same result as a failure for this reason."""
    info = error_info(error)
    status = "rejected" if isinstance(error, EgressDenied) else _STATUS.get(info.kind, "error")
    message = cut_whole(info.message or error.code, STATUS_MESSAGE_LIMIT)
    return replace(result, success=False, status=RunStatus(status, message), error_info=info)


def _may_repeat(error: OmaError) -> bool:
    if isinstance(error, StoreError | ApprovalError):
        return False
    said = error.facts.get("retryable")
    return said if isinstance(said, bool) else error.retryable


def _kind(error: OmaError) -> ErrorKind:
    if error.code == "STRUCTURED_OUTPUT_VALIDATION_FAILED":
        return "validation"
    return next((kind for class_, kind in _KINDS if isinstance(error, class_)), "framework")
