"""Conversations and call details of golden stores and hand-made messages."""

from __future__ import annotations

import copy
from typing import cast

import pytest

from oma_desktop.model import conversation as module
from oma_desktop.model.call_detail import call_detail
from oma_desktop.model.checkpoint import CheckpointSnapshot
from oma_desktop.model.conversation import ANSWER, conversation
from oma_desktop.model.view import BlockView, CallState, ConversationView
from tests.core.model.golden_runs import names, rows, snapshot, snapshots


def task_id(name: str, title: str) -> str:
    return next(t["id"] for t in snapshot(name)["queue"]["tasks"] if t["title"] == title)


def blocks(view: ConversationView, kind: str) -> list[BlockView]:
    return [b for m in view.messages for b in m.blocks if b.kind == kind]


def test_open_round_shows_calls_with_state_and_saved_results_last() -> None:
    name = "c_tool_gate_1_suspended"
    view = conversation(snapshot(name), task_id(name, "Deploy billing"), rows=rows(name))
    assert (view.agent, view.source) == ("operator", "in_flight")
    assert [(m.role, m.turn) for m in view.messages] == [("user", 0), ("assistant", 1), ("user", 1)]
    assert [(b.tool, b.call_state) for b in blocks(view, "tool_use")] == [
        ("read_status", CallState.SAVED),
        ("deploy", CallState.NEEDS_YOU),
    ]
    (result,) = blocks(view, "tool_result")
    assert (result.tool, result.call_id, result.is_error) == ("read_status", "call_status_1", False)
    assert result.text.startswith('{"service":"billing"')


def test_decisions_of_the_ledger_reach_the_cards() -> None:
    for name, state in [
        ("c_tool_gate_2_approved", CallState.APPROVED),
        ("c_tool_gate_3_rejected", CallState.DENIED),
    ]:
        view = conversation(snapshot(name), task_id(name, "Deploy billing"), rows=rows(name))
        assert blocks(view, "tool_use")[-1].call_state is state


def test_completed_task_is_read_from_its_result() -> None:
    name = "c_tool_gate_4_approved_then_restored"
    view = conversation(snapshot(name), task_id(name, "Deploy billing"))
    assert (view.agent, view.source) == ("operator", "completed")
    assert {b.call_state for b in blocks(view, "tool_use")} == {CallState.SAVED}


def test_a_task_without_state_is_an_answer_not_an_error() -> None:
    for id_ in (task_id("a_midrun_dag6", "Review notice"), "nobody"):
        view = conversation(snapshot("a_midrun_dag6"), id_)
        assert (view.source, view.messages) == ("none", ())


def test_media_are_chips_never_text() -> None:
    name = "j1_multimodal_unicode_midrun"
    (entry,) = snapshot(name)["inFlightTasks"]
    view = conversation(snapshot(name), entry["taskId"])
    chips = blocks(view, "media")
    assert {"image/png", "application/pdf"} <= {b.media_type for b in chips}
    inline = [b for b in chips if b.media_type == "application/pdf"]
    assert all(b.size > 0 and b.call_id for b in inline)
    shown = "".join(b.text for m in view.messages for b in m.blocks)
    assert "iVBORw0KGgo" not in shown  # how every base64 PNG begins


def talk(*messages: dict, **more: object) -> dict:
    """A snapshot with one in-flight task `t` and these messages."""
    changed = copy.deepcopy(snapshot("k7_v4_minimal"))
    changed["queue"]["tasks"] = [{"id": "t", "title": "T", "status": "in_progress"}]
    changed["inFlightTasks"] = [
        {
            "taskId": "t",
            "assignee": "a",
            "phase": "awaiting_model",
            "conversationMessages": list(messages),
            "messages": list(messages),
            "toolCalls": [],
            **more,
        }
    ]
    return changed


def says(role: str, *content: dict) -> dict:
    return {"role": role, "content": list(content)}


def asks(id_: str, tool: str = "go", **input_: object) -> dict:
    return {"type": "tool_use", "id": id_, "name": tool, "input": input_}


