"""The map under mouse and keyboard, offscreen."""

from dataclasses import replace
from datetime import timedelta

import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, QRect, Qt
from PySide6.QtGui import QImage, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from oma_desktop.model.view import RunState
from oma_desktop.ui import map_edges, map_words
from oma_desktop.ui.map_camera import Level
from oma_desktop.ui.map_view import MapView
from oma_desktop.ui.map_words import hint_lines, node_hint, node_sentence, node_text
from oma_desktop.ui.theme import theme
from oma_desktop.viewmodel.feed import PLANNING, LiveActivity, LiveRun
from oma_desktop.viewmodel.graph_focus import Focus
from oma_desktop.viewmodel.graph_nodes import EdgeKind
from tests.viewmodel.graph_world import (
    NOW,
    PATH,
    REF,
    T,
    approval,
    big_plan,
    now,
    plan,
    stack_plan,
    store,
    task,
    world,
)

pytestmark = [
    pytest.mark.usefixtures("host"),
    # what the offscreen platform says of every popup menu
    pytest.mark.qt_log_ignore("This plugin does not support"),
]


class MapPage:
    """The map as a person uses it."""

    def __init__(self, qtbot, tasks, **more):
        self.feed, self.selection = world(tasks, **more)
        self.view = MapView(self.feed, self.selection, now=now)
        qtbot.addWidget(self.view)
        self.view.resize(900, 560)
        self.view.show()
        self.canvas = self.view.canvas
        self.model = self.view.model
        self.canvas.setFocus()
        self.asked = []
        self.view.opened.connect(self._on_opened)
        self.view.conversation_requested.connect(self._on_conversation)
        self.view.review_requested.connect(self.asked.append)
        self.view.outline_requested.connect(self._on_outline)

    def _on_opened(self):
        self.asked.append("open")

    def _on_conversation(self):
        self.asked.append("conversation")

    def _on_outline(self):
        self.asked.append("outline")

    def press(self, *keys, held=Qt.KeyboardModifier.NoModifier):
        for key in keys:
            QTest.keyClick(self.canvas, key, held)
        return self.selection.task_id

    def type(self, text):
        QTest.keyClicks(QApplication.focusWidget() or self.canvas, text)

    def place(self, key):
        box = self.canvas._scene.shown_box(key, self.canvas.camera)
        return QPoint(round(box.x + box.width / 2), round(box.middle))

    def click(self, key):
        QTest.mouseClick(self.canvas, Qt.MouseButton.LeftButton, pos=self.place(key))

    def drag(self, start, by):
        QTest.mousePress(self.canvas, Qt.MouseButton.LeftButton, pos=start)
        QTest.mouseMove(self.canvas, start + by / 2)
        QTest.mouseMove(self.canvas, start + by)
        QTest.mouseRelease(self.canvas, Qt.MouseButton.LeftButton, pos=start + by)

    def wheel(self, at, notches):
        event = QWheelEvent(
            QPointF(at),
            QPointF(self.canvas.mapToGlobal(at)),
            QPoint(),
            QPoint(0, 120 * notches),
            Qt.MouseButton.NoButton,
            Qt.KeyboardModifier.NoModifier,
            Qt.ScrollPhase.NoScrollPhase,
            False,
        )
        self.canvas.wheelEvent(event)

    def menu(self):
        return {a.text(): a for a in self.view._menu.actions() if a.text()}


@pytest.fixture
def page(qtbot):
    return MapPage(qtbot, plan(), approvals=(approval(),))


def test_arrows_walk_to_the_nearest_neighbour(page):
    key = Qt.Key
    assert page.press(key.Key_Right) == "t1"
    assert page.press(key.Key_Right) == "t2"
    assert page.press(key.Key_Down) == "t3"
    assert page.press(key.Key_J) == "t5"
    assert page.press(key.Key_K, key.Key_Up) == "t2"
    assert page.press(key.Key_Right, key.Key_Right) == "t11"
    assert page.press(key.Key_Up, key.Key_Up) == "t10"
    assert page.press(key.Key_Left, key.Key_Left, key.Key_Left) == "t1"
    assert page.press(key.Key_Left) == "t1"


