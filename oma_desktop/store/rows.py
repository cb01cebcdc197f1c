"""One row of a store file in memory, with its bytes made once and kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import deepcopy
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from typing import Final

from oma_desktop.model.container import ContainerEntry, encode_entry, join_entries
from oma_desktop.model.json_text import quote, stringify
from oma_desktop.model.json_value import JsonObject
from oma_desktop.store.memory import StoreEntry

# The C encoder keeps the interpreter to itself for a whole call. Long values are quoted slice by
# slice, each far below the 8 ms of product.md 3.3, so that the window's thread gets its turn;
# slices of this size also stay in the allocator's reach, which measured a third faster.
_SLICE: Final = 32 * 1024
_WRITE_AT_ONCE: Final = 1024 * 1024


class Row:
    """An entry and, from the first write on, its encoded form. Never changes."""

    def __init__(self, entry: ContainerEntry) -> None:
        self.entry = entry

    @classmethod
    def following(
        cls,
        old: Row | None,
        key: str,
        value: str,
        *,
        now: datetime,
        metadata: JsonObject | None,
        expires_at_turn: float | None,
    ) -> Row:
        """Return the row after a set: creation time and unknown keys of the old one stay."""
        return cls(
            ContainerEntry(
                key,
                value,
                created_at=old.entry.created_at if old else now,
                metadata=deepcopy(metadata),
                expires_at_turn=expires_at_turn,
                extra=old.entry.extra if old else {},
            )
        )

    def same_as(self, other: Row) -> bool:
        """Tell whether both would be written with the same bytes; for rows of one key."""
        mine, theirs = self.entry, other.entry
        return (
            mine.value == theirs.value
            and mine.expires_at_turn == theirs.expires_at_turn
            and mine.created_at == theirs.created_at
            and _spelled(mine.metadata) == _spelled(theirs.metadata)
        )

    @property
    def public(self) -> StoreEntry:
        """The entry as the contract of stores has it."""
        entry = self.entry
        return StoreEntry(
            entry.key, entry.value, entry.created_at, entry.metadata, entry.expires_at_turn
        )

    @cached_property
    def pieces(self) -> tuple[bytes, ...]:
        """The bytes of the row, equal to `encode_entry` when joined."""
        entry = self.entry
        if len(entry.value) <= _SLICE or entry.extra:
            return (encode_entry(entry),)
        head = f'{{"key":{quote(entry.key)},"value":"'.encode()
        around = encode_entry(replace(entry, value=""))
        return (head, *_quoted(entry.value), around[len(head) :])


def file_pieces(rows: Iterable[Row], extra: JsonObject) -> Iterator[bytes]:
    """Yield the bytes of the whole file: the same as `encode_container`, without copying big rows.

    Small rows are gathered, so that a store of thousands takes few system calls.
    """
    head, tail = _frame(extra)
    gathered, size = [head], 0
    comma = b""
    for row in rows:
        for piece in (comma, *row.pieces):
            gathered.append(piece)
            size += len(piece)
        comma = b","
        if size > _WRITE_AT_ONCE:
            yield from _gather(gathered)
            gathered, size = [], 0
    yield b"".join((*gathered, tail))


def _gather(pieces: list[bytes]) -> Iterator[bytes]:
    small: list[bytes] = []
    for piece in pieces:
        if len(piece) < _SLICE:
            small.append(piece)
            continue
        yield b"".join(small)
        yield piece
        small = []
    if small:
        yield b"".join(small)


def _frame(extra: JsonObject) -> tuple[bytes, bytes]:
    """Return what stands before the first row and after the last one."""
    empty = join_entries([], extra)
    other = join_entries([b"0"], extra)
    at = next(i for i, (a, b) in enumerate(zip(empty, other, strict=False)) if a != b)
    return empty[:at], empty[at:]


def _quoted(value: str) -> Iterator[bytes]:
    start = 0
    while start < len(value):
        end = start + _SLICE
        if "\ud800" <= value[end - 1 : end] <= "\udbff":
            end += 1  # never between the halves of a pair: they are joined first (formats.md T22)
        yield quote(value[start:end])[1:-1].encode()
        start = end


def _spelled(metadata: JsonObject | None) -> str | None:
    return None if metadata is None else stringify(metadata)
