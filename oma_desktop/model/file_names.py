"""Ids as names of files and folders, safe on Windows, macOS and Linux (cases s41)."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from typing import Final

from oma_desktop.model.errors import InvalidInput

MAX_NAME_BYTES: Final = 120
"""Leaves room for suffixes such as `.lock.stale-<token>` within the usual 255."""

_PLAIN: Final = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_.")
_DEVICE: Final = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?", re.ASCII | re.DOTALL)
_HASHED: Final = re.compile(r".*%%[0-9a-f]{32}", re.DOTALL)
_ESCAPE: Final = re.compile("%([0-9A-F]{2})")


def encode_name(identifier: str) -> str:
    """Return a file name for an id: reversible, and no two ids share one, not even by case.

    Lower-case letters, digits, `-`, `_`, inner `.` and unambiguous letters without case (such as
    Chinese) stay; every other character becomes `%XX` per UTF-8 byte. An over-long name is cut and
    ends in `%%` and a hash. Raises InvalidInput `NAME_EMPTY`.
    """
    if not identifier:
        raise InvalidInput("NAME_EMPTY")
    name = "".join(c if _stays(c) else _escaped(c) for c in identifier)
    if name[0] == "." or _DEVICE.fullmatch(name):
        name = _escaped(name[0]) + name[1:]
    if name[-1] == ".":
        name = name[:-1] + _escaped(".")
    if len(name.encode()) <= MAX_NAME_BYTES:
        return name
    digest = hashlib.sha256(identifier.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    head = name.encode()[: MAX_NAME_BYTES - 34].decode("utf-8", "ignore")
    return f"{re.sub('%.?$', '', head)}%%{digest}"


def decode_name(name: str) -> str | None:
    """Return the id behind a name; None for hashed names and for names that are not ours."""
    if _HASHED.fullmatch(name):
        return None
    raw = _ESCAPE.sub(lambda m: chr(0xDC00 + int(m[1], 16)), name)
    try:
        data = b"".join(
            bytes((ord(c) - 0xDC00,)) if 0xDC00 <= ord(c) <= 0xDCFF else c.encode() for c in raw
        )
        identifier = data.decode("utf-8", "surrogatepass")
    except UnicodeError:
        return None
    return identifier if identifier and encode_name(identifier) == name else None


def _stays(char: str) -> bool:
    """Whether no file system confuses, folds or decomposes the character."""
    if char.isascii():
        return char in _PLAIN
    return (
        unicodedata.category(char) == "Lo"
        and char <= "\uffff"
        and unicodedata.is_normalized("NFKD", char)
        and unicodedata.is_normalized("NFKC", char)
        and char.casefold() == char.upper() == char
    )


def _escaped(char: str) -> str:
    return "".join(f"%{byte:02X}" for byte in char.encode("utf-8", "surrogatepass"))
