"""The types of JSON data. Documents stay plain JSON values: what is on disk is what is in memory.

A format is a TypedDict plus a loader that validates it; unknown keys and key order survive
because nothing is copied into classes of ours (formats.md 0.2, 8 W43).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    JsonScalar: TypeAlias = "bool | int | float | str | None"
    JsonValue: TypeAlias = "JsonScalar | list[JsonValue] | dict[str, JsonValue]"
    JsonObject: TypeAlias = "dict[str, JsonValue]"
else:
    # pydantic reads these at run time; the recursive type would be checked value by value there,
    # and texts with lone surrogates refused (formats.md T7).
    JsonScalar = Any
    JsonValue = Any
    JsonObject = dict[str, Any]
