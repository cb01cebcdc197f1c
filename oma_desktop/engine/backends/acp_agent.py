"""Agents that speak the Agent Client Protocol: a program and session each (engine.md 10.3)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING

from oma_desktop.base.clock import Clock
from oma_desktop.base.lanes import Lanes
from oma_desktop.base.supervisor import Supervisor
from oma_desktop.engine.backends.answer import Answer, Asked
from oma_desktop.model.backend import AcpBackend

if TYPE_CHECKING:
    from oma_desktop.engine.backends.acp_session import AcpSession


class AcpAgents:
    """Keeps the sessions of one attempt, by agent. A session that failed is not used again."""

    def __init__(
        self, *, clock: Clock, lanes: Lanes, supervisor: Supervisor, environ: Mapping[str, str]
    ) -> None:
        self._clock = clock
        self._lanes = lanes
        self._supervisor = supervisor
        self._environ = environ
        self._sessions: dict[str, AcpSession] = {}
        self._turns: dict[str, asyncio.Lock] = {}

    async def ask(self, backend: AcpBackend, asked: Asked) -> Answer:
        """One prompt turn. Raises BackendFailed."""
        # The SDK takes a second to import: only runs with such an agent pay for it.
        from oma_desktop.engine.backends.acp_session import AcpSession  # noqa: PLC0415

        name = asked.agent.name
        async with self._turns.setdefault(name, asyncio.Lock()):
            session = self._sessions.get(name)
            if session is None:
                session = AcpSession(
                    backend,
                    clock=self._clock,
                    lanes=self._lanes,
                    supervisor=self._supervisor,
                    environ=self._environ,
                )
            usable = False
            try:
                answer = await session.ask(asked)
                usable = not asked.token.aborted
            finally:
                if usable:
                    self._sessions[name] = session
                else:
                    self._sessions.pop(name, None)
                    await session.close()
        return answer

    async def close(self) -> None:
        """End every program."""
        sessions = list(self._sessions.values())
        self._sessions.clear()
        for session in sessions:
            await session.close()
