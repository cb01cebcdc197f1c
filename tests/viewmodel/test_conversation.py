"""The conversation: asked for when needed, folded with counts, drafts until the file holds them."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from oma_desktop.model.conversation import ANSWER
from oma_desktop.model.view import (
    BlockView,
    CallState,
    ConversationView,
    MessageView,
    RunRef,
    RunState,
    RunView,
    StoreView,
    TaskState,
    TaskView,
)
from oma_desktop.viewmodel.conversation import Conversation, fold
from oma_desktop.viewmodel.feed import Feed, LiveActivity
from oma_desktop.viewmodel.selection import Place, Selection

REF = RunRef("/a.json", "k")


class Asked:
    def __init__(self):
        self.calls = []

    def load_conversation(self, run, task_id):
        self.calls.append((run, task_id))


def task(n_messages=1):
    return TaskView(
        id="t1",
        title="Draft",
        description="",
        status="in_progress",
        state=TaskState.RUNNING,
        assignee="writer",
        n_messages=n_messages,
    )


def picture(n_messages=1, revision=0):
    run = RunView(key="k", run_id="r", state=RunState.RUNNING, tasks=(task(n_messages),))
    return StoreView(path="/a.json", runs=(run,), revision=revision)


def text(value, **more):
    return BlockView(kind="text", text=value, size=len(value.encode()), **more)


def view(*messages):
    return ConversationView(task_id="t1", agent="writer", messages=messages, source="in_flight")


def scene():
    feed, asked, selection = Feed(), Asked(), Selection()
    feed.put(picture())
    model = Conversation(feed, asked, selection)
    return feed, asked, selection, model


def test_it_asks_when_a_task_is_selected_and_again_only_when_the_task_moved():
    feed, asked, selection, model = scene()
    assert model.situation == "nothing_selected"
    selection.select(Place(REF, "t1"))
    assert asked.calls == [(REF, "t1")]
    assert model.situation == "loading"
    feed.put(picture(revision=1))
    assert len(asked.calls) == 1
    feed.put(picture(n_messages=2, revision=2))
    assert len(asked.calls) == 2


def test_nobody_looks_nobody_asks():
    feed, asked, selection, model = scene()
    model.set_active(active=False)
    selection.select(Place(REF, "t1"))
    feed.put(picture(n_messages=5))
    assert asked.calls == []
    model.set_active(active=True)
    assert len(asked.calls) == 1


def test_answers_for_another_task_are_ignored():
    feed, _, selection, model = scene()
    selection.select(Place(REF, "t1"))
    feed.conversation_loaded.emit((REF, replace(view(), task_id="t2")))
    assert model.situation == "loading"
    feed.conversation_loaded.emit((REF, view()))
    assert model.situation == "empty"


def test_tool_calls_are_one_line_with_their_state():
    feed, _, selection, model = scene()
    selection.select(Place(REF, "t1"))
    use = BlockView(
        kind="tool_use",
        text='{\n  "to": "x"\n}',
        size=15,
        tool="send",
        call_id="c1",
        call_state=CallState.NEEDS_YOU,
    )
    feed.conversation_loaded.emit((REF, view(MessageView("assistant", 1, (text("Hi"), use)))))
    (only,) = model.entries
    assert only.parts[1].text == '{ "to": "x" }'
    assert only.parts[1].call_state is CallState.NEEDS_YOU


def test_long_messages_fold_with_a_count_and_open_in_place():
    feed, _, selection, model = scene()
    selection.select(Place(REF, "t1"))
    long = "\n".join(str(i) for i in range(158))
    feed.conversation_loaded.emit((REF, view(MessageView("user", 0, (text(long),)))))
    (part,) = model.entries[0].parts
    assert part.n_hidden == 118
    model.unfold(0)
    (part,) = model.entries[0].parts
    assert (part.n_hidden, part.text) == (0, long)


@given(st.text(alphabet="ab\n", max_size=600), st.integers(1, 12))
def test_folding_loses_no_line(value, lines):
    shown, hidden = fold(value, lines=lines)
    assert value.startswith(shown)
    if hidden:
        assert shown.count("\n") + 1 + hidden == value.count("\n") + 1
    else:
        assert shown == value


def test_streamed_text_is_a_draft_until_the_file_holds_it():
    feed, _, selection, model = scene()
    selection.select(Place(REF, "t1"))
    feed.conversation_loaded.emit((REF, view()))
    drafts = []
    model.draft_changed.connect(lambda: drafts.append(model.draft))
    for piece in ("Six sup", "pliers"):
        feed.activity.emit(LiveActivity(REF, "t1", "text", piece))
    feed.activity.emit(LiveActivity(REF, "t2", "text", "elsewhere"))
    assert drafts == ["Six sup", "Six suppliers"]
    assert model.situation == "shown"
    feed.conversation_loaded.emit(
        (REF, view(MessageView("assistant", 1, (text("Six suppliers are late"),))))
    )
    assert model.draft == ""


def test_a_new_model_call_begins_a_new_draft():
    feed, _, selection, model = scene()
    selection.select(Place(REF, "t1"))
    feed.activity.emit(LiveActivity(REF, "t1", "text", "half a sentence"))
    feed.activity.emit(LiveActivity(REF, "t1", "model"))
    assert model.draft == ""


def test_who_works_inside_a_task_never_speaks_in_its_agents_text():
    feed, _, selection, model = scene()
    selection.select(Place(REF, "t1"))
    feed.conversation_loaded.emit((REF, view()))

    def say(text, agent=None, kind="text"):
        feed.activity.emit(LiveActivity(REF, "t1", kind, text, agent=agent))

    say("I ask.")
    say("", "expert", "model")
    say("312 ", "expert")
    say("about ", "other")
    say("m", "expert")
    assert [(d.agent, d.text) for d in model.drafts] == [
        (None, "I ask."),
        ("expert", "312 m"),
        ("other", "about "),
    ]
    assert model.draft == "I ask."
    assert model.situation == "shown"
    say("", kind="idle")
    assert model.drafts == ()


def test_a_delegated_agent_alone_is_a_conversation_worth_showing():
    feed, _, selection, model = scene()
    selection.select(Place(REF, "t1"))
    feed.conversation_loaded.emit((REF, view()))
    feed.activity.emit(LiveActivity(REF, "t1", "text", "hm", agent="critic", judging=True))
    assert (model.draft, model.situation) == ("", "shown")
    assert model.drafts[0].judging


def test_of_a_run_with_a_goal_the_closing_answer_is_read_where_no_task_is_selected():
    feed, asked, selection, model = scene()
    store = picture()
    goal = replace(store.runs[0], goal="Six suppliers?")
    feed.put(replace(store, runs=(goal,)))
    selection.select_run(REF)
    assert asked.calls == [], "no file holds an answer: the run may not even be saved"
    assert model.situation == "empty"
    feed.activity.emit(LiveActivity(REF, ANSWER, "text", "Ye"))
    assert (model.draft, model.situation, model.agent) == ("Ye", "shown", "coordinator")
    feed.put(replace(store, runs=(replace(goal, answer="Yes"),)))
    assert asked.calls == [(REF, ANSWER)]
    answer = ConversationView(
        ANSWER, "coordinator", (MessageView("assistant", 1, (text("Yes, six."),)),), "completed"
    )
    feed.conversation_loaded.emit((REF, answer))
    assert (model.situation, model.agent, model.draft) == ("shown", "coordinator", "")
    selection.select_task("t1")
    assert asked.calls[-1] == (REF, "t1")
    assert model.situation == "loading"
