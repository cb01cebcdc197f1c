"""A big JSON text kept as pieces that are ready to be written (formats.md 1.4.1, 8 W16).

A checkpoint lies in a store file as a string: its text is quoted a second time. What did not change
since the last save is neither spelled nor quoted again; a save only joins pieces like these. Each
piece is small, so that no single step keeps the interpreter from the window's thread for long
(product.md 3.3).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, Protocol, TypeAlias, cast, runtime_checkable

from oma_desktop.model.json_text import parse, quote, stringify
from oma_desktop.model.json_value import JsonObject, JsonValue
from oma_desktop.model.json_writer import js_members, stringify_light
from oma_desktop.model.json_writer import pieces as written_one_by_one

Pieces: TypeAlias = tuple[bytes, ...]

SLICE: Final = 32 * 1024
_CONTAINERS: Final = frozenset((dict, list))
"""Characters spelled or quoted by one call: far below 8 ms, and in the allocator's reach, which
measured a third faster than longer slices."""

_DEPTH: Final = 40  # deeper than that, big values are written value by value without recursion


class ReadyText:
    """JSON text in UTF-8 pieces; `quoted` ones stand as they are inside a JSON string.

    Immutable. Each piece is a whole number of characters and escapes.
    """

    __slots__ = ("pieces", "quoted", "size")

    def __init__(self, pieces: Iterable[bytes], *, quoted: bool = True) -> None:
        self.pieces: Pieces = tuple(pieces)
        self.quoted = quoted
        self.size = sum(map(len, self.pieces))
        """Bytes of all pieces together."""

    def buffer(self) -> memoryview:
        """Return plain pieces side by side; no single step copies more than a piece."""
        whole = memoryview(bytearray(self.size))
        at = 0
        for piece in self.pieces:
            whole[at : at + len(piece)] = piece
            at += len(piece)
        return whole.toreadonly()

    @property
    def text(self) -> str:
        """The text itself, made anew at each call."""
        parts = gathered(self.pieces, at_least=SLICE)
        if not self.quoted:
            return "".join(part.decode() for part in parts)
        return "".join(cast("str", parse(b'"' + part + b'"')) for part in parts)


class MaskedText(ReadyText):
    """A text whose every part went through the mask of the store it is for (`MaskingStore`)."""

    __slots__ = ()


@runtime_checkable
class ReadyStore(Protocol):
    """The optional capability of taking a value in quoted pieces."""

    def set_ready(self, key: str, value: ReadyText, metadata: JsonObject | None = None) -> None:
        """Like `set`, for a text whose pieces are kept by the caller too."""
        ...


@runtime_checkable
class BufferStore(Protocol):
    """The optional capability of sending a value as bytes, without making a string of it."""

    def set_buffer(self, key: str, value: ReadyText, metadata: JsonObject | None = None) -> None:
        """Like `set`, for plain pieces."""
        ...


def ready(value: JsonValue, *, quoted: bool = True) -> Pieces:
    """Return the pieces of `stringify(value)`; raises like it."""
    return tuple(ready_slices(json_slices(value), quoted=quoted))


def ready_slices(texts: Iterable[str], *, quoted: bool = True) -> Iterator[bytes]:
    """Turn text into pieces; short texts are gathered. No lone surrogates may stand in it."""
    held: list[str] = []
    size = 0
    for text in texts:
        held.append(text)
        size += len(text)
        if size >= SLICE:
            yield _piece("".join(held), quoted=quoted)
            held, size = [], 0
    if held:
        yield _piece("".join(held), quoted=quoted)


def _piece(text: str, *, quoted: bool) -> bytes:
    return (quote(text)[1:-1] if quoted else text).encode()


def json_slices(value: JsonValue, *, depth: int = 0) -> Iterator[str]:
    """Yield `stringify(value)` in parts of some `SLICE` characters, or far less."""
    light = stringify_light(value, budget=SLICE) if type(value) in _CONTAINERS else None
    if light is not None:
        yield light
    elif not value or not isinstance(value, str | dict | list | tuple) or is_light(value):
        yield stringify(value)
    elif isinstance(value, str):
        yield '"'
        yield from quoted_slices(value)
        yield '"'
    elif depth >= _DEPTH:
        yield from written_one_by_one(value)
    elif isinstance(value, dict):
        opening = "{"
        for key, member in js_members(value):
            yield f"{opening}{quote(key)}:"
            yield from json_slices(member, depth=depth + 1)
            opening = ","
        yield "}"
    else:
        opening = "["
        for item in value:
            yield opening
            yield from json_slices(item, depth=depth + 1)
            opening = ","
        yield "]"


def quoted_slices(text: str) -> Iterator[str]:
    """Yield `quote(text)` without its quotation marks, slice by slice."""
    start = 0
    while start < len(text):
        end = start + SLICE
        if "\ud800" <= text[end - 1 : end] <= "\udbff":
            end += 1  # never between the halves of a pair: they are joined first (formats.md T22)
        yield quote(text[start:end])[1:-1]
        start = end


def is_light(value: object) -> bool:
    """Tell whether one call can spell the value in no time; looks at no more than that needs."""
    left = SLICE
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            left -= len(item)
        elif isinstance(item, dict):
            left -= 8 * len(item) + sum(map(len, item))
            if left >= 0:
                stack.extend(item.values())
        elif isinstance(item, list | tuple):
            left -= 8 * len(item)
            if left >= 0:
                stack.extend(item)
        left -= 8
        if left < 0:
            return False
    return True


def gathered(pieces: Iterable[bytes], *, at_least: int) -> Iterator[bytes]:
    """Join pieces until they have that many bytes, again and again; the last ones may be fewer."""
    held: list[bytes] = []
    size = 0
    for piece in pieces:
        held.append(piece)
        size += len(piece)
        if size >= at_least:
            yield b"".join(held)
            held, size = [], 0
    if held:
        yield b"".join(held)
