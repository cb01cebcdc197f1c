"""Runs shell commands with bash (engine.md 9.3); see `command` for how a program is run."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from oma_desktop.base.clock import Clock
from oma_desktop.base.lanes import Lanes
from oma_desktop.engine.cancel import CancelToken
from oma_desktop.engine.tools.builtin.command import (
    MAX_SPOOL,
    NOT_STARTED,
    STOPPED,
    TIMED_OUT,
    TOO_MUCH,
    Command,
    CommandEnd,
    CommandRunner,
)
from oma_desktop.engine.tools.builtin.refusal import Refusal

__all__ = ["NOT_STARTED", "STOPPED", "TIMED_OUT", "TOO_MUCH", "Shell", "ShellEnd", "find_bash"]

ShellEnd = CommandEnd


class Shell:
    """Starts commands with `environ` and nothing else; used by any number of calls at a time."""

    def __init__(
        self,
        *,
        clock: Clock,
        lanes: Lanes,
        environ: Mapping[str, str],
        max_spool: int = MAX_SPOOL,
    ) -> None:
        self._environ = dict(environ)
        self._runner = CommandRunner(clock=clock, lanes=lanes, max_spool=max_spool)

    async def run(
        self, command: str, *, key: str, cwd: Path, timeout_s: float, token: CancelToken
    ) -> ShellEnd:
        """Run `command` in `cwd`; when this returns nothing of it lives any more.

        `key` names the call, see Command. Raises Refusal SHELL_UNAVAILABLE, WORKSPACE_MISSING,
        NOT_STARTED.
        """
        bash = find_bash(self._environ.get("PATH"))
        if bash is None:
            raise Refusal("SHELL_UNAVAILABLE", "There is no bash on this computer.")
        started = Command((bash, "-c", command), key, cwd, self._environ, timeout_s=timeout_s)
        return await self._runner.run(started, token)


def find_bash(path: str | None, *, windows: bool = sys.platform == "win32") -> str | None:
    """Return the first bash of `path`. On Windows not that of the system folder, which opens
    another system; and never cmd or PowerShell, which would read the same line differently.
    """
    if not windows:
        return shutil.which("bash", path=path)
    system = os.path.normcase(os.environ.get("SYSTEMROOT", r"C:\Windows"))
    for folder in (path or "").split(os.pathsep):
        found = shutil.which("bash", path=folder)
        if found and not os.path.normcase(found).startswith(system):
            return found
    return None
