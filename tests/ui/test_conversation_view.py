"""The conversation on the page: plain text only, cards with state, drafts, folding, find."""

import pytest
from PySide6.QtCore import QUrl

from oma_desktop.model.view import CallState, MessageView
from oma_desktop.ui.conversation_view import ConversationView
from oma_desktop.viewmodel.conversation import Conversation
from oma_desktop.viewmodel.feed import Feed, LiveActivity
from oma_desktop.viewmodel.selection import Place, Selection
from tests.ui import scenes


class Scene:
    def __init__(self, qtbot):
        self.qtbot = qtbot
        self.feed, self.commands, self.selection = Feed(), scenes.Recorder(), Selection()
        self.feed.put(scenes.main_store())
        self.model = Conversation(self.feed, self.commands, self.selection)
        self.view = ConversationView(self.model, self.selection)
        qtbot.addWidget(self.view)
        self.view.resize(700, 500)
        self.view.show()
        self.selection.select(Place(scenes.MAIN, "t10"))

    def load(self, view=None):
        self.feed.conversation_loaded.emit((scenes.MAIN, view or scenes.conversation()))
        return self.draw()

    def stream(self, text, kind="text", **who):
        self.feed.activity.emit(LiveActivity(scenes.MAIN, "t10", kind, text, **who))
        return self.draw()

    def draw(self):
        self.view._draw()
        self.qtbot.waitUntil(lambda: not self.view._slices.running)
        return self.text

    @property
    def text(self):
        return self.view.page.toPlainText()

    def links(self):
        found = []
        block = self.view.page.document().begin()
        while block.isValid():
            for fragment in block:
                found += [h for h in [fragment.fragment().charFormat().anchorHref()] if h]
            block = block.next()
        return found


@pytest.fixture
def scene(host, qtbot):
    return Scene(qtbot)


def test_markup_of_a_file_is_shown_not_obeyed(scene):
    blocks = (
        scenes.block("text", '<b>Not bold</b> <img src="file:///etc/passwd"> <a href="x">y</a>'),
        scenes.block("tool_result", "<script>alert(1)</script>\n[a](http://example.com)"),
    )
    view = scenes.ConversationView(
        task_id="t10",
        agent="writer",
        source="in_flight",
        messages=(MessageView("user", 0, blocks),),
    )
    text = scene.load(view)
    assert '<b>Not bold</b> <img src="file:///etc/passwd"> <a href="x">y</a>' in text
    assert "<script>alert(1)</script>" in text
    assert scene.links() == []
    assert scene.view.page.loadResource(2, QUrl("file:///etc/passwd")) is None


def test_tool_calls_show_their_commit_state_in_a_word(scene):
    text = scene.load()
    assert "supplier_search  Saved" in text
    assert "send_letter  Needs you" in text
    assert [link for link in scene.links() if link.startswith("call:")] == [
        "call:0",
        "call:1",
        "call:2",
    ]


def test_a_link_leads_to_its_call_and_nowhere_else(scene):
    scene.load()
    seen = []
    scene.view.call_chosen.connect(seen.append)
    scene.view._on_link_clicked(QUrl("call:2"))
    scene.view._on_link_clicked(QUrl("call:99"))
    scene.view._on_link_clicked(QUrl("https://example.com"))
    assert seen == ["c4"]


def test_folded_lines_open_in_place(scene):
    text = scene.load()
    assert "show 118 more lines" in text
    assert "150: 供应商" not in text
    scene.view._on_link_clicked(QUrl("more:2"))
    text = scene.draw()
    assert "157: 供应商" in text
    assert "more lines" not in text


def test_a_draft_grows_in_one_place_and_goes_when_it_is_saved(scene):
    saved = scene.load()
    assert "not saved yet" not in saved
    scene.stream("Six sup")
    text = scene.stream("pliers are late")
    assert text.count("not saved yet") == 1
    assert text.count("Six suppliers are late") == 1
    assert scene.text.startswith(saved.rstrip()[:40])
    scene.stream("", kind="model")
    assert "Six" not in scene.draw()


def test_drafts_do_not_damage_what_is_saved(scene):
    saved = scene.load().split()
    for i in range(20):
        scene.stream(f"piece {i} ")
    scene.stream("", kind="idle")
    assert scene.draw().split() == saved


def test_empty_pictures_say_why(scene):
    scene.draw()
    assert scene.view._empty._title.text() == "Reading the conversation…"
    nothing = scenes.ConversationView("t10", "writer", (), "none")
    scene.load(nothing)
    assert scene.view._empty._title.text() == "Nothing was said yet."
    scene.selection.select_run(None)
    scene.draw()
    assert scene.view._empty._title.text() == "No task is selected."


def test_find_counts_and_walks_around(scene):
    scene.load()
    scene.view.open_find()
    scene.view.find_field.setText("supplier_search")
    assert scene.view._hits.text() == "1 found"
    scene.view.find_next()
    first = scene.view.page.textCursor().selectionStart()
    scene.view.find_next()
    assert scene.view.page.textCursor().selectionStart() == first
    scene.view.find_field.setText("nowhere at all")
    assert scene.view._hits.text() == "0 found"
    scene.view.close_find()
    assert not scene.view._find_bar.isVisible()


def test_an_error_result_and_an_image_are_told_apart(scene):
    blocks = (
        scenes.BlockView(
            kind="tool_use",
            text="{}",
            size=2,
            tool="fx",
            call_id="c9",
            call_state=CallState.SAVED_ERROR,
        ),
        scenes.BlockView(kind="media", text="", size=217_000, media_type="image/png"),
    )
    view = scenes.ConversationView(
        "t10", "writer", (MessageView("assistant", 1, blocks),), "in_flight"
    )
    text = scene.load(view)
    assert "fx  Saved error" in text
    assert "image/png, 211 KB" in text


def test_a_long_conversation_is_drawn(scene):
    message = scenes.conversation().messages[3]
    view = scenes.ConversationView("t10", "writer", (message,) * 300, "in_flight")
    assert scene.load(view).count("render_letter") == 300


def test_each_voice_in_a_task_has_a_draft_of_its_own(scene):
    saved = scene.load().split()
    scene.stream("I ask the expert.")
    scene.stream("312 m", agent="expert")
    text = scene.stream("no source", agent="critic", judging=True)
    assert "expert, asked by writer" in text
    assert "critic, judging the answer" in text
    mine, rest = text.split("expert, asked by writer")
    assert "I ask the expert." in mine
    assert "312 m" in rest
    scene.stream("", kind="idle")
    assert scene.draw().split() == saved