def test_brackets_follow_links(page):
    page.selection.select_task("t12")
    assert page.press(Qt.Key.Key_BracketLeft) == "t8"
    assert page.press(Qt.Key.Key_BracketLeft) == "t2"
    assert page.press(Qt.Key.Key_BracketRight) == "t6"
    assert page.press(Qt.Key.Key_BracketRight) == "t6"


def test_enter_asks_for_details(page):
    page.press(Qt.Key.Key_Return)
    assert page.asked == []
    page.click("t9")
    assert page.selection.task_id == "t9"
    page.press(Qt.Key.Key_Return)
    assert page.asked == ["open"]


def test_selection_comes_from_both_sides_and_is_brought_into_view(page):
    page.canvas._zoom_to(2.0)
    page.selection.select_task("t14")
    box = page.canvas._scene.shown_box("t14", page.canvas.camera)
    assert box.x >= 0
    assert box.right <= page.canvas.width()
    assert page.model.current == "t14"
    assert page.canvas.accessibleDescription().startswith("Task Draft report, Waiting")


def test_zoom_levels_and_keys(page):
    assert page.canvas.camera.level is Level.NEAR
    page.press(Qt.Key.Key_Minus, Qt.Key.Key_Minus)
    assert page.canvas.camera.level is Level.MIDDLE
    for _ in range(3):
        page.press(Qt.Key.Key_Minus)
    assert page.canvas.camera.level is Level.FAR
    page.press(Qt.Key.Key_Z, held=Qt.KeyboardModifier.ShiftModifier)
    assert page.canvas.camera.zoom == 1.0
    assert page.view.bar.zoom_label.text() == "100 %"
    page.press(Qt.Key.Key_Plus)
    assert page.canvas.camera.zoom == 1.25
    page.press(Qt.Key.Key_Z)
    fitted = page.canvas.camera
    assert fitted.zoom <= 1.0
    bounds = fitted.to_screen(page.model.picture.placed.geometry.bounds)
    assert bounds.x >= 0
    assert bounds.right <= page.canvas.width()
    assert bounds.bottom <= page.canvas.legend.y()


def test_the_wheel_zooms_at_the_pointer_and_a_drag_pans(page):
    at = page.place("t9")
    before = page.canvas.camera.to_scene(at.x(), at.y())
    page.wheel(at, 2)
    assert page.canvas.camera.to_scene(at.x(), at.y()) == pytest.approx(before)
    assert page.canvas.camera.zoom > 1.2
    old = page.canvas.camera
    page.drag(QPoint(3, 3), QPoint(60, -40))
    assert (page.canvas.camera.x - old.x, page.canvas.camera.y - old.y) == (60, -40)
    assert page.selection.task_id is None  # a drag picks nothing


def test_a_pan_shows_exactly_what_a_full_paint_shows(page):
    page.selection.select_task("t8")
    for zoom in (1.0, 0.5, 0.3):
        page.canvas._zoom_to(zoom)
        page.canvas._look_with(replace(page.canvas.camera, x=40.0, y=30.0))
        page.canvas.grab()
        page.canvas._look_with(page.canvas.camera.moved(-37, 21))
        panned = page.canvas.grab().toImage()
        page.canvas._redraw()
        whole = page.canvas.grab().toImage()
        assert _share_of_different(panned, whole) < 0.002


def _share_of_different(a: QImage, b: QImage) -> float:
    points = [(x, y) for x in range(0, a.width(), 3) for y in range(0, a.height(), 3)]
    return sum(a.pixel(x, y) != b.pixel(x, y) for x, y in points) / len(points)


