"""Names that announce a secret (formats.md 1.5.3). Case folding is ASCII only."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Final

_FLAGS: Final = re.IGNORECASE | re.ASCII
_ANYWHERE: Final = re.compile(
    r"api[_-]?key|secret|password|passwd|pwd|private[_-]?key|access[_-]?key|accessToken|refreshToken"
    r"|idToken|githubToken|authorization|auth[_-]?token|cookie|session|credential|bearer",
    _FLAGS,
)
_AT_THE_ENDS: Final = re.compile(r"\Atoken\Z|[_-]token\Z|\Atoken[_-]", _FLAGS)
_MENTIONS: Final = (
    "key",
    "secret",
    "passw",
    "pwd",
    "token",
    "authorization",
    "cookie",
    "session",
    "credential",
    "bearer",
)
_MENTION: Final = re.compile("|".join(_MENTIONS), _FLAGS)
_SHORT: Final = 256
_PIECE: Final = 1 << 16
_OVERLAP: Final = 32
"""Longer than any of the names."""


def is_sensitive_name(name: str) -> bool:
    """Whether a member or variable of this name holds a secret (formats.md 1.5.3)."""
    return _is_sensitive(name) if len(name) <= _SHORT else _is_sensitive_long(name)


@lru_cache(maxsize=4096)
def _is_sensitive(name: str) -> bool:
    return _ANYWHERE.search(name) is not None or _AT_THE_ENDS.search(name) is not None


def _is_sensitive_long(name: str) -> bool:
    """The same in pieces: a hostile name of megabytes must not stop the other threads."""
    if _AT_THE_ENDS.search(name[:_OVERLAP]) or _AT_THE_ENDS.search(name[-_OVERLAP:]):
        return True
    return any(
        _ANYWHERE.search(name, at, at + _PIECE + _OVERLAP) for at in range(0, len(name), _PIECE)
    )


def mentions(text: str) -> frozenset[str]:
    """Return which words that sensitive names are made of stand in the text, in any case.

    A cheap test before the dear ones: a text without any names no secret.
    """
    if len(text) <= _PIECE:
        lower = text.lower()
        return frozenset(word for word in _MENTIONS if word in lower)
    found: set[str] = set()
    for at in range(0, len(text), _PIECE):
        lower = text[at : at + _PIECE + _OVERLAP].lower()
        found.update(word for word in _MENTIONS if word not in found and word in lower)
    return frozenset(found)


def named_sites(text: str, runs: NameRuns, site: re.Pattern[str]) -> Iterator[re.Match[str]]:
    """Yield where `site` stands behind a whole run of name characters that is a sensitive name.

    Each match begins with the end of its run. What is within an earlier run is not looked at.
    """
    done = 0
    for at in range(0, len(text), _PIECE):
        piece = text[at : at + _PIECE + _OVERLAP] if len(text) > _PIECE else text
        for place in _places(piece):
            if place >= _PIECE or at + place < done:
                continue
            low, done = done, runs.end(text, at + place)
            found = site.match(text, done)
            if found is not None:
                start = runs.start(text, at + place, low)
                if is_sensitive_name(text[start:done]):
                    yield found


def _places(text: str) -> list[int]:
    """Return where words that sensitive names are made of stand, in any case."""
    lower = text.lower()
    if len(lower) != len(text):
        return [found.start() for found in _MENTION.finditer(text)]
    places: list[int] = []
    for word in _MENTIONS:
        at = lower.find(word)
        while at >= 0:
            places.append(at)
            at = lower.find(word, at + len(word))
    places.sort()
    return places


class NameRuns:
    """Where a run of certain characters begins and ends, looked for in windows."""

    def __init__(self, chars: str, window: Callable[[], int]) -> None:
        self._chars = chars
        self._run = re.compile(f"[{re.escape(chars)}]*+")
        self._short = re.compile(f"[{re.escape(chars)}]{{0,200}}+")
        self._window = window

    def end(self, text: str, at: int) -> int:
        """Return the end of the run that goes on at a place."""
        short = self._short.match(text, at)
        at = at if short is None else short.end()
        while text[at : at + 1] in self._chars and at < len(text):
            found = self._run.match(text, at, at + self._window())
            at = at if found is None else found.end()
        return at

    def start(self, text: str, at: int, low: int) -> int:
        """Return the start of the run before a place, at least `low`."""
        width = 32
        while True:
            edge = max(low, at - width)
            n = len(text[edge:at].rstrip(self._chars))
            if n or edge == low:
                return edge + n
            at, width = edge, min(2 * width, self._window() + 1)
