"""One MCP server over stdio, from its start to the end of its process tree (engine.md 10.1).

The connection lives in one task of its own, because the SDK binds it to the task that opened it;
calls come from the tasks of agents. A server that ended is not started again: its calls say so.
"""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Coroutine, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO, TypeVar, cast

from oma_desktop.base.clock import Clock
from oma_desktop.base.lanes import Lanes
from oma_desktop.base.supervisor import Supervisor
from oma_desktop.engine.cancel import CancelToken, StopReason
from oma_desktop.engine.error_output import ErrorOutput, kept_short
from oma_desktop.engine.tools.builtin.process_tree import MARK, end_marked, end_orphans, new_mark
from oma_desktop.engine.tools.outside.mcp_results import output_of_answer
from oma_desktop.engine.tools.race import Ended, Outcome, Race
from oma_desktop.engine.tools.registry import ToolOutput
from oma_desktop.model.errors import InvalidInput, OmaError, ToolFailed, ToolTimedOut
from oma_desktop.model.json_value import JsonObject

if TYPE_CHECKING:
    from oma_desktop.engine.tools.outside.mcp_sdk import Connection, OfferedTool

T = TypeVar("T")
TIMEOUT_S: Final = 60.0
"""How long a server may take for one request."""
_MAX_PAGES: Final = 1_000
_TAIL: Final = 4_000
_SDK: Final = "oma_desktop.engine.tools.outside.mcp_sdk"


@dataclass(frozen=True, slots=True)
class ServerPlace:
    """How a server is started: `environ` is all it sees of the environment."""

    name: str
    command: str
    args: tuple[str, ...]
    environ: Mapping[str, str]
    cwd: Path


