"""From the live run to the text of a checkpoint (formats.md 2.3; engine.md 15.3).

`capture` takes references in one synchronous step (DEV-03); everything it refers to is immutable by
convention, so `SnapshotEncoder` may write the text later, on the store lane. The encoder keeps the
text of what did not change since the last save: tasks, completed results, messages, notes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, cast

from oma_desktop.engine.identity import identity_snapshot
from oma_desktop.engine.queue import queue_document
from oma_desktop.engine.run_state import RunState
from oma_desktop.engine.shared_memory import MemoryPicture, entry_document
from oma_desktop.model.checkpoint import CompletedTaskResult, InFlightEntry, TaskSnapshot
from oma_desktop.model.json_text import quote, stringify
from oma_desktop.model.json_value import JsonObject, JsonValue
from oma_desktop.store.memory import StoreEntry

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
    What a snapshot no longer contains is forgotten with it. The text is joined once: each copy of
    a big run's text keeps the interpreter to itself for milliseconds.
    """

    def __init__(self) -> None:
        self._known: dict[int, tuple[object, str]] = {}
        self._next: dict[int, tuple[object, str]] = {}

    def encode(self, moment: Captured) -> str:
        """Return the checkpoint value, byte for byte what JSON.stringify would give."""
        text = "".join(self._pieces(moment))
        self._known, self._next = self._next, {}
        return text

    def _pieces(self, moment: Captured) -> Iterator[str]:
        opening = "{"
        for key, value in moment.head.items():
            yield f"{opening}{quote(key)}:{stringify(value)}"
            opening = ","
        yield ',"queue":'
        yield from self._members(moment.queue, _QUEUE_LISTS)
        if moment.memory is not None:
            yield f',"sharedMemory":{{"version":1,"turnCount":{moment.memory.turn_count},"entries":'
            yield from self._list(moment.memory.entries, _note_text)
            yield "}"
        yield ',"messageBus":'
        yield from self._members(moment.messages, _BUS_LISTS)
        if moment.turn_count is not None:
            yield f',"turnCount":{moment.turn_count}'
        yield ',"completedTaskResults":'
        yield from self._list(moment.completed, self._completed)
        yield ',"inFlightTasks":'
        yield from self._entries(moment.in_flight)
        for key, value in moment.tail.items():
            yield f",{quote(key)}:{stringify(value)}"
        yield "}"

    def _once(self, value: object, write: Callable[[object], str]) -> str:
        known = self._known.get(id(value)) or self._next.get(id(value))
        text = known[1] if known is not None else write(value)
        self._next[id(value)] = (value, text)
        return text

    def _list(self, items: Iterable[object], write: Callable[[object], str]) -> Iterator[str]:
        """An array of things worth remembering."""
        opening = "["
        for item in items:
            yield opening
            yield self._once(item, write)
            opening = ","
        yield "]" if opening == "," else "[]"

    def _members(self, doc: Mapping[str, object], lists: frozenset[str]) -> Iterator[str]:
        """An object whose members in `lists` are arrays of things worth remembering."""
        opening = "{"
        for key, value in doc.items():
            yield f"{opening}{quote(key)}:"
            if key in lists:
                yield from self._list(cast("list[object]", value), _text)
            else:
                yield _text(value)
            opening = ","
        yield "}" if opening == "," else "{}"

    def _completed(self, result: object) -> str:
        pieces: list[str] = []
        opening = "{"
        for key, value in cast("dict[str, object]", result).items():
            pieces.append(f"{opening}{quote(key)}:")
            if key == "agentResult":
                pieces += self._members(cast("dict[str, object]", value), _RESULT_LISTS)
            else:
                pieces.append(_text(value))
            opening = ","
        return "".join((*pieces, "}"))

    def _entries(self, entries: Iterable[InFlightEntry]) -> Iterator[str]:
        """Entries are new at each save; what is in them mostly is not."""
        opening = "["
        for entry in entries:
            yield opening
            yield from self._entry(cast("dict[str, object]", entry))
            opening = ","
        yield "]" if opening == "," else "[]"

    def _entry(self, entry: Mapping[str, object]) -> Iterator[str]:
        opening = "{"
        for key, value in entry.items():
            yield f"{opening}{quote(key)}:"
            if key in _ENTRY_LISTS:
                yield from self._list(cast("list[object]", value), _text)
            elif key == "pendingToolCalls":
                calls = (self._call(c) for c in cast("list[dict[str, object]]", value))
                yield "[" + ",".join(calls) + "]"
            else:
                yield _text(value)
            opening = ","
        yield "}"

    def _call(self, call: Mapping[str, object]) -> str:
        members = (f"{quote(k)}:{self._once(v, _text)}" for k, v in call.items())
        return "{" + ",".join(members) + "}"


def _text(value: object) -> str:
    return stringify(cast("JsonValue", value))


def _note_text(entry: object) -> str:
    return _text(entry_document(cast("StoreEntry", entry)))


_QUEUE_LISTS: Final = frozenset(("tasks", "planRevisions"))
_BUS_LISTS: Final = frozenset(("messages",))
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
