"""From a function's signature to a JSON Schema and back to its arguments, by pydantic."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, PydanticUserError, ValidationError, create_model
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema
from typing_extensions import override

from oma_desktop.engine.tools.outside.docstring import read_docstring
from oma_desktop.engine.tools.registry import ToolContext
from oma_desktop.model.errors import InvalidInput
from oma_desktop.model.json_value import JsonObject

_STARRED: Final = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


class Signature:
    """The parameters of one function that a model fills in.

    A parameter annotated with ToolContext is not among them: it gets the call's context. A
    parameter without a type takes any JSON value.
    Raises InvalidInput PYTHON_TOOL_SIGNATURE for what no schema can say.
    """

    def __init__(self, function: Callable[..., Any], *, use: str) -> None:
        self.description, told = read_docstring(function)
        self._context: list[str] = []
        self._fields: dict[str, str] = {}  # field of the model -> parameter
        self._positional: list[str] = []
        signature, hints = _looked_at(function, use)
        shapes: dict[str, Any] = {}
        for name, parameter in signature.parameters.items():
            if parameter.kind in _STARRED:
                raise _refused(use, name, "it takes any number of values")
            if parameter.kind is inspect.Parameter.POSITIONAL_ONLY:
                self._positional.append(name)
            hint = hints.get(name, Any)
            if _is_context(hint):
                self._context.append(name)
                continue
            field = f"field_{len(shapes)}"
            self._fields[field] = name
            shapes[field] = _shape(hint, parameter.default, name, told.get(name))
        try:
            self._model: type[BaseModel] = create_model(
                "Arguments", __config__=ConfigDict(extra="forbid"), **shapes
            )
            self.schema: JsonObject = _schema_of(self._model)
        except (PydanticUserError, TypeError, NameError) as error:
            why = str(error).splitlines()[0]
            raise InvalidInput("PYTHON_TOOL_SIGNATURE", use=use, found=why) from error

    def problems(self, input_: JsonObject) -> tuple[str, ...]:
        """Return what keeps the input from being used, beyond what the schema says."""
        try:
            self._model.model_validate(input_)
        except ValidationError as error:
            return tuple(_issue(detail) for detail in error.errors(include_url=False))
        return ()

    def bind(
        self, input_: JsonObject, context: ToolContext
    ) -> tuple[list[object], dict[str, object]]:
        """Return positional and named arguments. Raises ValidationError for unusable input."""
        model = self._model.model_validate(input_)
        named: dict[str, object] = {
            parameter: getattr(model, field) for field, parameter in self._fields.items()
        }
        named.update((name, context) for name in self._context)
        return [named.pop(name) for name in self._positional], named


def _looked_at(
    function: Callable[..., Any], use: str
) -> tuple[inspect.Signature, dict[str, object]]:
    target = function if inspect.isroutine(function) else type(function).__call__
    try:
        return inspect.signature(function), typing.get_type_hints(target, include_extras=True)
    except (TypeError, ValueError, NameError, AttributeError) as error:
        raise InvalidInput("PYTHON_TOOL_SIGNATURE", use=use, found=str(error)) from error


def _is_context(hint: object) -> bool:
    return hint is ToolContext or ToolContext in typing.get_args(hint)


def _shape(hint: object, default: object, name: str, told: str | None) -> tuple[object, object]:
    """Return type and default of one field; the parameter's name is its name in JSON."""
    described = any(
        isinstance(part, FieldInfo) and part.description
        for part in (default, *typing.get_args(hint))
    )
    field = Field(alias=name) if described else Field(alias=name, description=told)
    if default is inspect.Parameter.empty:
        default = ...
    return Annotated[hint, field], default


class _Untitled(GenerateJsonSchema):
    """Without the titles pydantic makes from names: they tell a model nothing."""

    ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012

    @override
    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def _schema_of(model: type[BaseModel]) -> JsonObject:
    schema = model.model_json_schema(by_alias=True, schema_generator=_Untitled)
    schema.pop("title", None)
    schema.setdefault("properties", {})
    return schema


def _issue(detail: Any) -> str:  # noqa: ANN401 - pydantic's own type
    place = "/".join(str(step) for step in detail["loc"])
    message = str(detail["msg"])
    return f"{place}: {message}" if place else message


def _refused(use: str, name: str, why: str) -> InvalidInput:
    return InvalidInput("PYTHON_TOOL_SIGNATURE", use=use, found=f"{name}: {why}")
