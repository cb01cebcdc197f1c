"""One writer per run in a database: the lease row of formats.md 1.7.

A row holds a token, a line feed and the fields of the lock file. Times in it are the server's, so
that two computers with different clocks agree how old a heartbeat is. The token fences every write:
a writer that slept while somebody else took over cannot overwrite what that one saved.
"""

from __future__ import annotations

import os
import secrets
import socket
import threading
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from oma_desktop.model.errors import Locked, StoreError
from oma_desktop.store.database import DatabaseStore, Fence, not_written
from oma_desktop.store.lock_file import LockKind, LockOwner, is_stale, parse_owner
from oma_desktop.store.processes import process_started_at

_ATTEMPTS: Final = 5
_guard = threading.Lock()
_ours: set[tuple[int, str]] = set()
"""Process id and token of every lease this process holds or is taking."""


@dataclass(frozen=True, slots=True)
class LeaseState:
    """A lease row and its judgement; `owner` is there when the kind is LIVE or STALE."""

    kind: LockKind
    row: bytes | None = None
    owner: LockOwner | None = None


def judge_lease(row: bytes | None, *, now: datetime, host: str | None = None) -> LeaseState:
    """Tell what a lease row means at `now`, the server's time."""
    if row is None:
        return LeaseState(LockKind.FREE)
    token, _, document = row.partition(b"\n")
    owner = parse_owner(document)
    if owner is None or owner.token.encode() != token:
        return LeaseState(LockKind.UNREADABLE, row)
    stale = is_stale(owner, now=now, host=host) or _is_left_over(owner, host)
    return LeaseState(LockKind.STALE if stale else LockKind.LIVE, row, owner)


def _is_left_over(owner: LockOwner, host: str | None) -> bool:
    """Whether this very process left the row behind, for instance when the server went away."""
    if (owner.pid, owner.host) != (os.getpid(), host or socket.gethostname()):
        return False
    with _guard:
        return (owner.pid, owner.token) not in _ours


class Lease:
    """The lease of one run. While it is held, the store writes for it and for nobody else.

    Invariants: another owner's living row is never replaced or removed; after LEASE_LOST nothing
    of this store instance is written any more. Safe from several threads.
    """

    def __init__(self, rows: DatabaseStore, run: str, *, app: str, host: str | None = None) -> None:
        self.run = run
        self.replaced: LockOwner | None = None
        """The dead owner this lease was taken over from, for a notice."""
        self._rows = rows
        self._app = app
        self._host = host or socket.gethostname()
        self._turn = threading.RLock()
        self._row: bytes | None = None
        self._owner: LockOwner | None = None

    @property
    def owner(self) -> LockOwner | None:
        """What the row says of us while we hold it."""
        return self._owner

    @property
    def held(self) -> bool:
        """Whether this instance has the lease, as far as it knows."""
        return self._owner is not None

    def acquire(self, *, force: bool = False) -> None:
        """Take the lease, over from a dead owner if need be.

        `force` takes over an unreadable row, never one of a living owner. Raises Locked
        LEASE_HELD, LEASE_UNREADABLE, LEASE_CONTENDED; StoreError when the server fails.
        """
        with self._turn:
            if self._owner is not None:
                raise Locked("LEASE_HELD", **self._facts(self._owner))
            owner = self._describe(secrets.token_hex(16))
            with _guard:
                _ours.add((owner.pid, owner.token))
            try:
                self._take(owner, force=force)
            except BaseException:
                self._forget(owner)
                raise

    def _take(self, owner: LockOwner, *, force: bool) -> None:
        for _ in range(_ATTEMPTS):
            glance = self._rows.glance()
            state = judge_lease(glance.leases.get(self.run), now=glance.now, host=self._host)
            if state.kind is LockKind.LIVE and state.owner is not None:
                raise Locked("LEASE_HELD", **self._facts(state.owner))
            if state.kind is LockKind.UNREADABLE and not force:
                raise Locked("LEASE_UNREADABLE", path=self._rows.path, run=self.run)
            fresh = replace(owner, heartbeat_at=glance.now)
            if self._rows.swap_lease(self.run, state.row, _row(fresh)):
                self._owner, self._row = fresh, _row(fresh)
                self._rows.fence = Fence(self.run, fresh.token)
                self.replaced = state.owner
                return
        raise Locked("LEASE_CONTENDED", path=self._rows.path, run=self.run)

    def verify(self) -> None:
        """Raise Locked (LEASE_LOST) unless the row still is ours."""
        with self._turn:
            owner = self._held()
            row = self._rows.lease(self.run)
            if row is None or row.partition(b"\n")[0] != owner.token.encode():
                raise Locked("LEASE_LOST", path=self._rows.path, run=self.run)
            self._row = row

    def beat(self) -> None:
        """Write the server's present time into the row; call it every two seconds.

        Raises Locked (LEASE_LOST) when the row is no longer ours: nothing may be written then.
        Raises WriteFailed when the server fails; try again next time.
        """
        with self._turn:
            owner = self._held()
            try:
                self._beat(owner)
            except StoreError as error:
                raise not_written(error) from None

    def _beat(self, owner: LockOwner) -> None:
        # The start is read again: it follows steps of the system clock, as a taker's look does.
        started = process_started_at(owner.pid) or owner.process_started_at
        now = self._rows.glance().now
        fresh = replace(owner, heartbeat_at=now, process_started_at=started)
        if not self._rows.swap_lease(self.run, self._row, _row(fresh)):
            self.verify()  # an earlier beat may have been written though its answer was lost
            if not self._rows.swap_lease(self.run, self._row, _row(fresh)):
                raise Locked("LEASE_LOST", path=self._rows.path, run=self.run)
        self._owner, self._row = fresh, _row(fresh)

    def release(self) -> bool:
        """Give the lease back; False when it was no longer ours or the server did not answer.

        The fence stays: a store whose lease was given back writes nothing more.
        """
        with self._turn:
            owner = self._owner
            if owner is None:
                return False
            released = False
            with suppress(StoreError):
                released = self._remove(owner)
            self._owner = self._row = None
            self._forget(owner)
            return released

    def _remove(self, owner: LockOwner) -> bool:
        if self._rows.swap_lease(self.run, self._row, None):
            return True
        row = self._rows.lease(self.run)
        ours = row is not None and row.startswith(owner.token.encode() + b"\n")
        return ours and self._rows.swap_lease(self.run, row, None)

    def _held(self) -> LockOwner:
        if self._owner is None:
            raise Locked("LEASE_LOST", path=self._rows.path, run=self.run)
        return self._owner

    def _describe(self, token: str) -> LockOwner:
        pid = os.getpid()
        now = self._rows.glance().now
        return LockOwner(pid, process_started_at(pid) or now, self._host, self._app, token, now)

    def _forget(self, owner: LockOwner) -> None:
        with _guard:
            _ours.discard((owner.pid, owner.token))

    def _facts(self, owner: LockOwner) -> dict[str, object]:
        return {"path": self._rows.path, "run": self.run, **owner.facts()}


def _row(owner: LockOwner) -> bytes:
    return owner.token.encode() + b"\n" + owner.encode()
