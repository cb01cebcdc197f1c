"""Arguments against a JSON Schema, with defaults filled in (engine.md 3.5 step 3).

What comes out is what a reviewer sees and what the tool receives, so the order is fixed: members
named by the schema first, in schema order, then the others as they came. Nothing is converted
across types: a text never becomes a number.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, ValidationError
from referencing import Registry
from referencing.exceptions import Unresolvable

from oma_desktop.model.json_value import JsonObject, JsonValue

MAX_ISSUES: Final = 10


@dataclass(frozen=True, slots=True)
class Checked:
    """A value with defaults, or the issues that keep it from being used."""

    value: JsonValue
    issues: tuple[str, ...] = ()


class ArgumentSchema:
    """One schema, ready to check. References are followed inside the schema only."""

    def __init__(self, schema: JsonObject) -> None:
        self._schema = schema
        self._broken: str | None = None
        try:
            Draft202012Validator.check_schema(schema)
        except SchemaError as error:
            self._broken = f"the schema itself is not usable: {error.message}"
        self._validator = Draft202012Validator(schema, registry=Registry())

    def check(self, value: JsonValue) -> Checked:
        """Return the value with defaults filled in, or up to ten issues with their places."""
        if self._broken is not None:
            return Checked(value, (self._broken,))
        filled = fill(self._schema, value)
        try:
            errors = sorted(
                self._validator.iter_errors(filled), key=lambda e: list(map(str, e.path))
            )
        except Unresolvable as error:
            return Checked(value, (f"the schema refers to something unknown: {error}",))
        if errors:
            return Checked(value, tuple(_issue(error) for error in errors[:MAX_ISSUES]))
        return Checked(filled)


def _issue(error: ValidationError) -> str:
    place = "/".join(str(step) for step in error.path)
    return f"{place}: {error.message[:300]}" if place else error.message[:300]


def fill(schema: JsonValue, value: JsonValue) -> JsonValue:
    """Return a copy along the schema's own paths with absent members set to their `default`.

    Whole numbers of type `integer` lose their `.0`. Values the schema does not describe are shared,
    not copied.
    """
    if not isinstance(schema, dict):
        return value
    if isinstance(value, dict):
        return _fill_object(schema, value)
    if isinstance(value, list):
        items = schema.get("items")
        return [fill(items, item) for item in value] if isinstance(items, dict) else value
    if isinstance(value, float) and schema.get("type") == "integer" and value.is_integer():
        return int(value)
    return value


def _fill_object(schema: JsonObject, value: JsonObject) -> JsonObject:
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return value
    filled: JsonObject = {}
    for name, part in properties.items():
        if name in value:
            filled[name] = fill(part, value[name])
        elif isinstance(part, dict) and "default" in part:
            filled[name] = copy_json(part["default"])
    filled.update((name, item) for name, item in value.items() if name not in properties)
    return filled


def copy_json(value: JsonValue) -> JsonValue:
    """Return a deep copy of JSON data of any depth."""
    root: list[JsonValue] = [value]
    open_: list[tuple[dict[str, JsonValue] | list[JsonValue], str | int]] = [(root, 0)]
    while open_:
        holder, place = open_.pop()
        item = holder[place]  # type: ignore[index]
        if isinstance(item, Mapping):
            copy: dict[str, JsonValue] | list[JsonValue] = dict(item)
            open_.extend((copy, key) for key in item)
        elif isinstance(item, list):
            copy = list(item)
            open_.extend((copy, index) for index in range(len(copy)))
        else:
            continue
        holder[place] = copy  # type: ignore[index]
    return root[0]
