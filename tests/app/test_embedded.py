"""What the window hears of a run of this process (ux.md C2)."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

from oma_desktop.app.embedded import EmbeddedRuns
from oma_desktop.engine.bus import EventBus
from oma_desktop.engine.coordination.coordinator import DECOMPOSE, SYNTHESIS
from oma_desktop.engine.tasks.judging import JUDGING
from oma_desktop.model.conversation import ANSWER
from oma_desktop.viewmodel.feed import PLANNING, Feed


async def heard_of(tell):
    """What the feed is told of a run of this process while `tell(bus, run)` speaks for it."""
    feed, bus = Feed(), EventBus()
    heard = []
    feed.activity.connect(heard.append)
    runs = EmbeddedRuns(feed, lambda _path: None, now=lambda: datetime(2026, 1, 1, tzinfo=UTC))

    async def go(_token):
        tell(bus, next(iter(runs._runs.values())))

    async def close():
        pass

    prepared = SimpleNamespace(store_path=Path("/x/run.json"), key="k", go=go, close=close)
    await runs.play(prepared, bus)
    return [(a.agent, a.kind, a.text) for a in heard]


async def test_a_delegated_agent_does_not_speak_in_the_conversation_of_the_task():
    """Its events carry its own name and the task of the agent that waits for it."""

    def tell(bus, run):
        bus.emit("task_start", agent="boss", task="t", data={"title": "Story"})
        bus.emit("tool_start", agent="boss", task="t", data={"tool": "delegate_to_agent"})
        bus.emit("model_call", agent="expert", task="t", data={"turn": 0})
        bus.emit("text_delta", agent="expert", task="t", data={"text": "not mine"})
        bus.emit("tool_start", agent="expert", task="t", data={"tool": "look"})
        bus.emit("tool_end", agent="expert", task="t")
        assert run.busy == {"t": "Story: delegate_to_agent"}
        bus.emit("tool_end", agent="boss", task="t")
        bus.emit("text_delta", agent="boss", task="t", data={"text": "mine"})
        bus.emit("task_complete", agent="boss", task="t")

    assert await heard_of(tell) == [
        (None, "tool", "delegate_to_agent"),
        ("expert", "model", ""),
        ("expert", "text", "not mine"),
        ("expert", "tool", "look"),
        (None, "idle", ""),
        (None, "text", "mine"),
    ]


async def test_while_an_answer_is_judged_its_author_rests_and_a_suspend_names_the_judge():
    def tell(bus, run):
        bus.emit("task_start", agent="writer", task="t", data={"title": "Draft"})
        bus.emit("model_call", agent="writer", task="t", data={"turn": 0})
        bus.emit("model_call", agent="critic", task=f"t{JUDGING}1:critic", data={"turn": 0})
        bus.emit("text_delta", agent="critic", task=f"t{JUDGING}1:critic", data={"text": "no"})
        assert run.busy == {f"t{JUDGING}1:critic": "Draft: judged by critic"}
        bus.emit("consensus_verdict", agent="critic", task="t", data={"accept": False})
        assert run.busy == {}

    assert await heard_of(tell) == [
        (None, "model", ""),
        (None, "idle", ""),
        ("critic", "model", ""),
        ("critic", "text", "no"),
        ("critic", "idle", ""),
    ]


async def test_what_a_program_says_it_does_is_a_tool_in_use():
    def tell(bus, _run):
        bus.emit("task_start", agent="acp", task="t", data={"title": "Build"})
        doing = {"title": "Editing a.py", "kind": "edit", "status": "in_progress"}
        bus.emit("external_tool", agent="acp", task="t", data=doing)
        bus.emit("external_tool", agent="acp", task="t", data={**doing, "status": "completed"})

    assert await heard_of(tell) == [(None, "tool", "Editing a.py"), (None, "text", "")]


async def test_the_closing_answer_is_announced_while_it_is_made():
    def tell(bus, run):
        bus.emit("model_call", agent="coordinator", task=DECOMPOSE, data={"turn": 0})
        assert run.live().answering_since is None
        bus.emit("model_call", agent="coordinator", task=SYNTHESIS, data={"turn": 0})
        assert run.live().answering_since == datetime(2026, 1, 1, tzinfo=UTC)

    await heard_of(tell)


def test_the_coordinator_is_heard_under_the_name_the_window_knows():
    assert PLANNING == DECOMPOSE


def test_the_closing_answer_is_heard_under_the_name_it_is_read_under():
    assert ANSWER == SYNTHESIS
