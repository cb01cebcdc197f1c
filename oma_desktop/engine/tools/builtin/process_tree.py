"""A command and everything it started: looked at without disturbing it, ended without a rest.

A process belongs to the command when it is in its process group, descends from it, or carries its
mark in the environment; so a child that made its own session or lost its parents is found too.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final

import psutil

from oma_desktop.store.processes import lives

MARK: Final = "OMA_TOOL_CALL"
_GRACE_S: Final = 0.3
_LOOK_S: Final = 0.02
_ROUNDS: Final = 50
# Looking without reaping; Windows needs none, macOS has none.
_PEEK: Final = getattr(os, "waitid", None)
_BY_PID: Final = getattr(os, "P_PID", 0)
_UNREAPED: Final = sum(getattr(os, name, 0) for name in ("WEXITED", "WNOHANG", "WNOWAIT"))
_START_TOLERANCE_S: Final = 2.0


def new_mark(key: str) -> str:
    """Return a mark nothing else has: which call it is, which process of ours runs it, and chance.

    The same call gets the same first part again, in whatever process.
    """
    own = psutil.Process()
    return f"{_digest(key)}:{own.pid}:{own.create_time():.2f}:{secrets.token_hex(8)}"


def end_orphans(key: str) -> None:
    """Kill what an earlier run of this very call left when the program was killed. Blocking.

    Nothing is touched while the process that started it lives.
    """
    start = f"{_digest(key)}:"
    for pid in psutil.pids():
        with suppress(psutil.Error, OSError, ValueError):
            process = psutil.Process(pid)
            mark = process.environ().get(MARK, "")
            if mark.startswith(start) and not _owner_lives(mark):
                process.kill()


def end_marked(mark: str) -> None:
    """Kill every process that carries `mark`, also those that left their parent. Blocking."""
    for _ in range(_ROUNDS):
        living = list(_marked(mark))
        if not living:
            return
        for process in living:
            with suppress(psutil.Error):
                process.kill()
        time.sleep(_LOOK_S)


def _marked(mark: str) -> Iterator[psutil.Process]:
    for pid in psutil.pids():
        with suppress(psutil.Error, OSError):
            process = psutil.Process(pid)
            mine = process.environ().get(MARK) == mark and pid != os.getpid()
            if mine and process.status() != psutil.STATUS_ZOMBIE:
                yield process


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "backslashreplace")).hexdigest()[:32]


def _owner_lives(mark: str) -> bool:
    _, pid, began, _ = mark.split(":")
    started_at = datetime.fromtimestamp(float(began), UTC)
    return lives(int(pid), started_at=started_at, tolerance_s=_START_TOLERANCE_S)


class ProcessTree:
    """One started command. `mark` is the value of MARK in its environment.

    Invariant: until `end` the leader is not reaped, so its id, and the group's, cannot come to mean
    somebody else's processes.
    """

    def __init__(self, process: subprocess.Popen[bytes], mark: str) -> None:
        self._process = process
        self._mark = mark

    @property
    def exited(self) -> bool:
        """Whether the leader is done; what it left behind may go on."""
        if self._process.returncode is not None:
            return True
        if _PEEK is not None:
            try:
                return _PEEK(_BY_PID, self._process.pid, _UNREAPED) is not None
            except ChildProcessError:
                return True
        return self._process.poll() is not None

    def abandon(self) -> None:
        """Kill all at once and reap the leader; for when nobody can wait any more."""
        self._kill()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_GRACE_S)

    def _kill(self) -> None:
        self._kill_group()
        for process in self._members():
            with suppress(psutil.Error):
                process.kill()

    def end(self) -> int:
        """End whatever still runs, a moment after asking it to; return the exit status of the
        leader as a shell would say it (128 + signal). Blocking, a second at most.
        """
        left = list(self._members())
        if left:
            for process in left:
                with suppress(psutil.Error):
                    process.terminate()
            until = time.monotonic() + _GRACE_S
            while time.monotonic() < until and any(self._members()):
                time.sleep(_LOOK_S)
        for _ in range(_ROUNDS):
            if not any(self._members()):
                break
            self._kill()
            time.sleep(_LOOK_S)
        code = self._process.wait()
        return 128 - code if code < 0 else code

    def _kill_group(self) -> None:
        if self._process.returncode is not None:
            return
        if sys.platform == "win32":
            self._process.kill()
        else:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def _members(self) -> Iterator[psutil.Process]:
        """Yield what lives of the command."""
        below = self._descendants()
        for pid in psutil.pids():
            with suppress(psutil.Error, OSError):
                process = psutil.Process(pid)
                mine = pid in below or self._is_member(process)
                if mine and process.status() != psutil.STATUS_ZOMBIE:
                    yield process

    def _descendants(self) -> frozenset[int]:
        try:
            leader = psutil.Process(self._process.pid)
            return frozenset(p.pid for p in leader.children(recursive=True))
        except psutil.Error:
            return frozenset()

    def _is_member(self, process: psutil.Process) -> bool:
        if process.pid == os.getpid():
            return False
        if process.pid == self._process.pid:
            return self._process.returncode is None
        if sys.platform != "win32" and os.getpgid(process.pid) == self._process.pid:
            return True
        return process.environ().get(MARK) == self._mark
