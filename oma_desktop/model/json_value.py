"""The types of JSON data. Documents stay plain JSON values: what is on disk is what is in memory.

A format is a TypedDict plus a loader that validates it; unknown keys and key order survive
because nothing is copied into classes of ours (formats.md 0.2, 8 W43).
"""

from __future__ import annotations

from typing import TypeAlias

JsonScalar: TypeAlias = "bool | int | float | str | None"
JsonValue: TypeAlias = "JsonScalar | list[JsonValue] | dict[str, JsonValue]"
JsonObject: TypeAlias = "dict[str, JsonValue]"
