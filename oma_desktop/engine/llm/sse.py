"""Server-sent events from bytes: framing only, no meaning (cases s18 and s33).

Lines end with LF, CRLF or CR and with nothing else: U+2028, U+0085 and their kin are text. Bytes
are decoded line by line, so a chunk may be cut anywhere, also inside a character.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from oma_desktop.model.errors import BadReply

MAX_EVENT_BYTES: Final = 32 * 1024 * 1024

_LINE_END: Final = re.compile(rb"\r\n|\n|\r")
_BOM: Final = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class SseEvent:
    """One event: `name` is empty unless the server named it, `data` its lines joined by LF."""

    data: str
    name: str = ""


class SseReader:
    """Turns chunks of bytes into events.

    Invariant: the events do not depend on how the bytes were cut. Comments, `id:`, `retry:` and
    events without data yield nothing.
    """

    def __init__(self, *, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self._max = max_event_bytes
        self._partial: list[bytes] = []
        self._size = 0
        self._skip_lf = False
        self._at_start = True
        self._data: list[str] = []
        self._name = ""

    def feed(self, chunk: bytes) -> list[SseEvent]:
        """Return the events that `chunk` completes. Raises BadReply when one grows too long."""
        if self._skip_lf and chunk:
            chunk = chunk.removeprefix(b"\n")
            self._skip_lf = False
        if not chunk:
            return []
        self._size += len(chunk)
        if self._size > self._max:
            raise BadReply("LLM_EVENT_TOO_LONG", limit=self._max)
        lines = _LINE_END.split(chunk) if b"\r" in chunk else chunk.split(b"\n")
        self._skip_lf = chunk.endswith(b"\r")
        if len(lines) == 1:
            self._partial.append(chunk)
            return []
        lines[0] = b"".join((*self._partial, lines[0]))
        rest = lines.pop()
        self._partial = [rest] if rest else []
        return self._events(lines)

    def finish(self) -> list[SseEvent]:
        """Return what the end of the stream completes: the last blank line is often missing."""
        last = b"".join(self._partial)
        self._partial = []
        return self._events([last, b""] if last else [b""])

    def _events(self, lines: list[bytes]) -> list[SseEvent]:
        events: list[SseEvent] = []
        for line in lines:
            if line:
                self._take(line)
            elif (event := self._dispatch()) is not None:
                events.append(event)
        return events

    def _take(self, line: bytes) -> None:
        if self._at_start:
            self._at_start = False
            line = line.removeprefix(_BOM)
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            self._data.append(value.decode("utf-8", "replace"))
        elif field == b"event":
            self._name = value.decode("utf-8", "replace")

    def _dispatch(self) -> SseEvent | None:
        self._at_start = False
        self._size = 0
        data, name = self._data, self._name
        self._data, self._name = [], ""
        text = "\n".join(data)
        return SseEvent(text, name) if text else None
