"""FileStore: one JSON file, replaced whole by every change (formats.md 1.4).

The rules that differ from the peer are W17 (change detection), W19 (memory never ahead of the
disk), W20 (permissions, links), W43 (unknown keys) and P10 (a failed load is not remembered).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias, TypeVar

from oma_desktop.model.errors import ChangedOnDisk
from oma_desktop.model.json_text import stringify
from oma_desktop.model.json_value import JsonObject
from oma_desktop.model.view import Problem
from oma_desktop.store.atomic import resolve, write_atomic, write_failed
from oma_desktop.store.enlisting import Enlisted
from oma_desktop.store.file_calls import FileCalls, FileStamp
from oma_desktop.store.file_reading import Reader, read_container
from oma_desktop.store.group_commit import GroupCommit
from oma_desktop.store.lock import WriterLock
from oma_desktop.store.memory import StoreEntry
from oma_desktop.store.ready_text import ReadyText
from oma_desktop.store.rows import Row, file_pieces
from oma_desktop.store.wall_clock import WallClock

R = TypeVar("R")
Rows: TypeAlias = dict[str, Row]
Change: TypeAlias = Callable[[Rows], Rows]
"""From the rows before to those after; the very same object when nothing changes. Never fails."""


@dataclass(frozen=True, slots=True)
class _Mirror:
    """The file as we last read or wrote it. Replaced as a whole, never changed."""

    rows: Rows
    extra: JsonObject
    stamp: FileStamp | None
    problems: tuple[Problem, ...]


class FileStore:
    """A MemoryStore with compare-and-set, expiry, batches and ready values, on one file.

    Invariants: what `get` shows is what this instance last read from or wrote to the file, never
    an unsaved state; the file is replaced only if it still is that version and, when a lock is
    given, the lock is still ours. Nothing is created by reading. Calls may come from any thread:
    changes that wait while one is written share the next write, each returns when its own is on
    disk, and all of them fail when that write does. Reading never waits for writing.
    Every call may raise Corrupt, SchemaTooNew or StoreError when the file cannot be loaded (the
    next call tries again); every change WriteFailed, ChangedOnDisk or Locked (LOCK_LOST).
    """

    def __init__(
        self,
        path: Path,
        *,
        clock: WallClock,
        lock: WriterLock | None = None,
        reader: Reader = read_container,
        calls: FileCalls | None = None,
    ) -> None:
        self.path = resolve(path)
        self._clock = clock
        self._writer_lock = lock
        self._reader = reader
        self._calls = calls or FileCalls()
        self._loading = threading.Lock()
        self._mirror: _Mirror | None = None
        self._commits: GroupCommit[Change] = GroupCommit(self._write)
        self._staged: Rows | None = None
        self._enlisted = Enlisted(self)
        self._batching = 0  # the thread whose batch is open

    def reload(self) -> None:
        """Forget what was read and read the file again, after ChangedOnDisk for instance."""
        if self._in_batch:
            self._mirror = None
            self._load()
            return
        with self._commits.turn():
            self._mirror = None
            self._load()

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What was odd about the file when it was read; warnings only."""
        return self._load().problems

    @property
    def stamp(self) -> FileStamp | None:
        """The version of the file this instance knows; None when there was none."""
        return self._load().stamp

    @property
    def waiting(self) -> int:
        """How many changes wait for the write that is on its way."""
        return self._commits.waiting

    def get(self, key: str) -> StoreEntry | None:
        """Return the entry, or None when the key does not exist."""
        row = self._rows().get(key)
        return row.public if row else None

    def list(self) -> list[StoreEntry]:
        """Return all entries, in insertion order."""
        return [row.public for row in self._rows().values()]

    def set(self, key: str, value: str, metadata: JsonObject | None = None) -> None:
        """Upsert and write; an unchanged entry is not written again."""
        self._submit(self._putting(key, value, metadata))

    def set_ready(self, key: str, value: ReadyText, metadata: JsonObject | None = None) -> None:
        """Like `set`; the pieces are written as they are and shared with the caller."""
        self._submit(self._putting(key, value, metadata))

    def set_with_expiry(
        self,
        key: str,
        value: str,
        expires_at_turn: float,
        metadata: JsonObject | None = None,
    ) -> None:
        """Like `set`, plus the number. Stores never filter on it."""
        self._submit(self._putting(key, value, metadata, expires_at_turn))

    def compare_and_set(
        self,
        key: str,
        expected: str | None,
        value: str,
        metadata: JsonObject | None = None,
    ) -> bool:
        """Write only if the stored value string equals `expected` (None: key must not exist).

        False is an answer about the file as it is now; if it is no longer the version this
        instance knows, ChangedOnDisk is raised instead (peer-defects.md P09).
        """
        put = self._putting(key, value, metadata)
        equal = False

        def change(rows: Rows) -> Rows:
            nonlocal equal
            row = rows.get(key)
            equal = (row.value if row else None) == expected
            return put(rows) if equal else rows

        self._submit(change)
        return equal

    def delete(self, key: str) -> None:
        """Remove the key; silent, and nothing is written, when absent."""
        if key in self._rows() or self.waiting:
            self._submit(lambda rows: _without(rows, key))

    def clear(self) -> None:
        """Remove everything; always writes (formats.md 1.4.3)."""
        self._submit(lambda _: {})

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Several changes, one write at the end; an exception or a failed write undoes them all.

        Inside, reads of this thread show the changes; others see and change nothing before the
        end. A batch inside a batch joins it; an exception then undoes the inner one only.
        """
        if self._in_batch:
            before = self._staged
            try:
                yield
            except BaseException:
                self._staged = before
                raise
            return
        with self._commits.turn():
            mirror = self._load()
            self._staged = mirror.rows
            self._batching = threading.get_ident()
            try:
                yield
                last = self._staged
            finally:
                self._staged, self._batching = None, 0
            if last is mirror.rows:
                return
            if self._mirror is not mirror:  # read again meanwhile: `last` is built on old rows
                raise ChangedOnDisk("STORE_CHANGED", path=str(self.path))
            self._commits.submit_first(lambda _: last)

    def enlist(self, work: Callable[[], R]) -> Callable[[], R]:
        """Announce changes of this store; the returned call makes them, in one write with all that
        is announced by then. Made for callers that share one thread; see `Enlisted`.
        """
        return self._enlisted.add(work)

    @property
    def _in_batch(self) -> bool:
        return self._batching == threading.get_ident()

    def _rows(self) -> Rows:
        if self._in_batch and self._staged is not None:
            return self._staged
        return self._load().rows

    def _load(self) -> _Mirror:
        mirror = self._mirror
        if mirror is not None:
            return mirror
        with self._loading:
            if self._mirror is None:
                read, stamp = self._reader(self.path)
                rows = {entry.key: Row(entry) for entry in read.entries}
                self._mirror = _Mirror(rows, read.extra, stamp, read.problems)
            return self._mirror

    def _putting(
        self,
        key: str,
        value: str | ReadyText,
        metadata: JsonObject | None,
        expires_at_turn: float | None = None,
    ) -> Change:
        now, copied = self._clock.now(), deepcopy(metadata)
        stringify(copied)  # what is no JSON fails here, for this caller only

        def change(rows: Rows) -> Rows:
            old = rows.get(key)
            new = Row.following(
                old, key, value, now=now, metadata=copied, expires_at_turn=expires_at_turn
            )
            return rows if old is not None and old.same_as(new) else {**rows, key: new}

        return change

    def _submit(self, change: Change) -> None:
        if not self._in_batch:
            self._commits.submit(change)
            return
        before = self._rows()
        self._staged = change(before)
        if self._staged is before:
            self._check_version()  # "as it is already" must be true of the file, not of our memory

    def _write(self, changes: Sequence[Change]) -> None:
        """Make the changes the state: on disk first, then in memory. A failure changes neither."""
        known = self._load()
        rows = known.rows
        for change in changes:
            rows = change(rows)
        self._check_version()
        if rows is known.rows:
            return
        stamp = write_atomic(
            self.path,
            file_pieces(rows.values(), known.extra),
            before_replace=self._check_version,
            calls=self._calls,
        )
        self._mirror = _Mirror(rows, known.extra, stamp, ())

    def _check_version(self) -> None:
        """Raise when the file or the lock is no longer what we know (formats.md W17)."""
        if self._writer_lock is not None:
            self._writer_lock.verify()
        known = self._load().stamp
        try:
            there = self._calls.stamp(self.path)
        except OSError as error:
            raise write_failed(error, self.path) from error
        if there != known:
            raise ChangedOnDisk("STORE_CHANGED", path=str(self.path))


def _without(rows: Rows, key: str) -> Rows:
    return {k: row for k, row in rows.items() if k != key} if key in rows else rows
