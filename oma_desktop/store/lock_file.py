"""The writer lock as it lies on disk, and what it says about its owner (formats.md 1.7).

Readers use `read_owner` and never lock; taking and keeping the lock is `store.lock`.
"""

from __future__ import annotations

import json
import re
import socket
import stat
import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Final

from oma_desktop.base.ms_iso import to_ms_iso
from oma_desktop.store.atomic import resolve
from oma_desktop.store.processes import lives
from oma_desktop.store.wall_clock import WallClock

START_TOLERANCE_S: Final = 2.0
FOREIGN_HEARTBEAT_S: Final = 60.0
_MAX_BYTES: Final = 64 * 1024
_TOKEN: Final = re.compile(r"[0-9A-Za-z_-]{1,64}\Z")
# An owner that has created the file and not yet written it, or is rewriting it right now.
_TORN_PAUSES_S: Final = (0.005, 0.01, 0.02, 0.04)


class LockKind(StrEnum):
    """What a reader may conclude."""

    FREE = "free"
    LIVE = "live"
    STALE = "stale"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class LockOwner:
    """The owner as it describes itself; times are aware UTC."""

    pid: int
    process_started_at: datetime
    host: str
    app: str
    token: str
    heartbeat_at: datetime

    def encode(self) -> bytes:
        """Return the bytes of the lock file; their number does not change from beat to beat."""
        document = {
            "version": 1,
            "pid": self.pid,
            "processStartedAt": to_ms_iso(self.process_started_at),
            "host": self.host,
            "app": self.app,
            "token": self.token,
            "heartbeatAt": to_ms_iso(self.heartbeat_at),
        }
        return json.dumps(document, separators=(",", ":")).encode()

    def facts(self) -> dict[str, object]:
        """Return what a sentence about a busy store needs."""
        return {
            "pid": self.pid,
            "host": self.host,
            "app": self.app,
            "since": to_ms_iso(self.process_started_at),
            "heartbeat": to_ms_iso(self.heartbeat_at),
        }


@dataclass(frozen=True, slots=True)
class LockState:
    """A lock file and its judgement; `owner` is there when the kind is LIVE or STALE."""

    path: Path
    kind: LockKind
    owner: LockOwner | None = None


def lock_path(store_path: Path) -> Path:
    """Return `<realpath of the store>.lock`."""
    target = resolve(store_path)
    return target.with_name(f"{target.name}.lock")


def read_owner(store_path: Path, *, clock: WallClock, host: str | None = None) -> LockState:
    """Tell who writes the store at `store_path`, without touching anything."""
    return read_lock(lock_path(store_path), clock=clock, host=host)


def read_lock(path: Path, *, clock: WallClock, host: str | None = None) -> LockState:
    """Read and judge one lock file; a half-written one is read again for at most 75 ms.

    A file that the system does not let us read is UNREADABLE as well.
    """
    for pause in (*_TORN_PAUSES_S, None):
        try:
            owner = _read(path)
        except (FileNotFoundError, NotADirectoryError):
            if not path.is_symlink():
                return LockState(path, LockKind.FREE)
            owner = None  # a link to nothing: not free, its name is taken
        except OSError:
            owner = None
        if owner is not None:
            stale = is_stale(owner, now=clock.now(), host=host)
            kind = LockKind.STALE if stale else LockKind.LIVE
            return LockState(path, kind, owner)
        if pause is not None:
            time.sleep(pause)
    return LockState(path, LockKind.UNREADABLE)


def is_stale(owner: LockOwner, *, now: datetime, host: str | None = None) -> bool:
    """Tell whether an owner is gone: its process on this host, its heartbeat on another."""
    if owner.host == (host or socket.gethostname()):
        return not lives(
            owner.pid, started_at=owner.process_started_at, tolerance_s=START_TOLERANCE_S
        )
    return now - owner.heartbeat_at > timedelta(seconds=FOREIGN_HEARTBEAT_S)


def _read(path: Path) -> LockOwner | None:
    if not stat.S_ISREG(path.stat().st_mode):
        return None  # opening a pipe would wait for whoever writes it
    with path.open("rb") as file:
        data = file.read(_MAX_BYTES)
    return parse_owner(data)


def parse_owner(data: bytes) -> LockOwner | None:
    """Return what an owner wrote of itself, None when that cannot be used."""
    try:
        return _parse(json.loads(data.decode("utf-8")))
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def _parse(document: object) -> LockOwner:
    if not isinstance(document, dict) or document.get("version") != 1:
        raise TypeError("version")
    pid, token = document["pid"], document["token"]
    if not isinstance(pid, int) or isinstance(pid, bool) or pid < 1:
        raise TypeError("pid")
    if not _TOKEN.match(token):  # it becomes part of a file name
        raise ValueError("token")
    host, app = document["host"], document["app"]
    if not isinstance(host, str) or not isinstance(app, str):
        raise TypeError("host, app")
    started, beat = (_time(document[key]) for key in ("processStartedAt", "heartbeatAt"))
    return LockOwner(pid, started, host, app, token, beat)


def _time(text: str) -> datetime:
    at = datetime.fromisoformat(text)
    if at.tzinfo is None:
        raise ValueError("no time zone")
    return at
