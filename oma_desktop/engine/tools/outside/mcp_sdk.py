"""The only module that imports the MCP SDK, which takes a second: load it when a server starts."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO, cast

from mcp import ClientSession, StdioServerParameters, stdio_client
from mcp.shared.exceptions import MCPError
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.types import CONNECTION_CLOSED, Implementation, PaginatedRequestParams
from pydantic import ValidationError

from oma_desktop import __version__
from oma_desktop.model.json_value import JsonObject

for _name in ("mcp", "client"):  # what servers do wrong is for the log, not for the terminal
    logging.getLogger(_name).addHandler(logging.NullHandler())


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """One tool as its server describes it; the schema is passed on untouched."""

    name: str
    description: str
    input_schema: JsonObject
    read_only: bool


class Connection:
    """One live session. Requests may come from any task; answers are raw JSON."""

    def __init__(self, session: ClientSession, dispatcher: JSONRPCDispatcher) -> None:
        self._session = session
        self._dispatcher = dispatcher

    async def greet(self) -> None:
        """Shake hands."""
        await self._session.initialize()

    async def page(self, cursor: str | None) -> tuple[list[OfferedTool], str | None]:
        """Return one page of tools, and where the next one begins."""
        params = PaginatedRequestParams(cursor=cursor) if cursor is not None else None
        found = await self._session.list_tools(params=params)
        tools = [
            OfferedTool(
                tool.name,
                tool.description or tool.title or "",
                cast("JsonObject", tool.input_schema),
                tool.annotations is not None and tool.annotations.read_only_hint is True,
            )
            for tool in found.tools
        ]
        return tools, found.next_cursor

    async def call(self, name: str, arguments: JsonObject) -> JsonObject:
        """Return the answer as it came. Cancelling this tells the server."""
        params = {"name": name, "arguments": arguments}
        return cast("JsonObject", await self._dispatcher.send_raw_request("tools/call", params))


@asynccontextmanager
async def connection(
    command: str,
    args: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Path,
    errors: TextIO,
) -> AsyncIterator[Connection]:
    """Start a server and connect; inside one task. Its process tree ends with the block."""
    server = StdioServerParameters(command=command, args=list(args), env=dict(env), cwd=cwd)
    async with stdio_client(server, errlog=errors) as (read, write):
        dispatcher = JSONRPCDispatcher(read, write)
        client = Implementation(name="oma-desktop", version=__version__)
        async with ClientSession(dispatcher=dispatcher, client_info=client) as session:
            yield Connection(session, dispatcher)


def is_closed(error: BaseException) -> bool:
    """Whether an error means that the server is gone."""
    return isinstance(error, MCPError) and error.code == CONNECTION_CLOSED


def words_of(error: BaseException) -> str:
    """Return what went wrong in one line, for a model or a person."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    if isinstance(error, MCPError):
        return error.message
    if isinstance(error, ValidationError):
        return f"its answer is not what the protocol says ({error.error_count()} problems)"
    return str(error).strip() or type(error).__name__
