"""Everything odd in one list (ux.md C5): of stores, of runs, of requests, and what was told."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from PySide6.QtCore import QObject
from typing_extensions import override

from oma_desktop.model.view import Problem, RunRef, StoreView
from oma_desktop.viewmodel.feed import Feed
from oma_desktop.viewmodel.notices import NoticeBoard
from oma_desktop.viewmodel.rows import Rows

SEVERITY: Final = 0
TEXT: Final = 1
PLACE: Final = 2
WHEN: Final = 3
_ORDER: Final = {"error": 0, "warning": 1, "info": 2}


@dataclass(frozen=True, slots=True)
class ProblemRow:
    """One odd thing. `run` is None where it concerns a whole file or the program."""

    number: int
    severity: str
    code: str
    facts: tuple[tuple[str, object], ...]
    where: str
    store: str
    run: RunRef | None
    at: datetime | None


class ProblemRows(Rows[ProblemRow]):
    """Problems of all watched stores and the notices of this session, errors first."""

    n_columns = 4

    def __init__(self, feed: Feed, board: NoticeBoard, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._feed = feed
        self._board = board
        feed.changed.connect(self.refresh)
        board.changed.connect(self.refresh)
        self.refresh()

    def refresh(self) -> None:
        """Read feed and notices again."""
        found = [row for store in self._feed.stores() for row in _of_store(store)]
        found += [
            ProblemRow(
                number=-h.number,
                severity=h.notice.level,
                code=h.notice.code,
                facts=tuple(sorted(h.notice.facts.items())),
                where=str(h.notice.facts.get("task", "")),
                store=h.notice.run.store if h.notice.run else "",
                run=h.notice.run,
                at=h.at,
            )
            for h in self._board.kept
            if h.notice.level != "info"
        ]
        found.sort(key=lambda r: _ORDER.get(r.severity, 3))
        self.set_rows(list({self.key(r): r for r in found}.values()))

    @override
    def key(self, row: ProblemRow) -> Hashable:
        return (row.number, row.store, row.run, row.code, row.where, repr(row.facts))

    @override
    def cell(self, row: ProblemRow, column: int) -> object:
        return (row.severity, row.code, row.where or row.store, row.at)[column]


def _of_store(store: StoreView) -> Iterator[ProblemRow]:
    for problem in store.problems:
        yield _row(problem, store, None)
    for run in store.runs:
        for problem in run.problems:
            yield _row(problem, store, RunRef(store.path, run.key))
    for request in store.approvals:
        if request.problem is not None:
            yield _row(request.problem, store, None)


def _row(problem: Problem, store: StoreView, run: RunRef | None) -> ProblemRow:
    return ProblemRow(
        number=0,
        severity=problem.severity,
        code=problem.code,
        facts=tuple(sorted((k, _frozen(v)) for k, v in problem.facts.items())),
        where=problem.where,
        store=store.path,
        run=run,
        at=store.unreadable_since or store.read_at,
    )


def _frozen(value: object) -> object:
    return value if isinstance(value, str | int | float | bool | None) else repr(value)
