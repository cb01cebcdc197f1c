"""The main window as a person uses it: what is shown, what can be pressed and why not, the keys."""

import gettext
import json
from dataclasses import replace
from datetime import timedelta

import pytest
from PySide6.QtCore import QEvent, QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QCloseEvent, QDropEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QApplication,
    QDialog,
    QFileDialog,
    QLabel,
    QPushButton,
    QTabBar,
    QWidget,
)

from oma_desktop.base import text
from oma_desktop.base.sentences import catalogue
from oma_desktop.model.view import Owner, OwnerKind, RunRef, RunState, StoreView
from oma_desktop.ui import layout_state
from oma_desktop.ui.cancel_dialog import CancelDialog
from oma_desktop.ui.delegates import data_age, full_name
from oma_desktop.ui.docks import polish_dock_tabs
from oma_desktop.ui.facts import Fact, FactGrid
from oma_desktop.ui.focus_ring import Ring
from oma_desktop.ui.inspector_facts import run_facts
from oma_desktop.ui.main_window import MainWindow
from oma_desktop.ui.theme import theme
from oma_desktop.viewmodel.feed import CallDetail, LiveRun, Notice
from oma_desktop.viewmodel.selection import Place
from tests.ui import scenes, shots


@pytest.fixture
def make(host, qtbot):
    """A maker of windows that are deleted after the test."""

    def make_one(stores=None, **parts):
        window = shots.make_window(scenes.all_stores() if stores is None else stores, **parts)
        window.close_requested.connect(lambda: None)
        made.append(window)
        window.show()
        return window

    made = []
    yield make_one
    for window in made:
        window.hide()
        window.deleteLater()


@pytest.fixture
def window(make):
    made = make()
    made.kept[0].set_live((LiveRun(scenes.MAIN),))
    made.kept[2].select_run(scenes.MAIN)
    return made


def asked(window):
    return window.kept[1].asked


def names(window):
    return [r.name for r in window.runs.run_rows()]


# -- new run ---------------------------------------------------------------------------------


def test_a_new_run_takes_the_way_of_every_opened_file_and_starts_nothing(window, qtbot):
    window.kept[1].asked.clear()
    window._frame.actions["new"].trigger()
    (dialog,) = window.findChildren(QFileDialog)
    dialog.filesSelected.emit(["/runs/plan.yaml"])
    dialog.close()
    assert asked(window) == [("open_paths", ["/runs/plan.yaml"])]


# -- cost ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cost", "said"),
    [(None, "unknown"), (0.0, "0.0000"), (1.25, "1.2500"), (0.00001, "< 0.0001")],
)
def test_the_inspector_says_what_a_run_cost_or_that_nobody_knows(window, cost, said):
    (row,) = [r for r in window.runs.run_rows() if r.ref == scenes.MAIN]
    store = window.feed.store(scenes.MAIN.store)
    run = window.feed.run(scenes.MAIN)
    priced = replace(run, usage=replace(run.usage, cost=cost))
    facts = {f.name: f.value for f in run_facts(row, priced, store, now=scenes.NOW)}
    assert facts["Cost"] == said


# -- facts -----------------------------------------------------------------------------------


def tab_badge(window, title):
    """Return the count on a dock tab."""
    for bar in window.findChildren(QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly):
        for index in range(bar.count()):
            if bar.tabText(index) == title:
                badge = bar.tabButton(index, QTabBar.ButtonPosition.RightSide)
                return badge._n if badge is not None and not badge.isHidden() else 0
    return None


def test_the_first_run_is_selected_and_every_part_speaks_of_it(window):
    assert names(window)[:2] == ["q3-supply-risk", "port-congestion-weekly"]
    assert window.selection.run == scenes.MAIN
    assert window.run_bar._name.text() == "q3-supply-risk"
    assert window.run_bar._progress.text() == "6 of 14 done"
    assert window.run_bar._needs_you.text() == "1 needs you"
    assert window.inspector._name.text() == "q3-supply-risk"
    assert window.status_line._decisions.text() == "2 decisions waiting"
    assert window.docks["problems"].windowTitle() == "Problems"
    assert window.docks["problems"].n == 1
    assert window.docks["problems"].accessibleName() == "Problems, 1 entry"


