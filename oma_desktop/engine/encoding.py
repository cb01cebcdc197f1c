"""The text of a checkpoint, made of pieces that are kept from save to save (formats.md 2.3).

What did not change since the last save is not spelled again: tasks, completed results, messages,
notes. The cost of a save is that of what changed, plus the joining of what is ready.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import chain, islice
from typing import Final, TypeAlias, cast

from oma_desktop.engine.kept_lists import KeptList, KeptPages, Write
from oma_desktop.engine.queue_pages import QUEUE_LISTS
from oma_desktop.engine.shared_memory import entry_document
from oma_desktop.engine.snapshotting import Captured
from oma_desktop.model.json_text import quote
from oma_desktop.model.json_value import JsonObject, JsonValue
from oma_desktop.model.json_writer import js_members
from oma_desktop.store.memory import StoreEntry
from oma_desktop.store.ready_text import (
    Pieces,
    ReadyText,
    json_slices,
    ready,
    ready_slices,
)

_Member: TypeAlias = "Callable[[_Page, object], None]"


class SnapshotEncoder:
    """Writes captured moments as compact JSON. Used by one thread at a time (the store lane).

    Invariant: kept pieces belong to an object that is still referenced, so ids cannot be reused.
    What a snapshot no longer contains is forgotten with it. `quoted` is for stores that take
    quoted pieces (`ReadyStore`); the pieces of the others are plain UTF-8.
    """

    def __init__(self, *, quoted: bool = True) -> None:
        self._quoted = quoted
        self._known: dict[int, tuple[object, Pieces]] = {}
        self._next: dict[int, tuple[object, Pieces]] = {}
        self._top: dict[str, _Member] = {
            "queue": self._parts(
                {
                    **{name: self._paged(self._value) for name in QUEUE_LISTS},
                    "planRevisions": self._long(self._value),
                }
            ),
            "sharedMemory": self._parts({"entries": self._long(self._note)}),
            "messageBus": self._parts({"messages": self._long(self._value)}),
            "completedTaskResults": self._paged(self._completed),
            "inFlightTasks": self._each(self._entry),
        }
        self._in_entry: dict[str, _Member] = {
            **dict.fromkeys(_MESSAGE_LISTS, self._each(self._once)),
            "pendingToolCalls": self._each(self._call),
        }
        self._in_result = dict.fromkeys(_RESULT_LISTS, self._each(self._once))

    def encode(self, moment: Captured) -> ReadyText:
        """Return the checkpoint value, byte for byte what JSON.stringify would give."""
        page = _Page(quoted=self._quoted)
        self._members(page, _whole(moment), self._top)
        self._known, self._next = self._next, {}
        return page.close()

    # ------------------------------------------------------------------ ways to write a member

    def _long(self, write: Write) -> _Member:
        """An array most of which is as it was."""
        kept = KeptList(write)

        def member(page: _Page, value: object) -> None:
            page.write("[")
            page.put_list(kept.update(tuple(cast("Iterable[object]", value))))
            page.write("]")

        return member

    def _paged(self, write: Write) -> _Member:
        """An array that comes in pages."""
        kept = KeptPages(write)

        def member(page: _Page, value: object) -> None:
            page.write("[")
            page.put_list(kept.update(cast("tuple[tuple[object, ...], ...]", value)))
            page.write("]")

        return member

    def _each(self, write: _Member) -> _Member:
        """An array with a way to write its items."""

        def member(page: _Page, value: object) -> None:
            opening = "["
            for item in cast("Iterable[object]", value):
                page.write(opening)
                write(page, item)
                opening = ","
            page.write("]" if opening == "," else "[]")

        return member

    def _parts(self, special: Mapping[str, _Member]) -> _Member:
        """An object, some members of which are written in their own way."""
        return lambda page, value: self._members(page, value, special)

    def _members(self, page: _Page, value: object, special: Mapping[str, _Member]) -> None:
        opening = "{"
        for key, member in js_members(cast("JsonObject", value)):
            page.write(f"{opening}{quote(key)}:")
            write = special.get(key)
            if write is None:
                page.write_value(member)
            else:
                write(page, member)
            opening = ","
        page.write("}" if opening == "," else "{}")

    # ------------------------------------------------------------------ single things

    def _once(self, page: _Page, value: object) -> None:
        """A value that comes again in the next save, often twice in this one."""
        known = self._known.get(id(value)) or self._next.get(id(value))
        pieces = known[1] if known is not None else self._value(value)
        self._next[id(value)] = (value, pieces)
        page.put(pieces)

    def _entry(self, page: _Page, entry: object) -> None:
        """Entries are new at each save; what is in them mostly is not."""
        self._members(page, entry, self._in_entry)

    def _call(self, page: _Page, call: object) -> None:
        self._members(page, call, dict.fromkeys(cast("JsonObject", call), self._once))

    def _completed(self, result: object) -> Pieces:
        """A result that has just come: its messages were in flight a moment ago."""
        page = _Page(quoted=self._quoted)
        self._members(page, result, {"agentResult": self._agent_result})
        return page.close().pieces

    def _agent_result(self, page: _Page, value: object) -> None:
        self._members(page, value, self._in_result)

    def _value(self, value: object) -> Pieces:
        return ready(cast("JsonValue", value), quoted=self._quoted)

    def _note(self, entry: object) -> Pieces:
        return self._value(entry_document(cast("StoreEntry", entry)))


def _whole(moment: Captured) -> dict[str, object]:
    """The snapshot as one object, in the order of the format."""
    whole: dict[str, object] = {**moment.head, "queue": moment.paged_queue()}
    if moment.memory is not None:
        whole["sharedMemory"] = {
            "version": 1,
            "turnCount": moment.memory.turn_count,
            "entries": moment.memory.entries,
        }
    whole["messageBus"] = moment.messages
    if moment.turn_count is not None:
        whole["turnCount"] = moment.turn_count
    whole["completedTaskResults"] = tuple(page.completed for page in moment.pages)
    whole["inFlightTasks"] = moment.in_flight
    return {**whole, **moment.tail}


class _Page:
    """Text and ready pieces, one after the other."""

    def __init__(self, *, quoted: bool) -> None:
        self._quoted = quoted
        self._done: list[Pieces] = []
        self._text: list[str] = []

    def write(self, text: str) -> None:
        """Add a little JSON text."""
        self._text.append(text)

    def write_value(self, value: JsonValue) -> None:
        """Add a value that is not worth keeping."""
        self._text.extend(json_slices(value))

    def put(self, pieces: Pieces) -> None:
        """Add what is ready."""
        self._flush()
        self._done.append(pieces)

    def put_list(self, items: list[Pieces]) -> None:
        """Add array items that have a comma before them; the first one loses it."""
        self._flush()
        if items:
            first = items[0]
            self._done.append((first[0][1:], *first[1:]))
            self._done.extend(islice(items, 1, None))

    def close(self) -> ReadyText:
        """Return everything."""
        self._flush()
        return ReadyText(chain.from_iterable(self._done), quoted=self._quoted)

    def _flush(self) -> None:
        if self._text:
            self._done.append(tuple(ready_slices(self._text, quoted=self._quoted)))
            self._text = []


_RESULT_LISTS: Final = ("messages", "toolCalls")
_MESSAGE_LISTS: Final = ("conversationMessages", "messages", "toolCalls")