def test_a_state_change_moves_nothing(page):
    page.canvas._zoom_to(1.3)
    camera, placed = page.canvas.camera, page.model.picture.placed
    tasks = [replace(t, state=T.DONE) if t.id == "t8" else t for t in plan()]
    page.feed.put(store(tasks))
    assert page.canvas.camera == camera
    assert page.model.picture.placed is placed
    assert page.canvas.legend.accessibleName().startswith("Done: 7, Running: 1")


def test_h_hides_done_and_the_bar_says_how_many(page):
    bar = page.view.bar
    assert bar._counts.text() == "14 tasks, none hidden"
    page.press(Qt.Key.Key_H)
    assert bar.hide_done.isChecked()
    assert bar._counts.text() == "14 tasks, 6 hidden"
    bar.hide_done.click()
    assert len(page.model.picture.nodes) == 14
    bar.focus.setCurrentIndex(bar.focus.findData(Focus.FAILED))
    bar.focus.activated.emit(bar.focus.currentIndex())
    assert list(page.model.picture.nodes) == ["t9", "t12", "t14"]


def test_typing_finds_tasks_and_escape_gives_the_focus_back(page):
    page.type("t")
    assert page.view.finder.isVisible()
    page.type("ier")
    assert page.selection.task_id == "t2"
    assert page.view.finder._count.text() == "1 of 3"
    QTest.keyClick(page.view.finder.field, Qt.Key.Key_Return)
    assert page.selection.task_id == "t6"
    QTest.keyClick(page.view.finder.field, Qt.Key.Key_Up)
    assert page.selection.task_id == "t2"
    page.view.finder.field.setText("合同")
    assert page.selection.task_id == "t5"
    page.view.finder.field.setText("nothing like it")
    assert page.view.finder._count.text() == "no task found"
    QTest.keyClick(page.view.finder.field, Qt.Key.Key_Escape)
    assert not page.view.finder.isVisible()
    page.press(Qt.Key.Key_Slash)
    assert page.view.finder.isVisible()
    assert page.view.finder.field.text() == ""


def test_the_menu_has_every_verb(page):
    page.click("t10")
    page.press(Qt.Key.Key_Menu)
    menu = page.menu()
    assert list(menu) == [
        "Show details",
        "Open conversation",
        "Review request",
        "Tidy the map",
        "Show as a list",
    ]
    for action in list(menu.values())[:3]:
        action.trigger()
    menu["Show as a list"].trigger()
    assert page.asked == ["open", "conversation", (PATH, "ap1"), "outline"]
    page.view._menu.close()
    page.click("t9")
    page.view.show_menu(QPoint(0, 0))
    assert "Review request" not in page.menu()
    page.view._menu.close()


def test_a_stack_opens_in_place_and_closes(qtbot):
    page = MapPage(qtbot, stack_plan())
    page.click("s0")
    assert page.selection.task_id == "s11"  # the loudest of the stack
    assert "Stack of 14 tasks, Supplier profile, Done: 11" in page.canvas.accessibleDescription()
    page.press(Qt.Key.Key_Return)
    assert len(page.model.picture.nodes) == 16
    assert page.asked == []
    page.view.show_menu(QPoint(0, 0))
    page.menu()["Close the stack"].trigger()
    page.view._menu.close()
    assert len(page.model.picture.nodes) == 3


def test_what_stands_where_no_map_can_be_drawn(qtbot):
    page = MapPage(qtbot, ())
    nothing = page.view._nothing
    assert page.view._pages.currentWidget() is nothing
    assert nothing._title.text() == "The plan is being made."
    assert nothing._detail.text() == "Coordinator, 47:12"
    assert not nothing._live.isVisibleTo(page.view)
    page.feed.activity.emit(LiveActivity(REF, PLANNING, "text", "Here is "))
    page.view._on_tick()
    assert nothing._live.text() == "Here is"
    for piece in ('[{"title": "Look", "descr', 'iption": "x"}, {"title": "Say \\"yes\\"", "ti'):
        page.feed.activity.emit(LiveActivity(REF, PLANNING, "text", piece))
    page.view._on_tick()
    assert nothing._live.text() == 'Look\nSay "yes"'
    page.feed.put(store((), state=RunState.ERROR))
    assert nothing._title.text() == "This run has no tasks"
    page.selection.select_run(None)
    assert nothing._title.text() == "No run selected"
    page.selection.select_run(REF)
    chain = [task(f"k{i}", needs=[f"k{i - 1}"] if i else []) for i in range(301)]
    page.feed.put(store(chain))
    assert nothing._detail.text() == "The graph is 301 steps long; up to 300 are drawn."
    nothing._button.click()
    assert page.asked == ["outline"]


