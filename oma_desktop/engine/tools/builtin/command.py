"""Runs one program to its end, whatever it does (engine.md 9.3, 10.2).

Input and output are nameless files and the program is looked at now and then: that works on every
event loop, needs no thread, and a child that keeps its output open holds nobody up.
"""

from __future__ import annotations

import codecs
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
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
"""Bytes a program may write before it is ended; they lie on disk, not in memory."""
_HEAD: Final = 700_000
_TAIL: Final = 300_000
"""Bytes of each stream that are read back."""
_LOOK: Final = 64 * 1024
"""Bytes of output that are told in one look."""


@dataclass(frozen=True, slots=True)
class Command:
    """What to start. `key` names the call: when our program was killed while it ran and the call is
    made again, what is left of the first time is ended before. `stdin` None means nothing to read.
    """

    argv: tuple[str, ...]
    key: str
    cwd: Path
    environ: Mapping[str, str]
    timeout_s: float | None = None
    stdin: bytes | None = None


@dataclass(frozen=True, slots=True)
class CommandEnd:
    """How a program ended. `why` says what ended it, empty when it did so itself."""

    code: int
    stdout: str
    stderr: str
    why: str = ""


OnOutput = Callable[[str], None]


class CommandRunner:
    """Starts programs; used by any number of calls at a time."""

    def __init__(self, *, clock: Clock, lanes: Lanes, max_spool: int = MAX_SPOOL) -> None:
        self._clock = clock
        self._lanes = lanes
        self._max_spool = max_spool

    async def run(
        self, command: Command, token: CancelToken, *, on_output: OnOutput | None = None
    ) -> CommandEnd:
        """Run it; when this returns nothing of it lives any more.

        `on_output` hears standard output while it grows. Raises Refusal WORKSPACE_MISSING,
        NOT_STARTED.
        """
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            await self._lanes.work(end_orphans, command.key)
            # Start and first look are one step: a cancellation in between would lose the program.
            tree = start(command, (out, err))
            spoken = _Spoken(out, on_output)
            try:
                code, why = await self._watch(tree, (out, err), command, token, spoken)
                status = await self._lanes.work(tree.end)
            except BaseException:
                tree.abandon()
                raise
            spoken.finish()
            stdout, stderr = await self._lanes.work(lambda: (_read(out), _read(err)))
        return CommandEnd(status if code is None else code, stdout, stderr, why)

    async def _watch(
        self,
        tree: ProcessTree,
        files: tuple[IO[bytes], ...],
        command: Command,
        token: CancelToken,
        spoken: _Spoken,
    ) -> tuple[int | None, str]:
        """Wait for the end, or for a reason to make one."""
        limit = command.timeout_s
        end = None if limit is None else self._clock.monotonic() + limit
        for pause in pauses():
            if tree.exited:
                break
            if token.aborted:
                return STOPPED, "the run was stopped"
            if limit is not None and end is not None and self._clock.monotonic() >= end:
                return TIMED_OUT, f"stopped after {round(limit * 1000)} ms"
            if sum(os.fstat(file.fileno()).st_size for file in files) > self._max_spool:
                return TOO_MUCH, f"stopped: more than {self._max_spool} bytes of output"
            spoken.look()
            await self._clock.sleep(pause)
        return None, ""


class _Spoken:
    """Tells a listener what a file grew by; its position is its own, the program's stays."""

    def __init__(self, file: IO[bytes], listener: OnOutput | None) -> None:
        self._file = file
        self._listener = listener
        self._at = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def look(self) -> None:
        """Tell what is new, a bounded piece of it."""
        if self._listener is None:
            return
        data = _read_at(self._file, _LOOK, self._at)
        self._at += len(data)
        if data and (text := self._decoder.decode(data)):
            self._listener(text)

    def finish(self) -> None:
        """Tell a last piece; the whole output is in the result in any case."""
        self.look()


def _read_at(file: IO[bytes], size: int, at: int) -> bytes:
    """Read without moving the position, which the program shares."""
    if hasattr(os, "pread"):
        return os.pread(file.fileno(), size, at)
    # Windows gives a child its own handle with its own position.
    file.seek(at)
    return file.read(size)


def start(command: Command, files: tuple[IO[bytes], IO[bytes]]) -> ProcessTree:
    """Start the program in a group of its own, marked. Raises Refusal."""
    if not command.cwd.is_dir():
        raise Refusal("WORKSPACE_MISSING", f"The folder {quoted(command.cwd)} does not exist.")
    mark = new_mark(command.key)
    flags = 0
    if sys.platform == "win32":
        flags = subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW
    with tempfile.TemporaryFile() as given:
        if command.stdin is not None:
            given.write(command.stdin)
            given.seek(0)
        try:
            process = subprocess.Popen(
                command.argv,
                cwd=command.cwd,
                env={**command.environ, MARK: mark},
                stdin=subprocess.DEVNULL if command.stdin is None else given,
                stdout=files[0],
                stderr=files[1],
                start_new_session=True,
                creationflags=flags,
            )
        except (OSError, ValueError) as error:
            name = Path(command.argv[0]).name
            raise Refusal("NOT_STARTED", f"{name} could not be started: {error}") from error
    return ProcessTree(process, mark)


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
