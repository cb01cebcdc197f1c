"""FileStore: one JSON file, replaced whole by every change (formats.md 1.4).

The rules that differ from the peer are W17 (change detection), W19 (memory never ahead of the
disk), W20 (permissions, links), W43 (unknown keys) and P10 (a failed load is not remembered).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from oma_desktop.model.errors import ChangedOnDisk
from oma_desktop.model.json_value import JsonObject
from oma_desktop.model.view import Problem
from oma_desktop.store.atomic import resolve, write_atomic, write_failed
from oma_desktop.store.file_calls import FileCalls, FileStamp
from oma_desktop.store.file_reading import Reader, read_container
from oma_desktop.store.lock import WriterLock
from oma_desktop.store.memory import StoreEntry
from oma_desktop.store.rows import Row, file_pieces
from oma_desktop.store.wall_clock import WallClock


@dataclass(frozen=True, slots=True)
class _Mirror:
    """The file as we last read or wrote it. Replaced as a whole, never changed."""

    rows: dict[str, Row]
    extra: JsonObject
    stamp: FileStamp | None
    problems: tuple[Problem, ...]


class FileStore:
    """A MemoryStore with compare-and-set, expiry and batches, on one file.

    Invariants: what `get` shows is what this instance last read from or wrote to the file, never
    an unsaved state; the file is replaced only if it still is that version and, when a lock is
    given, the lock is still ours. Nothing is created by reading. Calls may come from any thread.
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
        self._guard = threading.RLock()
        self._mirror: _Mirror | None = None
        self._staged: dict[str, Row] | None = None

    def reload(self) -> None:
        """Forget what was read and read the file again, after ChangedOnDisk for instance."""
        with self._guard:
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

    def get(self, key: str) -> StoreEntry | None:
        """Return the entry, or None when the key does not exist."""
        with self._guard:
            row = self._rows().get(key)
            return row.public if row else None

    def list(self) -> list[StoreEntry]:
        """Return all entries, in insertion order."""
        with self._guard:
            return [row.public for row in self._rows().values()]

    def set(self, key: str, value: str, metadata: JsonObject | None = None) -> None:
        """Upsert and write; an unchanged entry is not written again."""
        self._put(key, value, metadata, None)

    def set_with_expiry(
        self,
        key: str,
        value: str,
        expires_at_turn: float,
        metadata: JsonObject | None = None,
    ) -> None:
        """Like `set`, plus the number. Stores never filter on it."""
        self._put(key, value, metadata, expires_at_turn)

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
        with self._guard:
            row = self._rows().get(key)
            if (row.entry.value if row else None) != expected:
                self._check_version()
                return False
            self._put(key, value, metadata, None)
            return True

    def delete(self, key: str) -> None:
        """Remove the key; silent, and nothing is written, when absent."""
        with self._guard:
            rows = self._rows()
            if key in rows:
                self._commit({k: row for k, row in rows.items() if k != key})

    def clear(self) -> None:
        """Remove everything; always writes (formats.md 1.4.3)."""
        with self._guard:
            self._rows()
            self._commit({})

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Several changes, one write at the end; an exception or a failed write undoes them all.

        Inside, reads of this instance show the changes. A batch inside a batch joins it.
        """
        with self._guard:
            if self._staged is not None:
                yield
                return
            before = self._staged = self._rows()
            try:
                yield
                after = self._staged
            finally:
                self._staged = None
            if after is not before:
                self._commit(after)

    def _rows(self) -> dict[str, Row]:
        return self._load().rows if self._staged is None else self._staged

    def _load(self) -> _Mirror:
        with self._guard:
            if self._mirror is None:
                read, stamp = self._reader(self.path)
                rows = {entry.key: Row(entry) for entry in read.entries}
                self._mirror = _Mirror(rows, read.extra, stamp, read.problems)
            return self._mirror

    def _put(
        self, key: str, value: str, metadata: JsonObject | None, expires_at_turn: float | None
    ) -> None:
        with self._guard:
            rows = self._rows()
            old = rows.get(key)
            new = Row.following(
                old,
                key,
                value,
                now=self._clock.now(),
                metadata=metadata,
                expires_at_turn=expires_at_turn,
            )
            if old is not None and old.same_as(new):
                self._check_version()  # "saved" must be true of the file, not of our memory
                return
            self._commit({**rows, key: new})

    def _commit(self, rows: dict[str, Row]) -> None:
        """Make `rows` the state: on disk first, then in memory. A failure changes neither."""
        if self._staged is not None:
            self._staged = rows
            return
        known = self._load()
        self._check_version()
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
            there = FileStamp.read(self.path)
        except OSError as error:
            raise write_failed(error, self.path) from error
        if there != known:
            raise ChangedOnDisk("STORE_CHANGED", path=str(self.path))