def test_rows_read_as_sentences(window):
    texts = [
        window.runs.index(i, 0).data(Qt.ItemDataRole.AccessibleTextRole)
        for i in range(window.runs.rowCount())
    ]
    assert texts[0] == "Needs you, 2 runs"
    assert texts[1] == (
        "Run q3-supply-risk, Running, decisions waiting: 1, 6 of 14, data 0.4 s old"
    )
    assert texts[4].startswith("Run 关税影响评估, Running, 9 of 22, another process, PID 4312")


def test_selecting_a_task_fills_the_inspector(window):
    window.selection.select_task("t10")
    assert window.inspector._name.text() == "Supplier letters"
    assert window.inspector.accessibleName() == (
        "Inspector: Task Supplier letters, Needs you, agent writer, turn 4, needs 1 task, "
        "3 tool calls open"
    )
    model = window.inspector.ledger.model()
    assert model.index(5, 0).data() == "bash, Outcome unknown, acts on the world"
    window.selection.select_call("c4")
    assert asked(window)[-1] == ("load_call", scenes.MAIN, "t10", "c4")
    detail = CallDetail("t10", "c4", "send_letter", '{"to": "<b>x</b>"}', None)
    window.feed.call_loaded.emit((scenes.MAIN, detail))
    assert window.inspector._call._input.toPlainText() == '{"to": "<b>x</b>"}'
    assert window.inspector._call._output_head.text() == "No output is saved."


def test_an_unreadable_file_keeps_the_picture_and_says_since_when(window):
    bad = replace(scenes.main_store(), readable=False, unreadable_since=scenes.NOW)
    window.feed.put(bad)
    assert window.run_bar._name.text() == "q3-supply-risk"
    assert "unreadable since" in window.status_line._age._text.text()


# -- verbs -----------------------------------------------------------------------------------


def test_a_live_run_can_be_suspended_and_not_restored(window):
    bar = window.run_bar
    assert bar.suspend.isEnabled()
    assert not bar.restore.isEnabled()
    assert bar.restore.toolTip() == "It runs now. Suspend it first."
    QTest.mouseClick(bar.suspend, Qt.MouseButton.LeftButton)
    assert asked(window)[-1] == ("suspend", scenes.MAIN)
    window.feed.set_live((LiveRun(scenes.MAIN, suspending=True),))
    assert not bar.suspend.isEnabled()
    assert bar._reason.text() == "It is being suspended: it stops at the next safe point."


def test_buttons_that_write_follow_the_owner(window):
    ref = next(r.ref for r in window.runs.run_rows() if r.pid == 4312)
    window.selection.select_run(ref)
    bar = window.run_bar
    assert not any(b.isEnabled() for b in (bar.suspend, bar.cancel, bar.restore))
    assert bar._reason.text() == "Another process runs it; only that process may write."
    assert bar.restore.accessibleDescription() == bar._reason.text()
    store = window.feed.store(ref.store)
    window.feed.put(replace(store, owner=Owner(OwnerKind.NO_WRITER)))
    assert bar.restore.isEnabled()
    wanted = []
    window.resume_requested.connect(wanted.append)
    bar.restore.click()
    assert wanted == [ref]


def test_cancel_lists_its_effects_first_and_has_no_default_button(window):
    window.run_bar.cancel.click()
    assert all(name != "cancel" for name, *_ in asked(window))
    (dialog,) = window.findChildren(CancelDialog)
    texts = [w.text() for w in dialog.findChildren(QWidget) if hasattr(w, "text")]
    assert "2 steps are running. If you stop now:" in texts
    assert "Lead times" in texts
    buttons = [w for w in dialog.findChildren(QWidget) if hasattr(w, "isDefault")]
    assert not any(b.isDefault() or b.autoDefault() for b in buttons)
    QTest.keyClick(dialog, Qt.Key.Key_Escape)
    assert all(name != "cancel" for name, *_ in asked(window))
    window.run_bar.cancel.click()
    dialog = next(d for d in window.findChildren(CancelDialog) if d.isVisible())
    next(
        b for b in dialog.findChildren(QWidget) if getattr(b, "text", str)() == "Cancel run"
    ).click()
    assert asked(window)[-1] == ("cancel", scenes.MAIN)


