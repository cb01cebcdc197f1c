"""The messages of one task, ready to be read (ux.md C5, Conversation).

Nothing is sent to the screen that cannot be shown: media become chips with type and size, long
texts are cut and say how long they are. The whole text of a call comes from `call_detail`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, cast

from oma_desktop.model.approval import ApprovalRow
from oma_desktop.model.call_ledger import RoundCall, call_state, calls_of_entry
from oma_desktop.model.checkpoint import CheckpointSnapshot
from oma_desktop.model.json_text import stringify
from oma_desktop.model.json_value import JsonObject, JsonValue
from oma_desktop.model.lenient import items_at, maybe_text_at, objects_at, text_at
from oma_desktop.model.media import chip_of
from oma_desktop.model.own_facts import answer_of, own_facts
from oma_desktop.model.preview import utf8_size
from oma_desktop.model.run_facts import gather
from oma_desktop.model.view import BlockView, CallState, ConversationView, MessageView

ANSWER: Final = "@synthesis"
"""Stands for a task: the goal of a run and the coordinator's closing answer."""
COORDINATOR: Final = "coordinator"
MAX_TEXT: Final = 64_000
MAX_TOTAL: Final = 4_000_000
"""Characters of one conversation; older blocks are cut to `OLD_TEXT` beyond it."""
OLD_TEXT: Final = 400


def conversation(
    snapshot: CheckpointSnapshot,
    task_id: str,
    *,
    rows: Mapping[str, ApprovalRow] | None = None,
    live: bool = False,
    max_text: int = MAX_TEXT,
) -> ConversationView:
    """Return what the model saw and said in one task, from its in-flight or completed state.

    Saved results of the open round come last, as the message they will be sent in. A task without
    any state has no messages and source `none`; so has an unknown one. `ANSWER` gives the goal and
    the closing answer, where this program wrote one.
    """
    if task_id == ANSWER:
        return _goal_and_answer(cast("JsonObject", snapshot), max_text=max_text)
    facts = gather(snapshot, rows or {}, live=live)
    entry = facts.entries.get(task_id)
    if entry is not None:
        agent, messages, source = _in_flight(entry)
        calls = list(calls_of_entry(entry))
    else:
        agent, messages, source = _completed(facts.snapshot, task_id)
        calls = []
    opened = [c for c in calls if c.pending is not None]
    states = {c.id: call_state(c, facts, task_id=task_id) for c in opened}
    views = _views(messages, states, max_text=max_text)
    held = _open_results(calls, max_text=max_text)
    if held:
        turn = views[-1].turn if views else 0
        views.append(MessageView("user", turn, held))
    return ConversationView(task_id, agent, tuple(_within(views, MAX_TOTAL)), source)


def _goal_and_answer(snapshot: JsonObject, *, max_text: int) -> ConversationView:
    goal, answer = text_at(snapshot, "goal"), answer_of(own_facts(snapshot))
    if answer is None:
        return ConversationView(ANSWER, COORDINATOR, (), "none")
    said: list[JsonObject] = [
        {"role": "user", "content": goal},
        {"role": "assistant", "content": answer},
    ]
    views = _views([m for m in said if m["content"]], {}, max_text=max_text)
    return ConversationView(ANSWER, COORDINATOR, tuple(views), "completed")


Source = Literal["in_flight", "completed", "none"]


def _in_flight(entry: JsonObject) -> tuple[str | None, list[JsonObject], Source]:
    return (
        maybe_text_at(entry, "assignee"),
        objects_at(entry, "conversationMessages"),
        "in_flight",
    )


def _completed(snapshot: JsonObject, task_id: str) -> tuple[str | None, list[JsonObject], Source]:
    for item in objects_at(snapshot, "completedTaskResults"):
        if item.get("taskId") == task_id:
            messages = objects_at(item.get("agentResult"), "messages")
            return maybe_text_at(item, "assignee"), messages, "completed"
    return None, [], "none"


def _views(
    messages: Sequence[JsonObject], states: Mapping[str, CallState], *, max_text: int
) -> list[MessageView]:
    last_turn = sum(m.get("role") == "assistant" for m in messages)
    views: list[MessageView] = []
    turn = 0
    for message in messages:
        role = text_at(message, "role")
        turn += role == "assistant"
        # Only the newest turn is open; the same id may stand in an older one (cases s04).
        known = states if turn == last_turn else {}
        views.append(MessageView(role, turn, tuple(_blocks(message, known, max_text=max_text))))
    return _with_results(views)


