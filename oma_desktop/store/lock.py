"""One writer per store: taking, keeping and giving back the writer lock (formats.md 1.7)."""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import threading
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Final

from oma_desktop.model.errors import Locked, WriteFailed
from oma_desktop.store.atomic import PRIVATE_MODE, resolve, write_all, write_failed
from oma_desktop.store.file_calls import FileCalls
from oma_desktop.store.lock_file import (
    FOREIGN_HEARTBEAT_S,
    LockKind,
    LockOwner,
    LockState,
    lock_path,
    read_lock,
)
from oma_desktop.store.processes import process_started_at
from oma_desktop.store.wall_clock import WallClock

HEARTBEAT_S: Final = 2.0
_ATTEMPTS: Final = 5


class WriterLock:
    """The lock of one store, held by at most one process and one instance in it.

    Invariants: `held` only while the file at `path` is the one this instance created; another
    owner's file is never written, renamed while it lives, or removed. Safe from several threads.
    """

    def __init__(
        self, store_path: Path, *, app: str, clock: WallClock, host: str | None = None
    ) -> None:
        self.path = lock_path(store_path)
        self._store = resolve(store_path)
        self.replaced: LockOwner | None = None
        """The dead owner this lock was taken over from, for a notice."""
        self._app = app
        self._clock = clock
        self._host = host or socket.gethostname()
        self._calls = FileCalls()
        self._guard = threading.RLock()
        self._owner: LockOwner | None = None
        self._fd = -1

    @property
    def owner(self) -> LockOwner | None:
        """What the file says of us while we hold it."""
        return self._owner

    @property
    def held(self) -> bool:
        """Whether this instance has the lock, as far as it knows; `verify` looks."""
        return self._owner is not None

    def acquire(self, *, force: bool = False) -> None:
        """Take the lock, over from a dead owner if need be (then `replaced` names it).

        `force` takes over an unreadable lock file, never one of a living owner.
        Raises Locked: LOCK_HELD (facts `pid`, `host`, `app`, `since`, `path`), LOCK_UNREADABLE or
        LOCK_NOT_A_FILE; WriteFailed, which names the store, when the folder cannot be written.
        """
        with self._guard:
            if self._owner is not None:
                raise Locked("LOCK_HELD", path=str(self.path), **self._owner.facts())
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                self._acquire(force=force)
            except OSError as error:
                raise self._failed(error) from error

    def _acquire(self, *, force: bool) -> None:
        state = self._look()
        if state.kind is LockKind.UNREADABLE and self.path.is_dir():
            raise Locked("LOCK_NOT_A_FILE", path=str(self.path))  # no force takes that over
        for _ in range(_ATTEMPTS):
            if state.kind is LockKind.LIVE or (state.kind is LockKind.UNREADABLE and not force):
                break
            free = state.kind is LockKind.FREE or self._move_aside(state)
            if free and self._create():
                self.replaced = state.owner
                self._sweep()
                return
            state = self._look()
        raise busy(state)

    def _look(self) -> LockState:
        return read_lock(self.path, clock=self._clock, host=self._host)

    def _create(self) -> bool:
        """Create the file exclusively; False when somebody else was first."""
        owner = self._describe()
        try:
            fd = os.open(self.path, _FLAGS, PRIVATE_MODE)
        except FileExistsError:
            return False
        try:
            write_all(fd, memoryview(owner.encode()))
            self._calls.fsync(fd)  # an empty lock after a power cut would need a person
        except BaseException:
            os.close(fd)
            self.path.unlink()
            raise
        self._owner, self._fd = owner, fd
        return True

    def _describe(self) -> LockOwner:
        pid = os.getpid()
        now = self._clock.now()
        started = process_started_at(pid)
        return LockOwner(pid, started or now, self._host, self._app, secrets.token_hex(16), now)

    def _move_aside(self, stale: LockState) -> bool:
        """Rename a dead owner's file to `.stale-<token>`; False when another taker was first.

        A rename cannot ask what it moves, so two takers could move each other's fresh lock. Only
        the taker that created the aside name moves the lock, after it looked again.
        """
        token = stale.owner.token if stale.owner else LockKind.UNREADABLE.value
        aside = self.path.with_name(f"{self.path.name}.stale-{token}")
        if not self._claim(aside):
            return False
        try:
            now = self._look()
            if (now.kind, _token(now)) != (stale.kind, _token(stale)):
                return False
            self.path.replace(aside)
            return True
        finally:
            with contextlib.suppress(OSError):
                aside.unlink()

    def _claim(self, aside: Path) -> bool:
        # Made before the file: a taker killed while its claim is empty blocks others for a minute.
        claim = memoryview(self._describe().encode())
        for _ in range(2):
            try:
                fd = os.open(aside, _FLAGS, PRIVATE_MODE)
            except FileExistsError:
                if not self._is_left_over(aside):
                    return False
                aside.unlink(missing_ok=True)
                continue
            try:
                write_all(fd, claim)
            finally:
                os.close(fd)
            return True
        return False

    def _is_left_over(self, aside: Path) -> bool:
        """Tell whether a claim's owner died before it removed it."""
        state = read_lock(aside, clock=self._clock, host=self._host)
        if state.kind is not LockKind.UNREADABLE:
            return state.kind is not LockKind.LIVE
        try:
            age_s = self._clock.now().timestamp() - aside.stat().st_mtime
        except FileNotFoundError:
            return True
        return timedelta(seconds=age_s) > timedelta(seconds=FOREIGN_HEARTBEAT_S)

    def _sweep(self) -> None:
        with contextlib.suppress(OSError):
            for aside in self.path.parent.iterdir():
                if aside.name.startswith(f"{self.path.name}.stale-") and self._is_left_over(aside):
                    aside.unlink(missing_ok=True)

    def verify(self) -> None:
        """Raise Locked (LOCK_LOST) unless the file at `path` is still the one we created."""
        with self._guard:
            if self._owner is None:
                raise Locked("LOCK_LOST", path=str(self.path))
            mine = os.fstat(self._fd)
            try:
                there = self.path.stat()
            except FileNotFoundError:
                there = None
            except OSError as error:
                raise self._failed(error) from error
            if there is None or (there.st_ino, there.st_dev) != (mine.st_ino, mine.st_dev):
                raise Locked("LOCK_LOST", path=str(self.path))

    def beat(self) -> None:
        """Rewrite the file in place with the present time; call it every `HEARTBEAT_S`.

        Raises Locked (LOCK_LOST) when somebody took the lock over or removed it: nothing may be
        written then. Raises WriteFailed when the file cannot be written; try again next time.
        """
        with self._guard:
            self.verify()
            assert self._owner is not None
            # The start is read again: it follows steps of the system clock, as a taker's look does.
            owner = replace(
                self._owner,
                heartbeat_at=self._clock.now(),
                process_started_at=process_started_at(os.getpid())
                or self._owner.process_started_at,
            )
            try:
                os.lseek(self._fd, 0, os.SEEK_SET)
                write_all(self._fd, memoryview(owner.encode()))
            except OSError as error:
                raise self._failed(error) from error
            self._owner = owner

    def _failed(self, error: OSError) -> WriteFailed:
        """Name the store: the lock is a file nobody asked for."""
        return write_failed(error, self._store)

    def release(self) -> bool:
        """Give the lock back; False when it was no longer ours or the file could not be removed."""
        with self._guard:
            owner, self._owner = self._owner, None
            if owner is None:
                return False
            os.close(self._fd)
            self._fd = -1
            try:
                if _token(self._look()) != owner.token:
                    return False
                self.path.unlink()
            except OSError:
                return False
            return True


_FLAGS: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)


def busy(state: LockState) -> Locked:
    """Return the error that names the owner, the unreadable file, or the lost race."""
    if state.kind is LockKind.UNREADABLE:
        return Locked("LOCK_UNREADABLE", path=str(state.path))
    if state.kind is LockKind.LIVE and state.owner is not None:
        return Locked("LOCK_HELD", path=str(state.path), **state.owner.facts())
    return Locked("LOCK_CONTENDED", path=str(state.path))


def _token(state: LockState) -> str | None:
    return state.owner.token if state.owner else None