def test_review_is_asked_for_never_done(window):
    seen = []
    window.review_requested.connect(seen.append)
    window.run_bar._needs_you.click()
    window.selection.select_task("t10")
    window.inspector._verb.review.click()
    assert seen == [(scenes.MAIN.store, "ap1")] * 2
    assert all(name not in ("decide", "resume") for name, *_ in asked(window))


def test_new_run_is_primary_only_while_nothing_needs_you(make):
    quiet = make([s for s in scenes.all_stores() if not any(r.n_open_approvals for r in s.runs)])
    assert quiet.run_bar.new.property("kind") == "primary"
    busy = make()
    assert busy.run_bar.new.property("kind") == "secondary"


def test_no_single_key_acts_on_a_run(window):
    for name in ("suspend", "cancel", "restore", "review"):
        for keys in window.actions_[name].shortcuts():
            assert "Ctrl" in keys.toString()


# -- places and keys -------------------------------------------------------------------------


def test_first_start_offers_three_ways(make):
    window = make([])
    assert window._centre.currentIndex() == 0
    assert not window.docks["inspector"].isVisible()
    window.first_start.cards[0].button.click()
    assert asked(window) == [("start_sample",)]
    window.feed.put(scenes.main_store())
    assert window._centre.currentWidget() is window.tabs
    assert window.docks["inspector"].isVisible()


def test_views_that_are_not_given_are_absent(make):
    window = make()
    assert [window.tabs.tabText(i) for i in range(window.tabs.count())] == ["Conversation"]
    assert "inbox" not in window.docks
    full = make(map_view=QWidget(), outline_view=QWidget(), inbox=QWidget())
    tabs = [full.tabs.tabText(i) for i in range(full.tabs.count())]
    assert tabs == ["Map", "Outline", "Conversation"]
    assert full.docks["inbox"].windowTitle() == "Inbox"
    assert full.docks["inbox"].n == 2
    assert tab_badge(full, "Inbox") == 2


def test_f6_walks_through_all_panels_and_comes_back(window, qtbot):
    window.activateWindow()
    window.runs_panel.list.setFocus()
    start = QApplication.focusWidget()
    seen = [start]
    for _ in range(12):
        window.actions_["next_panel"].trigger()
        seen.append(QApplication.focusWidget())
        if seen[-1] is start:
            break
    assert seen[-1] is start
    assert len(seen) == 6  # runs, conversation, inspector, problems, run bar
    window.actions_["previous_panel"].trigger()
    assert QApplication.focusWidget() is seen[-2]


def test_the_button_with_the_focus_has_a_ring(window, qtbot):
    window.activateWindow()
    window.run_bar.new.setFocus()
    (ring,) = (r for r in window.run_bar.findChildren(Ring) if r.isVisible())
    assert ring.geometry().contains(window.run_bar.new.geometry())
    assert ring.isVisible()
    window.run_bar.new.move(40, 8)
    assert ring.geometry().contains(window.run_bar.new.geometry())
    window.runs_panel.list.setFocus()
    assert not ring.isVisible()


def test_a_switch_of_language_reaches_every_word(window, monkeypatch):
    class Marked(gettext.NullTranslations):
        def gettext(self, message):
            return f"«{message}»"

        def ngettext(self, one, many, n):
            return f"«{one if n == 1 else many}»"

    monkeypatch.setitem(text._state, "now", Marked())
    QApplication.sendEvent(window, QEvent(QEvent.Type.LanguageChange))
    window.selection.select_task("t10")
    window.conversation_view._draw()  # else what it says depends on a timer
    plain = [
        (type(w).__name__, w.text())
        for w in window.findChildren(QWidget)
        if isinstance(w, QLabel | QPushButton) and w.isVisible() and "«" not in w.text()
    ]
    data = {"q3-supply-risk", "Supplier letters", "t10", "writer", "4", "6", "port.example"}
    assert [p for p in plain if p[1] not in {"", *data} and not p[1].startswith("/home")] == []
    assert window.windowTitle() == "«OMA Desktop»"
    assert "«" in window.menuBar().actions()[0].text()
    row = window.runs.index(1, 0).data(Qt.ItemDataRole.AccessibleTextRole)
    assert "«Run q3-supply-risk»" in row


