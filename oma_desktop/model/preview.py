"""First lines and sizes: how much of a text a view carries (ux.md C5, Inspector)."""

from __future__ import annotations

from typing import Final

from oma_desktop.model.json_text import stringify
from oma_desktop.model.json_value import JsonValue

LINE_LIMIT: Final = 200


def first_line(text: str, *, limit: int = LINE_LIMIT) -> str:
    """Return the first non-blank line, at most `limit` characters; nothing marks the cut."""
    # A line is looked for only in the beginning: texts of megabytes are common.
    head = text[: limit * 8].lstrip()
    return (head.splitlines() or [""])[0][:limit].rstrip()


def utf8_size(text: str) -> int:
    """Return the length in UTF-8 bytes; lone surrogates count three, as JavaScript's would."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def json_size_and_line(value: JsonValue) -> tuple[int, str]:
    """Return size and first line of a value's JSON text."""
    text = stringify(value)
    return utf8_size(text), first_line(text)
