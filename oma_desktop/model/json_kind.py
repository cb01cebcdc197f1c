"""Naming JSON types and showing small values in facts of errors."""

from __future__ import annotations

from oma_desktop.model.json_value import JsonObject, JsonValue
from oma_desktop.model.json_writer import stringify

_SHOWN = 60


def kind_of(value: JsonValue) -> str:
    """Return `null`, `boolean`, `number`, `string`, `array` or `object`."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, str):
        return "string"
    if isinstance(value, list):
        return "array"
    return "object" if isinstance(value, dict) else "number"


def shown(value: JsonValue) -> str:
    """Return a scalar as JSON (long ones cut), a container as its type."""
    if isinstance(value, dict | list):
        return kind_of(value)
    text = stringify(value)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


def found_in(holder: JsonObject, name: str) -> str:
    """Show a member, or say that it is not there: absent is not null (formats.md 0.2)."""
    return shown(holder[name]) if name in holder else "nothing"


def is_integer(value: JsonValue, *, at_least: int | None = None) -> bool:
    """Whether the value is integral as JS sees it (booleans are not; formats.md T11)."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    integral = isinstance(value, int) or value.is_integer()
    return integral and (at_least is None or value >= at_least)


def is_number(value: JsonValue) -> bool:
    """Whether the value is a finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return isinstance(value, int) or (value == value and abs(value) != float("inf"))  # noqa: PLR0124
