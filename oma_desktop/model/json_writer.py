"""JSON.stringify of the peer, byte for byte (formats.md 1.4.1, 3.2.1).

The C encoder of the standard library writes the same text except for some float spellings,
integer-like keys and lone surrogates. One cheap walk over the values decides whether it may be
used; otherwise the exact path writes value by value, without recursion.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator
from json.encoder import encode_basestring
from types import NoneType
from typing import Final, TypeAlias

from oma_desktop.model.js_text import MAX_SAFE_INTEGER, escape_halves, has_halves, js_number
from oma_desktop.model.json_value import JsonValue

Members: TypeAlias = Callable[[dict[str, JsonValue]], Iterable[tuple[str, JsonValue]]]

_MAX_INDEX: Final = 2**32 - 2
_FAST_DEPTH: Final = 100  # the C encoder recurses; deeper values take the exact path
_QUIET: Final = frozenset((str, bool, NoneType))
_NUMBERS: Final = frozenset((int, float))
_FAST: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def stringify(value: JsonValue) -> str:
    """Return what JS `JSON.stringify(value)` returns for the same data.

    Compact; array-index keys first in ascending order; non-finite numbers as null. Raises
    ValueError on a cycle and TypeError on what is not JSON.
    """
    if is_plain(value):
        text = _FAST.encode(value)
        if not has_halves(text):
            return text
    return "".join(pieces(value))


def stringify_light(value: JsonValue, *, budget: int) -> str | None:
    """Return `stringify(value)` when one call of the fast encoder can spell it in no time.

    `budget` is about the characters that may be; no more is looked at than shows that there are
    more. None says only that another way is needed.
    """
    below: list[JsonValue] = [value]
    for container in below:  # grows while it is walked; a cycle runs out of budget
        items: Iterable[JsonValue]
        if type(container) is dict:
            if container and min(container) < ":":
                return None  # perhaps an array index, whose place would be another
            budget -= 8 * len(container) + sum(map(len, container))
            items = container.values()
        elif type(container) is list:
            items = container
            budget -= 8 * len(container)
        else:
            return None
        if budget < len(below):
            return None
        for item in items:
            if type(item) is str:
                budget -= len(item)
            elif type(item) is dict or type(item) is list:
                below.append(item)
            elif type(item) is int or type(item) is float:
                if not _plain_number(item):
                    return None
            elif type(item) not in _QUIET:
                return None
    if budget < 0:
        return None
    text = _FAST.encode(value)
    return None if has_halves(text) else text


def encode(value: JsonValue) -> bytes:
    """Return the UTF-8 bytes of `stringify`."""
    return stringify(value).encode()


def quote(text: str) -> str:
    r"""Return a JSON string literal as JS writes it: lone surrogates as `\udxxx`."""
    literal: str = encode_basestring(text)
    return escape_halves(literal)


def index_of(key: str) -> int | None:
    """Return the number of an array-index key (0..2^32-2 without leading zero), else None."""
    if key.isascii() and key.isdigit() and len(key) <= 10 and (key[0] != "0" or key == "0"):
        index = int(key)
        return index if index <= _MAX_INDEX else None
    return None


def js_members(members: dict[str, JsonValue]) -> Iterator[tuple[str, JsonValue]]:
    """Yield members in JS property order: array indices ascending, then insertion order."""
    indices = sorted((i, k) for k in members if (i := index_of(k)) is not None)
    yield from ((k, members[k]) for _, k in indices)
    if len(indices) < len(members):
        taken = {k for _, k in indices}
        yield from ((k, v) for k, v in members.items() if k not in taken)


def is_plain(value: JsonValue) -> bool:
    """Whether the C encoder spells every key and number as JS does; bounded in depth."""
    level: list[JsonValue] = [[value]]
    depth = 0
    while level:
        depth += 1
        if depth > _FAST_DEPTH:
            return False
        below: list[JsonValue] = []
        for container in level:
            if isinstance(container, dict):
                if container and min(container) < ":" and any(map(index_of, container)):
                    return False
                if "0" in container:
                    return False
                items = list(container.values())
            else:
                items = container  # type: ignore[assignment]
            if not _plain_items(items, below):
                return False
        level = below
    return True


def _plain_items(items: list[JsonValue], below: list[JsonValue]) -> bool:
    """Check scalars of one container and collect the containers in it."""
    kinds = set(map(type, items)) - _QUIET
    if not kinds:
        return True
    for item in items:
        kind = type(item)
        if kind in _QUIET:
            continue
        if kind is dict or kind is list:
            below.append(item)
        elif kind not in _NUMBERS or not _plain_number(item):  # type: ignore[arg-type]
            return False
    return True


def _plain_number(number: float) -> bool:
    if type(number) is int:
        return -MAX_SAFE_INTEGER <= number <= MAX_SAFE_INTEGER
    return 1e-4 <= abs(number) < 1e15 and not number.is_integer()


def number_or_null(number: float) -> str:
    """Return the JSON spelling of a number; JSON.stringify writes null for non-finite ones."""
    if isinstance(number, float) and not math.isfinite(number):
        return "null"
    spelled = js_number(number)
    return spelled if spelled[-1].isdigit() else "null"


def pieces(
    value: JsonValue,
    *,
    members: Members = js_members,
    number: Callable[[float], str] = number_or_null,
) -> Iterator[str]:
    """Write value by value with a stack of iterators instead of recursion.

    `members` decides the order of an object's members, `number` the spelling of numbers. Raises
    ValueError on a cycle, TypeError on what is not JSON.
    """
    text = _scalar(value, number)
    if text is not None:
        yield text
        return
    open_ids = {id(value)}
    stack = [_Frame(value, members)]
    yield stack[-1].opening
    while stack:
        frame = stack[-1]
        step = next(frame.items, None)
        if step is None:
            stack.pop()
            open_ids.discard(frame.identity)
            yield frame.closing
            continue
        prefix, item = step
        yield prefix
        text = _scalar(item, number)
        if text is not None:
            yield text
            continue
        if id(item) in open_ids:
            raise ValueError("cycle")
        open_ids.add(id(item))
        stack.append(_Frame(item, members))
        yield stack[-1].opening


def _scalar(value: JsonValue, number: Callable[[float], str]) -> str | None:
    """Return the JSON text of a scalar; None for containers. Raises TypeError on other types."""
    if value is None:
        return "null"
    if isinstance(value, str):
        return quote(value)
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, int | float):
        return number(value)
    if isinstance(value, dict | list | tuple):
        return None
    raise TypeError(type(value).__name__)


class _Frame:
    """One open container of the exact path."""

    __slots__ = ("closing", "identity", "items", "opening")

    def __init__(self, container: JsonValue, members: Members) -> None:
        self.identity = id(container)
        if isinstance(container, dict):
            self.opening, self.closing = "{", "}"
            self.items: Iterator[tuple[str, JsonValue]] = _object_steps(members(container))
        else:
            self.opening, self.closing = "[", "]"
            self.items = _array_steps(container)  # type: ignore[arg-type]


def _object_steps(members: Iterable[tuple[str, JsonValue]]) -> Iterator[tuple[str, JsonValue]]:
    comma = ""
    for key, item in members:
        yield f"{comma}{quote(key)}:", item
        comma = ","


def _array_steps(items: list[JsonValue]) -> Iterator[tuple[str, JsonValue]]:
    comma = ""
    for item in items:
        yield comma, item
        comma = ","
