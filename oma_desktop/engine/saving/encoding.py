"""The text of a checkpoint, made of pieces that are kept from save to save (formats.md 2.3).

What did not change since the last save is not spelled again: tasks, completed results, messages,
notes. The cost of a save is that of what changed, plus the joining of what is ready. Where the
store masks secrets, each part is masked just before it is spelled, so that costs no more either.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import chain, islice
from typing import Final, TypeAlias, cast

from oma_desktop.engine.memory.shared_memory import entry_document
from oma_desktop.engine.saving.kept_lists import KeptList, KeptPages
from oma_desktop.engine.saving.queue_pages import QUEUE_LISTS
from oma_desktop.engine.saving.snapshotting import Captured
from oma_desktop.model.json_text import quote
from oma_desktop.model.json_value import JsonObject, JsonValue
from oma_desktop.model.json_writer import js_members, stringify_light
from oma_desktop.model.redaction import REDACTED
from oma_desktop.model.redaction_names import is_sensitive_name
from oma_desktop.model.redaction_shapes import CHECKPOINT
from oma_desktop.model.redaction_values import CONTENT, KEEP, Keep, Named, PartMask, Shape, inside
from oma_desktop.store.memory import StoreEntry
from oma_desktop.store.ready_text import (
    SLICE,
    MaskedText,
    Pieces,
    ReadyText,
    json_slices,
    ready,
    ready_slices,
)

_Member: TypeAlias = "Callable[[_Page, object, Shape], None]"
_WriteOne: TypeAlias = Callable[[object, Shape], Pieces]


class SnapshotEncoder:
    """Writes captured moments as compact JSON. Used by one thread at a time (the store lane).

    Invariant: kept pieces belong to an object that is still referenced, so ids cannot be reused.
    What a snapshot no longer contains is forgotten with it. `quoted` is for stores that take
    quoted pieces; the pieces of the others are plain UTF-8. With `mask`, the text is what the
    redaction of the whole document would give (formats.md 1.5, 8 W14), and a MaskedText.
    """

    def __init__(self, *, quoted: bool = True, mask: PartMask | None = None) -> None:
        self._quoted = quoted
        self._mask = mask
        self._known: dict[tuple[int, int], tuple[object, Pieces]] = {}
        self._next: dict[tuple[int, int], tuple[object, Pieces]] = {}
        self._top: dict[str, _Member] = {
            "queue": self._parts(
                {
                    **{name: self._paged(self._value, _of("queue", name)) for name in QUEUE_LISTS},
                    "planRevisions": self._long(self._value, _of("queue", "planRevisions")),
                }
            ),
            "sharedMemory": self._parts(
                {"entries": self._long(self._note, _of("sharedMemory", "entries"))}
            ),
            "messageBus": self._parts(
                {"messages": self._long(self._value, _of("messageBus", "messages"))}
            ),
            "completedTaskResults": self._paged(self._completed, _of("completedTaskResults")),
            "inFlightTasks": self._each(self._entry),
        }
        self._in_entry: dict[str, _Member] = {
            **dict.fromkeys(_MESSAGE_LISTS, self._each(self._once)),
            "pendingToolCalls": self._each(self._call),
        }
        self._in_result: dict[str, _Member] = dict.fromkeys(_RESULT_LISTS, self._each(self._once))
        if mask is not None:  # decisions of people are few; searching them for secrets is dear
            self._top["pendingApprovals"] = self._each(self._once)

    def encode(self, moment: Captured) -> ReadyText:
        """Return the checkpoint value, byte for byte what JSON.stringify would give."""
        page = self._page()
        self._members(page, _whole(moment), CHECKPOINT, self._top)
        self._known, self._next = self._next, {}
        if self._mask is None:
            return page.close()
        self._mask.turn()
        return MaskedText(page.close().pieces, quoted=self._quoted)

    # ------------------------------------------------------------------ ways to write a member

    def _long(self, write: _WriteOne, shape: Shape) -> _Member:
        """An array most of which is as it was."""
        kept = KeptList(lambda item: write(item, shape))

        def member(page: _Page, value: object, _shape: Shape) -> None:
            page.write("[")
            page.put_list(kept.update(tuple(cast("Iterable[object]", value))))
            page.write("]")

        return member

    def _paged(self, write: _WriteOne, shape: Shape) -> _Member:
        """An array that comes in pages."""
        kept = KeptPages(lambda item: write(item, shape))

        def member(page: _Page, value: object, _shape: Shape) -> None:
            page.write("[")
            page.put_list(kept.update(cast("tuple[tuple[object, ...], ...]", value)))
            page.write("]")

        return member

    def _each(self, write: _Member) -> _Member:
        """An array with a way to write its items."""

        def member(page: _Page, value: object, shape: Shape) -> None:
            shape = inside(shape, "[]")
            opening = "["
            for item in cast("Iterable[object]", value):
                page.write(opening)
                write(page, item, shape)
                opening = ","
            page.write("]" if opening == "," else "[]")

        return member

    def _parts(self, special: Mapping[str, _Member]) -> _Member:
        """An object, some members of which are written in their own way."""
        return lambda page, value, shape: self._members(page, value, shape, special)

    def _members(
        self, page: _Page, value: object, shape: Shape, special: Mapping[str, _Member]
    ) -> None:
        opening = "{"
        for key, member in js_members(cast("JsonObject", value)):
            page.write(f"{opening}{quote(key)}:")
            opening = ","
            known = self._shape_of(key, shape)
            write = special.get(key)
            if known is None:
                page.write_value(REDACTED)
            elif write is not None:
                write(page, member, known)
            elif isinstance(known, Keep):
                page.write_value(member)
            else:
                self._once(page, member, known)
        page.write("}" if opening == "," else "{}")

    def _shape_of(self, key: str, shape: Shape) -> Shape | None:
        """The shape of a member; None where its name says that it is a secret (1.5.2)."""
        if self._mask is None or isinstance(shape, Keep):
            return KEEP
        known = shape.members.get(key) if isinstance(shape, Named) else None
        if known is not None:
            return known
        return None if is_sensitive_name(key) else CONTENT

    # ------------------------------------------------------------------ single things

    def _once(self, page: _Page, value: object, shape: Shape) -> None:
        """A value that comes again in the next save, often twice in this one."""
        key = id(value), id(shape)
        known = self._known.get(key) or self._next.get(key)
        pieces = known[1] if known is not None else self._value(value, shape)
        self._next[key] = (value, pieces)
        page.put(pieces)

    def _entry(self, page: _Page, entry: object, shape: Shape) -> None:
        """Entries are new at each save; what is in them mostly is not."""
        if self._mask is None:
            light = stringify_light(cast("JsonValue", entry), budget=SLICE)
            if light is not None:  # spelled at one go sooner than looked into
                page.write(light)
                return
        self._members(page, entry, shape, self._in_entry)

    def _call(self, page: _Page, call: object, shape: Shape) -> None:
        self._members(page, call, shape, dict.fromkeys(cast("JsonObject", call), self._once))

    def _completed(self, result: object, shape: Shape) -> Pieces:
        """A result that has just come: its messages were in flight a moment ago."""
        if self._mask is None:
            light = stringify_light(cast("JsonValue", result), budget=SLICE)
            if light is not None:
                return tuple(ready_slices((light,), quoted=self._quoted))
        page = self._page()
        self._members(page, result, shape, {"agentResult": self._agent_result})
        return page.close().pieces

    def _agent_result(self, page: _Page, value: object, shape: Shape) -> None:
        self._members(page, value, shape, self._in_result)

    def _value(self, value: object, shape: Shape) -> Pieces:
        plain = cast("JsonValue", value)
        if self._mask is not None:
            plain = self._mask(plain, shape)
        return ready(plain, quoted=self._quoted)

    def _note(self, entry: object, shape: Shape) -> Pieces:
        return self._value(entry_document(cast("StoreEntry", entry)), shape)

    def _page(self) -> _Page:
        return _Page(quoted=self._quoted)


def _of(*names: str) -> Shape:
    """The shape of the items of an array in a checkpoint."""
    return inside(CHECKPOINT, *names, "[]")


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