def test_faulty_links_are_named_and_lead_to_their_task(qtbot):
    page = MapPage(qtbot, (task("a", "Alpha", needs=["b"]), task("b", "Beta", needs=["a", "x"])))
    faults = page.view._faults
    assert page.view._pages.currentWidget() is faults
    assert [faults.list.item(i).text() for i in range(3)] == [
        "Beta depends on x, which is not in the plan.",
        "Alpha depends on Beta: the dependencies form a circle.",
        "Beta depends on Alpha: the dependencies form a circle.",
    ]
    faults.list.setCurrentRow(1)
    assert page.selection.task_id == "a"


def test_names_of_the_map_itself(page):
    assert page.canvas.accessibleName() == "Map, 14 tasks; press Ctrl+5 for the list"
    node = page.model.picture.nodes["t10"]
    assert node_sentence(node) == (
        "Task Supplier letters, Needs you, agent writer, turn 4, needs 2 tasks, 2 tool calls open"
    )


def test_what_nodes_say(page):
    nodes = page.model.picture.nodes
    said = {k: tuple(node_text(n, None, NOW))[1:3] for k, n in nodes.items()}
    assert said == {
        "t1": ("coordinator", "4 tasks added"),
        "t2": ("researcher", "31 suppliers"),
        "t3": ("researcher", "11 ports"),
        "t4": ("analyst", "48 HS codes"),
        "t5": ("reader", "19 files"),
        "t6": ("replaced by revision 2", "failed after 3 tries"),
        "t13": ("researcher · 06:11", "turn 3"),
        "t7": ("analyst", "36 months"),
        "t8": ("analyst · 08:31", "turn 7"),
        "t9": ("analyst", "Failed · HTTP 403: key has no access to CNY/EUR 2026"),
        "t10": ("writer", "Needs you · 6 min"),
        "t11": ("analyst", "Waiting for 2"),
        "t12": ("analyst", "Blocked by Exchange rates"),
        "t14": ("writer", "Waiting for 3"),
    }


def test_live_activity_is_said_and_marked_as_live(page):
    page.feed.set_live((LiveRun(REF),))
    page.feed.activity.emit(LiveActivity(REF, "t13", "tool", "http_get"))
    node, heard = page.model.picture.nodes["t13"], page.model.heard("t13")
    text = node_text(node, heard, NOW + timedelta(seconds=63))
    assert (text.third, text.is_live) == ("http_get · 01:03", True)
    model = replace(heard, kind="model", text="", turn=7)
    assert map_words.live_text(model, NOW) == "model · turn 7"
    assert map_words.live_text(replace(heard, kind="text"), NOW) == "writing"
    expert = replace(heard, kind="text", agent="expert")
    assert map_words.live_text(expert, NOW) == "expert · writing"
    assert map_words.live_text(replace(expert, judging=True), NOW) == "judged by expert"


def test_hints_never_read_a_file_as_markup(qtbot):
    page = MapPage(qtbot, (task("a", "<b>x</b><img src=y>", T.FAILED, result_preview="1 < 2"),))
    node = page.model.picture.nodes["a"]
    assert hint_lines(node, None, NOW) == ["<b>x</b><img src=y>", "Failed · analyst", "1 < 2"]
    hint = node_hint(node, None, NOW)
    assert "&lt;img" in hint
    assert "<img" not in hint


