"""The review window against accidents: cases s36, s37, s38, s39 and the rules of ux.md C7."""

import json
import random
from dataclasses import replace

import pytest
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QGuiApplication, QInputMethodEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QStackedWidget, QVBoxLayout, QWidget

from oma_desktop.model.view import (
    BlockView,
    ConversationView,
    Effect,
    MessageView,
    OwnerKind,
    RunRef,
)
from oma_desktop.model.visible_json import draw
from oma_desktop.ui.approval_inbox import InboxPanel
from oma_desktop.ui.approval_review import ReviewWindow
from oma_desktop.ui.review_body import shows_input_only
from oma_desktop.viewmodel.review import Bar, Phase
from oma_desktop.viewmodel.review_paper import text_value
from tests.ui.review_pages import ReviewPage
from tests.viewmodel.review_world import (
    CASES,
    STORE,
    World,
    approved,
    from_document,
    request,
    store_requests,
)

pytestmark = [
    pytest.mark.usefixtures("host"),
    pytest.mark.qt_log_ignore("This plugin does not support"),  # offscreen
]


@pytest.fixture
def review(qtbot):
    pages = []

    def make(*requests, **how):
        pages.append(ReviewPage(qtbot, *requests, **how))
        return pages[-1]

    yield make
    for page in pages:
        page.close()


def _drawn(page):
    row = page.model.review.shown
    return draw(text_value(row, input_only=shows_input_only(row)))


# -- case s36: a person types while requests arrive ------------------------------------------------

S36 = json.loads((CASES / "s36-keystroke-approves" / "keys.json").read_text("utf-8"))


def test_s36_typing_elsewhere_while_a_request_arrives(qtbot):
    world = World()
    host = QWidget()
    box, inbox = QLineEdit(), InboxPanel(world.inbox, clock=world.clock)
    column = QVBoxLayout(host)
    column.addWidget(box)
    column.addWidget(inbox)
    host.show()
    host.activateWindow()
    qtbot.waitUntil(host.isActiveWindow)
    box.setFocus()
    for i, char in enumerate(S36["typed"]):
        if i == S36["promptAtKey"]:
            world.put(request("a"))
        if char == "\n":
            QTest.keyClick(host.windowHandle(), Qt.Key.Key_Return)
        else:
            QTest.keyClick(host.windowHandle(), char)
        world.clock.at += S36["periodMs"] / 1000
    assert world.commands.decided == []
    assert box.text() == S36["typed"].replace("\n", "")
    assert box.hasFocus()
    assert inbox.rows.lines() == ["needs_you apr_a"], "it is there to be seen"
    assert not any(isinstance(w, ReviewWindow) for w in QApplication.topLevelWidgets())
    host.close()
    host.deleteLater()


def test_s36_typing_into_a_review_window_that_came_to_the_front(review):
    page = review(request("a"), by_user=False)
    page.painted()
    page.wait(2)
    assert page.bar is Bar.NOT_ACTIVATED
    page.keys(S36["typed"])
    QTest.keyPress(page.handle, Qt.Key.Key_Space)
    page.wait(3)
    QTest.keyRelease(page.handle, Qt.Key.Key_Space)
    for _ in range(20):
        QTest.keyPress(page.handle, Qt.Key.Key_Return)
    page.wait(30)
    assert page.decided == []
    assert page.bar is Bar.NOT_ACTIVATED


def test_s36_even_an_armed_window_ignores_what_is_typed_into_it(review):
    page = review(request("a"))
    page.arm()
    assert page.bar is None
    page.keys(S36["typed"])
    page.wait(30)
    assert page.decided == []


def test_s36_paste_and_input_method_with_newlines(review):
    page = review(request("a"))
    page.arm()
    note = page.window.footer.note
    note.setFocus()
    QGuiApplication.clipboard().setText("yes\napprove\n")
    note.paste()
    commit = QInputMethodEvent()
    commit.setCommitString("好\n")
    QApplication.sendEvent(note, commit)
    page.keys("\n y\n")
    assert page.bar is Bar.TYPING
    page.wait(30)
    assert page.decided == []
    assert "好" in note.text()


