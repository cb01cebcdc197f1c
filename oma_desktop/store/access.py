"""The way to a store, whatever it is: read it, write a run in it, decide in it.

A file has one writer; in a database every run has one, and a decision needs none, because its
compare-and-set is enough (formats.md 1.7).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NoReturn, TypeAlias, cast

from oma_desktop.model.container import Container, ContainerEntry
from oma_desktop.store.address import DatabaseAddress, StoreAddress
from oma_desktop.store.database import DatabaseStamp, DatabaseStore
from oma_desktop.store.file_calls import FileStamp
from oma_desktop.store.file_reading import Reader, read_container
from oma_desktop.store.lease import Lease
from oma_desktop.store.lock import WriterLock
from oma_desktop.store.lock_file import LockOwner
from oma_desktop.store.memory import MemoryStore
from oma_desktop.store.read_only import ReadOnlyStore
from oma_desktop.store.rows import Row
from oma_desktop.store.wall_clock import WallClock
from oma_desktop.store.writers import open_for_writing, writing

Stamp: TypeAlias = FileStamp | DatabaseStamp
Choose: TypeAlias = Callable[[MemoryStore], str]
"""Returns the key of the run that will be written; raises what forbids it. Only reads."""


@dataclass(frozen=True, slots=True)
class OpenRun:
    """One run that this process may write until `close`: `lock` is held for it."""

    store: MemoryStore
    lock: WriterLock | Lease
    key: str
    _close: Callable[[], object]

    def close(self) -> None:
        """Give lock and store back; every change was saved when it was made."""
        self._close()


def open_run(
    address: StoreAddress,
    choose: Choose,
    *,
    app: str,
    clock: WallClock,
    force: bool = False,
    reader: Reader = read_container,
) -> OpenRun:
    """Open a store to write the run that `choose` names; everything is given back on failure.

    `reader` reads a file; a database is read here.

    Raises Locked when somebody else writes the store (file) or the run (database), what `choose`
    raises, else as `writers.open_for_writing` or the database does.
    """
    if isinstance(address, Path):
        opened = open_for_writing(address, app=app, clock=clock, force=force, reader=reader)
        try:
            return OpenRun(opened.store, opened.lock, choose(opened.store), opened.close)
        except BaseException:
            opened.close()
            raise
    store = connect(address, clock=clock)
    try:
        lease = Lease(store, choose(store), app=app)
        lease.acquire(force=force)
        try:
            choose(store)  # between the first look and the lease it may have been written
        except BaseException:
            lease.release()
            raise
    except BaseException:
        store.close()
        raise

    def close() -> None:
        lease.release()
        store.close()

    return OpenRun(store, lease, lease.run, close)


@contextmanager
def deciding(
    address: StoreAddress,
    *,
    app: str,
    clock: WallClock,
    force: bool = False,
    reader: Reader = read_container,
    on_taken_over: Callable[[LockOwner], None] = lambda _owner: None,
) -> Iterator[MemoryStore]:
    """Lend the store for one decision. Raises like `open_run`; a database is never busy.

    `on_taken_over` is told whose lock was taken over, where its last writer had ended without
    giving it back.
    """
    if isinstance(address, Path):
        with writing(
            address, app=app, clock=clock, force=force, reader=reader, on_taken_over=on_taken_over
        ) as lent:
            yield lent
        return
    store = connect(address, clock=clock)
    try:
        yield store
    finally:
        store.close()


def connect(address: DatabaseAddress, *, clock: WallClock | None = None) -> DatabaseStore:
    """Return the store at an address; nothing is sent before the first call. No clock: to read."""
    # The client libraries take a second to import: only who talks to a database waits for one.
    module = importlib.import_module(f"oma_desktop.store.{_MODULES[address.kind]}")
    return cast("DatabaseStore", module.store_at(address, clock=clock or _ReadersClock()))


_MODULES: Final = {"redis": "redis", "postgresql": "postgres"}


def read_store(
    address: StoreAddress, *, reader: Reader = read_container
) -> tuple[Container, Stamp | None]:
    """Return everything in a store as it is at one moment; no file is an empty store.

    Raises Corrupt, SchemaTooNew or StoreError.
    """
    if isinstance(address, Path):
        return reader(address)
    store = connect(address)
    try:
        reading = store.read()
    finally:
        store.close()
    rows = [
        ContainerEntry(e.key, e.value, e.created_at, e.metadata, e.expires_at_turn)
        for e in reading.entries
    ]
    return Container(rows, problems=reading.problems), reading.stamp


def read_only(address: StoreAddress, *, reader: Reader = read_container) -> ReadOnlyStore:
    """Read a store once, without lock and without touching anything. Raises as `read_store`."""
    container, stamp = read_store(address, reader=reader)
    return as_read_only(address, container, stamp)


def as_read_only(address: StoreAddress, container: Container, stamp: Stamp | None) -> ReadOnlyStore:
    """Return what was read as a store that refuses changes."""
    entries = [Row(entry).public for entry in container.entries]
    return ReadOnlyStore(address, entries=entries, stamp=stamp, problems=container.problems)


class _ReadersClock:
    """Readers stamp nothing."""

    def now(self) -> NoReturn:
        raise AssertionError("a store opened for reading was written")
