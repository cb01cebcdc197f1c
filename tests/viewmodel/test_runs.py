"""The Runs table: groups, order, filter, folding; driven by the feed as the window is."""

from datetime import UTC, datetime, timedelta

from PySide6.QtTest import QAbstractItemModelTester

from oma_desktop.model.view import (
    EndRecord,
    Owner,
    OwnerKind,
    RunRef,
    RunState,
    RunView,
    StoreView,
    TaskState,
    TaskView,
)
from oma_desktop.viewmodel.feed import Feed, LiveRun
from oma_desktop.viewmodel.runs import GroupRow, RunGroup, RunRows, run_name, run_row

T0 = datetime(2026, 3, 1, 14, 0, tzinfo=UTC)


def task(i, state):
    return TaskView(id=f"t{i}", title=f"Task {i}", description="", status="", state=state)


def run(
    state,
    *,
    key="k",
    minutes=0,
    waiting=0,
    done=1,
    run_id="00000000-0000-4000-8000-000000000000",
    **more,
):
    tasks = tuple(task(i, TaskState.DONE if i < done else TaskState.WAITING) for i in range(3))
    return RunView(
        key=key,
        run_id=run_id,
        state=state,
        tasks=tasks,
        n_open_approvals=waiting,
        saved_at=T0 + timedelta(minutes=minutes),
        started_at=T0 - timedelta(minutes=minutes),
        **more,
    )


def store(name, *runs, **more):
    return StoreView(path=f"/data/{name}", runs=runs, **more)


def model_of(*stores):
    feed = Feed()
    model = RunRows(feed)
    model._check = QAbstractItemModelTester(
        model, QAbstractItemModelTester.FailureReportingMode.Fatal
    )
    for s in stores:
        feed.put(s)
    return feed, model


def test_needs_you_first_then_running_then_newest():
    _, model = model_of(
        store("old.json", run(RunState.OK, minutes=1, done=3)),
        store("live.json", run(RunState.RUNNING)),
        store("new.json", run(RunState.ERROR, minutes=9)),
        store("gate.json", run(RunState.SUSPENDED, waiting=2)),
    )
    assert model.lines() == [
        "[needs_you 1]",
        "gate suspended 1/3 !2",
        "[running 1]",
        "live running 1/3 !0",
        "[stopped 2]",
        "new failed 1/3 !0",
        "old done 3/3 !0",
    ]
    assert (model.n_runs, model.n_shown, model.n_waiting) == (4, 4, 2)


def test_a_running_run_that_saves_keeps_its_place_and_the_others_are_quiet():
    feed, model = model_of(
        store("a.json", run(RunState.RUNNING, minutes=1)),
        store("b.json", run(RunState.RUNNING, minutes=5)),
    )
    before, changes = model.lines(), []
    model.dataChanged.connect(lambda a, b, _r: changes.append((a.row(), b.row())))
    model.layoutChanged.connect(lambda: changes.append("layout"))
    again = run(RunState.RUNNING, minutes=5, done=2)
    feed.put(store("b.json", again))
    assert [line.split(" ")[0] for line in model.lines()] == [line.split(" ")[0] for line in before]
    assert changes == [(2, 2)]


def test_a_run_moves_when_it_needs_you():
    feed, model = model_of(
        store("a.json", run(RunState.RUNNING)), store("b.json", run(RunState.OK))
    )
    feed.put(store("b.json", run(RunState.SUSPENDED, waiting=1)))
    assert model.lines()[:2] == ["[needs_you 1]", "b suspended 1/3 !1"]
    feed.drop("/data/b.json")
    assert model.lines() == ["[running 1]", "a running 1/3 !0"]


def test_filter_looks_at_name_and_path_and_says_what_is_left():
    _, model = model_of(
        store("supply/risk.json", run(RunState.OK)),
        store("港口/延误.json", run(RunState.OK)),
    )
    model.set_filter("SUPPLY ri")
    assert [r.name for r in model.run_rows()] == ["risk"]
    model.set_filter("延误")
    assert [r.name for r in model.run_rows()] == ["延误"]
    model.set_filter("nothing like this")
    assert model.rows() == ()
    assert (model.n_shown, model.n_runs) == (0, 2)
    model.set_filter("")
    assert model.n_shown == 2


def test_folding_hides_the_runs_not_the_count():
    _, model = model_of(store("a.json", run(RunState.OK)), store("b.json", run(RunState.OK)))
    model.toggle_group(RunGroup.STOPPED)
    assert model.rows() == (GroupRow(RunGroup.STOPPED, 2, folded=True),)
    model.toggle_group(RunGroup.STOPPED)
    assert len(model.run_rows()) == 2


def test_heads_cannot_be_selected():
    _, model = model_of(store("a.json", run(RunState.OK)))
    head, row = (model.flags(model.index(i, 0)) for i in (0, 1))
    assert not head & head.ItemIsSelectable
    assert row & row.ItemIsSelectable


def test_names_are_the_id_or_for_a_bare_uuid_the_file_or_folder():
    named = run(RunState.OK, run_id="weekly-report")
    assert run_name(StoreView(path="/x/y/checkpoint.json", runs=(named,)), named) == "weekly-report"
    one = run(RunState.OK)
    two = run(RunState.OK, key="k2", run_id="r-2")
    assert run_name(StoreView(path="/x/weekly.json", runs=(one,)), one) == "weekly"
    assert run_name(StoreView(path="/x/weekly/checkpoint.json", runs=(one,)), one) == "weekly"
    assert run_name(StoreView(path="/x/all.json", runs=(one, two)), two) == "r-2"


def test_a_suspend_on_its_way_is_known_only_from_the_embedded_run():
    feed, model = model_of(store("a.json", run(RunState.RUNNING)))
    feed.set_live((LiveRun(RunRef("/data/a.json", "k"), suspending=True),))
    assert model.run_rows()[0].state is RunState.SUSPENDING
    feed.set_live(())
    assert model.run_rows()[0].state is RunState.RUNNING


def test_the_clock_of_a_stopped_run_stands_still():
    ended = EndRecord(status="ok", at=T0 + timedelta(hours=1), by="us")
    picture = store("a.json", run(RunState.OK, end=ended), owner=Owner(OwnerKind.NO_WRITER))
    row = run_row(picture, picture.runs[0])
    assert row.ended_at == T0 + timedelta(hours=1)
    assert run_row(picture, run(RunState.RUNNING)).ended_at is None
    assert run_row(picture, run(RunState.INTERRUPTED, minutes=3)).ended_at == T0 + timedelta(
        minutes=3
    )


def test_ten_thousand_runs_filter_by_their_id():
    feed = Feed()
    model = RunRows(feed)
    runs = tuple(run(RunState.OK, key=f"k{i}", run_id=f"run-{i}") for i in range(10_000))
    feed.put(StoreView(path="/data/many.json", runs=runs))
    model.set_filter("run-99")
    assert model.n_shown == 111
