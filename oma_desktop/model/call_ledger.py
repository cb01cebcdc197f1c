"""The tool call ledger of one task (ux.md C5): closed rounds from messages, the open one from its
saved calls. Sizes and first lines only; whole texts come from `call_detail`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from oma_desktop.model.effects import effect_of_content
from oma_desktop.model.json_value import JsonObject, JsonValue
from oma_desktop.model.lenient import (
    maybe_number_at,
    object_at,
    objects_at,
    text_at,
)
from oma_desktop.model.media import content_text
from oma_desktop.model.preview import first_line, json_size_and_line, utf8_size
from oma_desktop.model.run_facts import RunFacts, pending_calls
from oma_desktop.model.view import CallState, Effect, ToolCallView


@dataclass(frozen=True, slots=True)
class RoundCall:
    """One call as it lies in messages or in the open round; `result` None: none is saved."""

    round: int
    call: JsonObject
    result: JsonObject | None
    record: JsonObject | None
    pending: JsonObject | None = None

    @property
    def id(self) -> str:
        """The id the model gave; unique within its round only (cases s04)."""
        return text_at(self.call, "id")

    @property
    def tool(self) -> str:
        """Name of the tool."""
        return text_at(self.call, "name")


def calls_of_entry(entry: JsonObject) -> Iterator[RoundCall]:
    """Yield the calls of a running agent: closed rounds, then the open one (formats.md 2.8)."""
    messages = objects_at(entry, "messages")
    open_round = pending_calls(entry)
    if open_round:
        last = max((i for i, m in enumerate(messages) if _asks(m)), default=len(messages))
        messages = messages[:last]
    n_rounds = sum(m.get("role") == "assistant" for m in messages)
    yield from _closed(messages, objects_at(entry, "toolCalls"))
    for pending in open_round:
        commit = object_at(pending, "commit")
        yield RoundCall(
            n_rounds + 1,
            object_at(pending, "call"),
            object_at(commit, "result") or None,
            object_at(commit, "record") or None,
            pending,
        )


def calls_of_result(agent_result: JsonObject) -> Iterator[RoundCall]:
    """Yield the calls of a finished agent (formats.md 2.7)."""
    yield from _closed(objects_at(agent_result, "messages"), objects_at(agent_result, "toolCalls"))


def ledger(
    calls: Iterator[RoundCall],
    facts: RunFacts,
    *,
    task_id: str,
    agent: str,
    effects: Mapping[str, Effect],
) -> tuple[ToolCallView, ...]:
    """Return the rows of one task."""
    return tuple(_row(c, facts, task_id=task_id, agent=agent, effects=effects) for c in calls)


def call_state(call: RoundCall, facts: RunFacts, *, task_id: str) -> CallState:
    """Return what is known about one call of a task (ux.md C6)."""
    if call.result is not None:
        failed = call.result.get("is_error") is True
        return CallState.SAVED_ERROR if failed else CallState.SAVED
    id_ = approval_id(call)
    if id_ is not None:
        return _gated(id_, call, facts, task_id)
    if call.pending is not None and facts.at_rest(task_id, call.id):
        return CallState.TO_RUN
    return CallState.RUNNING if facts.live and call.pending else CallState.OUTCOME_UNKNOWN


def approval_id(call: RoundCall) -> str | None:
    """Return the id of the request the call waits or waited for, as long as it is not saved."""
    request = object_at(call.pending, "approvalRequest")
    return text_at(request, "id") or None


def _gated(id_: str, call: RoundCall, facts: RunFacts, task_id: str) -> CallState:
    verdict = facts.verdicts.get(id_)
    if verdict is None:
        return CallState.NEEDS_YOU if id_ in facts.open_ids else CallState.OUTCOME_UNKNOWN
    if not verdict.approved:
        return CallState.DENIED
    untouched = not verdict.consumed and (task_id, call.id) not in facts.unsure
    if untouched or facts.at_rest(task_id, call.id):
        return CallState.APPROVED
    # A save after the decision means that an attempt had it in hand and may have begun.
    return CallState.RUNNING if facts.live else CallState.OUTCOME_UNKNOWN


def _row(
    call: RoundCall,
    facts: RunFacts,
    *,
    task_id: str,
    agent: str,
    effects: Mapping[str, Effect],
) -> ToolCallView:
    size, line = json_size_and_line(call.call.get("input"))
    output = content_text(call.result.get("content")) if call.result else ""
    return ToolCallView(
        call_id=call.id,
        tool=call.tool,
        agent=agent,
        task_id=task_id,
        state=call_state(call, facts, task_id=task_id),
        round=call.round,
        input_preview=line,
        input_size=size,
        output_preview=first_line(output),
        output_size=utf8_size(output),
        effect=_effect(call, effects),
        approval_id=approval_id(call),
        duration_ms=maybe_number_at(call.record, "duration"),
    )


def _effect(call: RoundCall, effects: Mapping[str, Effect]) -> Effect:
    request = object_at(call.pending, "approvalRequest")
    known = effects.get(call.tool, Effect.UNKNOWN)
    asked = effect_of_content(object_at(request, "content"))
    return Effect.CONSEQUENTIAL if asked is Effect.CONSEQUENTIAL else known


def _closed(messages: list[JsonObject], records: list[JsonObject]) -> Iterator[RoundCall]:
    left = iter(records)
    record = next(left, None)
    for number, calls, results in _rounds(messages):
        for call in calls:
            matches = text_at(record, "toolName") == text_at(call, "name")
            result = results.get(text_at(call, "id"))
            yield RoundCall(number, call, result, record if matches else None)
            if matches:
                record = next(left, None)


def _rounds(
    messages: list[JsonObject],
) -> Iterator[tuple[int, list[JsonObject], dict[str, JsonObject]]]:
    """Yield number, calls and results of each assistant turn that asked for tools.

    Results are looked for only until the next assistant turn: ids may come again later.
    """
    number = 0
    for index, message in enumerate(messages):
        if message.get("role") != "assistant":
            continue
        number += 1
        calls = _blocks(message, "tool_use")
        if calls:
            yield number, calls, _results_after(messages, index)


def _results_after(messages: list[JsonObject], index: int) -> dict[str, JsonObject]:
    found: dict[str, JsonObject] = {}
    for message in messages[index + 1 :]:
        if message.get("role") == "assistant":
            break
        for block in _blocks(message, "tool_result"):
            found.setdefault(text_at(block, "tool_use_id"), block)
    return found


def _asks(message: JsonObject) -> bool:
    return message.get("role") == "assistant" and bool(_blocks(message, "tool_use"))


def _blocks(message: JsonValue, kind: str) -> list[JsonObject]:
    return [b for b in objects_at(message, "content") if b.get("type") == kind]
