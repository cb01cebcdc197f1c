"""One ACP program and its session: started at the first prompt, ended by `close`."""

from __future__ import annotations

import asyncio
import asyncio.subprocess
import sys
from asyncio.subprocess import PIPE, SubprocessStreamProtocol
from collections.abc import Awaitable, Mapping
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Final, TypeVar, cast

from acp import PROTOCOL_VERSION, RequestError, connect_to_agent, text_block
from acp.client.connection import ClientSideConnection
from acp.interfaces import Client
from acp.schema import ClientCapabilities, Implementation

from oma_desktop.base.clock import Clock
from oma_desktop.base.lanes import Lanes
from oma_desktop.base.supervisor import Supervisor
from oma_desktop.engine.backends.acp_client import AcpClient
from oma_desktop.engine.backends.answer import Answer, Asked
from oma_desktop.engine.backends.environment import environment
from oma_desktop.engine.backends.faults import BackendFailed
from oma_desktop.engine.backends.process_agent import said
from oma_desktop.engine.backends.prompt import with_system
from oma_desktop.engine.cancel import StopReason
from oma_desktop.engine.error_output import ErrorOutput, kept_short
from oma_desktop.engine.tools.builtin.process_tree import (
    MARK,
    ProcessTree,
    end_orphans,
    new_mark,
)
from oma_desktop.engine.tools.race import Ended, Race
from oma_desktop.model.backend import AcpBackend
from oma_desktop.model.message import TokenUsage

T = TypeVar("T")

_LINE: Final = 64 * 1024 * 1024
"""Bytes one message may have."""
_START_S: Final = 60.0
"""How long a program may take to greet and open a session."""
_CANCEL_S: Final = 2.0
"""How long a cancelled prompt may take to end in good order."""
_HEARD: Final = 4096
"""Bytes of its error output that are looked at when it breaks."""


class AcpSession:
    """Invariant: when `close` returns nothing of the program lives any more."""

    def __init__(
        self,
        backend: AcpBackend,
        *,
        clock: Clock,
        lanes: Lanes,
        supervisor: Supervisor,
        environ: Mapping[str, str],
    ) -> None:
        self._backend = backend
        self._lanes = lanes
        self._supervisor = supervisor
        self._environ = environ
        self._race = Race(supervisor=supervisor, clock=clock)
        self._client = AcpClient(backend)
        self._errors = ErrorOutput()
        self._short = kept_short(
            self._errors,
            clock=clock,
            lanes=lanes,
            supervisor=supervisor,
            name=f"acp errors of {backend.command}",
        )
        self._at_end = AsyncExitStack()
        self._transport: asyncio.SubprocessTransport | None = None
        self._tree: ProcessTree | None = None
        self._connection: ClientSideConnection | None = None
        self._session = ""
        self._counted = 0

    async def ask(self, asked: Asked) -> Answer:
        """Send one prompt and wait for its end. Raises BackendFailed.

        After an abort the answer is what came so far.
        """
        first = self._connection is None
        if first:
            await self._guard(self._open(asked), asked, limit_s=_START_S)
            if asked.token.aborted:
                return Answer("")
        text = with_system(asked.agent, asked.prompt) if first else asked.prompt
        self._client.begin(asked)
        forget = asked.token.on_stop(self._on_stop)
        try:
            reason = await self._guard(self._prompt(text), asked)
        finally:
            forget()
            self._client.end()
        if reason == "refusal":
            raise BackendFailed("BACKEND_REFUSED", command=self._backend.command, retryable=False)
        early = reason in {"max_tokens", "max_turn_requests"}
        return Answer(self._client.text, self._usage(), self._client.records, early=early)

    async def close(self) -> None:
        """Close the connection and end the program with all it started."""
        connection, self._connection = self._connection, None
        if connection is not None:
            # A program that is gone cannot take the goodbye; the library raises that here.
            with suppress(OSError):
                await connection.close()
        tree, self._tree = self._tree, None
        if tree is not None:
            await self._lanes.work(tree.end)
        if self._transport is not None:
            self._transport.close()
        await self._at_end.aclose()
        self._errors.close()

    async def _open(self, asked: Asked) -> None:
        backend = self._backend
        key = f"acp:{asked.job.run_id}:{asked.agent.name}"
        folder = Path(backend.cwd or asked.agent.cwd or ".")
        await self._lanes.work(end_orphans, key)
        reader, writer = await self._start(folder, key)
        connection = connect_to_agent(cast("Client", self._client), writer, reader)
        self._connection = connection
        await connection.initialize(
            PROTOCOL_VERSION,
            client_capabilities=ClientCapabilities(),
            client_info=Implementation(name="oma-desktop", version="1"),
        )
        opened = await connection.new_session(cwd=str(folder), mcp_servers=[])
        self._session = opened.session_id

    async def _start(
        self, folder: Path, key: str
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        loop = asyncio.get_running_loop()
        mark = new_mark(key)
        transport, protocol = await loop.subprocess_exec(
            lambda: SubprocessStreamProtocol(limit=_LINE, loop=loop),
            self._backend.command,
            *self._backend.args,
            stdin=PIPE,
            stdout=PIPE,
            stderr=self._errors.fileno(),
            cwd=folder,
            env={**environment(self._environ, self._backend), MARK: mark},
            start_new_session=sys.platform != "win32",
        )
        self._transport = transport
        await self._at_end.enter_async_context(self._short)
        self._tree = ProcessTree(transport.get_extra_info("subprocess"), mark)
        process = asyncio.subprocess.Process(transport, protocol, loop)
        assert process.stdin is not None
        assert process.stdout is not None
        return process.stdout, process.stdin

    async def _prompt(self, text: str) -> str:
        assert self._connection is not None
        reply = await self._connection.prompt(self._session, [text_block(text)])
        return reply.stop_reason

    def _on_stop(self, reason: StopReason) -> None:
        connection = self._connection
        if reason is not StopReason.SUSPEND and connection is not None:
            self._supervisor.spawn(_cancel(connection, self._session), name="acp cancel")

    async def _guard(
        self, work: Awaitable[T], asked: Asked, *, limit_s: float | None = None
    ) -> T | None:
        """Do it unless a stop comes first (None then). Raises BackendFailed."""
        outcome = await self._race.run(
            work,
            name=f"acp {asked.agent.name}",
            token=asked.token,
            only_abort=True,
            grace_s=_CANCEL_S,
            limit_s=limit_s,
        )
        if outcome.ended is Ended.DONE:
            return outcome.value
        if outcome.ended is Ended.STOPPED or asked.token.aborted:
            return None
        command = self._backend.command
        if isinstance(outcome.error, OSError) and self._transport is None:
            reason = outcome.error.strerror or str(outcome.error)
            raise BackendFailed(
                "BACKEND_NOT_STARTED", command=command, reason=reason, retryable=False
            )
        raise BackendFailed("BACKEND_BROKEN", command=command, reason=self._why(outcome.error))

    def _why(self, error: Exception | None) -> str:
        """What the agent answered, else the end of its error output."""
        if isinstance(error, RequestError):
            return said(str(error))
        return said(self._errors.tail(_HEARD) or str(error or "no answer"))

    def _usage(self) -> TokenUsage | None:
        """The growth of the context since the last turn, all counted as input (engine.md 10.3)."""
        now = self._client.context_tokens
        if now is None:
            return None
        grown, self._counted = max(0, now - self._counted), now
        return {"input_tokens": grown, "output_tokens": 0}


async def _cancel(connection: ClientSideConnection, session: str) -> None:
    with suppress(ConnectionError, RequestError):
        await connection.cancel(session)
