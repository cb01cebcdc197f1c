"""The hooks a run file names, as functions (engine.md 3.7, 3.9, 3.11)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from oma_desktop.engine.agents.hooks import NO_HOOKS, AgentHooks
from oma_desktop.model.errors import InvalidInput
from oma_desktop.model.named_functions import NamedFunction, named_functions
from oma_desktop.model.runfile import RunFile

_OF_HOOKS: Final = {
    "PYTHON_TOOL_NOT_FOUND": "PYTHON_HOOK_NOT_FOUND",
    "PYTHON_TOOL_OUTSIDE": "PYTHON_HOOK_OUTSIDE",
    "PYTHON_TOOL_SHADOWS": "PYTHON_HOOK_SHADOWS",
    "PYTHON_TOOL_IMPORT": "PYTHON_HOOK_IMPORT",
    "PYTHON_TOOL_NO_FUNCTION": "PYTHON_HOOK_NO_FUNCTION",
}
"""Hooks are found as tools are; what is wrong is told with the place that names the hook."""


def hooks_of(run_file: RunFile, load: Callable[[str], Callable[..., Any]]) -> dict[str, AgentHooks]:
    """Return the hooks by agent; `load` gives the function that `module:function` names.

    Raises InvalidInput PYTHON_HOOK_* with the fact `hook` (its place in the run file).
    """
    hooks: dict[str, AgentHooks] = {}
    for named in named_functions(run_file):
        have = hooks.get(named.agent, NO_HOOKS)
        hooks[named.agent] = replace(have, **{named.hook: _loaded(named, load)})
    return hooks


def _loaded(named: NamedFunction, load: Callable[[str], Callable[..., Any]]) -> Callable[..., Any]:
    try:
        return load(named.use)
    except InvalidInput as error:
        code = _OF_HOOKS.get(error.code, error.code)
        raise InvalidInput(code, **error.facts, hook=named.where) from error