def test_escape_is_not_now(review):
    page = review(request("a"))
    page.arm()
    QTest.keyClick(page.handle, Qt.Key.Key_Escape)
    assert page.is_closed
    page.world.clock.at += 30
    assert page.decided == []


def test_coming_to_the_front_counts_after_a_deliberate_act(review):
    page = review(request("a"), by_user=False)
    page.read()
    page.wait(2)
    assert page.bar is Bar.NOT_ACTIVATED
    QTest.mouseMove(page.handle, QPoint(200, 200))
    QTest.mouseMove(page.handle, QPoint(240, 220))
    assert page.bar is Bar.TOO_SOON
    page.wait(1)
    assert page.bar is None


def test_there_is_no_default_button_and_a_keyboard_path(review):
    page = review(request("a"))
    page.arm()
    footer = page.window.footer
    assert not footer.approve.hasFocus()
    assert not footer.reject.hasFocus()
    for _ in range(40):
        if footer.approve.hasFocus():
            break
        QTest.keyClick(page.handle, Qt.Key.Key_Tab)
    assert footer.approve.hasFocus(), "Tab reaches it"
    page.wait(1.1)
    QTest.keyClick(page.handle, Qt.Key.Key_Return)
    assert page.model.review.phase is Phase.READING
    QTest.keyPress(page.handle, Qt.Key.Key_Space)
    page.wait(1.3)
    QTest.keyRelease(page.handle, Qt.Key.Key_Space)
    page.wait(5)
    assert page.decided == [("apr_a", "approve")]


def test_tab_reaches_reject_from_the_note(review):
    page = review(request("a"))
    page.arm()
    footer = page.window.footer
    footer.note.setFocus()
    page.keys("why not")
    QTest.keyClick(page.handle, Qt.Key.Key_Tab)
    assert footer.reject.hasFocus(), "off while one types, it would be skipped for ever"
    QTest.keyClick(page.handle, Qt.Key.Key_Space)
    assert footer.back.hasFocus()
    assert not footer.really.isEnabled(), "the decision itself waits"
    page.wait(1.1)
    QTest.keyClick(page.handle, Qt.Key.Key_Space)
    page.wait(30)
    assert page.decided == []


def test_page_down_leaves_no_line_out(review):
    page = review(request("a", tool_input={f"key{i}": i for i in range(60)}))
    page.window.resize(900, 620)
    page.painted()
    text = page.window.body.text.text
    text.setFocus()
    assert not text.whole_was_shown
    for _ in range(30):
        QTest.keyClick(page.handle, Qt.Key.Key_PageDown)
        text.viewport().repaint()
    bar = text.verticalScrollBar()
    assert bar.value() == bar.maximum() > 0
    assert text.unseen_line is None


def test_the_typed_code_turns_holding_into_a_press(review):
    page = review(request("a"))
    page.arm()
    page.window.footer.code.setFocus()
    page.keys("9c41\n")
    page.wait(1.1)
    assert page.model.review.phase is Phase.READING, "the code alone decides nothing"
    QTest.mouseClick(page.window.footer.approve, Qt.MouseButton.LeftButton)
    page.wait(5)
    assert page.decided == [("apr_a", "approve")]


@pytest.mark.parametrize("seed", range(12))
def test_random_typing_and_feed_changes_decide_nothing(review, seed):
    """Letters, Enter, Space, clicks and news in any order; nobody holds and nobody types a code."""
    dice = random.Random(seed)
    a, b = request("a"), request("b")
    page = review(a, b)
    page.arm()
    acts = [
        lambda: page.keys(dice.choice(["hello", "y", "1", " ", "\n", " \n ", "aaaa"])),
        lambda: QTest.mouseClick(page.window.footer.approve, Qt.MouseButton.LeftButton),
        lambda: page.hold(0.5),
        page.window.footer.note.setFocus,
        page.window.body.text.text.setFocus,
        lambda: page.world.put(a, b),
        lambda: page.world.put(request("a", tool_input={"to": "z"}, hash_matches=False), b),
        lambda: page.world.put(a, b, owner=OwnerKind.OTHER_PROCESS),
        lambda: page.world.put(replace(a, open=False), b),
        page.window._on_next,
        lambda: page.wait(dice.random() * 2),
    ]
    for _ in range(60):
        dice.choice(acts)()
    page.wait(30)
    assert page.decided == []


