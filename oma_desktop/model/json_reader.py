"""The strict JSON reader (formats.md 1.4.2 and 9).

Speed comes from the C scanner of the standard library; what it is too lax about (duplicate names,
NaN, depth) is caught by hooks and one cheap walk. Only when something is wrong does the slow
`json_scan` look for the place, so that the error can name it.
"""

from __future__ import annotations

import json
import re
from typing import Final, NoReturn

from oma_desktop.model import json_scan
from oma_desktop.model.errors import Corrupt
from oma_desktop.model.js_text import MAX_SAFE_INTEGER, has_halves
from oma_desktop.model.json_value import JsonValue

MAX_DEPTH: Final = 350
"""Deepest nesting of values that come from models, tools and people."""
STORE_DEPTH: Final = 380
"""Deepest nesting of a store's documents: room for a value of MAX_DEPTH inside a snapshot."""

_BOM: Final = "\ufeff"
_HALF: Final = re.compile("[\ud800-\udfff]")
_ESCAPED_HALF: Final = re.compile(r"(?<!\\)(?:\\\\)*\\[\ud800-\udfff]")
_CONTAINERS: Final = frozenset((dict, list))


class _Duplicate(Exception):
    """A member name came twice."""


class _Constant(Exception):
    """NaN or Infinity, which JSON does not have."""


def parse(data: bytes | str, *, where: str = "", max_depth: int = MAX_DEPTH) -> JsonValue:
    """Parse one JSON document as the peer's JSON.parse does, but stricter.

    Numbers become what JS sees: integral ones up to 2^53 are `int` (also `1.0`, `-0`), all others
    are doubles (`1e400` is infinite). Surrogate pairs are joined, lone surrogates kept. Refused
    beyond JSON: invalid UTF-8, a byte order mark, repeated member names, deeper nesting than
    `max_depth`. Raises Corrupt `JSON_*` with `where`, `line`, `column` (from 1), `offset` (bytes).
    """
    text = _decode(data, where)
    if text.startswith(_BOM):
        raise Corrupt("JSON_BOM", where=where, **json_scan.place(text, 0))
    return _parse(text, where, max_depth)


def try_parse(text: str, *, max_depth: int = STORE_DEPTH) -> tuple[JsonValue] | None:
    """Return the value as JSON.parse of the peer would, None for what is no JSON.

    For text that may be JSON by chance: of a repeated member the last counts, and no place of an
    error is looked for.
    """
    try:
        value: JsonValue = json.loads(
            text,
            object_pairs_hook=_last_wins,
            parse_int=_integer,
            parse_float=_double,
            parse_constant=_constant,
        )
    except (json.JSONDecodeError, _Constant, RecursionError):
        return None
    return None if _deeper_than(value, max_depth) else (value,)


def parse_with_bom(
    data: bytes, *, where: str = "", max_depth: int = STORE_DEPTH
) -> tuple[JsonValue, bool]:
    """Parse like `parse`, but accept one leading byte order mark and say whether it was there."""
    text = _decode(data, where)
    bom = text.startswith(_BOM)
    return _parse(text[1:] if bom else text, where, max_depth), bom


def _decode(data: bytes | str, where: str) -> str:
    if isinstance(data, str):
        return _with_escaped_halves(data, where) if has_halves(data) else data
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - (data.rfind(b"\n", 0, error.start) + 1) + 1
        raise Corrupt(
            "JSON_NOT_UTF8", where=where, line=line, column=column, offset=error.start
        ) from None


def _with_escaped_halves(text: str, where: str) -> str:
    r"""Spell raw halves as `\udxxx` so that the scanner joins them whatever their form was."""
    wrong = _ESCAPED_HALF.search(text)
    if wrong:
        raise Corrupt("JSON_INVALID", where=where, **json_scan.place(text, wrong.end() - 1))
    return _HALF.sub(lambda m: f"\\u{ord(m[0]):04x}", text)


def _parse(text: str, where: str, max_depth: int) -> JsonValue:
    try:
        value: JsonValue = json.loads(
            text,
            object_pairs_hook=_members,
            parse_int=_integer,
            parse_float=_double,
            parse_constant=_constant,
        )
    except json.JSONDecodeError as error:
        _refuse(text, error.pos, where)
    except _Duplicate:
        duplicate = json_scan.find_duplicate(text)
        raise Corrupt(
            "JSON_DUPLICATE_NAME",
            where=where.removesuffix("$") + duplicate.path,
            name=duplicate.name,
            **json_scan.place(text, duplicate.position),
        ) from None
    except _Constant as error:
        position = json_scan.find_constant(text)
        raise Corrupt(
            "JSON_CONSTANT", where=where, found=str(error), **json_scan.place(text, position)
        ) from None
    except RecursionError:
        _too_deep(text, where, max_depth)
    if _deeper_than(value, max_depth):
        _too_deep(text, where, max_depth)
    return value


def _members(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise _Duplicate
    return members


def _last_wins(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    """Not `dict` itself: only calls into Python let other threads run while a text is parsed."""
    return dict(pairs)


def _integer(digits: str) -> int | float:
    if len(digits) < 16:
        return int(digits)
    return _double(digits)


def _double(spelling: str) -> int | float:
    number = float(spelling)
    if number.is_integer() and -MAX_SAFE_INTEGER - 1 <= number <= MAX_SAFE_INTEGER + 1:
        return int(number)
    return number


def _constant(name: str) -> NoReturn:
    raise _Constant(name)


def _deeper_than(value: JsonValue, limit: int) -> bool:
    """Walk level by level: the number of levels is the depth."""
    level: list[JsonValue] = [value] if type(value) in _CONTAINERS else []
    depth = 0
    while level:
        depth += 1
        if depth > limit:
            return True
        below: list[JsonValue] = []
        for container in level:
            items = container.values() if isinstance(container, dict) else container
            below += [i for i in items if type(i) in _CONTAINERS]  # type: ignore[union-attr]
        level = below
    return False


def _too_deep(text: str, where: str, limit: int) -> NoReturn:
    position = json_scan.find_depth(text, limit)
    raise Corrupt("JSON_TOO_DEEP", where=where, limit=limit, **json_scan.place(text, position))


def _refuse(text: str, position: int, where: str) -> NoReturn:
    """Name what is wrong as exactly as a reader of the message can use it."""
    bare = text.strip(" \t\r\n")
    if not bare:
        code = "JSON_EMPTY"
    elif not bare.strip("\0"):
        code = "JSON_NUL_BYTES"
    elif position >= len(text.rstrip(" \t\r\n")) or json_scan.open_string_at(text, position):
        code = "JSON_TRUNCATED"
    elif json_scan.is_complete_before(text, position):
        code = "JSON_TRAILING_DATA"
    else:
        code = "JSON_INVALID"
    found = text[position : position + 12]
    raise Corrupt(code, where=where, found=found, **json_scan.place(text, position))
