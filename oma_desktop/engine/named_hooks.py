"""The hooks a run file names, as functions (engine.md 3.7, 3.9, 3.11)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from oma_desktop.engine.hooks import NO_HOOKS, AgentHooks
from oma_desktop.model.named_functions import named_functions
from oma_desktop.model.runfile import RunFile


def hooks_of(run_file: RunFile, load: Callable[[str], Callable[..., Any]]) -> dict[str, AgentHooks]:
    """Return the hooks by agent; `load` gives the function that `module:function` names.

    Raises what `load` raises.
    """
    hooks: dict[str, AgentHooks] = {}
    for named in named_functions(run_file):
        have = hooks.get(named.agent, NO_HOOKS)
        hooks[named.agent] = replace(have, **{named.hook: load(named.use)})
    return hooks
