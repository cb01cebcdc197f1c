"""Python functions as tools: found, imported and described once a person agreed to the folder."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from oma_desktop.base.lanes import Lanes
from oma_desktop.engine.tools.outside.aside_context import from_aside
from oma_desktop.engine.tools.outside.contained import TriedToEnd, contained
from oma_desktop.engine.tools.outside.folder_modules import FolderModules, is_installed
from oma_desktop.engine.tools.outside.marks import mark_of
from oma_desktop.engine.tools.outside.returned import output_of
from oma_desktop.engine.tools.outside.signature import Signature
from oma_desktop.engine.tools.registry import ToolContext, ToolOutput, ToolRun, ToolSpec
from oma_desktop.model.errors import InvalidInput, ToolFailed
from oma_desktop.model.json_value import JsonObject
from oma_desktop.model.nearest import nearest
from oma_desktop.model.runfile import PythonTool
from oma_desktop.model.view import Effect


def load_python_tools(
    entries: Sequence[PythonTool], modules: FolderModules, *, lanes: Lanes
) -> tuple[ToolSpec, ...]:
    """Import the functions and return them as tools. Runs code of the folder; blocking.

    Raises InvalidInput PYTHON_TOOL_*: one sentence with the place.
    """
    return tuple(_tool(entry, function_of(entry.use, modules), lanes) for entry in entries)


def declared_python_tools(entries: Sequence[PythonTool]) -> tuple[ToolSpec, ...]:
    """Return what the run file alone says of its functions. Imports nothing, runs nothing."""
    return tuple(
        ToolSpec(
            name_of(entry),
            "",
            {"type": "object"},
            _not_imported,
            effect=_effect(Effect(entry.effect), entry.consequential),
            consequential=_is_consequential(entry.consequential, Effect(entry.effect)),
        )
        for entry in entries
    )


def name_of(entry: PythonTool) -> str:
    """Return the name models call it by: of the file, else the function's own."""
    return entry.name or entry.use.partition(":")[2]


async def _not_imported(_input: JsonObject, _context: ToolContext) -> ToolOutput:
    raise ToolFailed("PYTHON_TOOL_NOT_IMPORTED")


def _tool(entry: PythonTool, function: Callable[..., Any], lanes: Lanes) -> ToolSpec:
    mark = mark_of(function)
    effect = Effect(entry.effect) if "effect" in entry.model_fields_set else mark.effect
    said = entry.consequential if entry.consequential is not None else mark.consequential
    signature = Signature(function, use=entry.use)
    return ToolSpec(
        name_of(entry),
        signature.description,
        signature.schema,
        _runner(function, signature, entry.use, lanes),
        effect=_effect(effect, said),
        consequential=_is_consequential(said, effect),
        problems=signature.problems,
    )


def _is_consequential(said: bool | None, effect: Effect) -> bool:
    return effect is Effect.CONSEQUENTIAL if said is None else said


def _effect(effect: Effect, consequential: bool | None) -> Effect:
    """What asks because it changes the world does change it."""
    return Effect.CONSEQUENTIAL if effect is Effect.UNKNOWN and consequential else effect


# ------------------------------------------------------------------ finding


def function_of(use: str, modules: FolderModules) -> Callable[..., Any]:
    """Import what `module:function` names. Raises as `load_python_tools`."""
    module_name, _, name = use.partition(":")
    facts = {"use": use, "folder": str(modules.folder)}
    if not all(part.isidentifier() for part in module_name.split(".")):
        raise InvalidInput("PYTHON_TOOL_NOT_FOUND", **facts)
    top = module_name.partition(".")[0]
    if is_installed(top, besides=modules.folder):
        raise InvalidInput("PYTHON_TOOL_SHADOWS", name=top, **facts)
    try:
        file = modules.file_of(module_name)
    except ValueError as error:
        raise InvalidInput("PYTHON_TOOL_OUTSIDE", found=str(error), **facts) from error
    if file is None:
        raise InvalidInput("PYTHON_TOOL_NOT_FOUND", **facts)
    found = vars(_imported(module_name, modules, use=use, file=file))
    function: object = found.get(name)
    if callable(function) and not inspect.isclass(function):
        return function
    near = nearest(name, [n for n, value in found.items() if inspect.isroutine(value)])
    raise InvalidInput("PYTHON_TOOL_NO_FUNCTION", use=use, path=str(file), name=name, nearest=near)


def _imported(module: str, modules: FolderModules, *, use: str, file: Path) -> Any:  # noqa: ANN401 - a module
    try:
        return modules.load(module)
    except (Exception, SystemExit) as error:
        place = _place(error, modules.folder) or str(file)
        said = str(error).strip().splitlines()
        found = f"{type(error).__name__}: {said[0]}" if said else type(error).__name__
        raise InvalidInput("PYTHON_TOOL_IMPORT", use=use, place=place, found=found) from error


def _place(error: BaseException, folder: Path) -> str | None:
    """Return `file:line` of the deepest line of the folder that had a part in the failure."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}"
    places = [
        f"{frame.filename}:{frame.lineno}"
        for frame in traceback.extract_tb(error.__traceback__)
        if Path(frame.filename).is_relative_to(folder)
    ]
    return places[-1] if places else None


# ------------------------------------------------------------------ running


def _runner(function: Callable[..., Any], signature: Signature, use: str, lanes: Lanes) -> ToolRun:
    is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004 - whether its call is asynchronous
    )

    apart = contained(function)

    async def run(input_: JsonObject, context: ToolContext) -> ToolOutput:
        try:
            usable = context if is_async else from_aside(context)
            positional, named = signature.bind(input_, usable)
        except ValidationError as error:
            raise ToolFailed("PYTHON_TOOL_ARGUMENTS", use=use, found=str(error)) from error
        try:
            if is_async:
                value = await function(*positional, **named)
            else:
                value = await lanes.aside(apart, *positional, **named)
                if inspect.isawaitable(value):
                    value = await value
        except (SystemExit, TriedToEnd) as error:
            raise ToolFailed("PYTHON_TOOL_EXIT", use=use) from error
        return output_of(value)

    return run
