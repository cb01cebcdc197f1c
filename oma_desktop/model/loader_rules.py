"""What the checkpoint loader raises and collects: a rule, a place, what was found and wanted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple, NoReturn, TypeAlias

from oma_desktop.model.errors import Corrupt
from oma_desktop.model.json_kind import found_in, is_integer, is_number, kind_of
from oma_desktop.model.json_value import JsonObject, JsonValue
from oma_desktop.model.view import Problem

Test: TypeAlias = Callable[[JsonValue], bool]


class Form(NamedTuple):
    """A test and how to say in a message what passes it."""

    test: Test
    expected: str


def refuse(rule: str, where: str, expected: str, found: str, **facts: object) -> NoReturn:
    """Raise Corrupt `CHECKPOINT_INVALID`; `rule` is the row of formats.md 2.5."""
    raise Corrupt(
        "CHECKPOINT_INVALID", rule=rule, where=where, expected=expected, found=found, **facts
    )


def need(holder: JsonObject, name: str, form: Form, rule: str, where: str) -> None:
    """Refuse unless the member is there and passes."""
    if name not in holder or not form.test(holder[name]):
        refuse(rule, f"{where}.{name}", form.expected, found_in(holder, name))


def allow(holder: JsonObject, name: str, form: Form, rule: str, where: str) -> None:
    """Refuse when the member is there and fails; null is there (formats.md 2.5)."""
    if name in holder and not form.test(holder[name]):
        refuse(rule, f"{where}.{name}", form.expected, found_in(holder, name))


def forbid(holder: JsonObject, name: str, rule: str, where: str) -> None:
    """Refuse when the member is there at all."""
    if name in holder:
        refuse(rule, f"{where}.{name}", "nothing", found_in(holder, name))


def need_object(value: JsonValue, rule: str, where: str) -> JsonObject:
    """Return an object or refuse."""
    if not isinstance(value, dict):
        refuse(rule, where, "object", kind_of(value))
    return value


def need_child(holder: JsonObject, name: str, rule: str, where: str) -> JsonObject:
    """Return a member that is an object or refuse."""
    value = holder.get(name)
    if not isinstance(value, dict):
        refuse(rule, f"{where}.{name}", "object", found_in(holder, name))
    return value


def need_array(holder: JsonObject, name: str, rule: str, where: str) -> list[JsonValue]:
    """Return a member that is an array or refuse."""
    value = holder.get(name)
    if not isinstance(value, list):
        refuse(rule, f"{where}.{name}", "array", found_in(holder, name))
    return value


def _is_usage(value: JsonValue) -> bool:
    return isinstance(value, dict) and all(
        _is_amount(value.get(name)) for name in ("input_tokens", "output_tokens")
    )


def _is_amount(value: JsonValue) -> bool:
    return is_number(value) and isinstance(value, int | float) and value >= 0


def _is_string_array(value: JsonValue) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


STRING: Final = Form(lambda v: isinstance(v, str), "string")
FILLED: Final = Form(lambda v: isinstance(v, str) and v != "", "non-empty string")
BOOLEAN: Final = Form(lambda v: isinstance(v, bool), "boolean")
OBJECT: Final = Form(lambda v: isinstance(v, dict), "object")
ARRAY: Final = Form(lambda v: isinstance(v, list), "array")
STRINGS: Final = Form(_is_string_array, "string[]")
NUMBER: Final = Form(is_number, "number")
AMOUNT: Final = Form(_is_amount, "number >= 0")
INTEGER: Final = Form(is_integer, "integer")
COUNT: Final = Form(lambda v: is_integer(v, at_least=0), "integer >= 0")
POSITIVE: Final = Form(lambda v: is_integer(v, at_least=1), "integer >= 1")
USAGE: Final = Form(_is_usage, "token usage")
"""Token usage with finite amounts from 0 (L23)."""


def literal(*words: str) -> Form:
    """Return the form of a string that is one of the words."""
    return Form(lambda v: v in words, " | ".join(words))


def error(code: str, where: str, **facts: JsonValue) -> Problem:
    """Return a finding that forbids a restore."""
    return Problem(code, "error", where, facts)


def warning(code: str, where: str, **facts: JsonValue) -> Problem:
    """Return a finding that is only told."""
    return Problem(code, "warning", where, facts)
