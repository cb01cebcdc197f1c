"""Tools and hooks from outside of one attempt: imported at its begin, forgotten at its end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from oma_desktop.base.clock import Clock
from oma_desktop.base.lanes import Lanes
from oma_desktop.base.supervisor import Supervisor
from oma_desktop.engine.agents.hooks import AgentHooks
from oma_desktop.engine.cancel import CancelToken
from oma_desktop.engine.launching.named_hooks import hooks_of
from oma_desktop.engine.tools.grants import DELEGATE
from oma_desktop.engine.tools.outside.contained import aside
from oma_desktop.engine.tools.outside.folder_modules import FolderModules
from oma_desktop.engine.tools.outside.mcp_tools import McpServers, belongs_to
from oma_desktop.engine.tools.outside.python_tools import (
    declared_python_tools,
    function_of,
    load_python_tools,
    name_of,
)
from oma_desktop.engine.tools.race import Race
from oma_desktop.engine.tools.registry import ToolRegistry, ToolSpec
from oma_desktop.model.errors import InvalidInput, ToolFailed
from oma_desktop.model.runfile import RunFile, Tools
from oma_desktop.model.team import BUILTIN_TOOLS


class OutsideTools:
    """The Python functions and MCP servers of a run file. Nothing runs before `join`, `connect`.

    `passed` is what servers see of the environment, `environ` what the file may name for them.
    """

    def __init__(
        self,
        tools: Tools,
        *,
        base_dir: Path,
        lanes: Lanes,
        environ: Mapping[str, str],
        passed: Mapping[str, str],
    ) -> None:
        self._tools = tools
        self._base_dir = base_dir
        self._lanes = lanes
        self._environ = environ
        self._passed = passed
        self._modules: FolderModules | None = None
        self._servers: McpServers | None = None

    def may_bring(self, name: str) -> bool:
        """Whether a tool of this name may come; those of servers are known once they run."""
        functions = {name_of(entry) for entry in self._tools.python}
        return name in functions or belongs_to(name, self._tools.mcp)

    def join(self, registry: ToolRegistry, *, may_import: bool) -> None:
        """Register the functions: imported, else as the file alone describes them. Blocking.

        Raises InvalidInput TOOL_NAME_BUILTIN, TOOL_NAME_TAKEN, PYTHON_TOOL_*; nothing is kept then.
        """
        names = [name_of(entry) for entry in self._tools.python]
        for index, name in enumerate(names):
            _refuse_built_in(name, f"tools.python[{index}]")
            if name in names[:index] or registry.get(name) is not None:
                raise InvalidInput("TOOL_NAME_TAKEN", tool=name)
        try:
            for tool in self._loaded() if may_import else declared_python_tools(self._tools.python):
                registry.register(tool)
        except BaseException:
            self.forget()
            raise

    def hooks(self, run_file: RunFile, *, may_import: bool) -> dict[str, AgentHooks]:
        """Return the functions the file hangs into agents' runs, by agent. Blocking.

        What was not imported fails the run that needs it. Raises InvalidInput PYTHON_HOOK_*.
        """
        try:
            return hooks_of(run_file, self._function if may_import else _not_imported)
        except BaseException:
            self.forget()
            raise

    def _loaded(self) -> tuple[ToolSpec, ...]:
        if not self._tools.python:
            return ()
        return load_python_tools(self._tools.python, self._folder(), lanes=self._lanes)

    def _function(self, use: str) -> Callable[..., Any]:
        return aside(function_of(use, self._folder()), self._lanes)

    def _folder(self) -> FolderModules:
        """One for tools and hooks: they share what their modules keep."""
        self._modules = self._modules or FolderModules(self._base_dir)
        return self._modules

    async def connect(
        self, *, clock: Clock, supervisor: Supervisor, token: CancelToken
    ) -> tuple[ToolSpec, ...]:
        """Start the servers and return their tools; none after a stop, which ends them.

        Raises as `McpServers.start`.
        """
        if not self._tools.mcp:
            return ()
        self._servers = McpServers(
            self._tools.mcp,
            base_dir=self._base_dir,
            environ=self._environ,
            passed=self._passed,
            clock=clock,
            supervisor=supervisor,
            lanes=self._lanes,
        )
        race = Race(supervisor=supervisor, clock=clock)
        started = await race.run(self._servers.start(), name="mcp servers", token=token)
        if started.error is not None:
            raise started.error
        for tool in started.value or ():
            _refuse_built_in(tool.name, "tools.mcp")
        return started.value or ()

    def forget(self) -> None:
        """Drop the imported modules."""
        if self._modules is not None:
            self._modules.close()

    async def close(self) -> None:
        """End the servers and forget the modules."""
        try:
            if self._servers is not None:
                await self._servers.close()
        finally:
            self.forget()


def _not_imported(_use: str) -> Callable[..., Any]:
    def missing(*_arguments: object) -> None:
        raise ToolFailed("PYTHON_HOOK_NOT_IMPORTED")

    return missing


def _refuse_built_in(name: str, place: str) -> None:
    if name in BUILTIN_TOOLS or name == DELEGATE:
        raise InvalidInput("TOOL_NAME_BUILTIN", tool=name, place=place)
