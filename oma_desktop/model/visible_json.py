"""JSON as a reviewer reads it: indented, nothing left out, nothing ambiguous.

The rendering is injective: joining the drawn lines again (soft breaks taken out, chips turned back
into their characters) gives JSON text of the same value with the same key order (ux.md C7: "shown
is everything in the canonical content, in full"). A line break inside a string is drawn as `\\n`
and then breaks the line, so that hidden tails cannot hide behind one long line (case s37).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from oma_desktop.model.json_value import JsonObject, JsonValue
from oma_desktop.model.visible_text import Mark, Piece, escape_chip_looks, marks

INDENT: Final = 2
BLANK_RUN: Final = 3
"""From so many blank lines on, a run is pointed out."""
INLINE: Final = 60


class NumberText(str):
    """A number with the digits of the file (`1840.00` stays `1840.00`)."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class VisibleLine:
    """One drawn line. `hang` > 0: the line goes on inside a string, after so many blanks.

    `blank_run` is set on the first of three or more blank lines in a row.
    """

    pieces: tuple[Piece, ...]
    hang: int = 0
    blank_run: int = 0

    @property
    def text(self) -> str:
        """The drawn text, chips included."""
        return " " * self.hang + "".join(p.text for p in self.pieces)

    @property
    def marks(self) -> tuple[Mark, ...]:
        """The marked characters of this line, in order."""
        return tuple(p.mark for p in self.pieces if p.mark is not None)


@dataclass(frozen=True, slots=True)
class VisibleText:
    """A whole value, drawn. `n_chars` and `n_bytes` count its compact JSON text (UTF-8)."""

    lines: tuple[VisibleLine, ...]
    n_chars: int
    n_bytes: int

    @property
    def n_marks(self) -> int:
        """How many characters are drawn as codes."""
        return sum(len(line.marks) for line in self.lines)


def draw(value: JsonValue) -> VisibleText:
    """Draw a JSON value; strings of class `NumberText` are numbers."""
    compact = "".join(_compact(value))
    size = len(compact.encode("utf-8", "surrogatepass"))
    return VisibleText(tuple(_with_blank_runs(_Drawing(value).lines)), len(compact), size)


def exact_content(row_value: str | None, content: JsonObject) -> JsonObject:
    """Return the content of a stored approval row with the digits of the file.

    Falls back to `content` when there is no row or it says something else (then its numbers are
    drawn in their shortest form).
    """
    if row_value is None:
        return content
    try:
        if json.loads(row_value)["request"]["content"] != content:
            return content
        row = json.loads(row_value, parse_int=NumberText, parse_float=NumberText)
    except (ValueError, LookupError, TypeError):
        return content
    exact: JsonObject = row["request"]["content"]
    return exact


class _Drawing:
    """Writes pieces into lines; `lines` is complete after construction."""

    def __init__(self, value: JsonValue) -> None:
        self.lines: list[VisibleLine] = []
        self._pieces: list[Piece] = []
        self._hang = 0
        self._value(value, 0)
        self._break()

    def _break(self, hang: int = 0) -> None:
        self.lines.append(VisibleLine(tuple(self._pieces), self._hang))
        self._pieces = []
        self._hang = hang

    def _put(self, text: str) -> None:
        self._pieces.append(Piece(text))

    def _value(self, value: JsonValue, depth: int) -> None:
        if isinstance(value, dict) and value:
            self._object(value, depth)
        elif isinstance(value, list) and value:
            self._array(value, depth)
        elif isinstance(value, str) and not isinstance(value, NumberText):
            self._string(value, depth)
        else:
            self._put("".join(_compact(value)))

    def _object(self, value: JsonObject, depth: int) -> None:
        self._put("{")
        for i, (key, member) in enumerate(value.items()):
            self._item(depth, first=i == 0)
            self._pieces.extend(p for part in string_lines(key) for p in part)
            self._put(": ")
            self._value(member, depth + 1)
        self._end("}", depth)

    def _array(self, value: list[JsonValue], depth: int) -> None:
        if _fits_inline(value):
            self._put("[")
            for i, member in enumerate(value):
                self._put(", " if i else "")
                self._value(member, depth)
            self._put("]")
            return
        self._put("[")
        for i, member in enumerate(value):
            self._item(depth, first=i == 0)
            self._value(member, depth + 1)
        self._end("]", depth)

    def _item(self, depth: int, *, first: bool) -> None:
        if not first:
            self._put(",")
        self._break()
        self._put(" " * INDENT * (depth + 1))

    def _end(self, bracket: str, depth: int) -> None:
        self._break()
        self._put(" " * INDENT * depth + bracket)

    def _string(self, value: str, depth: int) -> None:
        for i, part in enumerate(string_lines(value)):
            if i:
                self._break(hang=INDENT * (depth + 1))
            self._pieces.extend(part)


def string_lines(value: str) -> list[list[Piece]]:
    """Return a string in JSON notation, quotes included, one list of pieces per line of it."""
    marked = {
        at: mark
        for at, mark in marks(value).items()
        if value[at] not in "\t\n" and value[at : at + 2] != "\r\n"
    }
    lines: list[list[Piece]] = [[Piece('"')]]
    start = 0
    for at in sorted({*marked, *_breaks(value)}):
        _extend(lines[-1], value[start:at])
        if at in marked:
            lines[-1].append(Piece(marked[at].chip, marked[at]))
            start = at + marked[at].count
        else:
            lines[-1].append(Piece("\\n"))
            lines.append([])
            start = at + 1
    _extend(lines[-1], value[start:])
    lines[-1].append(Piece('"'))
    return lines


def _breaks(value: str) -> Iterator[int]:
    at = value.find("\n")
    while at >= 0:
        yield at
        at = value.find("\n", at + 1)


def _extend(pieces: list[Piece], raw: str) -> None:
    if raw:
        escaped = raw.replace("\\", "\\\\").replace('"', '\\"')
        escaped = escaped.replace("\t", "\\t").replace("\r", "\\r")
        pieces.append(Piece(escape_chip_looks(escaped)))


def _fits_inline(value: list[JsonValue]) -> bool:
    if any(isinstance(v, dict | list) or (isinstance(v, str) and "\n" in v) for v in value):
        return False
    return sum(len(v) + 4 if isinstance(v, str) else 8 for v in value) <= INLINE


def _compact(value: JsonValue) -> Iterator[str]:
    if isinstance(value, NumberText):
        yield str(value)
    elif isinstance(value, dict):
        yield "{"
        for i, (key, member) in enumerate(value.items()):
            yield f"{',' if i else ''}{json.dumps(key, ensure_ascii=False)}:"
            yield from _compact(member)
        yield "}"
    elif isinstance(value, list):
        yield "["
        for i, member in enumerate(value):
            if i:
                yield ","
            yield from _compact(member)
        yield "]"
    else:
        yield json.dumps(value, ensure_ascii=False)


def _with_blank_runs(lines: list[VisibleLine]) -> Iterator[VisibleLine]:
    at = 0
    while at < len(lines):
        end = at
        while end < len(lines) and _is_blank(lines[end]):
            end += 1
        if end - at >= BLANK_RUN:
            yield VisibleLine(lines[at].pieces, lines[at].hang, end - at)
            yield from lines[at + 1 : end]
            at = end
        else:
            yield lines[at]
            at += 1


def _is_blank(line: VisibleLine) -> bool:
    """A line of a string that shows nothing but its own line break."""
    if line.hang == 0:
        return False
    shown = "".join(p.text for p in line.pieces if p.mark is None)
    return shown.endswith("\\n") and not shown.replace("\\n", "").replace("\\t", "").strip(" ")
