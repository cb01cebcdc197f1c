"""Runs one command to its end, whatever it does (engine.md 9.3).

Output goes to nameless files and the command is looked at now and then: that works on every event
loop, needs no thread, and a child that keeps its output open holds nobody up.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from oma_desktop.base.clock import Clock
from oma_desktop.base.lanes import Lanes
from oma_desktop.engine.cancel import CancelToken
from oma_desktop.engine.tools.builtin.pauses import pauses
from oma_desktop.engine.tools.builtin.process_tree import (
    MARK,
    ProcessTree,
    end_orphans,
    new_mark,
)
from oma_desktop.engine.tools.builtin.refusal import Refusal, quoted

TIMED_OUT: Final = 124
NOT_STARTED: Final = 127
STOPPED: Final = 130
TOO_MUCH: Final = 153
"""What a shell says of a command that was ended for writing too large a file (128 + SIGXFSZ)."""
MAX_SPOOL: Final = 64 * 1024 * 1024
"""Bytes a command may write before it is ended; they lie on disk, not in memory."""
_HEAD: Final = 700_000
_TAIL: Final = 300_000
"""Bytes of each stream that are read back."""


@dataclass(frozen=True, slots=True)
class ShellEnd:
    """How a command ended. `why` says what ended it, empty when it did so itself."""

    code: int
    stdout: str
    stderr: str
    why: str = ""


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
        self._clock = clock
        self._lanes = lanes
        self._environ = dict(environ)
        self._max_spool = max_spool

    async def run(
        self, command: str, *, key: str, cwd: Path, timeout_s: float, token: CancelToken
    ) -> ShellEnd:
        """Run `command` in `cwd`; when this returns nothing of it lives any more.

        `key` names the call. When the program was killed while it ran and the call is made again,
        what is left of the first time is ended before.
        Raises Refusal SHELL_UNAVAILABLE, WORKSPACE_MISSING, NOT_STARTED.
        """
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            await self._lanes.work(end_orphans, key)
            # Start and first look are one step: a cancellation in between would lose the command.
            tree = self._start(command, key, cwd, (out, err))
            try:
                code, why = await self._watch(tree, (out, err), timeout_s, token)
                status = await self._lanes.work(tree.end)
            except BaseException:
                tree.abandon()
                raise
            stdout, stderr = await self._lanes.work(lambda: (_read(out), _read(err)))
        return ShellEnd(status if code is None else code, stdout, stderr, why)

    def _start(
        self, command: str, key: str, cwd: Path, files: tuple[IO[bytes], IO[bytes]]
    ) -> ProcessTree:
        bash = find_bash(self._environ.get("PATH"))
        if bash is None:
            raise Refusal("SHELL_UNAVAILABLE", "There is no bash on this computer.")
        if not cwd.is_dir():
            raise Refusal("WORKSPACE_MISSING", f"The folder {quoted(cwd)} does not exist.")
        mark = new_mark(key)
        flags = 0
        if sys.platform == "win32":
            flags = subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW
        try:
            process = subprocess.Popen(
                [bash, "-c", command],
                cwd=cwd,
                env={**self._environ, MARK: mark},
                stdin=subprocess.DEVNULL,
                stdout=files[0],
                stderr=files[1],
                start_new_session=True,
                creationflags=flags,
            )
        except (OSError, ValueError) as error:
            raise Refusal("NOT_STARTED", f"bash could not be started: {error}") from error
        return ProcessTree(process, mark)

    async def _watch(
        self,
        tree: ProcessTree,
        files: tuple[IO[bytes], ...],
        timeout_s: float,
        token: CancelToken,
    ) -> tuple[int | None, str]:
        """Wait for the end, or for a reason to make one."""
        end = self._clock.monotonic() + timeout_s
        for pause in pauses():
            if tree.exited:
                break
            if token.aborted:
                return STOPPED, "the run was stopped"
            if self._clock.monotonic() >= end:
                return TIMED_OUT, f"stopped after {round(timeout_s * 1000)} ms"
            if sum(os.fstat(file.fileno()).st_size for file in files) > self._max_spool:
                return TOO_MUCH, f"stopped: more than {self._max_spool} bytes of output"
            await self._clock.sleep(pause)
        return None, ""


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


def _read(file: IO[bytes]) -> str:
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    if size <= _HEAD + _TAIL:
        data = file.read()
    else:
        head = file.read(_HEAD)
        file.seek(size - _TAIL)
        data = head + f"\n[... {size} bytes in all ...]\n".encode() + file.read()
    return data.decode("utf-8", "replace")
