"""What the window hears of a run of this process (ux.md C2)."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

from oma_desktop.app.embedded import EmbeddedRuns
from oma_desktop.engine.bus import EventBus
from oma_desktop.viewmodel.feed import Feed


async def test_a_delegated_agent_does_not_speak_in_the_conversation_of_the_task():
    """Its events carry its own name and the task of the agent that waits for it."""
    feed, bus = Feed(), EventBus()
    heard = []
    feed.activity.connect(heard.append)
    runs = EmbeddedRuns(feed, lambda _path: None, now=lambda: datetime(2026, 1, 1, tzinfo=UTC))

    async def go(_token):
        bus.emit("task_start", agent="boss", task="t", data={"title": "Story"})
        bus.emit("tool_start", agent="boss", task="t", data={"tool": "delegate_to_agent"})
        bus.emit("model_call", agent="expert", task="t", data={"turn": 0})
        bus.emit("text_delta", agent="expert", task="t", data={"text": "not mine"})
        bus.emit("tool_start", agent="expert", task="t", data={"tool": "look"})
        bus.emit("tool_end", agent="expert", task="t")
        assert [run.busy for run in runs._runs.values()] == [{"t": "Story: delegate_to_agent"}]
        bus.emit("tool_end", agent="boss", task="t")
        bus.emit("text_delta", agent="boss", task="t", data={"text": "mine"})
        bus.emit("task_complete", agent="boss", task="t")

    async def close():
        pass

    prepared = SimpleNamespace(store_path=Path("/x/run.json"), key="k", go=go, close=close)
    await runs.play(prepared, bus)
    assert [(a.kind, a.text) for a in heard] == [
        ("tool", "delegate_to_agent"),
        ("idle", ""),
        ("text", "mine"),
    ]
