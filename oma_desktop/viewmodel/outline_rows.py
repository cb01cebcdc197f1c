"""What a row of the outline says: values for run, task, turn and tool call (ux.md C5, Outline)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum, IntEnum
from typing import Final, TypeAlias

from typing_extensions import override

from oma_desktop.model.view import (
    CallState,
    RunState,
    RunView,
    StoreView,
    TaskState,
    TaskView,
    ToolCallView,
)
from oma_desktop.viewmodel.graph_nodes import urgency
from oma_desktop.viewmodel.runs import run_name
from oma_desktop.viewmodel.tools import OPEN, n_open

Key: TypeAlias = tuple[str | int, ...]


class Kind(Enum):
    """The four levels of the tree."""

    RUN = "run"
    TASK = "task"
    TURN = "turn"
    CALL = "call"


class Column(IntEnum):
    """Columns, left to right."""

    TITLE = 0
    STATE = 1
    AGENT = 2
    TURNS = 3
    CALLS = 4
    TOKENS = 5
    SINCE = 6


NUMBERS: Final = frozenset({Column.TURNS, Column.TOKENS, Column.SINCE})


@dataclass(frozen=True, slots=True)
class OutlineRow:
    """One row. None is "does not apply" or "not known"; `ui` says which word stands for it.

    Of a turn, `number` is the turn; of a call, `call` is the call itself.
    """

    kind: Kind
    key: Key
    title: str
    state: TaskState | RunState | CallState | None = None
    agent: str | None = None
    number: int | None = None
    n_saved: int = 0
    n_open: int = 0
    tokens: int | None = None
    since: datetime | None = None
    task_id: str | None = None
    task: TaskView | None = None
    call: ToolCallView | None = None


class Branch:
    """A row with everything below it: made when asked for, and kept.

    A run has thousands of calls and shows a screen of them, so a task costs next to nothing until
    somebody looks at it.
    """

    __slots__ = ("_below", "_row", "key")

    def __init__(self, key: Key, row: OutlineRow | None, below: Sequence[Branch] | None) -> None:
        self.key = key
        self._row = row
        self._below = below

    @property
    def row(self) -> OutlineRow:
        """What the row says."""
        assert self._row is not None
        return self._row

    @property
    def branches(self) -> Sequence[Branch]:
        """What is below."""
        assert self._below is not None
        return self._below

    @property
    def is_later(self) -> bool:
        """Whether what is below is made only when the row is opened."""
        return False

    def says_what(self, other: Branch) -> bool:
        """Whether both rows read the same."""
        return self.row == other.row


class TaskBranch(Branch):
    """A task with its turns; a turn without tool calls is a row too: it was words only."""

    __slots__ = ("n_open", "task")

    def __init__(self, task: TaskView) -> None:
        super().__init__(("task", task.id), None, None)
        self.task = task
        self.n_open = n_open(task)

    @property
    @override
    def row(self) -> OutlineRow:
        if self._row is None:
            self._row = _task_row(self.task, self.n_open)
        return self._row

    @property
    @override
    def branches(self) -> Sequence[Branch]:
        if self._below is None:
            self._below = _turns(self.task)
        return self._below

    @property
    @override
    def is_later(self) -> bool:
        return self.task.turns > 0 or bool(self.task.calls)

    @override
    def says_what(self, other: Branch) -> bool:
        return isinstance(other, TaskBranch) and self.task == other.task


def run_branch(store: StoreView, run: RunView, tasks: Sequence[TaskBranch]) -> Branch:
    """Return the root of the tree."""
    n_calls = sum(len(b.task.calls) for b in tasks)
    n_open_ = sum(b.n_open for b in tasks)
    row = OutlineRow(
        kind=Kind.RUN,
        key=(run.key,),
        title=run_name(store, run),
        state=run.state,
        number=sum(b.task.turns for b in tasks),
        n_saved=n_calls - n_open_,
        n_open=n_open_,
        tokens=run.usage.total if run.usage.known else None,
        since=run.started_at,
    )
    return Branch(row.key, row, tasks)


def _task_row(task: TaskView, n_open_: int) -> OutlineRow:
    return OutlineRow(
        kind=Kind.TASK,
        key=("task", task.id),
        title=task.title,
        state=task.state,
        agent=task.assignee,
        number=task.turns,
        n_saved=len(task.calls) - n_open_,
        n_open=n_open_,
        tokens=task.usage.total if task.usage.known else None,
        since=task.updated_at,
        task_id=task.id,
        task=task,
    )


def _turns(task: TaskView) -> tuple[Branch, ...]:
    rounds: dict[int, list[ToolCallView]] = {n: [] for n in range(1, task.turns + 1)}
    for call in task.calls:
        rounds.setdefault(call.round, []).append(call)
    return tuple(_turn_branch(task, n, calls) for n, calls in sorted(rounds.items()))


def _turn_branch(task: TaskView, number: int, calls: Sequence[ToolCallView]) -> Branch:
    n_open_ = sum(c.state in OPEN for c in calls)
    row = OutlineRow(
        kind=Kind.TURN,
        key=("turn", task.id, number),
        title="",
        agent=task.assignee,
        number=number,
        n_saved=len(calls) - n_open_,
        n_open=n_open_,
        task_id=task.id,
    )
    unique = {c.call_id: c for c in calls}
    return Branch(row.key, row, tuple(_call_branch(c) for c in unique.values()))


def _call_branch(call: ToolCallView) -> Branch:
    is_open = call.state in OPEN
    row = OutlineRow(
        kind=Kind.CALL,
        key=("call", call.task_id, call.round, call.call_id),
        title=call.tool,
        state=call.state,
        agent=call.agent,
        n_saved=int(not is_open),
        n_open=int(is_open),
        task_id=call.task_id,
        call=call,
    )
    return Branch(row.key, row, ())


_FIRST: Final = datetime(1970, 1, 1, tzinfo=UTC)
Sortable: TypeAlias = tuple[float | str, ...]


def sort_value(row: OutlineRow, column: int) -> Sortable:
    """Return what a task sorts by in a column; what is not known comes first when ascending."""
    match column:
        case Column.STATE:
            return (urgency(row.state) if isinstance(row.state, TaskState) else -1,)
        case Column.AGENT:
            return ((row.agent or "").casefold(),)
        case Column.TURNS:
            return (row.number or 0,)
        case Column.CALLS:
            return (row.n_open, row.n_saved)
        case Column.TOKENS:
            return (-1 if row.tokens is None else row.tokens,)
        case Column.SINCE:
            return ((row.since or _FIRST).timestamp(),)
        case _:
            return (row.title.casefold(),)
