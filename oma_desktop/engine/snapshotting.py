"""From the live run to the text of a checkpoint (formats.md 2.3; engine.md 15.3).

`capture` takes references in one synchronous step (DEV-03); everything it refers to is immutable by
convention, so `SnapshotEncoder` (encoding.py) may write the text later, on the store lane.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, cast

from oma_desktop.engine.identity import identity_snapshot
from oma_desktop.engine.queue import queue_document
from oma_desktop.engine.run_state import RunState
from oma_desktop.engine.shared_memory import MemoryPicture
from oma_desktop.model.checkpoint import CompletedTaskResult, InFlightEntry, TaskSnapshot
from oma_desktop.model.json_value import JsonObject, JsonValue

VERSION: Final = 4


@dataclass(frozen=True, slots=True)
class Captured:
    """One moment of a run, by reference. `queue` lists are fresh, tasks are shared."""

    created_at: str
    head: JsonObject
    queue: JsonObject
    memory: MemoryPicture | None
    messages: JsonObject
    turn_count: int | None
    completed: tuple[CompletedTaskResult, ...]
    in_flight: tuple[InFlightEntry, ...]
    tail: JsonObject


def capture(state: RunState, *, now: str, memory: MemoryPicture | None) -> Captured:
    """Take the run as it is; synchronous, and cheap in the number of tasks."""
    tasks = [shown_task(state, t) for t in state.queue.tasks]
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
    completed = (state.completed.get(t["id"]) for t in tasks if t["status"] == "completed")
    return Captured(
        created_at=now,
        head=head,
        queue=cast("JsonObject", queue_document(tasks, state.queue_extra)),
        memory=memory if state.embed_memory else None,
        messages=cast("JsonObject", state.messages.snapshot()),
        turn_count=None if state.memory is None else state.memory.turn_count,
        completed=tuple(c for c in completed if c is not None),
        in_flight=tuple(state.entries.values()),
        tail=tail,
    )


def shown_task(state: RunState, task: TaskSnapshot) -> TaskSnapshot:
    """The task as the file shows it: a carried-over one stays as it was saved (W2)."""
    if task["id"] in state.carried and task["status"] in {"pending", "blocked"}:
        return state.carried[task["id"]]
    return task


def own_facts(state: RunState) -> JsonObject:
    """Our own key (formats.md 2.12); facts we do not know are kept as they were."""
    facts: JsonObject = dict(state.own_extra)
    facts["usage"] = cast("JsonValue", state.cumulative_usage())
    if state.end is not None:
        facts["end"] = state.end
    if state.retries:
        facts["retries"] = cast("JsonValue", dict(state.retries))
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
