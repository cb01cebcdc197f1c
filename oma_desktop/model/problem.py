"""An error as something to show: what refuses to be read becomes a `Problem` of its place."""

from __future__ import annotations

from oma_desktop.model.errors import OmaError
from oma_desktop.model.json_value import JsonObject, JsonValue
from oma_desktop.model.view import Problem


def problem_of(error: OmaError, where: str) -> Problem:
    """Return an error as a problem of `where`, unless the error itself names a closer place."""
    facts: JsonObject = {k: _plain(v) for k, v in error.facts.items() if k != "where"}
    return Problem(error.code, "error", str(error.facts.get("where") or where), facts)


def _plain(value: object) -> JsonValue:
    return value if isinstance(value, str | int | float | bool | None) else str(value)