def test_every_theme_and_size_is_drawn(page, host):
    seen = set()
    for scheme in ("light", "dark", "contrast"):
        for scale in (1.0, 2.0):
            host.set_scheme(scheme)
            host.set_scale(scale)
            image = page.view.grab().toImage()
            seen.add(image.pixelColor(image.width() // 2, image.height() - 3).name())
            assert page.canvas.camera.scale == scale
    assert len(seen) == 3


def test_a_big_graph_is_seen_whole_at_first(qtbot):
    page = MapPage(qtbot, big_plan(300))
    assert page.canvas.camera.level is Level.FAR
    bounds = page.canvas.camera.to_screen(page.model.picture.placed.geometry.bounds)
    assert 0 <= bounds.x <= bounds.right <= page.canvas.width()
    page.click("k0")
    assert page.selection.task_id == "k0"
    QTest.mouseClick(page.canvas.overview, Qt.MouseButton.LeftButton, pos=QPoint(64, 36))
    assert page.canvas.camera.zoom < 0.4


def test_the_overview_leads_there(page):
    page.canvas._zoom_to(2.0)
    QTest.mouseClick(page.canvas.overview, Qt.MouseButton.LeftButton, pos=QPoint(118, 36))
    seen = page.canvas.camera.seen(page.canvas.width(), page.canvas.height())
    assert seen.meets(page.model.picture.placed.geometry.boxes["t14"])


def test_seconds_count_on_while_shown(page):
    page.canvas.grab()
    page.canvas.tick()
    assert len(page.canvas._dirty) == 3  # two running, one that needs you
    page.canvas.grab()
    assert page.canvas._dirty == []
    assert page.view._tick.isActive()
    page.view.hide()
    assert not page.view._tick.isActive()


def test_a_view_goes_without_its_feed_noticing(qtbot):
    page = MapPage(qtbot, plan())
    page.view.hide()
    page.view.deleteLater()
    qtbot.wait(0)
    page.feed.put(store(stack_plan()))


def test_a_narrow_bar_lays_nothing_over_another(qtbot):
    page = MapPage(qtbot, plan())
    bar = page.view.bar
    parts = (bar.focus, bar.hide_done, bar.grouping, bar._counts, bar.zoom_label, bar.fit)
    for width in (900, 420, 260, 200):
        page.view.resize(width, 560)
        QApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest)
        areas = [QRect(p.mapTo(bar, QPoint(0, 0)), p.size()) for p in parts]
        both = [(a, b) for i, a in enumerate(areas) for b in areas[:i] if a.intersects(b)]
        assert not both, f"at {width}"


@pytest.mark.parametrize(("zoom", "scale"), [(0.4, 1.0), (1.0, 1.0), (1.0, 2.0), (1.5, 1.5)])
def test_a_crowd_of_links_is_drawn_one_pixel_wide(host, zoom, scale):
    """Wider lines are stroked as areas: 600 of them held the window for 30 ms and more."""
    host.set_scale(scale)
    for kind in EdgeKind:
        alone = map_edges._pen(kind, theme(), zoom=zoom).widthF() * zoom * scale
        among = map_edges._pen(kind, theme(), zoom=zoom, crowded=True).widthF() * zoom * scale
        assert 0.5 < among <= 1.0 + 1e-9
        assert among <= alone


def test_on_a_small_map_the_overview_does_not_hide_what_it_shows(page):
    assert not page.canvas.overview.isHidden()
    page.view.resize(260, 300)
    assert page.canvas.overview.isHidden()
    legend = page.canvas.legend
    assert legend.geometry().right() < page.canvas.width()
    assert legend.geometry().left() >= 0
    page.canvas.fit()
    placed = page.model.picture.placed
    lowest = max(page.canvas.camera.to_screen(b).bottom for b in placed.geometry.boxes.values())
    assert lowest <= legend.geometry().top(), "no task is behind the legend"
    page.view.resize(900, 600)
    assert not page.canvas.overview.isHidden()
