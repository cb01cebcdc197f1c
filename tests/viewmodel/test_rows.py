"""The table base: range announcements, selection kept, equal to a reset whatever happens."""

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QPersistentModelIndex, Qt
from PySide6.QtTest import QAbstractItemModelTester

from oma_desktop.viewmodel.roles import Role
from oma_desktop.viewmodel.rows import Rows, ranges


@dataclass(frozen=True)
class Item:
    name: str
    n: int = 0


class Items(Rows[Item]):
    n_columns = 2

    def key(self, row):
        return row.name

    def cell(self, row, column):
        return (row.name, row.n)[column]


def checked(model):
    return QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal)


TABLES = st.lists(
    st.builds(Item, st.sampled_from("abcdefghij"), st.integers(0, 2)),
    unique_by=lambda i: i.name,
    max_size=10,
)


@given(steps=st.lists(TABLES, max_size=6))
def test_driven_by_differences_equals_set_at_once(steps):
    model = Items()
    check = checked(model)
    for rows in steps:
        model.set_rows(rows)
        assert list(model.rows()) == rows
        assert [model.row_of(r.name) for r in rows] == list(range(len(rows)))
    del check


@given(before=TABLES, after=TABLES)
def test_a_persistent_index_stays_with_its_row(before, after):
    model = Items()
    model.set_rows(before)
    held = {r.name: QPersistentModelIndex(model.index(i, 0)) for i, r in enumerate(before)}
    model.set_rows(after)
    names = [r.name for r in after]
    for name, index in held.items():
        assert index.isValid() == (name in names)
        if index.isValid():
            assert model.row_at(index.row()).name == name


def test_a_thousand_new_rows_are_announced_once():
    model, seen = Items(), []
    model.rowsInserted.connect(lambda _p, first, last: seen.append((first, last)))
    model.set_rows([Item(str(i)) for i in range(1000)])
    assert seen == [(0, 999)]


def test_only_what_changed_is_announced():
    model, seen = Items(), []
    model.set_rows([Item(c) for c in "abcdef"])
    model.dataChanged.connect(lambda a, b, _r: seen.append((a.row(), b.row())))
    model.set_rows([Item("a"), Item("b", 1), Item("c", 1), Item("d"), Item("e"), Item("f", 2)])
    assert seen == [(1, 2), (5, 5)]
    model.replace_rows([Item("d", 9), Item("a"), Item("nobody", 1)])
    assert seen[2:] == [(3, 3)]


def test_two_rows_with_one_key_are_refused():
    with pytest.raises(ValueError, match="one key"):
        Items().set_rows([Item("a"), Item("a", 1)])


def test_data_is_total():
    model = Items()
    model.set_rows([Item("a", 3)])
    index = model.index(0, 1)
    assert index.data(Role.SORT) == 3
    assert index.data(Role.KEY) == "a"
    assert index.data(Role.ROW) == Item("a", 3)
    assert index.data(Qt.ItemDataRole.DisplayRole) == "3"
    assert index.data(Qt.ItemDataRole.DecorationRole) is None
    assert model.index(7, 0).data() is None
    assert model.lines() == ["a | 3"]


def test_text_comes_from_outside():
    model = Items(text=lambda row, column: f"item {row.name} {column}")
    model.set_rows([Item("a")])
    assert model.index(0, 1).data(Qt.ItemDataRole.AccessibleTextRole) == "item a 1"


def test_ranges():
    assert list(ranges([])) == []
    assert list(ranges([0, 1, 4, 6, 7, 8])) == [(0, 1), (4, 4), (6, 8)]