def test_going_to_what_needs_you_and_to_the_first_failure(window):
    window.actions_["next_needs_you"].trigger()
    assert window.selection.run.store.endswith("port-congestion-weekly.json")
    assert window.selection.task_id == "t3"
    window.selection.select_run(scenes.MAIN)
    window.actions_["first_failure"].trigger()
    assert window.selection.task_id == "t9"
    window.actions_["back"].trigger()
    assert window.selection.place == Place(scenes.MAIN)


def test_heads_fold_by_keyboard_and_the_selection_stays(window):
    view = window.runs_panel.list
    view.setFocus()
    view.setCurrentIndex(window.runs.index(0, 0))
    QTest.keyClick(view, Qt.Key.Key_Return)
    assert "q3-supply-risk" not in names(window)
    assert window.selection.run == scenes.MAIN
    view.setCurrentIndex(window.runs.index(0, 0))
    QTest.keyClick(view, Qt.Key.Key_Space)
    assert window.selection.run == scenes.MAIN
    assert view.currentIndex().row() == 0
    assert [i.row() for i in view.selectedIndexes()] == [1]


def test_filter_that_hides_all_says_how_many_there_are(window):
    window.runs_panel.filter.setText("no such run")
    assert window.runs_panel._empty._title.text() == "0 of 9 shown"
    assert window.selection.run == scenes.MAIN
    window.runs_panel._empty._button.click()
    assert len(names(window)) == 9


def test_row_heights_follow_the_density(window, host):
    view = window.runs_panel.list
    assert [view.rowHeight(i) for i in (0, 1)] == [24, 56]
    host.set_density("compact")
    assert [view.rowHeight(i) for i in (0, 1)] == [24, 28]
    host.set_scale(2.0)
    assert [view.rowHeight(i) for i in (0, 1)] == [48, 56]


def test_closing_is_only_asked_for(window):
    seen = []
    window.close_requested.connect(lambda: seen.append(True))
    event = QCloseEvent()
    window.closeEvent(event)
    assert not event.isAccepted()
    assert seen == [True]
    assert window.isVisible()


def test_dropping_files_watches_them(window):
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile("/data/a.json"), QUrl("https://example.com/x")])
    event = QDropEvent(
        QPointF(5, 5),
        Qt.DropAction.CopyAction,
        data,
        Qt.MouseButton.LeftButton,
        Qt.KeyboardModifier.NoModifier,
    )
    window.dropEvent(event)
    assert asked(window)[-1] == ("open_paths", ["/data/a.json"])


def test_no_dialog_opens_by_itself_and_files_open_without_blocking(window):
    assert window.findChildren(QDialog) == []
    window.actions_["open_file"].trigger()
    (dialog,) = window.findChildren(QDialog)
    dialog.filesSelected.emit(["/data/b.json"])
    assert asked(window)[-1] == ("open_paths", ["/data/b.json"])
    dialog.close()


def test_notices_come_below_the_run_bar_and_close_into_problems(window):
    bar = window._bars[1]
    assert bar.isHidden()
    window.feed.notice.emit(Notice("error", "window.test", {}))
    assert not bar.isHidden()
    window.board.close(window.board.shown[0].number)
    assert bar.isHidden()
    assert any(r.code == "window.test" for r in window.problem_rows.rows())
    assert "window.test" not in catalogue()


def test_layout_is_kept_and_a_damaged_file_changes_nothing(make, tmp_path, host):
    path = tmp_path / "layout.json"
    first = make(layout_path=path)
    first.docks["problems"].hide()
    host.set_scheme("dark")
    first.save_layout()
    assert json.loads(path.read_text())["scheme"] == "dark"
    host.set_scheme("light")
    second = make(layout_path=path)
    assert theme().scheme == "dark"
    assert second.docks["problems"].isHidden()
    second.reset_layout()
    assert not second.docks["problems"].isHidden()
    for bad in ("", "{", "[]", '{"version": 1, "docks": "%%", "geometry": "", "scale": "9e9"}'):
        path.write_text(bad)
        third = make(layout_path=path)
        assert not third.docks["problems"].isHidden()
    assert layout_state.LayoutState(None).load() == {}