def _blocks(
    message: JsonObject, states: Mapping[str, CallState], *, max_text: int
) -> Iterator[BlockView]:
    cut = _Cutter(max_text)
    if isinstance(message.get("content"), str):
        yield cut.block("text", text_at(message, "content"))
    for block in items_at(message, "content"):
        if isinstance(block, dict):
            yield from _block(block, states, cut)
        else:
            yield cut.block("other", stringify(block))


def _block(block: JsonObject, states: Mapping[str, CallState], cut: _Cutter) -> Iterator[BlockView]:
    kind = block.get("type")
    if kind == "text":
        yield cut.block("text", text_at(block, "text"))
    elif kind == "reasoning":
        yield cut.block("reasoning", text_at(block, "text"))
    elif kind == "tool_use":
        id_ = text_at(block, "id")
        made = cut.block("tool_use", stringify(block.get("input")))
        yield replace(made, tool=text_at(block, "name"), call_id=id_, call_state=states.get(id_))
    elif kind == "tool_result":
        yield from _result(block, cut)
    elif chip_of(block) is not None:
        yield _media(block)
    else:
        yield cut.block("other", stringify(block))


def _result(block: JsonObject, cut: _Cutter) -> Iterator[BlockView]:
    """Yield the text of a result, then one chip for each media part."""
    content = block.get("content")
    parts: list[JsonValue] = content if isinstance(content, list) else []
    texts = [content] if isinstance(content, str) else [_text(p) for p in parts if not _chip(p)]
    is_error = block.get("is_error") is True
    id_ = text_at(block, "tool_use_id")
    made = cut.block("tool_result", "\n".join(texts))
    yield replace(made, call_id=id_, is_error=is_error)
    for part in parts:
        if isinstance(part, dict) and chip_of(part) is not None:
            yield replace(_media(part), call_id=id_)


def _text(part: JsonValue) -> str:
    if isinstance(part, dict) and part.get("type") == "text":
        return text_at(part, "text")
    return stringify(part)


def _chip(part: JsonValue) -> bool:
    return isinstance(part, dict) and chip_of(part) is not None


def _media(part: JsonObject) -> BlockView:
    chip = chip_of(part)
    assert chip is not None
    return BlockView("media", chip.label, chip.size, media_type=chip.media_type)


def _open_results(calls: Sequence[RoundCall], *, max_text: int) -> tuple[BlockView, ...]:
    cut = _Cutter(max_text)
    blocks: list[BlockView] = []
    for call in calls:
        if call.pending is not None and call.result is not None:
            blocks += [replace(b, tool=call.tool) for b in _result(call.result, cut)]
    return tuple(blocks)


def _with_results(views: list[MessageView]) -> list[MessageView]:
    """Give results the tool they answer, and calls the state their result proves."""
    tools: dict[str, str] = {}
    done: dict[tuple[int, str], CallState] = {}
    for view in views:
        for block in view.blocks:
            if block.kind == "tool_result" and block.call_id is not None:
                state = CallState.SAVED_ERROR if block.is_error else CallState.SAVED
                done.setdefault((view.turn, block.call_id), state)
    named: list[MessageView] = []
    for view in views:
        blocks = []
        for block in view.blocks:
            id_ = block.call_id or ""
            if block.kind == "tool_use":
                tools[id_] = block.tool or ""
                known = block.call_state or done.get((view.turn, id_))
                blocks.append(replace(block, call_state=known))
            elif block.call_id is not None:
                blocks.append(replace(block, tool=tools.get(id_)))
            else:
                blocks.append(block)
        named.append(replace(view, blocks=tuple(blocks)))
    return named


def _within(views: list[MessageView], budget: int) -> Iterator[MessageView]:
    """Keep the newest texts whole as far as the budget goes, cut the older ones short."""
    total = sum(len(b.text) for v in views for b in v.blocks)
    over = total - budget
    for view in views:
        if over <= 0:
            yield view
            continue
        blocks = []
        for block in view.blocks:
            short = block.text[:OLD_TEXT] if over > 0 else block.text
            over -= len(block.text) - len(short)
            is_cut = block.truncated or len(short) < len(block.text)
            blocks.append(replace(block, text=short, truncated=is_cut))
        yield replace(view, blocks=tuple(blocks))


@dataclass(frozen=True, slots=True)
class _Cutter:
    """Makes text blocks of at most `limit` characters."""

    limit: int

    def block(
        self, kind: Literal["text", "reasoning", "tool_use", "tool_result", "other"], text: str
    ) -> BlockView:
        return BlockView(
            kind, text[: self.limit], utf8_size(text), truncated=len(text) > self.limit
        )
