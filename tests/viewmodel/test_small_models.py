"""Ages, selection, notices, problems and the ledger."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtTest import QAbstractItemModelTester

from oma_desktop.model.view import (
    CallState,
    Effect,
    EndRecord,
    Problem,
    RunRef,
    RunState,
    RunView,
    StoreView,
    TaskState,
    TaskView,
    ToolCallView,
)
from oma_desktop.viewmodel.ages import (
    Age,
    AgeUnit,
    age_from_seconds,
    age_of,
    clock_parts,
    quiet_for,
)
from oma_desktop.viewmodel.feed import Feed, LiveRun, Notice
from oma_desktop.viewmodel.notices import NoticeBoard
from oma_desktop.viewmodel.problems import ProblemRows
from oma_desktop.viewmodel.selection import Place, Selection
from oma_desktop.viewmodel.tools import ToolRows, n_open
from oma_desktop.viewmodel.verbs import Why, verbs_for

NOW = datetime(2026, 3, 1, 14, 0, tzinfo=UTC)
A, B = RunRef("/a.json", "k"), RunRef("/b.json", "k")
FATAL = QAbstractItemModelTester.FailureReportingMode.Fatal


@pytest.mark.parametrize(
    ("seconds", "age"),
    [
        (-5, (0.0, AgeUnit.SECONDS)),
        (0.44, (0.4, AgeUnit.SECONDS)),
        (9.99, (9.9, AgeUnit.SECONDS)),
        (59.9, (59, AgeUnit.SECONDS)),
        (60, (1, AgeUnit.MINUTES)),
        (3599, (59, AgeUnit.MINUTES)),
        (86399, (23, AgeUnit.HOURS)),
        (3 * 86400 + 5, (3, AgeUnit.DAYS)),
    ],
)
def test_ages_are_cut_never_rounded_up(seconds, age):
    assert age_from_seconds(seconds) == Age(*age)


def test_no_time_no_age():
    assert age_of(None, now=NOW) is None
    assert age_of(NOW - timedelta(hours=2), now=NOW) == (2, AgeUnit.HOURS)


def test_quiet_begins_after_a_minute():
    assert quiet_for(NOW - timedelta(seconds=59), now=NOW) is None
    assert quiet_for(NOW - timedelta(minutes=5), now=NOW) == (5, AgeUnit.MINUTES)


@given(st.floats(0, 1e7))
def test_clock_parts_add_up(seconds):
    h, m, s = clock_parts(seconds)
    assert h * 3600 + m * 60 + s == int(seconds)
    assert m < 60
    assert s < 60


def listening(selection):
    seen = []
    selection.run_changed.connect(lambda v: seen.append(("run", v)))
    selection.task_changed.connect(lambda v: seen.append(("task", v)))
    selection.call_changed.connect(lambda v: seen.append(("call", v)))
    return seen


def test_selecting_a_run_drops_its_task_and_says_so_once():
    selection = Selection()
    seen = listening(selection)
    selection.select(Place(A, "t1", "c1"))
    assert seen == [("run", A), ("task", "t1"), ("call", "c1")]
    seen.clear()
    selection.select_run(B)
    assert selection.place == Place(B)
    assert seen == [("run", B), ("task", None), ("call", None)]
    selection.select_run(B)
    selection.select_task(None)
    assert len(seen) == 3


def test_a_task_needs_a_run():
    selection = Selection()
    selection.select_task("t1")
    selection.select_call("c1")
    assert selection.place == Place()


def test_the_way_back_and_forth():
    selection = Selection()
    for place in (Place(A, "t1"), Place(A, "t2"), Place(B, "t9")):
        selection.select(place)
    selection.back()
    selection.back()
    assert selection.place == Place(A, "t1")
    assert not selection.can_go_back
    selection.forward()
    assert selection.place == Place(A, "t2")
    selection.select_task("t3")
    assert not selection.can_go_forward


def board():
    feed = Feed()
    return feed, NoticeBoard(feed, now=lambda: NOW)


def notice(n, level="warning"):
    return Notice(level, "test.code", {"n": n})


def test_two_notices_are_in_sight_and_none_is_lost():
    feed, notices = board()
    for n in range(3):
        feed.notice.emit(notice(n))
    assert [h.notice.facts["n"] for h in notices.shown] == [2, 1]
    assert len(notices.kept) == 3
    notices.close(notices.shown[0].number)
    assert [h.notice.facts["n"] for h in notices.shown] == [1, 0]


def test_the_same_notice_again_counts_instead_of_stacking():
    feed, notices = board()
    for _ in range(3):
        feed.notice.emit(notice(1))
    assert [h.times for h in notices.shown] == [3]
    notices.close(notices.shown[0].number)
    assert notices.shown == ()
    feed.notice.emit(notice(1))
    assert [h.times for h in notices.shown] == [4]


def test_a_run_has_one_bar_per_kind_and_all_of_them_in_problems():
    feed, notices = board()
    model = ProblemRows(feed, notices)
    for n in range(3):
        feed.notice.emit(replace(notice(n), run=A))
    feed.notice.emit(replace(notice(7), run=RunRef("/b.json", "k")))
    assert [(h.notice.facts["n"], h.more) for h in notices.shown] == [(7, 0), (2, 2)]
    assert model.rowCount() == 4
    notices.close(notices.shown[1].number)
    assert [h.notice.facts["n"] for h in notices.shown] == [7]
    assert model.rowCount() == 4


def test_a_problem_of_a_task_says_which():
    feed, notices = board()
    model = ProblemRows(feed, notices)
    told = Notice("warning", "USAGE_UNKNOWN", {"task": "Letters"}, A, quiet=True)
    feed.notice.emit(told)
    assert [(r.where, r.store) for r in model.rows()] == [("Letters", A.store)]


def test_a_quiet_notice_is_in_problems_only():
    feed, notices = board()
    model = ProblemRows(feed, notices)
    feed.notice.emit(replace(notice(1), quiet=True))
    assert notices.shown == ()
    assert [r.code for r in model.rows()] == ["test.code"]


def test_problems_of_files_runs_and_notices_errors_first():
    feed, notices = board()
    model = ProblemRows(feed, notices)
    check = QAbstractItemModelTester(model, FATAL)
    run = RunView(key="k", run_id="r", state=RunState.OK, problems=(Problem("b", "error", "$.x"),))
    feed.put(StoreView(path="/a.json", runs=(run,), problems=(Problem("a", "warning"),)))
    feed.notice.emit(notice(1))
    feed.notice.emit(notice(2, "info"))
    assert [(r.severity, r.code) for r in model.rows()] == [
        ("error", "b"),
        ("warning", "a"),
        ("warning", "test.code"),
    ]
    assert model.rows()[0].run == A
    feed.drop("/a.json")
    assert [r.code for r in model.rows()] == ["test.code"]
    del check


def call(call_id, state, round_=1):
    return ToolCallView(
        call_id=call_id,
        tool="bash",
        agent="a",
        task_id="t",
        state=state,
        round=round_,
        effect=Effect.CONSEQUENTIAL,
        output_size=7,
    )


def test_the_ledger_keeps_the_order_of_asking_and_finds_the_newest_call():
    calls = (
        call("c1", CallState.SAVED),
        call("c2", CallState.OUTCOME_UNKNOWN),
        call("c1", CallState.TO_RUN, 2),
    )
    task = TaskView(
        id="t", title="T", description="", status="", state=TaskState.RUNNING, calls=calls
    )
    model = ToolRows()
    check = QAbstractItemModelTester(model, FATAL)
    model.set_task(task)
    assert model.lines()[1] == "outcome | bash | consequential | 7"
    assert (model.find("c1"), model.find("nope"), n_open(task)) == (2, -1, 2)
    model.set_task(None)
    assert model.rows() == ()
    del check


def test_a_task_that_began_reads_running_before_any_file_says_so():
    feed = Feed()
    states = [TaskState.DONE, TaskState.WAITING, TaskState.BLOCKED, TaskState.NEEDS_YOU]
    tasks = tuple(TaskView(f"t{i}", "", "", "", state) for i, state in enumerate(states))
    feed.put(StoreView("/a.json", runs=(RunView("k", "a", RunState.RUNNING, tasks=tasks),)))
    heard = []
    feed.changed.connect(heard.append)

    def shown():
        return [t.state.value for t in feed.run(A).tasks]

    feed.set_live((LiveRun(A),))
    assert heard == []
    feed.set_live((LiveRun(A, begun={"t0": NOW, "t1": NOW, "t3": NOW}),))
    assert shown() == ["done", "running", "blocked", "needsyou"]
    assert feed.run(A).tasks[1].updated_at == NOW
    assert heard == [{"/a.json"}]
    feed.set_live(())
    assert shown()[1] == "running", "until a file says what became of it"
    feed.put(StoreView("/a.json", runs=(RunView("k", "a", RunState.SUSPENDED, tasks=tasks),)))
    assert shown()[1] == "waiting"


def test_a_bar_says_which_run_it_speaks_of_where_there_are_several():
    feed, notices = board()
    for path in ("/a.json", "/b.json"):
        run = RunView(key="k", run_id=f"run {path}", state=RunState.OK)
        feed.put(StoreView(path=path, runs=(run,)))
        feed.notice.emit(replace(notice(1), run=RunRef(path, "k")))
    assert [notices.about(h) for h in notices.shown] == ["run /b.json", "run /a.json"]
    feed.notice.emit(notice(2))
    assert notices.about(notices.shown[0]) == ""
    feed.drop("/b.json")
    own = next(h for h in notices.kept if h.notice.run == A)
    assert notices.about(own) == ""


@pytest.mark.parametrize(
    ("state", "end", "why"),
    [
        (RunState.REJECTED, EndRecord("rejected", NOW, "approval"), Why.REJECTED),
        (RunState.REJECTED, None, Why.FREE),
        (RunState.OK, EndRecord("ok", NOW, "run"), Why.FINISHED),
        (RunState.BUDGET, EndRecord("budget_exhausted", NOW, "budget"), Why.FREE),
    ],
)
def test_a_carried_out_rejection_cannot_be_resumed(state, end, why):
    feed = Feed()
    run = RunView(key="k", run_id="r", state=state, end=end)
    feed.put(StoreView(path="/a.json", runs=(run,)))
    assert verbs_for(feed, A).restore is why
