"""Text made honest: every character that hides, deceives or cannot be drawn gets a visible code.

Used wherever a person decides over text (ux.md C7: "control characters, text-direction marks,
zero-width and look-alike letters are drawn as visible codes and counted"). Pure; the pictures are
made in `ui`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class MarkKind(StrEnum):
    """Why a character is drawn as a code."""

    CONTROL = "control"
    BIDI = "bidi"
    INVISIBLE = "invisible"
    SPACE = "space"
    LOOK_ALIKE = "look_alike"
    SURROGATE = "surrogate"
    NO_GLYPH = "no_glyph"


@dataclass(frozen=True, slots=True)
class Mark:
    """One hidden or deceiving character; `code_point` as in Unicode, `looks_like` for letters.

    `count` is above one for a long row of blanks, which no viewer shows at its true length.
    """

    kind: MarkKind
    code_point: int
    looks_like: str = ""
    count: int = 1

    @property
    def code(self) -> str:
        """Return `U+200B`, the usual way to write a code point."""
        return f"U+{self.code_point:04X}"

    @property
    def chip(self) -> str:
        """Return what stands in the text in its place; see `reveal`."""
        if self.kind is MarkKind.SURROGATE:
            return f"<\ufffd {self.code}>"
        if self.kind is MarkKind.LOOK_ALIKE:
            return f"<{chr(self.code_point)} {self.code}>"
        return f"<{self.code}>" if self.count == 1 else f"<{self.code} x{self.count}>"


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of drawn text; with a mark it is a chip."""

    text: str
    mark: Mark | None = None


_BIDI: Final = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_BLANK: Final = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2065\u2800\u3164\uffa0"
)
"""Characters that draw nothing although their category says letter, mark or symbol."""

_CYRILLIC: Final = dict(
    zip("асеорхуіјѕһԁԛԝӏАВЕЅІЈКМНОРСТХУԌ", "aceopxyijshdqwlABESIJKMHOPCTXYG", strict=True)
)
_GREEK: Final = dict(zip("οανρυιγκΑΒΕΖΗΙΚΜΝΟΡΤΥΧϲϳ", "oavpuiykABEZHIKMNOPTYXcj", strict=True))
_LATIN: Final = {"ɑ": "a", "ɡ": "g"}
_PUNCTUATION: Final = dict(zip("․．／⁄∕＠：∶；;－‐‑−＼", "..///@::;;---" + "-\\", strict=True))
"""Look-alikes of the marks that separate hosts, paths and options; told only between ASCII."""

_CHIP_LOOK: Final = re.compile(r"<(?=(?:. )?U\+[0-9A-Fa-f]{4,6}(?: x\d+)?>)", re.DOTALL)
_UNUSUAL: Final = re.compile(
    r"[^\x20-\x7e\u4e00-\u9fff\u3001-\u300f\u3040-\u30ff\uac00-\ud7a3，。！？（）]"
)
"""Everything but plain ASCII, Han, kana and Hangul with their usual marks."""


def marks(text: str) -> dict[int, Mark]:
    """Return the marked characters of `text` by position; a row of blanks by its first."""
    found = _unusual_marks(text)
    for row in _BLANK_ROW.finditer(text):
        found[row.start()] = Mark(MarkKind.SPACE, 0x20, count=len(row.group()))
    return found


def _unusual_marks(text: str) -> dict[int, Mark]:
    unusual = [match.start() for match in _UNUSUAL.finditer(text)]
    if not unusual:
        return {}
    found = {at: mark for at in unusual if (mark := _hidden(text[at])) is not None}
    found.update(_look_alikes(text, unusual))
    return found


def reveal(text: str) -> tuple[Piece, ...]:
    """Return `text` as pieces whose joined texts determine it: the drawing is injective.

    A chip is `<U+200B>`, or `<x U+0430>` where the character has a look of its own. Text that
    itself reads like a chip has its `<` written as the JSON escape `\\u003c`; callers whose text
    is not JSON must escape backslashes first.
    """
    marked = marks(text)
    if not marked:
        return (Piece(escape_chip_looks(text)),) if text else ()
    return tuple(_pieces(text, marked))


