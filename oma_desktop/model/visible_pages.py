"""A drawn value cut into pages, and lines into parts that lay out one at a time (ux.md C7)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from oma_desktop.model.json_value import JsonValue
from oma_desktop.model.visible_json import VisibleLine, VisibleText, draw
from oma_desktop.model.visible_text import Piece

PAGE: Final = 64 * 1024
"""Above this size the viewer pages (ux.md C7)."""
PAGE_LINES: Final = 2_000
"""So many lines are laid out anew in one go when the window changes its width."""
PART: Final = 4096
"""A longer line goes on below, without a number: no viewer lays out a megabyte in one go."""
_NEAR: Final = 200
"""A cut looks so far back for a blank."""


@dataclass(frozen=True, slots=True)
class PageLine:
    """A drawn line with its number; the rest of one that was cut goes on under the same number."""

    number: int
    line: VisibleLine
    goes_on: bool = False


Pages = tuple[tuple[PageLine, ...], ...]


@dataclass(frozen=True, slots=True)
class Sheet:
    """A drawn value ready to be shown: everything that takes time is done."""

    text: VisibleText
    pages: Pages
    n_marks: int


def sheet(value: JsonValue) -> Sheet:
    """Draw a value and cut it; pure, so that big values are done on a work lane."""
    text = draw(value)
    return Sheet(text, pages(text.lines), text.n_marks)


def pages(lines: tuple[VisibleLine, ...], limit: int = PAGE) -> Pages:
    """Cut a drawing into pages of at most `limit` characters and 2,000 lines; nothing is lost."""
    done: list[tuple[PageLine, ...]] = []
    page: list[PageLine] = []
    room = limit
    for number, whole in enumerate(lines, start=1):
        for i, (part, size) in enumerate(_parts(whole, min(limit, PART))):
            if page and (size > room or len(page) == PAGE_LINES):
                done.append(tuple(page))
                page, room = [], limit
            page.append(PageLine(number, part, goes_on=i > 0))
            room -= size
    return (*done, tuple(page))


def _parts(line: VisibleLine, most: int) -> Iterator[tuple[VisibleLine, int]]:
    """Return a line whole where it is short, otherwise in parts, each with its length."""
    size = len(line.text)
    if size <= most:
        yield line, size
        return
    hang, left, kept = line.hang, max(most - line.hang, 1), list[Piece]()
    for piece in line.pieces:
        text = piece.text
        while len(text) > left and piece.mark is None:
            cut = _place(text, left)
            yield _part((*kept, Piece(text[:cut])), hang)
            text, hang, left, kept = text[cut:], 0, most, []
        if len(text) > left:
            yield _part(tuple(kept), hang)
            hang, left, kept = 0, most, []
        kept.append(Piece(text, piece.mark))
        left -= len(text)
    yield _part(tuple(kept), hang)


def _part(pieces: tuple[Piece, ...], hang: int) -> tuple[VisibleLine, int]:
    line = VisibleLine(pieces, hang)
    return line, len(line.text)


def _place(text: str, most: int) -> int:
    """Return where to cut: behind a blank if one is near."""
    blank = text.rfind(" ", max(most - _NEAR, 1), most)
    return blank + 1 if blank > 0 else most