def test_a_run_that_goes_away_leaves_no_ghost(make):
    window = make([scenes.main_store()])
    assert window.selection.run == scenes.MAIN
    window.feed.drop(scenes.MAIN.store)
    assert window.selection.run is None
    assert not window.run_bar._nothing.isHidden()
    window.selection.select_run(RunRef("/nowhere.json", "k"))
    assert window.run_bar._name.isHidden()


# -- looks -----------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["light", "dark", "contrast"])
def test_every_theme_draws(window, host, scheme):
    host.set_scheme(scheme)
    window.selection.select_task("t10")
    picture = window.grab().toImage()
    ratio = picture.devicePixelRatio()
    assert picture.pixelColor(QPoint(int(4 * ratio), int(4 * ratio))) == theme().color("window")


def test_a_narrow_bar_gives_up_words_before_verbs(window):
    bar = window.run_bar
    for width in (1440, 1100, 900, 700, 540):
        bar.setFixedWidth(width)
        bar.refresh()
        assert bar._row.minimumSize().width() <= width
        for button in (bar.suspend, bar.cancel, bar.restore, bar.new):
            assert button.isVisibleTo(bar)
            assert button.accessibleName()
    assert bar.new.text() == ""
    bar.setFixedWidth(1440)
    bar.refresh()
    assert bar.new.text() == "New run…"
    assert bar._attempt.isVisibleTo(bar)


def test_two_hundred_percent_loses_no_button(make, host):
    host.set_scale(2.0)
    window = make()
    window.resize(1440, 900)
    window.grab()
    assert isinstance(window, MainWindow)
    for button in (window.run_bar.restore, window.run_bar.new):
        assert button.sizeHint().height() == 56


def test_a_long_path_in_the_foot_does_not_widen_the_panel(window):
    panel, dock = window.runs_panel, window.docks["runs"]
    least, width = panel.minimumSizeHint().width(), dock.width()
    path = "/home/operator/" + "a-very-long-folder-name/" * 12 + "checkpoint.json"
    window.set_watched((path,))
    QApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest)
    assert panel.minimumSizeHint().width() <= max(least, theme().px(200))
    assert dock.width() == width
    shown = panel._where.text()
    assert "…" in shown
    assert shown.startswith("/home")
    assert shown.endswith("t.json")
    assert panel._where.toolTip() == path


def test_f6_goes_round_even_where_a_panel_is_empty(make, qtbot):
    window = make([scenes.all_stores()[1]])
    window.set_watched(("/home/op",))
    assert not window.problem_rows.rowCount()
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    seen = []
    for _ in range(8):
        window.keys.focus_next()
        now = window.focusWidget()
        seen.append(next((n for n, d in window.docks.items() if d.isAncestorOf(now)), "centre"))
    assert {"runs", "inspector", "problems"} <= set(seen), "no dead end"


def test_the_ring_is_whole_where_a_row_leaves_no_room(make, qtbot):
    window = make()
    row = QWidget(window.inspector)
    button = QPushButton("x", row)
    row.setGeometry(40, 40, 80, 28)
    button.setGeometry(0, 0, 80, 28)
    row.show()
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    button.setFocus()
    (ring,) = (r for r in window.findChildren(Ring) if r.isVisible())
    at = QPoint(ring.mapTo(window, QPoint(0, 0)))
    assert at == button.mapTo(window, QPoint(0, 0)) - QPoint(3, 3)
    assert ring.visibleRegion().boundingRect().size() == ring.size()


def test_the_window_fits_its_screen(make):
    window = make()
    window.fit_screen()
    free = window.screen().availableGeometry()
    assert window.width() < free.width()
    assert window.height() < free.height()


def test_an_empty_list_says_no_more_than_is_known(make):
    window = make([])
    say = window.runs_panel._empty._title.text
    window.set_watched(("/home/op/runs",))
    assert say() == "Looking for runs…"
    window.feed.note_bare("/home/op/runs")
    assert say() == "No runs in this folder."
    window.set_watched(("/home/op/runs", "/home/op/a.json"))
    assert say() == "Looking for runs…"
    window.feed.put(StoreView("/home/op/a.json", readable=False, unreadable_since=scenes.NOW))
    assert say() == "1 file cannot be read."
    window.feed.drop("/home/op/a.json")
    window.feed.put(StoreView("/home/op/a.json"))
    assert say() == "No runs in this folder."


