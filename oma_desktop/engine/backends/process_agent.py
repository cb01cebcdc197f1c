"""An agent that is a command: a fresh process per task, its output the answer (engine.md 10.2)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from oma_desktop.engine.backends.answer import Answer, Asked
from oma_desktop.engine.backends.environment import environment
from oma_desktop.engine.backends.faults import BackendFailed
from oma_desktop.engine.backends.prompt import with_system
from oma_desktop.engine.tools.builtin.command import Command, CommandRunner
from oma_desktop.engine.tools.builtin.refusal import Refusal
from oma_desktop.model.backend import ProcessBackend
from oma_desktop.model.json_text import cut_whole
from oma_desktop.model.redaction import redact_text

_SAID = 600
"""Characters of an error output that are kept."""


class ProcessAgent:
    """Runs commands for agents; nothing of one lives on when its task is done."""

    def __init__(self, runner: CommandRunner, environ: Mapping[str, str]) -> None:
        self._runner = runner
        self._environ = environ

    async def ask(self, backend: ProcessBackend, asked: Asked) -> Answer:
        """Return what it printed. Raises BackendFailed.

        After an abort the answer is what it had printed so far; the caller knows of the abort.
        """
        prompt = with_system(asked.agent, asked.prompt)
        last = (prompt,) if backend.input == "argument" else ()
        command = Command(
            (backend.command, *backend.args, *last),
            key=f"agent:{asked.job.run_id}:{asked.job.task_id}:{asked.agent.name}",
            cwd=Path(backend.cwd or asked.agent.cwd or "."),
            environ=environment(self._environ, backend),
            stdin=prompt.encode("utf-8", "replace") if backend.input == "stdin" else None,
        )
        try:
            end = await self._runner.run(command, asked.token, on_output=asked.on_text)
        except Refusal as refusal:
            raise BackendFailed(
                "BACKEND_NOT_STARTED", command=backend.command, reason=str(refusal), retryable=False
            ) from None
        if end.code != 0 and not asked.token.aborted:
            raise BackendFailed(
                "BACKEND_EXIT",
                command=backend.command,
                status=end.code,
                said=said(end.why or end.stderr or end.stdout),
            )
        return Answer(end.stdout.removesuffix("\n"))


def said(text: str) -> str:
    """Return the end of an error output on one line, without secrets."""
    masked = redact_text(text[-16 * _SAID :])  # line by line, before the lines are joined
    return cut_whole(" ".join(masked.split())[-_SAID:], _SAID)
