"""From pydantic's complaints to problems with a code, a place and the nearest known key."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final, get_args, is_typeddict

from pydantic import BaseModel, ValidationError

from oma_desktop.model.document_text import Document, Path
from oma_desktop.model.hook_names import CALLABLE_PATTERN
from oma_desktop.model.json_value import JsonValue
from oma_desktop.model.runfile import NOT_BLANK_PATTERN, SERVER_NAME_PATTERN, TOOL_NAME_PATTERN
from oma_desktop.model.task_graph import problem, unknown
from oma_desktop.model.view import Problem

# A key in a file is a key that gets shared: it is refused by name, and its value never quoted.
SECRET_KEYS: Final = frozenset({"apiKey", "defaultApiKey", "api_key", "credentials", "key"})

_TYPES: Final = {
    "string_type": "string",
    "int_type": "integer",
    "int_from_float": "integer",
    "float_type": "number",
    "bool_type": "boolean",
    "list_type": "array",
    "dict_type": "object",
    "model_type": "object",
    "model_attributes_type": "object",
}
_PATTERNS: Final = {
    CALLABLE_PATTERN: "RUNFILE_NOT_A_FUNCTION",
    TOOL_NAME_PATTERN: "RUNFILE_BAD_TOOL_NAME",
    SERVER_NAME_PATTERN: "RUNFILE_BAD_SERVER_NAME",
    NOT_BLANK_PATTERN: "RUNFILE_EMPTY",
}
_LIMITS: Final = {
    "greater_than_equal": ("RUNFILE_TOO_SMALL", "ge"),
    "string_too_long": ("RUNFILE_TOO_LONG", "max_length"),
}


def problems_of(
    error: ValidationError, document: JsonValue, model: type[BaseModel]
) -> list[Problem]:
    """Return one problem per place, in the order of the document as validated.

    `document` is what the person wrote: steps that exist only in the validated form are left out.
    """
    found: dict[Path, Problem] = {}
    for detail in error.errors(include_url=False):
        path = _path(detail["loc"], document, missing=detail["type"] == "missing")
        new = _problem(detail, path, model)
        old = found.setdefault(path, new)
        if old.code == "RUNFILE_NOT_ONE_OF" and new.code == "RUNFILE_NOT_A_FUNCTION":
            found[path] = _or_a_function(old)
    return [p for path, p in found.items() if not _is_only_the_outside(path, found)]


def _or_a_function(found: Problem) -> Problem:
    """Some keys take one of a few words, or the name of a function."""
    expected = f"{found.facts['expected']}, module:function"
    return replace(found, facts={**found.facts, "expected": expected})


def placed(problems: Iterable[Problem], document: Document) -> tuple[Problem, ...]:
    """Add the fact `place`: name of the file, line where known, path."""
    result: list[Problem] = []
    for found in problems:
        facts = dict(found.facts)
        steps = facts.pop("steps", None)
        path = (
            tuple(s for s in steps if isinstance(s, (str, int))) if isinstance(steps, list) else ()
        )
        result.append(replace(found, facts={**facts, "place": document.place(path)}))
    return tuple(result)


def _is_only_the_outside(path: Path, found: Mapping[Path, Problem]) -> bool:
    """Values of several kinds are complained about as a whole and inside; once is enough."""
    return any(len(other) > len(path) and other[: len(path)] == path for other in found)


_NOWHERE: Final = object()


def _below(value: object, step: int | str) -> object:
    if isinstance(value, dict):
        return value.get(step, _NOWHERE)
    if isinstance(value, list) and isinstance(step, int) and step < len(value):
        return value[step]
    return _NOWHERE


def _path(loc: tuple[int | str, ...], document: JsonValue, *, missing: bool) -> Path:
    steps: list[str | int] = []
    here: object = document
    for index, step in enumerate(loc):
        below = _below(here, step)
        if below is _NOWHERE and not (missing and index == len(loc) - 1):
            continue
        here = below
        steps.append(step)
    return tuple(steps)


def _problem(detail: Any, path: Path, model: type[BaseModel]) -> Problem:  # noqa: ANN401 - pydantic's own type
    kind, context = detail["type"], detail.get("ctx", {})
    key = str(path[-1]) if path else "$"
    if kind == "extra_forbidden":
        if key in SECRET_KEYS:
            return problem("RUNFILE_SECRET", path, name=key)
        known = known_keys(model, detail["loc"][:-1])
        return unknown("RUNFILE_UNKNOWN_KEY", path, key, known)
    if kind == "missing":
        return problem("RUNFILE_MISSING_KEY", path, name=key)
    if kind in _TYPES:
        return problem("RUNFILE_WRONG_TYPE", path, name=key, expected=_TYPES[kind])
    if kind == "literal_error":
        return problem("RUNFILE_NOT_ONE_OF", path, name=key, expected=context["expected"])
    if kind == "union_tag_invalid":
        name = context["discriminator"].strip("'")
        expected = context["expected_tags"]
        return problem("RUNFILE_NOT_ONE_OF", (*path, name), name=name, expected=expected)
    if kind == "union_tag_not_found":
        name = context["discriminator"].strip("'")
        return problem("RUNFILE_MISSING_KEY", (*path, name), name=name)
    if kind == "string_too_short":
        return problem("RUNFILE_EMPTY", path, name=key)
    if kind == "string_pattern_mismatch" and context["pattern"] in _PATTERNS:
        return problem(_PATTERNS[context["pattern"]], path, name=key)
    if kind in _LIMITS:
        code, limit = _LIMITS[kind]
        return problem(code, path, name=key, limit=int(context[limit]))
    said = str(detail["msg"]).removeprefix("Value error, ")  # the words of our own validators
    return problem("RUNFILE_WRONG_VALUE", path, name=key, problem=said)


def known_keys(model: type[BaseModel], loc: Iterable[int | str]) -> list[str]:
    """Return the keys that may stand at a place, as they are written in files."""
    models: list[type] = [model]
    for step in loc:
        inside = [found for each in models for found in _models_at(each, step)]
        chosen = [each for each in models if _is_kind(each, step)]
        models = inside or chosen or models  # an index or a free name: the models stay
    return [key for each in models for key in _fields(each)]


def _is_kind(model: type, step: int | str) -> bool:
    """Whether a step is not a key but the `type` that chose this model among others."""
    return step in get_args(_fields(model).get("type"))


def _fields(model: type) -> dict[str, object]:
    """Return the annotations of a model or TypedDict by the key as written."""
    if issubclass(model, BaseModel):
        return {field.alias or name: field.annotation for name, field in model.model_fields.items()}
    return dict(model.__annotations__)


def _models_at(model: type, step: int | str) -> Iterator[type]:
    for key, annotation in _fields(model).items():
        if step == key:
            yield from _models_in(annotation)


def _models_in(annotation: object) -> Iterator[type]:
    if isinstance(annotation, type) and (
        issubclass(annotation, BaseModel) or is_typeddict(annotation)
    ):
        yield annotation
    for inner in get_args(annotation):
        yield from _models_in(inner)
