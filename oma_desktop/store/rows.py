"""One row of a store file in memory, with its bytes made once and kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from typing import Final

from typing_extensions import override

from oma_desktop.model.container import ContainerEntry, encode_entry, join_entries
from oma_desktop.model.json_text import quote, stringify
from oma_desktop.model.json_value import JsonObject
from oma_desktop.store.memory import StoreEntry
from oma_desktop.store.ready_text import SLICE, ReadyText, gathered, quoted_slices

# Each system call gives the interpreter away and may wait for its return, so the fewer the better;
# joining a megabyte takes a tenth of a millisecond.
_WRITE_AT_ONCE: Final = 1024 * 1024


class Row:
    """An entry and, from the first write on, its encoded form. Never changes.

    With `ready`, that is the value, and the one in `entry` is empty.
    """

    def __init__(self, entry: ContainerEntry, ready: ReadyText | None = None) -> None:
        self.entry = entry
        self._ready = ready

    @classmethod
    def following(
        cls,
        old: Row | None,
        key: str,
        value: str | ReadyText,
        *,
        now: datetime,
        metadata: JsonObject | None,
        expires_at_turn: float | None,
    ) -> Row:
        """Return the row after a set: creation time and unknown keys of the old one stay.

        Metadata is taken as it is, the caller copies it.
        """
        entry = ContainerEntry(
            key,
            value if isinstance(value, str) else "",
            created_at=old.entry.created_at if old else now,
            metadata=metadata,
            expires_at_turn=expires_at_turn,
            extra=old.entry.extra if old else {},
        )
        return cls(entry, None if isinstance(value, str) else value)

    def same_as(self, other: Row) -> bool:
        """Tell whether both would be written with the same bytes; for rows of one key."""
        mine, theirs = self.entry, other.entry
        return (
            mine.expires_at_turn == theirs.expires_at_turn
            and mine.created_at == theirs.created_at
            and _spelled(mine.metadata) == _spelled(theirs.metadata)
            and self.value == other.value
        )

    @cached_property
    def value(self) -> str:
        """The value; of ready pieces it is made when somebody asks."""
        return self.entry.value if self._ready is None else self._ready.text

    @property
    def public(self) -> StoreEntry:
        """The entry as the contract of stores has it."""
        if self._ready is not None:
            return _LateEntry(self)
        entry = self.entry
        return StoreEntry(
            entry.key, entry.value, entry.created_at, entry.metadata, entry.expires_at_turn
        )

    @cached_property
    def pieces(self) -> tuple[bytes, ...]:
        """The bytes of the row, equal to `encode_entry` when joined."""
        entry = self.entry
        if self._ready is None and len(entry.value) <= SLICE:
            return (encode_entry(entry),)
        if any(key[:1].isdigit() for key in entry.extra):  # such keys may come before the value
            return (encode_entry(replace(entry, value=self.value)),)
        head = f'{{"key":{quote(entry.key)},"value":"'.encode()
        around = encode_entry(replace(entry, value=""))
        if self._ready is not None:
            return (head, *self._ready.pieces, around[len(head) :])
        return (head, *(s.encode() for s in quoted_slices(entry.value)), around[len(head) :])


class _LateEntry(StoreEntry):
    """A StoreEntry whose value is made when somebody asks: lists are read for their keys."""

    __slots__ = ("_row",)
    _row: Row

    def __init__(self, row: Row) -> None:
        entry = row.entry
        for name, fact in (
            ("key", entry.key),
            ("created_at", entry.created_at),
            ("metadata", entry.metadata),
            ("expires_at_turn", entry.expires_at_turn),
            ("_row", row),
        ):
            object.__setattr__(self, name, fact)

    @property
    @override
    def value(self) -> str:
        return self._row.value

    @override
    def __eq__(self, other: object) -> bool:
        return isinstance(other, StoreEntry) and _facts(self) == _facts(other)

    @override
    def __hash__(self) -> int:
        return hash((self.key, self.created_at))


def _facts(entry: StoreEntry) -> tuple[object, ...]:
    return entry.key, entry.created_at, entry.metadata, entry.expires_at_turn, entry.value


def file_pieces(rows: Iterable[Row], extra: JsonObject) -> Iterator[bytes]:
    """Yield the bytes of the whole file, the same as `encode_container`, a megabyte at once."""
    return gathered(_all_pieces(rows, extra), at_least=_WRITE_AT_ONCE)


def _all_pieces(rows: Iterable[Row], extra: JsonObject) -> Iterator[bytes]:
    head, tail = _frame(extra)
    yield head
    first = True
    for row in rows:
        if not first:
            yield b","
        first = False
        yield from row.pieces
    yield tail


def _frame(extra: JsonObject) -> tuple[bytes, bytes]:
    """Return what stands before the first row and after the last one."""
    empty = join_entries([], extra)
    other = join_entries([b"0"], extra)
    at = next(i for i, (a, b) in enumerate(zip(empty, other, strict=False)) if a != b)
    return empty[:at], empty[at:]


def _spelled(metadata: JsonObject | None) -> str | None:
    return None if metadata is None else stringify(metadata)
