"""What a person is asked before code from outside the program is imported or started."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

from oma_desktop.model.named_functions import named_functions
from oma_desktop.model.runfile import RunFile


@dataclass(frozen=True, slots=True)
class TrustQuestion:
    """One folder, and what the run file in it wants: `functions` imported, `commands` started.

    A yes counts for the folder, now and later, whatever its files say then (product.md 7).
    """

    folder: Path
    run_file: Path | None
    functions: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """All that would be imported or started."""
        return (*self.functions, *self.commands)


def trust_question(
    run_file: RunFile, folder: Path, *, source: Path | None = None
) -> TrustQuestion | None:
    """Return the question a run file gives rise to; None when it brings no code of its own."""
    question = TrustQuestion(
        folder.resolve(),
        source,
        _functions(run_file),
        _commands(run_file),
    )
    return question if question.names else None


def _functions(run_file: RunFile) -> tuple[str, ...]:
    """The functions of tools, then those of hooks, each named once."""
    tools = [entry.use for entry in run_file.tools.python]
    hooks = [hook.use for hook in named_functions(run_file)]
    return tuple(dict.fromkeys([*tools, *hooks]))


def _commands(run_file: RunFile) -> tuple[str, ...]:
    """The MCP servers, then the agents that are programs of their own."""
    agents = run_file.team.agents if run_file.team is not None else []
    programs = [
        *run_file.tools.mcp.items(),
        *((agent.name, agent.backend) for agent in agents if agent.backend is not None),
    ]
    return tuple(f"{name}: {shlex.join([p.command, *p.args])}" for name, p in programs)
