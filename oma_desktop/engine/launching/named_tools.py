"""The tools a run file names in grants and rules: each must be there once the run begins."""

from __future__ import annotations

from collections.abc import Callable

from oma_desktop.engine.tools.grants import DELEGATE
from oma_desktop.engine.tools.registry import ToolRegistry
from oma_desktop.model.errors import InvalidInput
from oma_desktop.model.nearest import nearest
from oma_desktop.model.runfile import RunFile
from oma_desktop.model.team import BUILTIN_TOOLS, TeamConfig


def check_named_tools(
    run_file: RunFile,
    config: TeamConfig,
    registry: ToolRegistry,
    *,
    later: Callable[[str], bool] = lambda _name: False,
) -> None:
    """Refuse grants and rules for tools that do not exist: both would silently do nothing.

    `later` says of a name that it may still come. Raises InvalidInput RUNFILE_UNKNOWN_TOOL,
    RUNFILE_UNKNOWN_TOOL_NEAR.
    """
    named = [
        (tool, f"team.agents[{index}].tools")
        for index, agent in enumerate(config.agents)
        for tool in agent.tools or ()
    ]
    named += [
        (rule.tool, f"approvals.tools[{index}]")
        for index, rule in enumerate(run_file.approvals.tools)
        if rule.tool is not None and not any(char in rule.tool for char in "*?[")
    ]
    for tool, where in named:
        if not later(tool):
            _must_exist(tool, where, registry)


def _must_exist(name: str, where: str, registry: ToolRegistry) -> None:
    if name in BUILTIN_TOOLS or name == DELEGATE or registry.get(name) is not None:
        return
    if name.startswith("acp:"):
        return  # what an external agent asks permission for, see AcpBackend
    near = nearest(name, [*registry.names, *BUILTIN_TOOLS])
    code = "RUNFILE_UNKNOWN_TOOL_NEAR" if near else "RUNFILE_UNKNOWN_TOOL"
    raise InvalidInput(code, where=where, name=name, nearest=near)
