"""From the live run to the text of a checkpoint (formats.md 2.3; engine.md 15.3).

`capture` takes references in one synchronous step (DEV-03); everything it refers to is immutable by
convention, so `SnapshotEncoder` (encoding.py) may write the text later, on the store lane.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, cast

from oma_desktop.engine.identity import identity_snapshot
from oma_desktop.engine.memory.shared_memory import MemoryPicture
from oma_desktop.engine.run_state import RunState
from oma_desktop.engine.saving.queue_pages import QUEUE_LISTS, QueuePage, QueuePages
from oma_desktop.engine.tools.confirmation import facts_of
from oma_desktop.model.checkpoint import InFlightEntry, QueueSnapshot
from oma_desktop.model.json_value import JsonObject, JsonValue

VERSION: Final = 4


@dataclass(frozen=True, slots=True)
class Captured:
    """One moment of a run, by reference; nothing in it is changed later."""

    created_at: str
    head: JsonObject
    pages: tuple[QueuePage, ...]
    queue_extra: QueueSnapshot | None
    memory: MemoryPicture | None
    messages: JsonObject
    turn_count: int | None
    in_flight: tuple[InFlightEntry, ...]
    tail: JsonObject

    def paged_queue(self) -> dict[str, object]:
        """The queue document, its lists of tasks and ids in pages (formats.md 2.6)."""
        doc: dict[str, object] = {"version": 1}
        for name in QUEUE_LISTS:
            doc[name] = tuple(page.lists[name] for page in self.pages)
        extra = self.queue_extra
        if extra is not None:
            doc |= {key: value for key, value in extra.items() if key not in doc}
            doc["version"] = extra["version"]
        return doc


def capture(
    state: RunState, *, now: str, memory: MemoryPicture | None, pages: QueuePages | None = None
) -> Captured:
    """Take the run as it is; synchronous, and cheap in the number of tasks.

    With the `pages` of the capture before, those without a change are not looked into.
    """
    head: JsonObject = {"version": VERSION, "mode": state.mode, "createdAt": now}
    if state.metadata is not None:
        head["metadata"] = state.metadata
    head["identity"] = cast("JsonValue", identity_snapshot(state.identity))
    if state.goal is not None:
        head["goal"] = state.goal
    tail: JsonObject = {
        "pendingApprovals": cast("JsonValue", state.open_requests()),
        "approvalDecisions": cast("JsonValue", list(state.decisions.values())),
        **state.snapshot_extra,
        "omaDesktop": own_facts(state),
    }
    return Captured(
        created_at=now,
        head=head,
        pages=(pages or QueuePages()).look(state),
        queue_extra=state.queue_extra,
        memory=memory if state.embed_memory else None,
        messages=cast("JsonObject", state.messages.snapshot()),
        turn_count=None if state.memory is None else state.memory.turn_count,
        in_flight=tuple(state.entries.values()),
        tail=tail,
    )


def own_facts(state: RunState) -> JsonObject:
    """Our own key (formats.md 2.12); facts we do not know are kept as they were."""
    facts: JsonObject = dict(state.own_extra)
    usage = cast("JsonObject", state.cumulative_usage())
    if state.cost.known or state.cost.spent:
        usage["cost"] = state.cost.spent
    facts["usage"] = usage
    if state.end is not None:
        facts["end"] = state.end
    confirmation = facts_of(state.confirmation)
    if confirmation is not None:
        facts["confirmation"] = confirmation
    if state.coordination.answer is not None:
        facts["answer"] = {"text": state.coordination.answer}
    if state.retries:
        facts["retries"] = cast("JsonValue", dict(state.retries))
    wishes = {i: s.to_json() for i, s in state.verify.items() if i not in state.completed}
    if wishes:
        facts["verify"] = cast("JsonValue", wishes)
    unsure = sorted(pair for pair in state.unsure if pair[0] in state.entries)
    if unsure:
        facts["unsure"] = [{"taskId": task, "toolCallId": call} for task, call in unsure]
    return facts


def frozen_entry(entry: InFlightEntry) -> InFlightEntry:
    """Copy the containers of an entry that its runner goes on changing; messages are shared."""
    copy = cast("InFlightEntry", dict(entry))
    copy["conversationMessages"] = list(entry["conversationMessages"])
    copy["messages"] = list(entry["messages"])
    copy["toolCalls"] = list(entry["toolCalls"])
    copy["tokenUsage"] = {**entry["tokenUsage"]}
    if "pendingToolCalls" in entry:
        copy["pendingToolCalls"] = [{**call} for call in entry["pendingToolCalls"]]
    return copy