# -- case s37: the tail is never hidden ------------------------------------------------------------

S37 = json.loads((CASES / "s37-hidden-command-tail" / "requests.json").read_text("utf-8"))
BIG = json.loads(json.dumps(S37[2]))
BIG["id"] = "apr_" + "e" * 32
BIG["content"]["input"] = BIG["content"]["rawInput"] = {
    "command": ("# filler " + "x" * 190 + "\n") * 1000 + "rm -rf data"
}


@pytest.mark.parametrize("document", [*S37, BIG], ids=["a", "b", "c", "d", "e"])
@pytest.mark.parametrize("scale", [1.0, 2.0])
def test_s37_everything_is_reachable_and_approve_waits_for_it(review, host, document, scale):
    host.set_scale(scale)
    view = from_document(document)
    page = review(view)
    page.window.resize(800, 600)
    page.painted()
    body = page.window.body
    if not body.whole_was_shown:
        page.wait(2)
        assert page.bar is Bar.NOT_SHOWN
    text = page.read()
    drawn = _drawn(page)
    flat = text.replace("\n", "")
    assert flat == "".join(line.text for line in drawn.lines), "nothing is shortened"
    assert view.content["input"]["command"].splitlines()[-1].strip() in flat
    assert "…" not in flat
    page.wait(1.1)
    assert page.bar is None
    assert body.text.text.horizontalScrollBar().maximum() == 0, "nothing scrolls sideways"


@pytest.mark.parametrize("scale", [1.0, 2.0])
def test_s37_nothing_is_cut_off_in_a_small_window(review, host, scale):
    host.set_scale(scale)
    page = review(request("a", tool_input={"to": "x " * 400}), request("b"))
    page.window.resize(800, 600)
    page.painted()
    page.arm()
    page.painted()
    inside = page.window.rect()
    for part in page.window.findChildren(QWidget):
        if part.isVisible() and not isinstance(part.parent(), QStackedWidget):
            left = part.mapTo(page.window, QPoint(0, 0)).x()
            assert left >= 0, part
            assert left + part.width() <= inside.width(), part
    footer = page.window.footer
    for button in (footer.approve, footer.reject, footer.close_button):
        assert page.window.rect().contains(button.mapTo(page.window, button.rect().bottomRight()))


