"""The tool call ledger of one task, the core of the Inspector (ux.md C5)."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

from typing_extensions import override

from oma_desktop.model.view import CallState, TaskView, ToolCallView
from oma_desktop.viewmodel.rows import Rows

STATE: Final = 0
TOOL: Final = 1
EFFECT: Final = 2
OUTPUT: Final = 3

# Calls that no commit covers yet: what a resume must think about
OPEN: Final = frozenset(
    {
        CallState.TO_RUN,
        CallState.RUNNING,
        CallState.OUTCOME_UNKNOWN,
        CallState.NEEDS_YOU,
        CallState.APPROVED,
    }
)


class ToolRows(Rows[ToolCallView]):
    """Calls in the order they were asked for; one id may come back in a later round."""

    n_columns = 4

    def set_task(self, task: TaskView | None) -> None:
        """Show the calls of a task; equal keys (a repeated id in one round) keep the last."""
        calls = () if task is None else task.calls
        unique = {self.key(c): c for c in calls}
        self.set_rows(list(unique.values()))

    @override
    def key(self, row: ToolCallView) -> Hashable:
        return (row.task_id, row.round, row.call_id)

    @override
    def cell(self, row: ToolCallView, column: int) -> object:
        return (row.state, row.tool, row.effect, row.output_size)[column]

    def find(self, call_id: str) -> int:
        """Return the place of the newest call with this id, or -1."""
        places = [i for i, c in enumerate(self.rows()) if c.call_id == call_id]
        return places[-1] if places else -1


def n_open(task: TaskView) -> int:
    """Return how many calls of a task are not committed (for its accessible name)."""
    return sum(c.state in OPEN for c in task.calls)
