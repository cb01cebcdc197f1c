"""What the window says of a run that left no store to look at (engine.md 4.1)."""

from __future__ import annotations

from typing import Final

from oma_desktop.base.sentences import catalogue
from oma_desktop.engine.coordination.single import TASK_ID
from oma_desktop.engine.operations.results import STOPPED_BEFORE_PLAN
from oma_desktop.model.result import TeamRunResult
from oma_desktop.viewmodel.feed import Notice

ANSWER_LIMIT: Final = 1200


def notice_of(result: TeamRunResult) -> Notice | None:
    """Return what to say at the end of a run of a goal; None where its store says everything.

    A goal one agent answered is saved nowhere, nor is one that never got a plan.
    """
    if result.routing is None or result.saved:
        return None
    if [task["id"] for task in result.tasks] == [TASK_ID] and result.success:
        answer = (result.final_answer or "")[:ANSWER_LIMIT]
        return Notice("info", "GOAL_ANSWERED", {"answer": answer})
    if result.success:
        return None
    if result.status.code == "cancelled":
        return Notice("info", STOPPED_BEFORE_PLAN)
    said = (result.status.message, result.error_info.code if result.error_info else None)
    code = next((c for c in said if c in catalogue()), "GOAL_NOT_REACHED")
    why = result.error_info.message if result.error_info else result.status.message
    return Notice("error", code, {"error": why or result.status.code})
