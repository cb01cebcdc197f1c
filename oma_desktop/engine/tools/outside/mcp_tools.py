"""The MCP servers of a run file: which are started, what their tools are called, what they do."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from oma_desktop.base.clock import Clock
from oma_desktop.base.lanes import Lanes
from oma_desktop.base.supervisor import Supervisor
from oma_desktop.engine.tools.outside.mcp_server import TIMEOUT_S, McpServer, ServerPlace
from oma_desktop.engine.tools.registry import ToolContext, ToolOutput, ToolRun, ToolSpec
from oma_desktop.model.errors import InvalidInput
from oma_desktop.model.json_value import JsonObject
from oma_desktop.model.nearest import nearest
from oma_desktop.model.runfile import McpServer as Entry
from oma_desktop.model.view import Effect

if TYPE_CHECKING:
    from oma_desktop.engine.tools.outside.mcp_sdk import OfferedTool

_VARIABLE: Final = re.compile(r"\$\{(\w+)\}")


def mcp_name(server: str, tool: str) -> str:
    """Return the name models call a server's tool by (engine.md 10.1)."""
    return f"{server}_{tool}".replace("/", "_")


def belongs_to(name: str, servers: Iterable[str]) -> bool:
    """Whether a tool of this name may come from one of the servers."""
    return any(name.startswith(mcp_name(server, "")) for server in servers)


def declared_mcp_effects(servers: Mapping[str, Entry]) -> dict[str, Effect]:
    """Return what the run file says of tools of servers; nothing is started."""
    return {
        mcp_name(server, tool): Effect(effect)
        for server, entry in servers.items()
        for tool, effect in entry.effects.items()
    }


class McpServers:
    """All servers of one attempt. `close` ends them, also those that failed to start."""

    def __init__(
        self,
        entries: Mapping[str, Entry],
        *,
        base_dir: Path,
        environ: Mapping[str, str],
        passed: Mapping[str, str],
        clock: Clock,
        supervisor: Supervisor,
        lanes: Lanes,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        """Starts nothing. `passed` is what every server sees; `environ` fills in `${NAME}`.

        Raises InvalidInput MCP_VARIABLE_MISSING.
        """
        self._entries = entries
        self._servers = {
            name: McpServer(
                ServerPlace(
                    name,
                    entry.command,
                    tuple(entry.args),
                    {**passed, **_filled(name, entry.env, environ)},
                    base_dir / entry.cwd if entry.cwd else base_dir,
                ),
                clock=clock,
                supervisor=supervisor,
                lanes=lanes,
                timeout_s=timeout_s,
            )
            for name, entry in entries.items()
        }

    async def start(self) -> tuple[ToolSpec, ...]:
        """Start all servers at once and return their tools, in the order of the file.

        Raises the first failure; every server is ended then. InvalidInput MCP_DUPLICATE_TOOL,
        MCP_TOOL_UNKNOWN for what does not fit together.
        """
        try:
            offered = await asyncio.gather(
                *(server.start() for server in self._servers.values()), return_exceptions=True
            )
            specs: dict[str, ToolSpec] = {}
            for (name, entry), tools in zip(self._entries.items(), offered, strict=True):
                if isinstance(tools, BaseException):
                    raise tools
                for spec in _specs(name, entry, tools, self._servers[name]):
                    if spec.name in specs:
                        raise InvalidInput("MCP_DUPLICATE_TOOL", server=name, tool=spec.name)
                    specs[spec.name] = spec
            return tuple(specs.values())
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """End every server with all its processes."""
        await asyncio.gather(*(server.close() for server in self._servers.values()))


def _specs(
    name: str, entry: Entry, tools: list[OfferedTool], server: McpServer
) -> Iterator[ToolSpec]:
    known = [tool.name for tool in tools]
    for wanted in [*(entry.tools or ()), *entry.effects]:
        if wanted not in known:
            near = nearest(wanted, known)
            raise InvalidInput("MCP_TOOL_UNKNOWN", server=name, tool=wanted, nearest=near)
    for tool in tools:
        if entry.tools is None or tool.name in entry.tools:
            effect, consequential = _effect(tool, entry)
            yield ToolSpec(
                mcp_name(name, tool.name),
                tool.description,
                tool.input_schema,
                _caller(server, tool.name),
                effect=effect,
                consequential=consequential,
                validated=False,
            )


def _effect(tool: OfferedTool, entry: Entry) -> tuple[Effect, bool]:
    """Return what a tool does and whether it asks: the file's word, else the server's own.

    A tool of which nobody says that it is harmless asks a person (engine.md 5.7, DEV-16).
    """
    said = entry.effects.get(tool.name)
    if said is None:
        effect = Effect.READ_ONLY if tool.read_only else Effect.UNKNOWN
    else:
        effect = Effect(said)
    return effect, effect not in {Effect.READ_ONLY, Effect.REPEATABLE}


def _caller(server: McpServer, tool: str) -> ToolRun:
    async def run(input_: JsonObject, context: ToolContext) -> ToolOutput:
        return await server.call(tool, input_, context.token)

    return run


def _filled(server: str, wanted: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    """Put variables of our environment where the file names them as `${NAME}`."""

    def value(match: re.Match[str]) -> str:
        name = match.group(1)
        if name not in environ:
            raise InvalidInput("MCP_VARIABLE_MISSING", server=server, name=name)
        return environ[name]

    return {name: _VARIABLE.sub(value, text) for name, text in wanted.items()}
