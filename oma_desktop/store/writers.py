"""Who of this process writes which store: the way to a FileStore under its lock (formats.md 1.7).

An attempt opens a store for writing and keeps the lock to its end. A decision borrows the store:
from the attempt of this process when there is one, otherwise under a lock of its own.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from oma_desktop.store.atomic import resolve
from oma_desktop.store.file_reading import Reader, read_container
from oma_desktop.store.filestore import FileStore
from oma_desktop.store.lock import WriterLock
from oma_desktop.store.lock_file import LockOwner
from oma_desktop.store.temp_files import sweep_stale_temps
from oma_desktop.store.wall_clock import WallClock

_guard = threading.Lock()
_live: dict[tuple[int, Path], OpenStore] = {}


class OpenStore:
    """A store this process may write: the lock is held until `close`. Also a context manager."""

    def __init__(self, store: FileStore, lock: WriterLock) -> None:
        self.store = store
        self.lock = lock
        self._key = (os.getpid(), store.path)  # a forked child is not its parent

    def close(self) -> None:
        """Give the lock back; nothing is saved here, every change was saved when it was made."""
        with _guard:
            if _live.get(self._key) is self:
                del _live[self._key]
        self.lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_for_writing(
    path: Path,
    *,
    app: str,
    clock: WallClock,
    force: bool = False,
    reader: Reader = read_container,
) -> OpenStore:
    """Take the writer lock of the store at `path`, tidy up after dead writers, load the file.

    Raises Locked when another writer lives, also one of this same process (cases s08); Corrupt,
    SchemaTooNew or StoreError when the file cannot be loaded (the lock is given back then);
    WriteFailed when the folder cannot be written.
    """
    lock = WriterLock(path, app=app, clock=clock)
    lock.acquire(force=force)
    try:
        sweep_stale_temps(path)
        opened = OpenStore(FileStore(path, clock=clock, lock=lock, reader=reader), lock)
        opened.store.reload()
    except BaseException:
        lock.release()
        raise
    with _guard:
        _live[opened._key] = opened  # noqa: SLF001 - same module
    return opened


def live_writer(path: Path) -> OpenStore | None:
    """Return the store this very process has open for writing at `path`, None when none.

    An engine may give the lock back before the store is closed; such a store is no writer.
    """
    with _guard:
        opened = _live.get((os.getpid(), resolve(path)))
    return opened if opened is not None and opened.lock.held else None


@contextmanager
def writing(
    path: Path,
    *,
    app: str,
    clock: WallClock,
    force: bool = False,
    reader: Reader = read_container,
    on_taken_over: Callable[[LockOwner], None] = lambda _owner: None,
) -> Iterator[FileStore]:
    """Lend the store for one short change, for instance a decision.

    When this process has it open already, that instance is lent and stays open; otherwise the lock
    is taken for the time of the block. `on_taken_over` is told of a dead owner it was taken from.
    Raises like `open_for_writing`.
    """
    live = live_writer(path)
    if live is not None:
        yield live.store
        return
    with open_for_writing(path, app=app, clock=clock, force=force, reader=reader) as opened:
        if opened.lock.replaced is not None:
            on_taken_over(opened.lock.replaced)
        yield opened.store
