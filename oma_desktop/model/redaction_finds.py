"""Secrets that show by themselves: key blocks, headers, token literals (formats.md 1.5.4).

Every rule is one pass in linear time. A pass looks for a short keyword in windows and then matches
at that very place, so that no single call into the expression engine scans a large text: other
threads get their turn. White space is JavaScript's, word characters and case are ASCII.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

REDACTED: Final = "[redacted]"
SPACES: Final = "[\\t\\n\\v\\f\\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]"
WINDOW: Final = 1 << 16

Hit: TypeAlias = tuple[int, int, str]
"""Start, end and replacement of one secret."""

_REACH: Final = 64
"""Longer than any keyword."""
_AUTHORIZATION_WORD: Final = "".join(f"[{c}{c.lower()}]" for c in "AUTHORIZATION")
_BEARER_WORD: Final = "".join(f"[{c}{c.lower()}]" for c in "BEARER")
_NO_WORD_BEFORE: Final = "(?<![A-Za-z0-9_].)"
"""Stands behind the first character: so the engine can skip to that character quickly."""


def _keyword(word: str, first: int) -> re.Pattern[str]:
    return re.compile(word[:first] + _NO_WORD_BEFORE + word[first:])


_AUTHORIZATION_AT: Final = _keyword(_AUTHORIZATION_WORD, 4)
_AUTHORIZATION: Final = re.compile(
    rf"({_AUTHORIZATION_WORD}{SPACES}*:{SPACES}*)(?:{_BEARER_WORD}{SPACES}+)?[^\n\r,;}}]+"
)
_BEARER_AT: Final = _keyword(_BEARER_WORD, 4)
_BEARER: Final = re.compile(rf"{_BEARER_WORD}{SPACES}+[A-Za-z0-9._~+/=-]{{8,}}")
_LITERAL_AT: Final = re.compile(
    rf"s{_NO_WORD_BEFORE}k-|g{_NO_WORD_BEFORE}h[pousr]_|g{_NO_WORD_BEFORE}ithub_pat_"
    rf"|A{_NO_WORD_BEFORE}KIA|x{_NO_WORD_BEFORE}ox[baprs]-"
)
_LITERAL: Final = re.compile(
    r"(?:sk-[A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9_]{20,}|github_pat_[A-Za-z0-9_]{20,}"
    r"|AKIA[0-9A-Z]{16}|xox[baprs]-[A-Za-z0-9-]{10,})\b",
    re.ASCII,
)
_BEGIN: Final = "-----BEGIN "
_END: Final = "-----END "
_KEY_BEGINS: Final = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----")
_KEY_ENDS: Final = re.compile(r"-----END [A-Z ]*PRIVATE KEY-----")
_ANY_KEY_BEGINS: Final = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----")
_ANY_KEY_ENDS: Final = re.compile(r"-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----")
_BASE64_AND_SPACE: Final = (
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=\\ \t\r\n"
)


def replace_hits(text: str, hits: Iterator[Hit]) -> str:
    """Return the text with every hit replaced; hits come in order and do not overlap.

    Small parts are joined first, a window at a time: joining them all at once takes long.
    """
    windows: list[str] = []
    parts: list[str] = []
    done = joined = 0
    for start, end, replacement in hits:
        parts += (text[done:start], replacement)
        done = end
        if end - joined > WINDOW:
            windows.append("".join(parts))
            parts, joined = [], end
    if not windows and not parts:
        return text
    return "".join((*windows, *parts, text[done:]))


def key_blocks(text: str) -> Iterator[Hit]:
    """Rule 1: whole PEM blocks."""
    at = 0
    while (begin := _first(text, _BEGIN, _KEY_BEGINS, at)) is not None:
        end = _first(text, _END, _KEY_ENDS, begin.end())
        if end is None:
            return  # none follows the blocks behind it either
        yield begin.start(), end.end(), REDACTED
        at = end.end()


def damaged_key_blocks(text: str) -> Iterator[Hit]:
    """Rule 1 for P18: a block without end reaches to the end of the text, one without beginning
    as far back as the text looks like base64."""
    at = 0
    begin = _first(text, _BEGIN, _ANY_KEY_BEGINS, at)
    end = _first(text, _END, _ANY_KEY_ENDS, at)
    while begin is not None or end is not None:
        if begin is not None and (end is None or begin.start() < end.start()):
            if end is not None and end.start() < begin.end():
                end = _first(text, _END, _ANY_KEY_ENDS, begin.end())
            stop = len(text) if end is None else end.end()
            yield begin.start(), stop, REDACTED
        else:
            assert end is not None
            stop = end.end()
            yield at + len(text[at : end.start()].rstrip(_BASE64_AND_SPACE)), stop, REDACTED
        at = stop
        begin = _first(text, _BEGIN, _ANY_KEY_BEGINS, at)
        end = _first(text, _END, _ANY_KEY_ENDS, at)


def authorization(text: str) -> Iterator[Hit]:
    """Rule 2: the value of an authorization header."""

    def value(found: re.Match[str]) -> Hit:
        return found.end(1), found.end(), REDACTED

    return _hits(text, _AUTHORIZATION_AT, _AUTHORIZATION, value)


def bearer(text: str) -> Iterator[Hit]:
    """Rule 3: a bearer token anywhere."""

    def whole(found: re.Match[str]) -> Hit:
        return found.start(), found.end(), f"Bearer {REDACTED}"

    return _hits(text, _BEARER_AT, _BEARER, whole)


def token_literals(text: str) -> Iterator[Hit]:
    """Rule 6: tokens known by their first letters."""

    def whole(found: re.Match[str]) -> Hit:
        return found.start(), found.end(), REDACTED

    return _hits(text, _LITERAL_AT, _LITERAL, whole)


def _hits(
    text: str,
    keyword: re.Pattern[str],
    whole: re.Pattern[str],
    hit: Callable[[re.Match[str]], Hit],
) -> Iterator[Hit]:
    at: int | None = 0
    while at is not None:
        at = _next(text, keyword, at)
        if at is not None:
            found = whole.match(text, at)
            if found is None:
                at += 1
            else:
                yield hit(found)
                at = found.end()


def _next(text: str, keyword: re.Pattern[str], at: int) -> int | None:
    while at < len(text):
        found = keyword.search(text, at, at + WINDOW + _REACH)
        if found is not None and found.start() < at + WINDOW:
            return found.start()
        at += WINDOW
    return None


def _first(text: str, marker: str, whole: re.Pattern[str], at: int) -> re.Match[str] | None:
    while (at := text.find(marker, at)) >= 0:
        found = whole.match(text, at)
        if found is not None:
            return found
        at += 1
    return None
