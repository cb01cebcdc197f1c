"""From the live run to the text of a checkpoint (formats.md 2.3; engine.md 15.3).

`capture` takes references in one synchronous step (DEV-03); everything it refers to is immutable by
convention, so `SnapshotEncoder` may write the text later, on the store lane. The encoder keeps the
text of what did not change since the last save: tasks, completed results, messages, notes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, cast

from oma_desktop.engine.identity import identity_snapshot
from oma_desktop.engine.queue import queue_document
from oma_desktop.engine.run_state import RunState
from oma_desktop.engine.shared_memory import MemoryPicture, entry_document
from oma_desktop.model.checkpoint import CompletedTaskResult, InFlightEntry, TaskSnapshot
from oma_desktop.model.json_text import quote, stringify
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


class SnapshotEncoder:
    """Writes captured moments as compact JSON. Used by one thread at a time (the store lane).

    Invariant: a cached text belongs to an object that is still referenced, so ids cannot be reused.
    What a snapshot no longer contains is forgotten with it.
    """

    def __init__(self) -> None:
        self._known: dict[int, tuple[object, str]] = {}
        self._next: dict[int, tuple[object, str]] = {}

    def encode(self, moment: Captured) -> str:
        """Return the checkpoint value, byte for byte what JSON.stringify would give."""
        parts = [f"{quote(k)}:{stringify(v)}" for k, v in moment.head.items()]
        parts.append(f'"queue":{self._queue(moment.queue)}')
        if moment.memory is not None:
            parts.append(f'"sharedMemory":{self._memory(moment.memory)}')
        parts.append(f'"messageBus":{self._bus(moment.messages)}')
        if moment.turn_count is not None:
            parts.append(f'"turnCount":{moment.turn_count}')
        parts.append(f'"completedTaskResults":{self._list(moment.completed, self._completed)}')
        parts.append(f'"inFlightTasks":{self._list(moment.in_flight, self._entry, keep=False)}')
        parts += [f"{quote(k)}:{stringify(v)}" for k, v in moment.tail.items()]
        self._known, self._next = self._next, {}
        return "{" + ",".join(parts) + "}"

    def _once(self, value: object, write: Callable[[], str]) -> str:
        known = self._known.get(id(value)) or self._next.get(id(value))
        text = known[1] if known is not None else write()
        self._next[id(value)] = (value, text)
        return text

    def _plain(self, value: object) -> str:
        return self._once(value, lambda: stringify(cast("JsonValue", value)))

    def _list(
        self, items: Iterable[object], write: Callable[[object], str], *, keep: bool = True
    ) -> str:
        texts = (
            self._once(item, lambda item=item: write(item)) if keep else write(item)  # type: ignore[misc]
            for item in items
        )
        return "[" + ",".join(texts) + "]"

    def _members(self, doc: Mapping[str, object], lists: frozenset[str]) -> str:
        """An object whose members in `lists` are arrays of things worth remembering."""
        return (
            "{"
            + ",".join(
                f"{quote(k)}:{self._list(cast('list[object]', v), self._plain)}"
                if k in lists
                else f"{quote(k)}:{stringify(cast('JsonValue', v))}"
                for k, v in doc.items()
            )
            + "}"
        )

    def _queue(self, queue: JsonObject) -> str:
        return self._members(queue, frozenset(("tasks", "planRevisions")))

    def _bus(self, bus: JsonObject) -> str:
        return self._members(bus, frozenset(("messages",)))

    def _memory(self, memory: MemoryPicture) -> str:
        entries = self._list(
            memory.entries,
            lambda e: stringify(cast("JsonValue", entry_document(e))),  # type: ignore[arg-type]
        )
        return f'{{"version":1,"turnCount":{memory.turn_count},"entries":{entries}}}'

    def _completed(self, result: object) -> str:
        doc = cast("dict[str, object]", result)
        return (
            "{"
            + ",".join(
                f"{quote(k)}:{self._members(cast('Mapping[str, object]', v), _RESULT_LISTS)}"
                if k == "agentResult"
                else f"{quote(k)}:{stringify(cast('JsonValue', v))}"
                for k, v in doc.items()
            )
            + "}"
        )

    def _entry(self, entry: object) -> str:
        doc = cast("dict[str, object]", entry)
        return (
            "{"
            + ",".join(
                f"{quote(k)}:{self._list(cast('list[object]', v), self._call, keep=False)}"
                if k == "pendingToolCalls"
                else f"{quote(k)}:{self._list(cast('list[object]', v), self._plain)}"
                if k in _ENTRY_LISTS
                else f"{quote(k)}:{stringify(cast('JsonValue', v))}"
                for k, v in doc.items()
            )
            + "}"
        )

    def _call(self, call: object) -> str:
        doc = cast("dict[str, object]", call)
        return "{" + ",".join(f"{quote(k)}:{self._plain(v)}" for k, v in doc.items()) + "}"


_RESULT_LISTS: Final = frozenset(("messages", "toolCalls"))
_ENTRY_LISTS: Final = frozenset(("conversationMessages", "messages", "toolCalls"))


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
