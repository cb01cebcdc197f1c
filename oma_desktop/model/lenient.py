"""Reading plain JSON whose shape nobody has promised: a wrong type reads as "nothing there".

The loader checks what a restore needs; messages, records and results stay unchecked
(formats.md 2.5: L4, L22). A picture must come out of them all the same, so everything that only
shows goes through these readers and none of them raises.
"""

from __future__ import annotations

import math
from datetime import datetime

from oma_desktop.model.dates import parse_js_date
from oma_desktop.model.json_value import JsonObject, JsonValue


def object_at(value: JsonValue, key: str | None = None) -> JsonObject:
    """Return the object (or its member `key`); an empty one for anything else."""
    if not isinstance(value, dict):
        return {}
    found = value if key is None else value.get(key)
    return found if isinstance(found, dict) else {}


def items_at(value: JsonValue, key: str) -> list[JsonValue]:
    """Return the array under `key`; an empty one for anything else."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, list) else []


def objects_at(value: JsonValue, key: str) -> list[JsonObject]:
    """Return the objects of the array under `key`, leaving out everything else."""
    return [item for item in items_at(value, key) if isinstance(item, dict)]


def text_at(value: JsonValue, key: str) -> str:
    """Return the string under `key`, or an empty one."""
    return maybe_text_at(value, key) or ""


def maybe_text_at(value: JsonValue, key: str) -> str | None:
    """Return the string under `key`, or None."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, str) else None


def texts_at(value: JsonValue, key: str) -> tuple[str, ...]:
    """Return the strings of the array under `key`."""
    return tuple(item for item in items_at(value, key) if isinstance(item, str))


def whole_at(value: JsonValue, key: str) -> int:
    """Return the number under `key` as a whole one, at least 0; 0 for anything else."""
    return max(0, int(maybe_number_at(value, key) or 0))


def maybe_whole_at(value: JsonValue, key: str) -> int | None:
    """Return the number under `key` as a whole one, or None."""
    found = maybe_number_at(value, key)
    return None if found is None else int(found)


def maybe_number_at(value: JsonValue, key: str) -> float | None:
    """Return the finite number under `key`, or None."""
    found = value.get(key) if isinstance(value, dict) else None
    if isinstance(found, bool) or not isinstance(found, int | float):
        return None
    return found if isinstance(found, int) or math.isfinite(found) else None


def moment_at(value: JsonValue, key: str) -> datetime | None:
    """Return the date under `key` as JavaScript reads it, or None."""
    found = maybe_text_at(value, key)
    return parse_js_date(found) if found else None