def test_the_top_run_is_selected_however_the_files_come_in(make):
    stores = scenes.all_stores()
    window = make([])
    for store in reversed(stores):
        window.feed.put(store)
    assert window.selection.run == window.runs.run_rows()[0].ref


def test_what_the_operator_chose_stays_when_more_files_come_in(make):
    stores = scenes.all_stores()
    window = make(stores[1:])
    second = window.runs.run_rows()[1].ref
    window.selection.select_run(second)
    window.feed.put(stores[0])
    assert window.selection.run == second


def test_the_current_problem_shows_its_whole_sentence(window):
    facts = {"path": "/a/very/long/path/" + "x" * 300, "reason": "it is what it is"}
    window.feed.notice.emit(Notice("error", "STORE_UNREADABLE", facts))
    problems = window.problems_panel.list
    usual = theme().height("row")
    heights = [problems.rowHeight(i) for i in range(problems.model().rowCount())]
    assert set(heights) == {usual}
    problems.setCurrentIndex(problems.model().index(0, 0))
    assert problems.rowHeight(0) > usual
    problems.setCurrentIndex(problems.model().index(1, 0))
    assert problems.rowHeight(0) == usual


def test_an_unreadable_file_keeps_the_age_of_its_data(window):
    row = next(r for r in window.runs.all_rows() if r.heard_at is not None)
    old = replace(row, readable=False, unreadable_since=scenes.NOW)
    text, role = data_age(old, scenes.NOW + timedelta(hours=5))
    assert text == data_age(replace(old, readable=True), scenes.NOW + timedelta(hours=5))[0]
    assert role == "warning.text"


def test_a_badge_that_grows_stays(make):
    window = make(inbox=QWidget())
    inbox = window.docks["inbox"]
    for n in (2, 12, 112, 3):
        inbox.set_count(n, needs_you=True)
        polish_dock_tabs(window)
        assert tab_badge(window, "Inbox") == n


def test_an_id_that_cannot_break_is_cut_in_the_middle(make, qtbot):
    window = make()
    grid = FactGrid(window.inspector)
    grid.resize(220, 100)
    run_id = "0c9c0014-98fb-448b-848d-008012345678"
    grid.show()
    grid.show_facts([Fact("Run id", run_id), Fact("Text", "some words that wrap " * 4)])
    grid.layout().activate()
    (_, value), (_, words) = grid._rows
    assert "…" in value.text()
    assert value.text()[:3] == "0c9"
    assert value.text()[-3:] == "678"
    assert value.toolTip() == run_id
    assert "…" not in words.text()
    grid.resize(500, 100)
    grid.layout().activate()
    assert value.text() == run_id


def test_the_coordinator_is_named_while_it_plans_and_while_it_answers(make):
    window = make()
    ref, store = scenes.MAIN, window.feed.store(scenes.MAIN.store)
    run = window.feed.run(ref)
    early = replace(run, tasks=(), saved_at=None, version=0, state=RunState.RUNNING)
    window.feed.put(replace(store, runs=(early,)))
    assert window.run_bar._progress.text() == "the plan is being made"
    assert window.status_line._age._text.text() == "Nothing saved yet"
    window.feed.put(replace(store, runs=(run,)))
    window.feed.set_live((LiveRun(ref, answering_since=scenes.NOW),))
    assert window.run_bar._progress.text() == "6 done, the answer is being made"
    said = [value.text() for _, value in window.inspector._facts._rows]
    assert any(s.startswith("the coordinator makes the answer") for s in said)
    window.feed.set_live(())
    assert window.run_bar._progress.text() == "6 of 14 done"


def test_runs_of_one_name_are_told_apart_in_the_list(make):
    window = make()
    twin = replace(scenes.main_store(), path="/home/op/elsewhere/q3-supply-risk.json")
    window.feed.put(twin)
    told = {full_name(r) for r in window.runs.run_rows() if r.name == "q3-supply-risk"}
    assert told == {"q3-supply-risk (supply)", "q3-supply-risk (elsewhere)"}
