"""The inbox: what one query says, opened by a deliberate act, deciding nothing (ux.md C7)."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from oma_desktop.model.view import OwnerKind
from oma_desktop.ui.approval_inbox import InboxPanel
from oma_desktop.viewmodel.approvals import Group, RequestKey
from tests.viewmodel.review_world import STORE, World, approved, request, store

pytestmark = [
    pytest.mark.usefixtures("host"),
    pytest.mark.qt_log_ignore("This plugin does not support"),  # offscreen
]


@pytest.fixture
def inbox(qtbot):
    made = []

    def make(*requests):
        world = World(*requests)
        panel = InboxPanel(world.inbox, clock=world.clock)
        panel.wanted = []
        panel.review_wanted.connect(panel.wanted.append)
        panel.resize(312, 400)
        panel.show()
        panel.activateWindow()
        qtbot.waitUntil(panel.isActiveWindow)
        world.clock.at += 1
        made.append(panel)
        return world, panel

    yield make
    for panel in made:
        panel.close()
        panel.deleteLater()


def test_groups_fold_and_the_badge_counts_what_needs_you(inbox):
    world, panel = inbox(request("a"), request("b"), approved(request("c")))
    far = store(request("x"), path="/far.json", owner=OwnerKind.OTHER_PROCESS)
    world.feed.put(far)
    assert panel.rows.lines() == [
        "needs_you apr_a",
        "needs_you apr_b",
        "not_here (1)",
        "not_here apr_x",
        "decided (1)",
    ]
    assert world.inbox.badge == 2
    panel.rows.toggle(Group.DECIDED)
    assert panel.rows.lines()[-1] == "decided apr_c"


def test_enter_and_double_click_open_a_card_and_nothing_else_does(inbox):
    _, panel = inbox(request("a"), request("b"))
    panel.select(RequestKey(STORE, "apr_b"))
    panel.list.setFocus()
    QTest.keyClick(panel.list, Qt.Key.Key_Space)
    QTest.keyClick(panel.list, Qt.Key.Key_Y)
    assert panel.wanted == []
    QTest.keyClick(panel.list, Qt.Key.Key_Return)
    assert panel.wanted == [RequestKey(STORE, "apr_b")]
    spot = panel.list.visualRect(panel.rows.index(0, 0)).center()
    QTest.mouseClick(
        panel.list.viewport(), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, spot
    )
    assert len(panel.wanted) == 1
    QTest.mouseDClick(
        panel.list.viewport(), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, spot
    )
    assert panel.wanted[1:] == [RequestKey(STORE, "apr_a")]


def test_after_the_list_moved_a_press_is_not_meant_for_the_card_that_came_there(inbox):
    world, panel = inbox(request("a"), request("b"))
    panel.list.setFocus()
    panel.select(RequestKey(STORE, "apr_b"))
    world.put(approved(request("a")), request("b"))
    QTest.keyClick(panel.list, Qt.Key.Key_Return)
    assert panel.wanted == []
    world.clock.at += 0.5
    QTest.keyClick(panel.list, Qt.Key.Key_Return)
    assert panel.wanted == [RequestKey(STORE, "apr_b")]


def test_empty_says_why(inbox):
    world, panel = inbox(request("a"))
    panel.filter.setText("nobody")
    assert panel.empty.title.text() == "0 of 1 shown"
    panel.empty.clear.click()
    assert panel.rows.lines() == ["needs_you apr_a"]
    world.put()
    assert panel.empty.title.text() == "Nothing needs you."


def test_cards_read_as_sentences(inbox):
    _, panel = inbox(request("a"))
    text = panel.rows.index(0, 0).data(Qt.ItemDataRole.AccessibleTextRole)
    assert (
        text
        == "Needs you: send_letter, acts on the world, q3-supply-risk, Supplier letters, writer"
    )


def test_the_current_card_stays_current_while_others_come_and_go(inbox):
    world, panel = inbox(request("a"), request("b"))
    panel.select(RequestKey(STORE, "apr_b"))
    world.put(request("0"), request("a"), request("b"))
    assert panel.list.currentIndex().row() == 2


def test_coming_by_keyboard_marks_the_first_card(inbox):
    _, panel = inbox(request("a"), request("b"))
    panel.filter.setFocus()
    QTest.keyClick(panel.windowHandle(), Qt.Key.Key_Tab)
    assert panel.list.hasFocus()
    assert [i.row() for i in panel.list.selectedIndexes()] == [0], "it is seen where one is"
    QTest.keyClick(panel.windowHandle(), Qt.Key.Key_Return)
    assert panel.wanted == [RequestKey(STORE, "apr_a")]


def test_a_filter_over_nothing_hides_nothing(inbox):
    _, panel = inbox()
    panel.filter.setText("x")
    assert panel.empty.title.text() == "Nothing needs you."
    assert panel.empty.clear.isHidden()
