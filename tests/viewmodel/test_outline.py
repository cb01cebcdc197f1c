"""The outline's tree, printed as lines; ranges, never resets."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PySide6.QtCore import QPersistentModelIndex, Qt
from PySide6.QtTest import QAbstractItemModelTester

from oma_desktop.model.view import CallState
from oma_desktop.viewmodel.outline import PLAN_ORDER, OutlineModel
from oma_desktop.viewmodel.outline_rows import Column
from oma_desktop.viewmodel.roles import Role
from tests.viewmodel.graph_world import CALLS, T, approval, call, plan, store, task, world

FATAL = QAbstractItemModelTester.FailureReportingMode.Fatal


class Heard:
    """Writes down what a model announces."""

    def __init__(self, model):
        self.said = []
        model.rowsInserted.connect(self._on_inserted)
        model.rowsRemoved.connect(self._on_removed)
        model.dataChanged.connect(self._on_changed)
        model.layoutChanged.connect(self._on_moved)
        model.modelReset.connect(self._on_reset)

    def _on_inserted(self, _parent, first, last):
        self.said.append(f"+{first}-{last}")

    def _on_removed(self, _parent, first, last):
        self.said.append(f"-{first}-{last}")

    def _on_changed(self, first, last):
        self.said.append(f"~{first.row()}-{last.row()}")

    def _on_moved(self, *_):
        self.said.append("moved")

    def _on_reset(self):
        self.said.append("reset")


def make(tasks=(), **more):
    feed, selection = world(tasks, **more)
    model = OutlineModel(feed, selection)
    watch(model)
    return feed, selection, model


def watch(model):
    model.tester = QAbstractItemModelTester(model, FATAL)
    # it would ask for more while it is being told of an insertion, and call that our mistake
    model.tester.setUseFetchMore(False)


def whole(model):
    """Open everything, then read the tree."""
    for i in range(model.rowCount(model.index(0, 0))):
        model.fetchMore(model.index(i, 0, model.index(0, 0)))
    return model.lines()


SMALL = (
    task("a", "Alpha", T.DONE, turns=2, calls=(call("x", "grep", CallState.SAVED, task_id="a"),)),
    task("b", "Beta", T.RUNNING, agent="writer"),
)


def test_run_task_turn_call():
    _, _, model = make(plan(), approvals=(approval(),))
    lines = whole(model)
    assert lines[:2] == [
        "x running 3 saved 2 open 412000 tokens",
        "  Plan scope done by coordinator",
    ]
    at = lines.index("  Supplier letters needsyou by writer 3 saved 2 open 50600 tokens")
    assert lines[at + 1 : at + 10] == [
        "    turn 1 2 saved 0 open",
        "      supplier_search saved 1 saved 0 open",
        "      render_letter saved 1 saved 0 open",
        "    turn 2 1 saved 0 open",
        "      render_letter saved 1 saved 0 open",
        "    turn 3",
        "    turn 4 0 saved 2 open",
        "      send_letter needsyou 0 saved 1 open",
        "      write_memory torun 0 saved 1 open",
    ]


def test_one_changed_call_touches_its_rows_only():
    feed, _, model = make(plan())
    heard = Heard(model)
    saved = tuple(replace(c, state=CallState.SAVED) if c.call_id == "c5" else c for c in CALLS)
    feed.put(store([replace(t, calls=saved) if t.id == "t10" else t for t in plan()]))
    assert heard.said == ["~0-0", "~10-10", "~3-3", "~1-1"]  # run, task, turn, call


def test_nothing_new_says_nothing():
    feed, _, model = make(SMALL)
    heard = Heard(model)
    feed.put(replace(store(SMALL), revision=9))
    assert heard.said == []


def test_new_tasks_and_turns_are_ranges_and_indexes_live_on():
    feed, _, model = make(SMALL)
    beta = QPersistentModelIndex(model.index_of(("task", "b")))
    heard = Heard(model)
    grown = replace(SMALL[0], turns=4)
    feed.put(store([grown, task("n1"), task("n2"), SMALL[1]]))
    assert heard.said[:2] == ["~0-0", "+1-2"]
    assert "+2-3" in heard.said
    assert (beta.row(), beta.data(Role.ROW).title) == (3, "Beta")
    feed.put(store([SMALL[1]]))
    assert beta.row() == 0
    assert model.lines() == ["x running 412000 tokens", "  Beta running by writer"]


def test_another_run_replaces_the_tree():
    _, selection, model = make(SMALL)
    heard = Heard(model)
    selection.select_run(None)
    assert model.rowCount() == 0
    assert heard.said == ["-0-0"]


@pytest.mark.parametrize(
    ("column", "order", "first"),
    [
        (Column.TITLE, Qt.SortOrder.AscendingOrder, "Draft report"),
        (Column.STATE, Qt.SortOrder.AscendingOrder, "Supplier letters"),
        (Column.STATE, Qt.SortOrder.DescendingOrder, "Plan scope"),
        (Column.TURNS, Qt.SortOrder.DescendingOrder, "Lead times"),
        (Column.CALLS, Qt.SortOrder.DescendingOrder, "Supplier letters"),
        (Column.TOKENS, Qt.SortOrder.DescendingOrder, "Supplier letters"),
        (Column.SINCE, Qt.SortOrder.AscendingOrder, "Lead times"),
        (Column.AGENT, Qt.SortOrder.DescendingOrder, "Supplier letters"),
        (PLAN_ORDER, Qt.SortOrder.AscendingOrder, "Plan scope"),
    ],
)
def test_sorting_moves_tasks_and_keeps_their_indexes(column, order, first):
    feed, _, model = make(plan())
    held = QPersistentModelIndex(model.index_of(("call", "t10", 4, "c4")))
    task_held = QPersistentModelIndex(model.index_of(("task", "t10")))
    heard = Heard(model)
    model.sort(column, order)
    run = model.index(0, 0)
    assert model.index(0, 0, run).data(Role.ROW).title == first
    assert held.data(Role.ROW).title == "send_letter"
    assert task_held.data(Role.ROW).title == "Supplier letters"
    assert heard.said == ([] if column == PLAN_ORDER else ["moved"])
    feed.put(store(plan(chinese=True)))  # stays sorted while facts change
    rows = [model.index(i, 0, model.index(0, 0)).data(Role.ROW) for i in range(14)]
    assert len({r.task_id for r in rows}) == 14


def test_a_call_id_that_comes_back_is_found_in_its_newest_turn():
    calls = (
        call("x", "grep", CallState.SAVED, task_id="a"),
        call("x", "sed", CallState.TO_RUN, task_id="a", round_=2),
    )
    _, _, model = make([task("a", calls=calls)])
    assert model.index_of_call("a", "x").data(Role.ROW).title == "sed"
    assert not model.index_of_call("a", "nope").isValid()
    assert not model.index_of_call("ghost", "x").isValid()


def test_an_outdated_index_answers_nothing():
    feed, _, model = make(SMALL)
    stale = model.index_of(("task", "a"))
    feed.put(store(SMALL[1:]))
    assert model.row_at(stale) is None
    assert model.data(stale) is None
    assert model.rowCount(stale) == 0


# ------------------------------------------------------------------ nothing for nobody


def test_a_task_is_made_when_it_is_opened_and_only_it():
    feed, selection = world(plan())
    model = OutlineModel(feed, selection)
    assert len(model.lines()) == 1 + len(plan())
    letters = model.index_of(("task", "t10"))
    assert model.hasChildren(letters)
    assert model.canFetchMore(letters)
    assert model.rowCount(letters) == 0
    heard = Heard(model)
    model.fetchMore(letters)
    assert heard.said == ["+0-3"]
    assert len(model.lines()) == 1 + len(plan()) + 4 + len(CALLS)
    assert not model.canFetchMore(letters)


def test_a_call_that_is_asked_for_opens_its_task():
    feed, selection = world(plan())
    model = OutlineModel(feed, selection)
    assert model.index_of_call("t10", "c4").data(Role.ROW).title == "send_letter"
    other = OutlineModel(feed, selection)
    assert other.index_of(("turn", "t10", 2)).isValid()


def test_calls_of_a_closed_task_change_without_being_made():
    feed, selection = world(SMALL)
    model = OutlineModel(feed, selection)
    heard = Heard(model)
    more = (*SMALL[0].calls, call("y", "sed", CallState.SAVED, task_id="a", round_=2))
    feed.put(store([replace(SMALL[0], calls=more), SMALL[1]]))
    assert heard.said == ["~0-0", "~0-0"]  # the run and the task
    assert [line for line in whole(model) if "sed" in line] == ["      sed saved 1 saved 0 open"]


def test_nothing_is_made_while_nobody_looks():
    feed, selection = world(plan())
    model = OutlineModel(feed, selection, active=False)
    watch(model)
    heard = Heard(model)
    feed.put(store(SMALL))
    assert (model.rowCount(), heard.said) == (0, [])
    model.set_active(active=True)
    assert whole(model)[1] == "  Alpha done by analyst 1 saved 0 open"
    model.set_active(active=False)
    heard.said.clear()
    feed.put(store(SMALL[1:]))
    assert heard.said == []
    model.set_active(active=True)
    assert "-0-0" in heard.said
    fresh = OutlineModel(feed, selection)
    assert whole(model) == whole(fresh)


tasks_strategy = st.lists(
    st.tuples(
        st.sampled_from("abcdefgh"),
        st.sampled_from([T.DONE, T.RUNNING, T.FAILED]),
        st.integers(0, 3),
        st.lists(st.tuples(st.sampled_from("xyz"), st.integers(1, 3)), max_size=3),
    ),
    max_size=6,
    unique_by=lambda t: t[0],
)


def _tasks(drawn):
    return [
        task(
            id_,
            state=state,
            turns=turns,
            calls=tuple(
                call(c, c, CallState.SAVED, task_id=id_, round_=r) for c, r in dict.fromkeys(calls)
            ),
        )
        for id_, state, turns, calls in drawn
    ]


@given(st.lists(tasks_strategy, min_size=2, max_size=4), st.sampled_from([-1, 0, 1, 3, 4]))
@settings(max_examples=20, deadline=None)
def test_stepwise_equals_at_once(pictures, column):
    feed, _, model = make(_tasks(pictures[0]))
    model.sort(column)
    heard = Heard(model)
    for drawn in pictures[1:]:
        feed.put(store(_tasks(drawn)))
    _, _, fresh = make(_tasks(pictures[-1]))
    fresh.sort(column)
    assert sorted(whole(model)) == sorted(whole(fresh))
    if column == PLAN_ORDER:
        assert model.lines() == fresh.lines()
    assert "reset" not in heard.said
