"""Names that announce a secret (formats.md 1.5.3). Case folding is ASCII only."""

from __future__ import annotations

import re
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


def may_name_a_secret(text: str) -> bool:
    """Whether any sensitive name can stand in the text at all: a cheap test before the dear one."""
    for at in range(0, len(text), _PIECE):
        piece = text[at : at + _PIECE + _OVERLAP].lower()
        if any(word in piece for word in _MENTIONS):
            return True
    return False