def answers(id_: str, text: str, **more: object) -> dict:
    return {"type": "tool_result", "tool_use_id": id_, "content": text, **more}


def test_long_text_is_cut_and_tells_its_size() -> None:
    long = "ä" * 70_000
    view = conversation(talk(says("assistant", {"type": "text", "text": long})), "t")
    (block,) = blocks(view, "text")
    assert block.truncated
    assert (len(block.text), block.size) == (64_000, 140_000)


def test_a_huge_conversation_keeps_its_newest_texts_whole(monkeypatch) -> None:
    monkeypatch.setattr(module, "MAX_TOTAL", 10_000)
    messages = [says("assistant", {"type": "text", "text": f"{i}" * 4_000}) for i in range(5)]
    view = conversation(talk(*messages), "t")
    lengths = [len(b.text) for b in blocks(view, "text")]
    assert lengths[-2:] == [4_000, 4_000]
    assert lengths[0] == 400
    assert all(b.size == 4_000 for b in blocks(view, "text"))


def test_same_call_id_in_two_turns_keeps_two_results() -> None:
    view = conversation(
        talk(
            says("assistant", asks("c1", n=1)),
            says("user", answers("c1", "first", is_error=True)),
            says("assistant", asks("c1", n=2)),
            says("user", answers("c1", "second")),
        ),
        "t",
    )
    assert [b.call_state for b in blocks(view, "tool_use")] == [
        CallState.SAVED_ERROR,
        CallState.SAVED,
    ]


def test_odd_blocks_are_shown_raw() -> None:
    odd = says("assistant", {"type": "video", "frames": 3}, {"type": "reasoning", "text": "hm"})
    odd["content"].append("plain")
    view = conversation(talk(odd), "t")
    assert [b.text for b in blocks(view, "other")] == ['{"type":"video","frames":3}', '"plain"']
    assert [b.text for b in blocks(view, "reasoning")] == ["hm"]


def test_call_detail_is_whole() -> None:
    big = "x" * 300_000
    snap = talk(says("assistant", asks("c1", text=big)), says("user", answers("c1", big)))
    detail = call_detail(snap, "t", "c1")
    assert detail is not None
    assert detail.input == f'{{"text":"{big}"}}'
    assert detail.output == big
    assert call_detail(snap, "t", "c2") is None


def test_call_detail_takes_the_newest_or_the_named_round() -> None:
    snap = talk(
        says("assistant", asks("c1", n=1)),
        says("user", answers("c1", "first", is_error=True)),
        says("assistant", asks("c1", n=2)),
    )
    newest = call_detail(snap, "t", "c1")
    assert newest is not None
    assert (newest.input, newest.output) == ('{"n":2}', None)
    older = call_detail(snap, "t", "c1", round_=1)
    assert older is not None
    assert (older.output, older.is_error) == ("first", True)


@pytest.mark.parametrize("name", names())
def test_every_golden_conversation_reads(name: str) -> None:
    for snap in snapshots(name).values():
        with_state = {e["taskId"] for e in snap.get("inFlightTasks", [])}
        with_state |= {r["taskId"] for r in snap["completedTaskResults"] if "agentResult" in r}
        for task in snap["queue"]["tasks"]:
            view = conversation(snap, task["id"], rows=rows(name))
            assert (view.source != "none") >= (task["id"] in with_state)
            assert all(b.size >= 0 for m in view.messages for b in m.blocks)


def test_the_closing_answer_is_read_whole_with_its_goal() -> None:
    snapshot = cast(
        "CheckpointSnapshot",
        {"version": 5, "goal": "Why?", "omaDesktop": {"answer": {"text": "x" * 9_000}}},
    )
    view = conversation(snapshot, ANSWER)
    assert [(m.role, m.blocks[0].text) for m in view.messages] == [
        ("user", "Why?"),
        ("assistant", "x" * 9_000),
    ]
    assert (view.agent, view.source) == ("coordinator", "completed")
    none = conversation(cast("CheckpointSnapshot", {"version": 5, "goal": "Why?"}), ANSWER)
    assert (none.messages, none.source) == ((), "none")
