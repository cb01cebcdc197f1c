"""The outline by keyboard, offscreen."""

from dataclasses import replace

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from oma_desktop.model.view import CallState, ToolCallView
from oma_desktop.ui.outline_view import OutlineView
from oma_desktop.ui.outline_words import cell_text, row_sentence
from oma_desktop.viewmodel.outline_rows import Column
from oma_desktop.viewmodel.roles import Role
from tests.viewmodel.graph_world import PATH, approval, big_plan, plan, stack_plan, store, world

pytestmark = [
    pytest.mark.usefixtures("host"),
    # what the offscreen platform says of every popup menu
    pytest.mark.qt_log_ignore("This plugin does not support"),
]


def busy_plan(n):
    """Tasks with two turns of two calls each."""
    return tuple(
        replace(
            task,
            calls=tuple(
                ToolCallView(f"{task.id}-{k}", "search", "a", task.id, CallState.SAVED, 1 + k // 2)
                for k in range(4)
            ),
        )
        for task in big_plan(n)
    )


class OutlinePage:
    """The outline as a person uses it."""

    def __init__(self, qtbot, tasks):
        self.feed, self.selection = world(tasks, approvals=(approval(),))
        self.view = OutlineView(self.feed, self.selection)
        qtbot.addWidget(self.view)
        self.view.resize(900, 560)
        self.view.show()
        self.tree = self.view.tree
        self.tree.setFocus()
        self.asked = []
        self.view.opened.connect(self._on_opened)
        self.view.conversation_requested.connect(self._on_conversation)
        self.view.review_requested.connect(self.asked.append)
        self.view.map_requested.connect(self._on_map)

    def _on_opened(self):
        self.asked.append("open")

    def _on_conversation(self):
        self.asked.append("conversation")

    def _on_map(self):
        self.asked.append("map")

    def press(self, *keys, held=Qt.KeyboardModifier.NoModifier):
        for key in keys:
            QTest.keyClick(self.tree, key, held)
        return self.here()

    def here(self):
        row = self.view.model.row_at(self.tree.currentIndex())
        return cell_text(row, 0) if row is not None else None

    def menu(self):
        return {a.text(): a for a in self.view._menu.actions() if a.text()}


@pytest.fixture
def page(qtbot):
    return OutlinePage(qtbot, plan())


def test_a_walk_from_run_to_call_and_back(page):
    key = Qt.Key
    page.tree.setCurrentIndex(page.view.model.index(0, 0))
    assert page.press(key.Key_Down) == "Plan scope"
    assert page.selection.task_id == "t1"
    assert page.press(key.Key_J) == "Tier-1 suppliers"
    assert page.press(key.Key_K) == "Plan scope"
    assert page.press(key.Key_BracketLeft) == "x"
    page.selection.select_task("t10")
    assert page.here() == "Supplier letters"
    assert page.press(key.Key_Right, key.Key_Down) == "Turn 1"
    assert page.selection.place.call_id is None
    assert page.press(key.Key_BracketRight) == "supplier_search"
    assert page.selection.call_id == "c1"
    assert page.press(key.Key_BracketLeft) == "Turn 1"
    assert page.press(key.Key_BracketLeft) == "Supplier letters"
    assert page.selection.call_id is None
    page.press(key.Key_Return)
    assert page.asked == ["open"]


def test_the_selection_leads_the_tree(page):
    page.selection.select_call("c4", task_id="t10")
    assert page.here() == "send_letter"
    assert page.tree.isExpanded(page.view.model.index_of(("turn", "t10", 4)))
    page.selection.select_task("t1")
    assert page.here() == "Plan scope"


def test_every_verb_is_in_the_menu_by_keyboard(page):
    page.selection.select_task("t10")
    page.press(Qt.Key.Key_Menu)
    menu = page.menu()
    assert list(menu) == [
        "Show details",
        "Open conversation",
        "Review request",
        "Show on the map",
        "Open all below",
        "Close all",
    ]
    for action in list(menu.values())[:4]:
        action.trigger()
    assert page.asked == ["open", "conversation", (PATH, "ap1"), "map"]
    menu["Open all below"].trigger()
    assert page.tree.isExpanded(page.view.model.index_of(("turn", "t10", 1)))
    menu["Close all"].trigger()
    assert not page.tree.isExpanded(page.view.model.index_of(("task", "t10")))
    page.view._menu.close()


def test_review_is_offered_for_the_call_that_waits_only(page):
    for call_id, offered in (("c4", True), ("c1", False)):
        page.selection.select_call(call_id, task_id="t10")
        page.press(Qt.Key.Key_F10, held=Qt.KeyboardModifier.ShiftModifier)
        assert ("Review request" in page.menu()) is offered
        page.view._menu.close()


def test_sorting_by_head_and_back_to_the_plan(page):
    head = page.tree.header()
    run = page.view.model.index(0, 0)
    centre = QPoint(head.sectionViewportPosition(Column.STATE) + 20, head.height() // 2)
    QTest.mouseClick(head.viewport(), Qt.MouseButton.LeftButton, pos=centre)
    firsts = {page.view.model.index(0, 0, run).data(Role.ROW).title}
    QTest.mouseClick(head.viewport(), Qt.MouseButton.LeftButton, pos=centre)
    firsts.add(page.view.model.index(0, 0, run).data(Role.ROW).title)
    assert firsts == {"Plan scope", "Supplier letters"}
    QTest.mouseClick(head.viewport(), Qt.MouseButton.LeftButton, pos=centre)
    titles = [page.view.model.index(i, 0, run).data(Role.ROW).task_id for i in range(14)]
    assert titles == [t.id for t in plan()]


def test_rows_read_as_sentences(page):
    model = page.view.model

    def sentence(key):
        return row_sentence(model.row_at(model.index_of(key)))

    assert sentence(("task", "t10")) == (
        "Task Supplier letters, Needs you, agent writer, turn 4, needs 2 tasks, 2 tool calls open"
    )
    assert sentence(("turn", "t10", 4)) == "Turn 4, 2 tool calls"
    assert sentence(("turn", "t10", 3)) == "Turn 3, no tool calls"
    assert sentence(("call", "t10", 4, "c4")) == "send_letter, Needs you, acts on the world"
    row = model.row_at(model.index_of(("task", "t10")))
    assert [cell_text(row, c) for c in Column][:6] == [
        "Supplier letters", "Needs you", "writer", "4", "3 saved, 2 open", "50k",
    ]  # fmt: skip
    index = model.index_of(("task", "t10"))
    assert index.data(Qt.ItemDataRole.AccessibleTextRole).startswith("Task Supplier letters")


def test_what_is_open_stays_open_while_the_run_goes_on(page):
    page.selection.select_call("c4", task_id="t10")
    page.feed.put(store(plan(chinese=True), approvals=(approval(),)))
    assert page.tree.isExpanded(page.view.model.index_of(("turn", "t10", 4)))
    assert page.here() == "send_letter"


def test_no_run_is_said(page):
    page.selection.select_run(None)
    assert page.view._pages.currentWidget() is page.view._empty


def test_every_theme_and_size_is_drawn(page, host):
    page.selection.select_call("c4", task_id="t10")
    for scheme in ("light", "dark", "contrast"):
        host.set_scheme(scheme)
        for scale, density in ((1.0, "compact"), (2.0, "roomy")):
            host.set_scale(scale)
            host.set_density(density)
            page.view.grab()
            heights = {page.tree.visualRect(page.tree.currentIndex()).height()}
            assert heights == {host.theme.height("row")}


def test_a_large_run_is_shown_at_once(qtbot):
    page = OutlinePage(qtbot, stack_plan(2000))
    assert page.view.model.rowCount(page.view.model.index(0, 0)) == 2002


def test_a_hidden_outline_makes_nothing_and_opening_makes_one_task(qtbot):
    feed, selection = world(plan(), approvals=(approval(),))
    view = OutlineView(feed, selection)
    qtbot.addWidget(view)
    selection.select_task("t10")
    assert view.model.lines() == []
    view.show()
    assert len(view.model.lines()) == 1 + len(plan())
    assert view.model.row_at(view.tree.currentIndex()).task_id == "t10"
    QTest.keyClick(view.tree, Qt.Key.Key_Right)
    assert [line.strip() for line in view.model.lines() if line.startswith("    t")] == [
        "turn 1 2 saved 0 open",
        "turn 2 1 saved 0 open",
        "turn 3",
        "turn 4 0 saved 2 open",
    ]
    view.hide()
    feed.put(store(plan(chinese=True)))
    assert "  Supplier letters" in "".join(view.model.lines())
    selection.select_task("t2")
    view.show()
    assert "Supplier letters" not in "".join(view.model.lines())
    assert selection.task_id == "t2"
    assert view.model.row_at(view.tree.currentIndex()).task_id == "t2"


def test_all_tasks_open_in_slices_and_those_that_go_meanwhile_do_no_harm(qtbot):
    page = OutlinePage(qtbot, busy_plan(400))
    tree, model = page.tree, page.view.model
    run = model.index(0, 0)
    tree.setCurrentIndex(run)
    page.view._expand_below()
    assert page.view._opening.running, "the window is free between the slices"
    page.feed.put(store(busy_plan(300)))
    qtbot.waitUntil(lambda: not page.view._opening.running)
    tasks = [model.index(i, 0, model.index(0, 0)) for i in range(300)]
    closed = [i for i in tasks if model.rowCount(i) and not tree.isExpanded(i)]
    assert not closed
    assert any(model.rowCount(i) for i in tasks)


def test_closing_all_ends_the_opening(qtbot):
    page = OutlinePage(qtbot, busy_plan(400))
    page.tree.setCurrentIndex(page.view.model.index(0, 0))
    page.view._expand_below()
    page.view._collapse()
    assert not page.view._opening.running
