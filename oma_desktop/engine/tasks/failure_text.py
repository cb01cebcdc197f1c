"""Why a task failed, in one text."""

from __future__ import annotations

from oma_desktop.model.result import AgentRunResult


def failure_text(result: AgentRunResult) -> str:
    """The text kept as the result of a failed task: the error in its own words, or its code."""
    info = result.error_info
    candidates = (
        info.message if info is not None else None,
        result.status.message,
        result.output,
        info.code if info is not None else None,
    )
    return next((text for text in candidates if text), result.status.code)
