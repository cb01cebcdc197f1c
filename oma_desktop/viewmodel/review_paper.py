"""What a review shows, drawn and compared beforehand: pure, so that big requests go to a lane."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final

from oma_desktop.model.json_value import JsonObject, JsonValue
from oma_desktop.model.visible_json import VisibleLine, exact_content
from oma_desktop.model.visible_pages import Sheet, sheet
from oma_desktop.viewmodel.approvals import RequestRow

_MATCHED: Final = 2_000_000
"""Pairs of lines compared at most; a greater difference counts as one place."""


@dataclass(frozen=True, slots=True)
class Beside:
    """Two values side by side: numbers of lines that differ, and in how many places."""

    left: Sheet
    right: Sheet
    lost: frozenset[int]
    new: frozenset[int]
    places: int


@dataclass(frozen=True, slots=True)
class Paper:
    """One request as it is shown; `beside` is raw and checked input where the two differ."""

    row: RequestRow
    content: JsonObject
    text: Sheet
    beside: Beside | None

    @property
    def n_marks(self) -> int:
        """How many characters are drawn as codes."""
        return self.text.n_marks + (self.beside.left.n_marks if self.beside is not None else 0)


def exact_of(row: RequestRow) -> JsonObject:
    """Return the content with the digits of the file."""
    return exact_content(row.request.row_value, row.request.content)


def text_value(row: RequestRow, *, input_only: bool) -> JsonValue:
    """Return what the exact text shows: all, or the input where the facts grid holds the rest."""
    content = exact_of(row)
    return content["input"] if input_only else content


def make_paper(row: RequestRow, *, input_only: bool) -> Paper:
    """Draw a request; takes about a second per megabyte."""
    content = exact_of(row)
    text = sheet(content["input"] if input_only else content)
    raw, checked = content.get("rawInput"), content.get("input")
    if row.request.scope != "tool_call" or repr(raw) == repr(checked):
        return Paper(row, content, text, None)
    right = text if input_only else sheet(checked)
    return Paper(row, content, text, lay_beside(sheet(raw), right))


def make_beside(old: RequestRow, new: RequestRow, *, input_only: bool) -> Beside:
    """Draw what was read and what is there now."""
    return lay_beside(
        sheet(text_value(old, input_only=input_only)), sheet(text_value(new, input_only=input_only))
    )


def lay_beside(left: Sheet, right: Sheet) -> Beside:
    """Compare two drawn values line by line."""
    return Beside(left, right, *differing(left.text.lines, right.text.lines))


def differing(
    left: tuple[VisibleLine, ...], right: tuple[VisibleLine, ...]
) -> tuple[frozenset[int], frozenset[int], int]:
    """Return the numbers of lines that differ on each side, and the number of differing places."""
    a, b = [line.text for line in left], [line.text for line in right]
    head = _same(a, b)
    tail = _same(a[head:][::-1], b[head:][::-1])
    middle_a, middle_b = a[head : len(a) - tail], b[head : len(b) - tail]
    lost: set[int] = set()
    new: set[int] = set()
    places = 0
    for a1, a2, b1, b2 in _changes(middle_a, middle_b):
        places += 1
        lost.update(range(head + a1 + 1, head + a2 + 1))
        new.update(range(head + b1 + 1, head + b2 + 1))
    return frozenset(lost), frozenset(new), places


def _same(a: list[str], b: list[str]) -> int:
    pairs = enumerate(zip(a, b, strict=False))
    return next((i for i, (x, y) in pairs if x != y), min(len(a), len(b)))


def _changes(a: list[str], b: list[str]) -> list[tuple[int, int, int, int]]:
    if not a and not b:
        return []
    if len(a) * len(b) > _MATCHED:
        return [(0, len(a), 0, len(b))]
    codes = SequenceMatcher(None, a, b, autojunk=False).get_opcodes()
    return [(a1, a2, b1, b2) for tag, a1, a2, b1, b2 in codes if tag != "equal"]
