"""The sealed table base: an author writes a key and a cell, `Rows` owns the index arithmetic.

`set_rows` compares by key and announces ranges: one removal, insertion or change per contiguous
block, so that a thousand new rows cost one repaint, not a thousand (house.md 2.3.8, 4.2 #30).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from enum import Enum
from itertools import pairwise
from typing import Generic, TypeVar, final

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt
from typing_extensions import override

from oma_desktop.viewmodel.roles import Role

R = TypeVar("R")
Index = QModelIndex | QPersistentModelIndex


class Rows(QAbstractTableModel, Generic[R]):
    """A flat table of frozen row values.

    Invariants: keys are unique; rows change only between Qt's begin and end calls; `data` is total
    (unknown asks answer None). `text`, when given, says how a cell reads to a person: it comes from
    `ui`, because models hold no sentences.
    """

    n_columns = 1

    def __init__(
        self,
        parent: QObject | None = None,
        *,
        text: Callable[[R, int], str] | None = None,
    ) -> None:
        super().__init__(parent)
        self._rows: list[R] = []
        self._places: dict[Hashable, int] | None = {}
        self._text = text

    # -- for authors ------------------------------------------------------------------------

    def key(self, row: R) -> Hashable:
        """Return what names this row through changes."""
        raise KeyError(type(self).__name__)

    def cell(self, row: R, column: int) -> object:
        """Return the raw value of a cell: a number, an enum, an id. Never a sentence."""
        raise KeyError(column)

    def is_selectable(self, row: R) -> bool:
        """Whether a person may select this row; group heads say no."""
        return row is not None

    # -- for views --------------------------------------------------------------------------

    @final
    def rows(self) -> Sequence[R]:
        return tuple(self._rows)

    @final
    def row_at(self, i: int) -> R | None:
        return self._rows[i] if 0 <= i < len(self._rows) else None

    @final
    def row_of(self, key: Hashable) -> int:
        """Return the place of a key, or -1."""
        return self._index_of_keys().get(key, -1)

    @final
    def set_text(self, text: Callable[[R, int], str]) -> None:
        """Set how a cell reads to a person; the words come from `ui`."""
        self._text = text

    @final
    def lines(self) -> list[str]:
        """Return the table as text lines, for tests that read like a diff (house.md 3.6)."""
        return [
            " | ".join(str(_plain(self.cell(r, c))) for c in range(self.n_columns))
            for r in self._rows
        ]

    @final
    def set_rows(self, rows: Sequence[R]) -> None:
        """Become `rows`, announcing only what moved. Raises ValueError on equal keys."""
        new = list(rows)
        keys = [self.key(r) for r in new]
        if len(set(keys)) != len(keys):
            raise ValueError("two rows with one key")
        wanted = dict(zip(keys, new, strict=True))
        self._remove_missing(wanted)
        self._reorder(keys)
        self._insert_missing(new, keys)
        self._replace(new)

    @final
    def replace_rows(self, rows: Sequence[R]) -> None:
        """Put new values in place of shown rows of the same keys; others are ignored."""
        known = self._index_of_keys()
        places = {known[k]: r for r in rows if (k := self.key(r)) in known}
        changed = sorted(i for i, r in places.items() if self._rows[i] != r)
        for i in changed:
            self._rows[i] = places[i]
        self._announce(changed)

    # -- Qt ---------------------------------------------------------------------------------

    @override
    @final
    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's own default
        return 0 if parent.isValid() else len(self._rows)

    @override
    @final
    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's own default
        return 0 if parent.isValid() else self.n_columns

    @override
    @final
    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        row = self.row_at(index.row()) if index.isValid() else None
        if row is None or index.column() >= self.n_columns:
            return None
        if role == Role.ROW:
            return row
        if role == Role.KEY:
            return self.key(row)
        if role == Role.SORT:
            return _plain(self.cell(row, index.column()))
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            return self._read(row, index.column())
        return None

    @override
    @final
    def flags(self, index: Index) -> Qt.ItemFlag:
        row = self.row_at(index.row()) if index.isValid() else None
        if row is None:
            return Qt.ItemFlag.NoItemFlags
        if not self.is_selectable(row):
            return Qt.ItemFlag.ItemIsEnabled
        return (
            Qt.ItemFlag.ItemIsEnabled
            | Qt.ItemFlag.ItemIsSelectable
            | Qt.ItemFlag.ItemNeverHasChildren
        )

    # -- index arithmetic -------------------------------------------------------------------

    def _index_of_keys(self) -> dict[Hashable, int]:
        if self._places is None:
            self._places = {self.key(r): i for i, r in enumerate(self._rows)}
        return self._places

    def _read(self, row: R, column: int) -> str:
        if self._text is not None:
            return self._text(row, column)
        return str(_plain(self.cell(row, column)))

    def _remove_missing(self, wanted: dict[Hashable, R]) -> None:
        gone = [i for i, r in enumerate(self._rows) if self.key(r) not in wanted]
        for first, last in reversed(list(ranges(gone))):
            self.beginRemoveRows(QModelIndex(), first, last)
            del self._rows[first : last + 1]
            self._places = None
            self.endRemoveRows()

    def _reorder(self, keys: list[Hashable]) -> None:
        rank = {k: i for i, k in enumerate(keys)}
        order = [rank[self.key(r)] for r in self._rows]
        if all(a < b for a, b in pairwise(order)):
            return
        self.layoutAboutToBeChanged.emit()
        held = self.persistentIndexList()
        old = [self.key(self._rows[i.row()]) for i in held]
        self._rows.sort(key=lambda r: rank[self.key(r)])
        self._places = None
        places = {self.key(r): i for i, r in enumerate(self._rows)}
        moved = [self.index(places[k], i.column()) for k, i in zip(old, held, strict=True)]
        self.changePersistentIndexList(held, moved)
        self.layoutChanged.emit()

    def _insert_missing(self, new: list[R], keys: list[Hashable]) -> None:
        known = {self.key(r) for r in self._rows}
        missing = [i for i, k in enumerate(keys) if k not in known]
        for first, last in ranges(missing):
            self.beginInsertRows(QModelIndex(), first, last)
            self._rows[first:first] = new[first : last + 1]
            self._places = None
            self.endInsertRows()

    def _replace(self, new: list[R]) -> None:
        changed = [i for i, (a, b) in enumerate(zip(self._rows, new, strict=True)) if a != b]
        self._rows = new
        self._announce(changed)

    def _announce(self, changed: Sequence[int]) -> None:
        for first, last in ranges(changed):
            self.dataChanged.emit(self.index(first, 0), self.index(last, self.n_columns - 1))


def ranges(numbers: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield (first, last) of each contiguous block of ascending numbers."""
    start: int | None = None
    previous = -1
    for n in numbers:
        if start is None:
            start = n
        elif n != previous + 1:
            yield start, previous
            start = n
        previous = n
    if start is not None:
        yield start, previous


def _plain(value: object) -> object:
    return value.value if isinstance(value, Enum) else value
