"""What a program of others writes on its standard error: its end is kept, never all of it.

The program writes into a file without a name, straight and without waiting for us. Once in a while
the file is cut down to its end, so that a program that talks for days fills no disk.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from oma_desktop.base.clock import Clock
from oma_desktop.base.lanes import Lanes
from oma_desktop.base.supervisor import Supervisor

LIMIT: Final = 1_000_000
"""Bytes the file may have when it is looked at; between two looks it can grow beyond."""
TAIL: Final = 64_000
"""Bytes that stay when it is cut."""
LOOK_S: Final = 1.0


class ErrorOutput:
    """One such file, for one program. `close` it; it has a file number for the program to write to.

    Writers append: after a cut they go on at the new end.
    """

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - see `close`
        _append_only(self._file.fileno())
        self._guard = threading.Lock()

    def fileno(self) -> int:
        """The number of the file."""
        return self._file.fileno()

    @property
    def size(self) -> int:
        """Bytes in the file now."""
        with self._guard:
            return self._file.seek(0, 2)

    def tail(self, n_bytes: int) -> str:
        """Return the last of what was written; bytes that are no text are replaced."""
        with self._guard:
            return self._tail(n_bytes).decode("utf-8", "replace")

    def trim(self) -> None:
        """Cut the file to its end when it is too long. Blocking; no writer is disturbed."""
        with self._guard:
            if self._file.closed or self._file.seek(0, 2) <= LIMIT:
                return
            kept = self._tail(TAIL)
            self._file.truncate(0)
            self._file.seek(0)  # the place is shared with the program where there is no appending
            self._file.write(kept)

    def close(self) -> None:
        """Forget it; the program may go on writing, into nothing."""
        with self._guard:
            self._file.close()

    def _tail(self, n_bytes: int) -> bytes:
        size = self._file.seek(0, 2)
        self._file.seek(max(0, size - n_bytes))
        return self._file.read()


def _append_only(number: int) -> None:
    """Let every writer go on at the end, wherever that is by then."""
    if sys.platform != "win32":
        import fcntl  # noqa: PLC0415 - there is none on Windows

        fcntl.fcntl(number, fcntl.F_SETFL, fcntl.fcntl(number, fcntl.F_GETFL) | os.O_APPEND)


@asynccontextmanager
async def kept_short(
    output: ErrorOutput, *, clock: Clock, lanes: Lanes, supervisor: Supervisor, name: str
) -> AsyncIterator[None]:
    """Look after the file for the length of the block. `name` is that of the task that does."""
    task = supervisor.spawn(_look_after(output, clock, lanes), name=name)
    try:
        yield
    finally:
        if task is not None:
            task.cancel()
            await asyncio.wait({task})


async def _look_after(output: ErrorOutput, clock: Clock, lanes: Lanes) -> None:
    while True:
        await clock.sleep(LOOK_S)
        await lanes.work(output.trim)
