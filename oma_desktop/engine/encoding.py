"""The text of a checkpoint, made of pieces that are kept from save to save (formats.md 2.3).

What did not change since the last save is not spelled again: tasks, completed results, messages,
notes. The cost of a save is that of what changed, plus the joining of what is ready.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, compress, count, islice
from operator import is_not
from typing import Final, TypeAlias, cast

from oma_desktop.engine.shared_memory import entry_document
from oma_desktop.engine.snapshotting import Captured
from oma_desktop.model.json_text import quote
from oma_desktop.model.json_value import JsonObject, JsonValue
from oma_desktop.model.json_writer import js_members
from oma_desktop.store.memory import StoreEntry
from oma_desktop.store.ready_text import (
    SLICE,
    Pieces,
    ReadyText,
    gathered,
    json_slices,
    ready,
    ready_slices,
)

_Member: TypeAlias = "Callable[[_Page, object], None]"
Write: TypeAlias = Callable[[object], Pieces]


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
        self._lists: dict[str, _KeptList] = {}
        self._top: dict[str, _Member] = {
            "queue": self._parts({n: self._long(f"queue.{n}", self._value) for n in _QUEUE_LISTS}),
            "sharedMemory": self._parts({"entries": self._long("notes", self._note)}),
            "messageBus": self._parts({"messages": self._long("messages", self._value)}),
            "completedTaskResults": self._long("completed", self._completed),
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

    def _long(self, name: str, write: Write) -> _Member:
        """An array most of which is as it was."""
        kept = self._lists[name] = _KeptList(write)

        def member(page: _Page, value: object) -> None:
            page.write("[")
            page.put_list(kept.update(tuple(cast("Iterable[object]", value))))
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
    whole: dict[str, object] = {**moment.head, "queue": moment.queue}
    if moment.memory is not None:
        whole["sharedMemory"] = {
            "version": 1,
            "turnCount": moment.memory.turn_count,
            "entries": moment.memory.entries,
        }
    whole["messageBus"] = moment.messages
    if moment.turn_count is not None:
        whole["turnCount"] = moment.turn_count
    whole["completedTaskResults"] = moment.completed
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


class _Block:
    """Neighbours in an array, written together, each with a comma before it.

    `ends` says where each item ends; an item too big to share a block has one of its own.
    """

    __slots__ = ("ends", "items", "pieces")

    def __init__(self, items: list[object], ends: list[int], pieces: Pieces) -> None:
        self.items = items
        self.ends = ends
        self.pieces = pieces

    def opened(self) -> Iterator[tuple[object, Pieces]]:
        """Each item with its own bytes again."""
        if len(self.items) == 1:
            yield self.items[0], self.pieces
            return
        data, start = self.pieces[0], 0
        for item, end in zip(self.items, self.ends, strict=True):
            yield item, (data[start:end],)
            start = end


class _KeptList:
    """The items of one array as last written, and their bytes in blocks."""

    def __init__(self, write: Write) -> None:
        self._write = write
        self._items: tuple[object, ...] = ()
        self._blocks: list[_Block] = []

    def update(self, items: tuple[object, ...]) -> list[Pieces]:
        """Return the pieces of `items`, writing only what is new.

        Only the blocks between the first and the last change are looked into.
        """
        old = self._items
        shorter = min(len(old), len(items))
        start = _same(old, items, shorter)
        end = _same(reversed(old), reversed(items), shorter - start)
        head, start = _within(self._blocks, start)
        tail, end = _within(self._blocks[: len(head) - 1 if head else None : -1], end)
        changed = self._blocks[len(head) : len(self._blocks) - len(tail)]
        known = {id(item): pieces for block in changed for item, pieces in block.opened()}
        middle = self._pieces(items[start : len(items) - end], known)
        self._blocks = [*head, *_packed(middle), *reversed(tail)]
        self._items = items
        return [block.pieces for block in self._blocks]

    def _pieces(
        self, items: Iterable[object], known: Mapping[int, Pieces]
    ) -> Iterator[tuple[object, Pieces]]:
        for item in items:
            pieces = known.get(id(item))
            if pieces is None:
                pieces = self._write(item)
                pieces = tuple(gathered((b",", *pieces), at_least=SLICE))
            yield item, pieces


def _same(one: Iterable[object], other: Iterable[object], at_most: int) -> int:
    """How many things are the very same at the start of both."""
    return next(compress(count(), map(is_not, one, other)), at_most)


def _within(blocks: Iterable[_Block], items: int) -> tuple[list[_Block], int]:
    """The blocks that lie wholly within so many items, and how many items those are."""
    found: list[_Block] = []
    reached = 0
    for block in blocks:
        if reached + len(block.items) > items:
            break
        found.append(block)
        reached += len(block.items)
    return found, reached


def _packed(items: Iterable[tuple[object, Pieces]]) -> Iterator[_Block]:
    """Put small neighbours into blocks."""
    held: list[object] = []
    ends: list[int] = []
    data: list[bytes] = []
    for item, pieces in items:
        big = len(pieces) > 1 or len(pieces[0]) > SLICE
        if held and (big or ends[-1] + len(pieces[0]) > _BLOCK):
            yield _Block(held, ends, (b"".join(data),))
            held, ends, data = [], [], []
        if big:
            yield _Block([item], [], pieces)
            continue
        held.append(item)
        data.append(pieces[0])
        ends.append((ends[-1] if ends else 0) + len(pieces[0]))
    if held:
        yield _Block(held, ends, (b"".join(data),))


_BLOCK: Final = 4 * SLICE
_QUEUE_LISTS: Final = ("tasks", "pending", "inProgress", "completed", "failed", "blocked",
                       "skipped", "planRevisions")  # fmt: skip
_RESULT_LISTS: Final = ("messages", "toolCalls")
_MESSAGE_LISTS: Final = ("conversationMessages", "messages", "toolCalls")