def escape_chip_looks(text: str) -> str:
    """Make sure that what looks like a chip is one."""
    return _CHIP_LOOK.sub(r"\\u003c", text) if "<" in text else text


def _pieces(text: str, marked: dict[int, Mark]) -> Iterator[Piece]:
    start = 0
    for at, mark in sorted(marked.items()):
        if start < at:
            yield Piece(escape_chip_looks(text[start:at]))
        yield Piece(mark.chip, mark)
        start = at + mark.count
    if start < len(text):
        yield Piece(escape_chip_looks(text[start:]))


def _hidden(char: str) -> Mark | None:
    point = ord(char)
    if char in _BIDI:
        return Mark(MarkKind.BIDI, point)
    if char in _BLANK or 0xFE00 <= point <= 0xFE0F or 0xE0100 <= point <= 0xE01EF:
        return Mark(MarkKind.INVISIBLE, point)
    match unicodedata.category(char):
        case "Cc" | "Zl" | "Zp":
            return Mark(MarkKind.CONTROL, point)
        case "Cf":
            return Mark(MarkKind.INVISIBLE, point)
        case "Cs":
            return Mark(MarkKind.SURROGATE, point)
        case "Cn" | "Co":
            return Mark(MarkKind.NO_GLYPH, point)
        case "Zs" if char != " ":
            return Mark(MarkKind.SPACE, point)
        case _:
            return None


BLANK_ROW: Final = 40
"""So many blanks in a row push text out of sight; less is indentation."""
_BLANK_ROW: Final = re.compile(f" {{{BLANK_ROW},}}")
_WORD: Final = re.compile(r"[^\W_]+")


def _look_alikes(text: str, unusual: list[int]) -> Iterator[tuple[int, Mark]]:
    if any(_latin_look(text[at]) for at in unusual):
        native = {s for s in ("CYRILLIC", "GREEK") if _has_own_letters(text, unusual, s)}
        for word in _WORD.finditer(text):
            if not word.group().isascii():
                yield from _in_word(word.group(), word.start(), native)
    for at in unusual:
        char = text[at]
        if char in _PUNCTUATION and _between_ascii(text, at):
            yield at, Mark(MarkKind.LOOK_ALIKE, ord(char), _PUNCTUATION[char])


def _in_word(word: str, start: int, native: set[str]) -> Iterator[tuple[int, Mark]]:
    """Look-alikes are told in a word that also has Latin letters, or that consists of nothing
    else while the text shows no other sign of their script (so Russian text stays unmarked).
    """
    likes = {i: like for i, char in enumerate(word) if (like := _latin_look(char))}
    if not likes:
        return
    has_latin = any(char.isascii() and char.isalpha() for char in word)
    only_likes = len(likes) == sum(char.isalpha() for char in word)
    for i, like in likes.items():
        script = _script(word[i])
        disguised = only_likes and script != "" and script not in native and len(likes) > 1
        if has_latin or disguised:
            yield start + i, Mark(MarkKind.LOOK_ALIKE, ord(word[i]), like)


def _latin_look(char: str) -> str:
    if char.isascii():
        return ""
    like = _CYRILLIC.get(char) or _GREEK.get(char) or _LATIN.get(char)
    if like:
        return like
    if not unicodedata.decomposition(char).startswith(("<font>", "<wide>", "<compat>")):
        return ""
    folded = unicodedata.normalize("NFKC", char)
    return folded if len(folded) == 1 and folded.isascii() and folded.isalnum() else ""


def _script(char: str) -> str:
    if char in _CYRILLIC:
        return "CYRILLIC"
    return "GREEK" if char in _GREEK else ""


def _has_own_letters(text: str, unusual: list[int], script: str) -> bool:
    return any(
        not _latin_look(text[at]) and unicodedata.name(text[at], "").startswith(script)
        for at in unusual
    )


def _between_ascii(text: str, at: int) -> bool:
    before, after = text[at - 1 : at], text[at + 1 : at + 2]
    return (
        bool(before)
        and bool(after)
        and before.isascii()
        and after.isascii()
        and (before.isalnum() or after.isalnum())
    )
