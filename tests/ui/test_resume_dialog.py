"""The resume dialog: nothing runs by accident, nothing of the plan is missing (ux.md C8)."""

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget

from oma_desktop.model.resume import NeedsYouItem, TaskItem
from oma_desktop.model.view import Effect, OwnerKind, Problem
from oma_desktop.ui.resume_dialog import ResumeDialog
from oma_desktop.viewmodel.approvals import RequestKey
from oma_desktop.viewmodel.resume import Line
from tests.viewmodel.review_world import HandClock
from tests.viewmodel.test_resume import REF, Table, call, plan

pytestmark = [
    pytest.mark.usefixtures("host"),
    pytest.mark.qt_log_ignore("This plugin does not support"),  # offscreen
]


@pytest.fixture
def shown(qtbot):
    made = []

    def make(first):
        table = Table(first)
        dialog = ResumeDialog(table.model, clock=HandClock())
        open_now = [True]
        dialog.finished.connect(open_now.clear)
        dialog.show()
        dialog.activateWindow()
        qtbot.waitUntil(dialog.isActiveWindow)
        made.append((dialog, open_now))
        return table, dialog

    yield make
    for dialog, open_now in made:
        if open_now:
            dialog.close()


def click(widget):
    QTest.mouseClick(widget, Qt.MouseButton.LeftButton)


def test_resume_is_off_until_every_item_has_an_answer(shown):
    table, dialog = shown(plan(call("c1"), call("c2", Effect.READ_ONLY)))
    assert not dialog.resume.isEnabled()
    assert dialog.why.text() == "1 item undecided"
    click(dialog.resume)
    assert table.commands.resumed == []
    dialog.cards[0].again.click()
    assert dialog.why.text() == ""
    click(dialog.resume)
    assert [i.run_again for i in table.commands.resumed] == [("c1", "c2")]


def test_enter_and_space_never_resume_and_escape_is_not_now(shown):
    table, dialog = shown(plan())
    for key in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space, Qt.Key.Key_Y):
        QTest.keyClick(dialog.windowHandle(), key)
    assert table.commands.resumed == []
    assert dialog.isVisible()
    QTest.keyClick(dialog.windowHandle(), Qt.Key.Key_Escape)
    assert table.commands.resumed == []


def test_a_double_click_resumes_once(shown):
    table, dialog = shown(plan())
    click(dialog.resume)
    table.model.resume()
    assert len(table.commands.resumed) == 1


def test_items_are_listed_on_demand(shown):
    asked = TaskItem("t2", "Summarise", "writer", "in_progress", "awaiting_model")
    _, dialog = shown(plan(asked=(asked,)))
    row = next(r for r in dialog.rows if r.line is Line.ASKED)
    assert row._list.isHidden()
    click(row._show)
    texts = [label.text() for label in row._list.findChildren(type(dialog.why))]
    assert {"Summarise", "t2", "writer", "was waiting for the model"} <= set(texts)
    click(row._show)
    assert row._list.isHidden()


def test_an_open_request_leads_to_its_review(shown):
    item = NeedsYouItem("apr_a", "tool_call", "t1", "Publish", "bash")
    table, dialog = shown(plan(needs_you=(item,)))
    wanted = []
    dialog.review_wanted.connect(wanted.append)
    row = next(r for r in dialog.rows if r.line is Line.NEEDS_YOU)
    row.review_wanted.emit("apr_a")
    assert wanted == [RequestKey(REF.store, "apr_a")]
    assert not dialog.resume.isEnabled()
    assert table.commands.resumed == []


def test_no_record_of_starts_is_said_aloud(shown):
    _, dialog = shown(plan(call("c1")))
    assert dialog.journal._text.text() == "no journal: cannot tell what started"


def test_an_approval_before_the_stop_needs_a_fresh_look(shown):
    _, dialog = shown(plan(call("c1", Effect.READ_ONLY, approved_by="operator-1")))
    assert dialog.cards[0].undecided.isChecked()
    texts = [label.text() for label in dialog.cards[0].findChildren(type(dialog.why))]
    assert "approved by operator-1 before the stop; a second run needs a fresh look" in texts


def test_the_input_can_be_read_in_full(shown):
    _, dialog = shown(plan(call("c1", input={"command": "a\u200bb"})))
    card = dialog.cards[0]
    click(card.show_input)
    assert "a<U+200B>b" in card.input.text.toPlainText()
    click(card.show_input)
    assert card.input.isHidden()


def test_an_owner_that_appears_turns_resume_off(shown):
    table, dialog = shown(plan())
    assert dialog.resume.isEnabled()
    table.put(OwnerKind.OTHER_PROCESS)
    assert not dialog.resume.isEnabled()
    assert "owns this run" in dialog.why.text()
    assert "Another process runs it now." in dialog.stopped.text()
    assert "No end was recorded" not in dialog.stopped.text()


def test_what_the_plan_warns_about_is_a_sentence(shown):
    _, dialog = shown(plan(problems=(Problem("RESUME_ENDS_REJECTED", "warning"),)))
    assert "ends the run as rejected" in dialog.notice.text.text()


def test_nothing_is_cut_off_in_a_small_window(shown, host, qtbot):
    host.set_scale(2.0)
    push = call("c1", Effect.CONSEQUENTIAL, approved_by="operator-1", input={"command": "x" * 300})
    _, dialog = shown(plan(push, call("c2", Effect.READ_ONLY)))
    dialog.resize(800, 600)
    qtbot.wait(30)
    for part in dialog.findChildren(QWidget):
        if part.isVisible():
            left = part.mapTo(dialog, QPoint(0, 0)).x()
            assert left >= 0, part
            assert left + part.width() <= dialog.width(), part


def test_choices_survive_a_theme_change(shown, host):
    table, dialog = shown(plan(call("c1")))
    dialog.cards[0].again.click()
    host.set_scheme("dark")
    assert dialog.cards[0].again.isChecked()
    assert table.model.obstacle is None
