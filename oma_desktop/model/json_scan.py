"""Finding places in JSON text: only used to explain an error, so clarity goes before speed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, TypedDict

_TOKEN: Final = re.compile(
    r'"(?:[^"\\]|\\.)*"|[\[\]{},:]|-?Infinity|NaN|[^\s\[\]{},:"]+', re.DOTALL
)
_CONSTANTS: Final = frozenset(("NaN", "Infinity", "-Infinity"))


class Place(TypedDict):
    """Line and column count from 1 in characters, `offset` from 0 in UTF-8 bytes."""

    line: int
    column: int
    offset: int


@dataclass(frozen=True, slots=True)
class Duplicate:
    """A member name that stands twice in one object."""

    name: str
    path: str
    position: int


@dataclass(slots=True)
class _Level:
    is_object: bool
    names: set[str] = field(default_factory=set)
    step: str | int | None = None
    at_name: bool = True


def place(text: str, position: int) -> Place:
    """Return where in a text a character position is."""
    before = text[:position]
    line_start = before.rfind("\n") + 1
    return {
        "line": before.count("\n") + 1,
        "column": position - line_start + 1,
        "offset": len(before.encode("utf-8", "surrogatepass")),
    }


def path_of(steps: list[str | int | None]) -> str:
    """Return the JSON path of steps, for instance `$.queue.tasks[2].id`."""
    parts = ["$"]
    for step in steps:
        if isinstance(step, int):
            parts.append(f"[{step}]")
        elif step is not None:
            plain = re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]*", step)
            parts.append(f".{step}" if plain else f"[{json.dumps(step)}]")
    return "".join(parts)


def _tokens(text: str) -> Iterator[tuple[str, int]]:
    return ((m[0], m.start()) for m in _TOKEN.finditer(text))


def find_duplicate(text: str) -> Duplicate:
    """Return the first repeated member name of a text that is known to hold one."""
    stack: list[_Level] = []
    for token, position in _tokens(text):
        if token in ("{", "["):
            stack.append(_Level(is_object=token == "{", step=0 if token == "[" else None))
        elif token in ("}", "]"):
            stack.pop()
        elif token == "," and stack:
            _next_item(stack[-1])
        elif token.startswith('"') and stack and stack[-1].is_object and stack[-1].at_name:
            level = stack[-1]
            name: str = json.loads(token, strict=False)
            level.step, level.at_name = name, False
            if name in level.names:
                return Duplicate(name, path_of([each.step for each in stack]), position)
            level.names.add(name)
    return Duplicate("", "$", 0)


def _next_item(level: _Level) -> None:
    if isinstance(level.step, int):
        level.step += 1
    level.at_name = True


def find_constant(text: str) -> int:
    """Return the position of the first NaN or Infinity outside strings."""
    return next((at for token, at in _tokens(text) if token in _CONSTANTS), 0)


def find_depth(text: str, limit: int) -> int:
    """Return where the nesting first passes `limit` levels."""
    depth = 0
    for token, at in _tokens(text):
        depth += (token in "[{") - (token in "]}")
        if depth > limit:
            return at
    return 0


def open_string_at(text: str, position: int) -> bool:
    """Whether the string that begins at `position` never ends: the text was cut inside it."""
    if position >= len(text) or text[position] != '"':
        return False
    return _TOKEN.match(text, position) is None


def is_complete_before(text: str, position: int) -> bool:
    """Whether a whole document ends before `position`, so that the rest is too much."""
    try:
        json.loads(text[:position])
    except (ValueError, RecursionError):
        return False
    return True
