"""The text of a file and how its bytes say it: encoding and byte order mark survive an edit."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from oma_desktop.engine.tools.builtin.refusal import Refusal, quoted

MAX_BYTES: Final = 8 * 1024 * 1024
"""Bytes of the largest file the file tools read: its text is decoded in one go."""
_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


@dataclass(frozen=True, slots=True)
class TextFile:
    """Decoded text without its mark. `exact` False: some bytes were no text and are replaced."""

    text: str
    mark: bytes = b""
    encoding: str = "utf-8"
    exact: bool = True

    def encode(self, text: str) -> bytes:
        """Return other text as bytes of the same kind. Raises Refusal TEXT_INVALID."""
        return self.mark + encode(text, self.encoding)


def decode(data: bytes, *, name: str) -> TextFile:
    """Return the text of `data`. Raises Refusal BINARY_FILE."""
    mark, encoding = next(((m, e) for m, e in _MARKS if data.startswith(m)), (b"", "utf-8"))
    body = data[len(mark) :]
    if encoding == "utf-8" and b"\0" in body:
        raise Refusal("BINARY_FILE", f"{quoted(name)} is binary ({len(data)} bytes), not text.")
    try:
        return TextFile(body.decode(encoding), mark, encoding)
    except UnicodeDecodeError:
        return TextFile(body.decode(encoding, "replace"), mark, encoding, exact=False)


def encode(text: str, encoding: str = "utf-8") -> bytes:
    """Return the bytes of `text`; half a character cannot be written."""
    try:
        return text.encode(encoding)
    except UnicodeEncodeError as error:
        why = f"The text holds half a character at position {error.start}; nothing was written."
        raise Refusal("TEXT_INVALID", why) from error


def lines_of(text: str) -> Iterator[str]:
    """Yield the lines; only LF ends one, a CR before it and a last empty line are left out.

    One at a time: cutting a long text in one go would hold the other threads up.
    """
    at = 0
    while at < len(text):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        yield text[at:end].removesuffix("\r")
        at = end + 1


def count_lines(text: str) -> int:
    """Return how many lines `lines_of` yields."""
    return text.count("\n") + (text != "" and not text.endswith("\n"))