def test_s37_the_whole_content_can_be_searched(review):
    page = review(from_document(BIG))
    page.arm()
    view = page.window.body.text
    view._go(0)
    view.text.setFocus()
    QTest.keyClick(page.handle, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    assert view.finder.hasFocus()
    page.keys("rm -rf\n")
    assert view._found.text() == "1 match"
    page.qtbot.waitUntil(lambda: view.text.textCursor().selectedText() == "rm -rf")
    assert view._page == view.n_pages - 1
    assert page.bar is Bar.TYPING, "a search is typing too"
    QTest.keyClick(page.handle, Qt.Key.Key_Escape)
    assert page.window.isVisible(), "Escape left the search only"
    page.wait(2)
    assert page.bar is None
    assert page.decided == []


def test_lines_cut_off_sideways_do_not_count_as_shown(review):
    page = review(request("a", tool_input={"to": "x " * 4000}))
    page.window.body.text.setFixedWidth(3000)
    page.painted()
    page.wait(2)
    before = page.window.body.text.whole_was_shown
    page.read()
    assert (before, page.window.body.whole_was_shown) == (False, False)


def test_s37_jumping_to_the_end_is_not_reading(review):
    page = review(from_document(S37[0]))
    page.window.resize(800, 600)
    page.painted()
    bar = page.window.body.text.text.verticalScrollBar()
    bar.setValue(bar.maximum())
    page.painted()
    page.wait(2)
    assert page.bar is Bar.NOT_SHOWN
    assert page.window.body.text.text.unseen_line is not None
    for _ in range(40):
        page.window.body.text._on_unseen()
        page.painted()
    assert page.window.body.whole_was_shown


def test_s37_blank_runs_and_counts_are_named(review):
    page = review(from_document(S37[0]))
    lines = _drawn(page).lines
    assert [line.blank_run for line in lines if line.blank_run] == [40]
    counts = page.window.body.text._counts.text()
    assert f"{len(lines)} lines" in counts


def test_s37_a_friendly_description_does_not_replace_the_arguments(review):
    page = review(from_document(S37[3]))
    assert "rm -rf data" in page.window.body.text.text.toPlainText()


def test_long_or_odd_names_are_read_in_the_exact_text(review):
    page = review(request("a", tool="send_\u200bletter"))
    text = page.window.body.text.text.toPlainText()
    assert '"toolName": "send_<U+200B>letter"' in text
    page.close()
    plain = review(request("b"))
    assert "toolName" not in plain.window.body.text.text.toPlainText()


def test_what_is_to_be_read_has_the_keys_first(review):
    view = request("a")
    view.content["rawInput"] = {"to": " x", "extra": 1}
    page = review(view)
    page.painted()
    body = page.window.body
    assert body._stack.currentWidget() is body.compare
    assert body.compare.right.text.hasFocus(), "not the field of the note"


def test_raw_input_that_differs_must_be_read_too(review):
    view = request("a", tool_input={"to": "x"})
    view.content["rawInput"] = {"to": " x", "extra": 1}
    page = review(view)
    assert page.window.body.tabs.tabText(0).startswith("Changed from raw input")
    page.window.body.tabs.setCurrentIndex(1)
    page.painted()
    page.wait(2)
    assert page.window.body.text.whole_was_shown
    assert page.window.body.whole_was_shown == page.window.body.compare.left.whole_was_shown


# -- case s38: twice, quickly, in two windows ------------------------------------------------------


def test_s38_two_holds_are_one_decision(review):
    page = review(request("a"), request("b"))
    page.arm()
    page.hold()
    page.hold()
    page.wait(6)
    page.hold()
    page.wait(6)
    assert page.decided == [("apr_a", "approve")]


def test_s38_approve_then_reject(review):
    page = review(request("a"), request("b"))
    page.arm()
    page.hold()
    page.wait(0.05)
    page.click_reject()
    page.click_really()
    page.wait(6)
    assert page.decided == [("apr_a", "approve")]


def test_s38_click_then_enter_on_a_plain_request(review):
    page = review(request("a", effect=Effect.READ_ONLY, consequential=False), request("b"))
    page.arm()
    QTest.mouseClick(page.window.footer.approve, Qt.MouseButton.LeftButton)
    page.wait(0.05)
    page.keys("\n")
    page.wait(6)
    assert page.decided == [("apr_a", "approve")]


def test_s38_a_second_click_at_the_same_place_neither_undoes_nor_decides_the_next(review):
    page = review(request("a", effect=Effect.READ_ONLY, consequential=False), request("b"))
    page.arm()
    button = page.window.footer.approve
    spot = button.mapTo(page.window, button.rect().center())
    QTest.mouseClick(page.handle, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, spot)
    page.wait(0.3)
    QTest.mouseClick(page.handle, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, spot)
    QTest.mouseClick(page.window.footer.recording.undo, Qt.MouseButton.LeftButton)
    page.wait(5)
    assert page.decided == [("apr_a", "approve")]
    page.world.put(approved(page.model.review.shown.request), request("b"))
    assert page.bar is Bar.DECIDED
    page.window._on_next()
    QTest.mouseClick(page.handle, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, spot)
    page.hold(0.3)
    page.wait(9)
    assert page.decided == [("apr_a", "approve")]


def test_s38_two_windows(review):
    world = World(request("a"), request("b"))
    first = review(request("a"), world=world)
    second = review(request("a"), world=world)
    second.arm()
    second.hold()
    first.window.activateWindow()
    first.arm()
    first.click_reject()
    first.click_really()
    first.wait(6)
    second.wait(0)
    assert [(d.request_id, d.verdict) for d in world.commands.decided] == [("apr_a", "approve")]


def test_reject_asks_once_more_and_says_what_it_does(review):
    page = review(request("a", scope="plan", content={"kind": "plan", "tasks": []}, tool=None))
    page.wait(1.1)
    footer = page.window.footer
    assert footer.reject.text() == "Reject and end run…"
    page.click_reject()
    assert "ends as rejected" in footer.hint.text()
    page.click_really()
    assert page.model.review.phase is Phase.READING, "not yet: the button just appeared"
    page.wait(1.1)
    page.click_really()
    page.wait(5)
    assert page.decided == [("apr_a", "reject")]


def test_undo_in_time(review):
    page = review(request("a"))
    page.arm()
    page.hold()
    page.wait(2)
    QTest.mouseClick(page.window.footer.recording.undo, Qt.MouseButton.LeftButton)
    page.wait(30)
    assert page.decided == []


# -- what the window says when the world moves -----------------------------------------------------


def test_changed_content_is_shown_beside_the_old(review):
    page = review(request("a"))
    page.arm()
    page.world.put(request("a", tool_input={"to": "evil@example.com"}))
    assert page.bar is Bar.CHANGED
    assert "x@example.com" in page.window.changed.left.text.toPlainText()
    assert "evil@example.com" in page.window.changed.right.text.toPlainText()
    assert not page.window.footer.approve.is_armed
    QTest.mouseClick(page.window.footer.restart, Qt.MouseButton.LeftButton)
    assert "evil@example.com" in page.window.body.text.text.toPlainText()
    assert page.bar is not None


@pytest.mark.parametrize(
    ("change", "owner", "words"),
    [
        ({"hash_matches": False}, OwnerKind.NO_WRITER, "hash does not match"),
        ({"matches_checkpoint": False}, OwnerKind.NO_WRITER, "differs from its checkpoint"),
        ({}, OwnerKind.OTHER_PROCESS, "Process 4312 owns this run"),
        ({"open": False}, OwnerKind.NO_WRITER, "no longer open"),
    ],
)
def test_a_bar_across_the_window_says_why_nothing_can_be_decided(review, change, owner, words):
    page = review(request("a"))
    page.arm()
    page.world.put(replace(request("a"), **change), owner=owner)
    assert words in page.window.notice.text.text()
    assert not page.window.footer.approve.is_armed
    assert not page.window.footer.reject.isEnabled()


def test_s39_the_counter_goes_down_and_each_verdict_is_its_own(review):
    requests = store_requests("s39-parallel-approvals")
    titles = []
    orders = json.loads((CASES / "s39-parallel-approvals" / "orders.json").read_text("utf-8"))
    plan = {r.content["toolCallId"]: r for r in requests}
    world = World(*requests)
    state = {r.id: r for r in requests}
    for call, verdict in orders[0]:
        page = review(plan[call], world=world, undo_s=0)
        titles.append(page.window.windowTitle().rpartition(" ")[2])
        page.arm()
        if verdict == "approve":
            page.hold()
        else:
            page.click_reject()
            page.wait(1.1)
            page.click_really()
        done = "approved" if verdict == "approve" else "rejected"
        state[plan[call].id] = approved(plan[call], "operator-1", done)
        world.put(*state.values())
        page.close()
    assert titles == ["3", "2", "1"]
    assert [(d.request_id, d.verdict) for d in world.commands.decided] == [
        (plan[call].id, verdict) for call, verdict in orders[0]
    ]


def test_hidden_characters_are_counted_on_top(review):
    page = review(request("a", tool_input={"to": "pay\u200bpal\u202e.com", "b": "p\u0430y"}))
    assert page.window.body._marks.text() == "3 hidden characters"
    assert "<U+200B>" in page.window.body.text.text.toPlainText()


def test_the_note_stays_in_the_app(review):
    page = review(request("a"), request("b"))
    page.window.footer.note.setFocus()
    page.keys("ask Mei")
    page.window._on_next()
    assert page.window.footer.note.text() == ""
    page.window._on_back()
    assert page.window.footer.note.text() == "ask Mei"


def test_a_theme_change_keeps_what_was_read(review, host):
    page = review(request("a"))
    page.arm()
    host.set_scheme("dark")
    page.painted()
    assert page.bar is None
    assert page.window.body.text.whole_was_shown


def test_a_language_change_keeps_what_was_read(review):
    page = review(request("a"))
    page.arm()
    QApplication.sendEvent(page.window, QEvent(QEvent.Type.LanguageChange))
    page.painted()
    assert page.bar is None
    assert page.window.body.tabs.tabText(0) == "Text"


def test_a_plan_shows_its_tasks_and_its_exact_text(review):
    tasks = [{"id": "t1", "title": "Research", "status": "pending", "description": "Look\nup"}]
    view = request("a", scope="plan", content={"kind": "plan", "tasks": tasks}, tool=None)
    page = review(view)
    tabs = page.window.body.tabs
    assert [tabs.tabText(i) for i in range(tabs.count())] == ["Text", "Tree", "Tasks"]
    assert '"description": "Look\\n' in page.window.body.text.text.toPlainText()


def test_the_whole_hash_is_in_the_accessible_name(review):
    page = review(request("a"))
    assert request("a").request_hash in page.window.hash.accessibleName()


def test_events_of_other_windows_are_no_activation(review):
    page = review(request("a"), by_user=False)
    assert not page.window._is_deliberate(QEvent(QEvent.Type.KeyRelease))


# -- report and context ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"hash_matches": False}, ("hashRecomputedSame", False)),
        ({"matches_checkpoint": False}, ("sameAsInCheckpoint", False)),
    ],
)
def test_c7_a_request_that_does_not_add_up_offers_only_a_report(review, change, said):
    page = review(request("a", **change))
    page.read()
    page.wait(2)
    assert page.bar in {Bar.HASH, Bar.CHECKPOINT}
    assert not page.window.footer.reject.isEnabled()
    notice = page.window.notice
    assert notice._link.text() == "Copy report"
    notice._link.click()
    report = json.loads(QGuiApplication.clipboard().text())
    assert report[said[0]] is said[1]
    assert report["content"]["toolName"] == "send_letter"
    assert notice._link.text() == "Report copied"
    assert page.decided == []


