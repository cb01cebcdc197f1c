"""Values assigned to a sensitive name: rules 4 and 5 of formats.md 1.5.4, in linear time.

The rules are written there as expressions that try every place of a long word. Here a word is
looked at once: a name ends where a run of name characters ends, so the name begins at the first
letter of that run. `lax` is the peer's reading, text of other names included (`a=1password=b`
stays); `strict` redacts more (P18): escaped quotes, doubled quotes, quotes that never close, and
secrets inside the value of another name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from oma_desktop.model.redaction_finds import REDACTED, SPACES, WINDOW, Hit
from oma_desktop.model.redaction_names import NameRuns, is_sensitive_name, named_sites

_CHARS: Final = "[A-Za-z0-9_.-]"
_RUN: Final = rf"(?<!{_CHARS})({_CHARS}++)"
_SIGN: Final = rf"{SPACES}*+[:=]{SPACES}*+"
_UNQUOTED: Final = "(?=[^\"',;}\\]])"
_LAX_QUOTED: Final = re.compile(rf"{_RUN}([\"']?+){_SIGN}([\"'])")
_LAX_UNQUOTED: Final = re.compile(rf"{_RUN}([\"']?+){_SIGN}{_UNQUOTED}")
_THEN_QUOTED: Final = re.compile(rf"(?:\\*+[\"'])?+{_SIGN}(\\*+[\"'])")
_THEN_UNQUOTED: Final = re.compile(rf"(?:\\*+[\"'])?+{_SIGN}(?!\\*+[\"']){_UNQUOTED}")
_LETTER: Final = re.compile("[A-Za-z_]")
_WORD: Final = re.compile("[A-Za-z0-9_]")
_DELIMITER: Final = re.compile(r"[,;}\]\n\r]")
_RUN_BEGINS: Final = re.compile(rf"(?<!{_CHARS}){_CHARS}")
_WHOLE_RUN: Final = re.compile(rf"{_CHARS}++")
_NAME_CHARS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"
_RUNS: Final = NameRuns(_NAME_CHARS, lambda: WINDOW)


def quoted(text: str) -> Iterator[Hit]:
    """Rule 4: `name = "value"`."""
    consumed = 0
    closes = {"'": True, '"': True}
    for site in _sites(text, _LAX_QUOTED):
        name = _name(text, site, consumed)
        mark = site[3]
        if site.start() < consumed or name is None or not closes[mark]:
            continue
        end = text.find(mark, site.end())
        if end < 0:
            closes[mark] = False  # nor does any later one: the text is searched once
            continue
        if is_sensitive_name(name):
            yield site.end(), end, REDACTED
        consumed = end + 1


def unquoted(text: str) -> Iterator[Hit]:
    """Rule 5: `name = value` up to a delimiter."""
    consumed = 0
    for site in _sites(text, _LAX_UNQUOTED):
        name = _name(text, site, consumed)
        if site.start() < consumed or name is None:
            continue
        consumed = _value_end(text, site.end())
        if is_sensitive_name(name) and not text.startswith("[redacted", site.end()):
            yield site.end(), consumed, REDACTED


def quoted_strict(text: str) -> Iterator[Hit]:
    """Rule 4 for P18: the value ends where it really ends, at the latest with the text."""
    consumed = 0
    for site in named_sites(text, _RUNS, _THEN_QUOTED):
        if site.start() > consumed:  # a run of its own begins behind it
            consumed = _closing(text, site.end(), site[1])
            if text[site.end() : consumed] != REDACTED:
                yield site.end(), consumed, REDACTED


def unquoted_strict(text: str) -> Iterator[Hit]:
    """Rule 5, secrets inside the value of another name included."""
    consumed = 0
    for site in named_sites(text, _RUNS, _THEN_UNQUOTED):
        if site.start() > consumed:  # a run of its own begins behind it
            consumed = _value_end(text, site.end())
            if not text.startswith("[redacted", site.end()):
                yield site.end(), consumed, REDACTED


def _sites(text: str, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
    """Yield every place where a name and a sign stand, in windows that cut no such place.

    A window ends before a name begins; its first character is shown too, it may be the value.
    """
    at = 0
    while at < len(text):
        cut = _cut(text, at + WINDOW)
        if cut - at > 2 * WINDOW:
            word = _WHOLE_RUN.match(text, at)
            if word is not None and word.end() - at > WINDOW:
                # A search would try every place of a giant word after the first.
                site = pattern.match(text, at, cut + 1)
                if site is not None:
                    yield site
                at = word.end()
                continue
            piece = text[at : at + WINDOW]
            giant = at + len(piece.rstrip(_NAME_CHARS))
            cut = giant if at < giant < at + len(piece) else cut
        while (site := pattern.search(text, at, cut + 1)) is not None:
            yield site
            at = site.end(1)  # what follows the name may begin the next one
        at = cut


def _cut(text: str, at: int) -> int:
    while at < len(text):
        found = _RUN_BEGINS.search(text, at, at + WINDOW)
        if found is not None:
            return found.start()
        at += WINDOW
    return len(text)


def _name(text: str, site: re.Match[str], consumed: int) -> str | None:
    """Return the name at a site, None where the quotes around it do not fit (rule 4, 5)."""
    start, mark = site.start(1), site[2]
    if mark:
        opened = start > consumed and text[start - 1] == mark
        return site[1] if opened and _LETTER.match(text, start) else None
    first = _LETTER.search(text, start, site.end(1))
    return text[first.start() : site.end(1)] if first else None


def _value_end(text: str, at: int) -> int:
    while at < len(text):
        found = _DELIMITER.search(text, at, at + WINDOW)
        if found is not None:
            return found.start()
        at += WINDOW
    return len(text)


def _closing(text: str, at: int, opening: str) -> int:
    """Return where a quoted value ends: before its closing quote, or the end of the text.

    No end are: an escaped quote, a doubled one (`it''s`), the shell's `'"'"'`, and one with a word
    directly behind it (`it's`).
    """
    mark = opening[-1]
    other = '"' if mark == "'" else "'"
    n_escapes = len(opening) - 1
    while (at := text.find(mark, at)) >= 0:
        n = _backslashes_before(text, at)
        if n == n_escapes if n_escapes else n % 2 == 0:
            behind = at + 1
            if not n_escapes and text.startswith(mark, behind):
                at += 2
                continue
            if not n_escapes and text.startswith(other + mark + other + mark, behind):
                at += 5
                continue
            if not _WORD.match(text, behind):
                return at - n_escapes
        at += 1
    return len(text)


def _backslashes_before(text: str, at: int) -> int:
    width = 16
    while True:
        before = text[max(0, at - width) : at]
        n = len(before) - len(before.rstrip("\\"))
        if n < len(before) or width >= at:
            return n
        width *= 4
