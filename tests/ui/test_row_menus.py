"""Menus of rows by mouse and keyboard, copying, and the links of notices."""

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QContextMenuEvent, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QPushButton

from oma_desktop.model.view import RunRef
from oma_desktop.ui.row_menus import is_file
from oma_desktop.viewmodel.feed import Notice
from tests.ui import scenes, shots

pytestmark = [
    pytest.mark.usefixtures("host"),
    pytest.mark.qt_log_ignore("This plugin does not support"),  # offscreen
]


@pytest.fixture
def window(qtbot):
    made = shots.full_window()
    shots.settle(made)
    opened = []
    made.row_menus._open_folder = opened.append
    made.opened = opened
    yield made
    if made.row_menus.menu is not None:
        made.row_menus.menu.close()
    made.hide()
    made.deleteLater()


def by_keyboard(view):
    event = QContextMenuEvent(QContextMenuEvent.Reason.Keyboard, QPoint(1, 1), QPoint(1, 1))
    QApplication.sendEvent(view, event)


def texts(window):
    return [a.text() for a in window.row_menus.menu.actions() if not a.isSeparator()]


def choose(window, text):
    next(a for a in window.row_menus.menu.actions() if a.text() == text).trigger()


def select_run(window, ref):
    rows = window.runs_panel.list
    rows.setCurrentIndex(window.runs.index(window.runs.row_of(ref), 0))
    return rows


def test_the_menu_key_opens_the_menu_of_the_current_run(window):
    by_keyboard(select_run(window, scenes.MAIN))
    assert texts(window)[-3:] == ["Copy run id", "Copy place of the file", "Open containing folder"]
    choose(window, "Copy place of the file")
    assert QGuiApplication.clipboard().text() == scenes.MAIN.store
    choose(window, "Open containing folder")
    assert window.opened == [scenes.MAIN.store.rpartition("/")[0]]


def test_the_right_button_selects_what_it_points_at(window):
    rows = window.runs_panel.list
    other = next(r for r in window.runs.run_rows() if r.ref != window.selection.run)
    spot = rows.visualRect(window.runs.index(window.runs.row_of(other.ref), 0)).center()
    event = QContextMenuEvent(
        QContextMenuEvent.Reason.Mouse, spot, rows.viewport().mapToGlobal(spot)
    )
    QApplication.sendEvent(rows.viewport(), event)
    assert window.selection.run == other.ref
    assert window.row_menus.menu is not None


def test_a_head_and_empty_ground_have_no_menu(window):
    rows = window.runs_panel.list
    for spot in (QPoint(20, 5), QPoint(20, rows.viewport().height() - 3)):
        event = QContextMenuEvent(QContextMenuEvent.Reason.Mouse, spot, spot)
        QApplication.sendEvent(rows.viewport(), event)
        assert window.row_menus.menu is None


def test_ctrl_c_copies_what_names_a_row(window):
    rows = select_run(window, scenes.MAIN)
    QTest.keyClick(rows, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text() == window.feed.run(scenes.MAIN).run_id
    ledger = window.inspector.ledger
    window.selection.select_task("t10")
    ledger.setCurrentIndex(ledger.model().index(0, 0))
    QTest.keyClick(ledger, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text() == window.inspector._rows.row_at(0).call_id
    QTest.keyClick(window.inspector._id, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text() == "t10"


def test_a_call_leads_to_its_conversation(window):
    window.tabs.setCurrentIndex(0)
    window.selection.select_task("t10")
    ledger = window.inspector.ledger
    ledger.setCurrentIndex(ledger.model().index(0, 0))
    by_keyboard(ledger)
    assert texts(window)[-2:] == ["Copy call id", "Copy task id"]
    choose(window, "Show the conversation")
    assert window.tabs.currentWidget() is window.conversation_view


def test_a_database_has_no_folder():
    assert is_file("/runs/a.json")
    assert not is_file("redis://localhost/0")
    assert not is_file("")


def test_a_notice_leads_to_the_plan_and_is_gone(window):
    asked = []
    window.resume_requested.connect(asked.append)
    ref = RunRef(scenes.MAIN.store, scenes.MAIN.key)
    window.feed.notice.emit(Notice("info", "DECISION_RECORDED_RESUME", {"run": "q3"}, ref))
    links = [b for b in window.notices.findChildren(QPushButton) if b.text() == "Resume…"]
    assert len(links) == 1
    assert asked == []
    links[0].click()
    assert asked == [ref]
    assert window.board.shown == ()


def test_a_notice_that_only_tells_has_no_link(window):
    window.feed.notice.emit(Notice("warning", "RUN_NOT_OURS", {}, scenes.MAIN))
    assert [b.text() for b in window.notices.findChildren(QPushButton)] == [""]