def test_the_last_messages_are_read_when_asked_for(review):
    page = review(request("a"))
    context = page.window.context
    assert context.messages.text() == "last 3 messages"
    asked = page.world.commands.conversations
    assert asked == []
    context.messages.click()
    ref = RunRef(STORE, "__oma_checkpoint__/q3-supply-risk/latest")
    assert asked == [(ref, "t10")]
    blocks = [BlockView("text", f"<b>{i}</b>\u202e said", 9) for i in range(5)]
    messages = tuple(MessageView("assistant", 1, (block,)) for block in blocks)
    page.world.feed.conversation_loaded.emit(
        (ref, ConversationView("t10", "writer", messages, "in_flight"))
    )
    shown = [w.text() for w in context.findChildren(QLabel) if not w.isHidden()]
    assert [t for t in shown if "said" in t] == [f"<b>{i}</b><U+202E> said" for i in (2, 3, 4)]
    context.messages.click()
    assert not any("said" in w.text() for w in context.findChildren(QLabel) if w.isVisible())


def test_similar_decisions_unfold(review):
    page = review(request("a"), approved(request("b")), approved(request("c"), verdict="rejected"))
    context = page.window.context
    context.similar.click()
    page.painted()
    shown = [w.text() for w in context.findChildren(QLabel) if w.isVisible()]
    assert sum("q3-supply-risk" in text and "operator-2" in text for text in shown) == 2
    assert context.similar.text() == "hide"
