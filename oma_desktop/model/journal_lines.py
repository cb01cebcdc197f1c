"""A journal as lines: is every record whole and does it have its envelope? (formats.md 5.3, 5.4.1).

What the events mean, their order and lineage are checked elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from oma_desktop.model.errors import Corrupt
from oma_desktop.model.json_text import parse
from oma_desktop.model.json_value import JsonObject, JsonValue
from oma_desktop.model.view import Problem

EVENT_TYPES: Final = frozenset(
    {
        "run/start",
        "run/end",
        "plan/set",
        "task/status",
        "turn/start",
        "turn/end",
        "user/message",
        "assistant/message",
        "llm/request",
        "tool/call",
        "tool/result",
        "context/replace",
        "memory/set",
        "approval/request",
        "approval/decision",
        "checkpoint/saved",
    }
)

_BOM: Final = b"\xef\xbb\xbf"


def looks_like_journal(data: bytes, *, name: str) -> bool:
    """Say whether the bytes are meant as a journal: by suffix, else by the first line."""
    if name.lower().endswith((".jsonl", ".ndjson")):
        return True
    first = data.removeprefix(_BOM).partition(b"\n")[0]
    if b'"seq"' not in first or b'"type"' not in first:
        return False
    try:
        event = parse(first.removesuffix(b"\r"))
    except Corrupt:
        return False
    return isinstance(event, dict) and "seq" in event and "type" in event


def check_journal(data: bytes, *, name: str) -> Iterator[Problem]:
    """Yield one problem per damaged line; a torn last record is a warning, it is never read."""
    lines = data.removeprefix(_BOM).split(b"\n")
    for number, line in enumerate(lines, start=1):
        piece = line.removesuffix(b"\r")
        if not piece:
            continue
        found = _line_problem(piece)
        if found is None:
            continue
        facts: JsonObject = {"path": name, "line": number, "problem": found}
        torn = number == len(lines)
        code = "JOURNAL_TORN_TAIL" if torn else "JOURNAL_LINE_DAMAGED"
        yield Problem(code, "warning" if torn else "error", f"line {number}", facts)


def _line_problem(piece: bytes) -> str | None:
    """Return the code or key that is wrong, or None."""
    try:
        return _envelope_problem(parse(piece))
    except Corrupt as error:
        return error.code


def _envelope_problem(event: JsonValue) -> str | None:
    if not isinstance(event, dict):
        return "object"
    if event.get("type") not in EVENT_TYPES:
        return "type"
    seq = event.get("seq")
    if not _is_number(seq) or not isinstance(seq, int) or seq <= 0:
        return "seq"
    for key in ("timestampUnixMs", "attempt"):
        if not _is_number(event.get(key)):
            return key
    return None if isinstance(event.get("runId"), str) else "runId"


def _is_number(value: JsonValue) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