class McpServer:
    """A server that may be called between `start` and `close`; close it in any case."""

    def __init__(
        self,
        place: ServerPlace,
        *,
        clock: Clock,
        supervisor: Supervisor,
        lanes: Lanes,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        self._place = place
        self._clock = clock
        self._supervisor = supervisor
        self._lanes = lanes
        self._timeout_s = timeout_s
        self._race = Race(supervisor=supervisor, clock=clock)
        self._closing = CancelToken()
        self._task: asyncio.Task[None] | None = None
        self._link: Connection | None = None

    async def start(self) -> list[OfferedTool]:
        """Start the process, connect, and return all its tools.

        Raises InvalidInput MCP_NOT_STARTED, ToolFailed MCP_FAILED, ToolTimedOut MCP_TIMED_OUT;
        nothing of the server lives on then.
        """
        await self._lanes.work(importlib.import_module, _SDK)
        key = f"mcp:{self._place.cwd}:{self._place.name}"
        await self._lanes.work(end_orphans, key)
        ready: asyncio.Future[list[OfferedTool]] = asyncio.get_running_loop().create_future()
        self._task = self._supervisor.spawn(
            self._serve(ready, new_mark(key)), name=f"mcp server {self._place.name}"
        )
        try:
            return await ready
        except BaseException:
            await self.close()
            raise

    async def call(self, tool: str, arguments: JsonObject, token: CancelToken) -> ToolOutput:
        """Call one tool. Whatever goes wrong is told in the result."""
        link = self._link
        if link is None:
            return self._error("is not running any more")
        outcome = await self._race.run(
            link.call(tool, arguments),
            name=f"mcp call {tool}",
            token=token,
            only_abort=True,
            limit_s=self._timeout_s,
        )
        match outcome.ended:
            case Ended.DONE:
                return output_of_answer(outcome.value or {})
            case Ended.TIMEOUT:
                return self._error(
                    f"gave no answer within {self._timeout_s:g} s; the call was cancelled"
                )
            case Ended.RAISED:
                return self._error(self._failure(outcome.error))
            case Ended.STOPPED | Ended.LOST:
                return self._error("was told to stop: the run was stopped")

    async def close(self) -> None:
        """End the connection and every process of the server; a few seconds at most."""
        self._closing.stop(StopReason.CANCEL)
        if self._task is not None:
            await asyncio.wait({self._task})

    # ------------------------------------------------------------------ the task of the connection

    async def _serve(self, ready: asyncio.Future[list[OfferedTool]], mark: str) -> None:
        errors = ErrorOutput()
        short = kept_short(
            errors,
            clock=self._clock,
            lanes=self._lanes,
            supervisor=self._supervisor,
            name=f"mcp errors of {self._place.name}",
        )
        with closing(errors):
            try:
                async with short:
                    await self._connected(ready, mark, errors)
            except OSError as error:
                _fail(ready, self._not_started(error))
            except Exception as error:  # noqa: BLE001 - the boundary around tools
                _fail(ready, self._failed(error, errors))
            except BaseException:
                end_marked(mark)  # nobody can wait any more
                ready.cancel()
                raise
            finally:
                self._link = None
            await self._lanes.work(end_marked, mark)

    async def _connected(
        self, ready: asyncio.Future[list[OfferedTool]], mark: str, errors: ErrorOutput
    ) -> None:
        sdk = importlib.import_module(_SDK)
        place = self._place
        async with sdk.connection(
            place.command,
            place.args,
            env={**place.environ, MARK: mark},
            cwd=place.cwd,
            errors=cast("TextIO", errors),  # only its number is looked at
        ) as link:
            try:
                tools = await self._discover(link)
            except Exception as error:  # noqa: BLE001 - the boundary around tools
                _fail(ready, self._failed(error, errors))
                return
            self._link = link
            if not ready.done():
                ready.set_result(tools)
            await self._closing.wait()

    async def _discover(self, link: Connection) -> list[OfferedTool]:
        await self._limited(link.greet(), "initialize")
        tools: list[OfferedTool] = []
        cursor: str | None = None
        seen: set[str] = set()
        for _ in range(_MAX_PAGES):
            page, cursor = await self._limited(link.page(cursor), "tools/list")
            tools += page
            if cursor is None:
                return tools
            if cursor in seen:
                break
            seen.add(cursor)
        raise ToolFailed(
            "MCP_FAILED", server=self._place.name, found="its list of tools has no end"
        )

    async def _limited(self, work: Coroutine[object, object, T], request: str) -> T:
        outcome: Outcome[T] = await self._race.run(
            work, name=f"mcp {request}", token=self._closing, limit_s=self._timeout_s
        )
        if outcome.ended is Ended.DONE:
            return outcome.value  # type: ignore[return-value]  # what the request returned
        if outcome.error is not None:
            raise outcome.error
        if outcome.ended is Ended.STOPPED:
            raise ToolFailed("MCP_FAILED", server=self._place.name, found="it was told to stop")
        raise ToolTimedOut(
            "MCP_TIMED_OUT",
            server=self._place.name,
            request=request,
            seconds=f"{self._timeout_s:g}",
        )

    # ------------------------------------------------------------------ what went wrong

    def _error(self, what: str) -> ToolOutput:
        return ToolOutput(f'The MCP server "{self._place.name}" {what}.', is_error=True)

    def _failure(self, error: Exception | None) -> str:
        sdk = importlib.import_module(_SDK)
        if error is None:
            return "failed"
        if sdk.is_closed(error):
            self._link = None
            return "has ended; it is not started again in this attempt"
        return f"refused the call: {sdk.words_of(error)}"

    def _not_started(self, error: OSError) -> InvalidInput:
        return InvalidInput(
            "MCP_NOT_STARTED",
            server=self._place.name,
            command=self._place.command,
            found=error.strerror or type(error).__name__,
        )

    def _failed(self, error: Exception, errors: ErrorOutput) -> OmaError:
        if isinstance(error, OmaError):
            return error
        found = importlib.import_module(_SDK).words_of(error)
        said = _last_line(errors)
        return ToolFailed(
            "MCP_FAILED", server=self._place.name, found=f"{found} ({said})" if said else found
        )


def _fail(ready: asyncio.Future[T], error: OmaError) -> None:
    if not ready.done():
        ready.set_exception(error)


def _last_line(errors: ErrorOutput) -> str:
    """Return the last line a server wrote on its standard error."""
    lines = [line.strip() for line in errors.tail(_TAIL).splitlines() if line.strip()]
    return lines[-1][:300] if lines else ""
