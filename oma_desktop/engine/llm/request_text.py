"""What request bodies of all wires share: their bytes, and reasoning as plain text."""

from __future__ import annotations

import json
from collections.abc import Callable

from oma_desktop.model.errors import Refused
from oma_desktop.model.json_value import JsonObject, JsonValue


def body_bytes(build: Callable[[], JsonObject]) -> bytes:
    """Return a body as bytes without a lone surrogate (case s17).

    Raises Refused INVALID_MESSAGE for what JSON cannot hold.
    """
    try:
        text = compact(build())
    except (ValueError, TypeError, RecursionError) as problem:
        raise Refused(
            "INVALID_MESSAGE", where="messages", problem=str(problem), retryable=False
        ) from None
    try:
        return text.encode()
    except UnicodeEncodeError:
        # halves that belong together are joined, the others become U+FFFD
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()


def compact(value: JsonValue) -> str:
    """Return JSON text without spaces. Raises ValueError for NaN and its kin."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def thinking_text(text: str, limit: int | None) -> str:
    """Reasoning as text before what was said; a long one keeps its beginning and its end."""
    if limit is not None and len(text) > limit:
        head, tail = text[: limit * 7 // 10], text[len(text) - limit * 3 // 10 :]
        text = f"{head}\n[... {len(text) - len(head) - len(tail)} characters left out ...]\n{tail}"
    return f"<thinking>\n{text}\n</thinking>\n"
