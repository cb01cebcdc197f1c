"""Who may write a store now, as far as its lock file tells (ux.md C2; formats.md 1.7)."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from oma_desktop.model.errors import OmaError
from oma_desktop.model.view import Owner, OwnerKind
from oma_desktop.store.access import Stamp
from oma_desktop.store.file_calls import FileStamp
from oma_desktop.store.lease import LeaseState
from oma_desktop.store.lock_file import LockKind, LockState, read_owner
from oma_desktop.store.wall_clock import WallClock

NO_WRITER: Final = Owner(OwnerKind.NO_WRITER)
NOT_KNOWN: Final = Owner(OwnerKind.NOT_KNOWN)


@dataclass(frozen=True, slots=True)
class Look:
    """One glance at a store: the version there (None: no file) and its owner by the lock.

    `owners` names the writer of every run of a database; `error` says why there was nothing to see.
    """

    stamp: Stamp | None
    owner: Owner
    trouble: str = ""
    owners: Mapping[str, Owner] | None = None
    error: OmaError | None = None


def look_at(path: str, *, clock: WallClock) -> Look:
    """Stat the file and judge its lock; blocking, but no more than two small calls.

    A file that cannot be looked at (no rights, a dead mount) is `trouble`, not an exception.
    """
    owner = owner_of(path, clock=clock)
    try:
        return Look(FileStamp.read(Path(path)), owner)
    except OSError as error:
        return Look(None, owner, trouble=error.strerror or type(error).__name__)


def owner_of(path: str, *, clock: WallClock) -> Owner:
    """Return the owner; an unreadable lock is somebody we do not know."""
    try:
        return owner_from(read_owner(Path(path), clock=clock))
    except OSError:
        return NOT_KNOWN


def owner_from(state: LockState) -> Owner:
    """Translate a judged lock file."""
    if state.kind is LockKind.UNREADABLE:
        return NOT_KNOWN
    held = state.owner
    if held is None or state.kind is not LockKind.LIVE:
        return NO_WRITER
    is_ours = held.pid == os.getpid() and held.host == socket.gethostname()
    return Owner(
        OwnerKind.THIS_APP if is_ours else OwnerKind.OTHER_PROCESS,
        pid=held.pid,
        host=held.host,
        app=held.app,
        heartbeat_at=held.heartbeat_at,
        since=held.process_started_at,
    )


def owner_of_lease(state: LeaseState) -> Owner:
    """Translate a judged lease row."""
    return owner_from(LockState(Path(), state.kind, state.owner))


def are_same_owners(left: Mapping[str, Owner] | None, right: Mapping[str, Owner] | None) -> bool:
    """Whether two looks at a database saw the same writers."""
    a, b = left or {}, right or {}
    return a.keys() == b.keys() and all(is_same_owner(a[run], b[run]) for run in a)


def is_same_owner(left: Owner, right: Owner) -> bool:
    """Whether two looks saw the same owner; heartbeats come every two seconds and do not count."""
    return (left.kind, left.pid, left.host) == (right.kind, right.pid, right.host)
