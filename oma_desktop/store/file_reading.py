"""A store file read in one piece, with the stamp of exactly the version that was read."""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeAlias

from oma_desktop.model.container import Container, parse_container
from oma_desktop.model.errors import Corrupt, StoreError
from oma_desktop.store.file_calls import FileStamp

Reader: TypeAlias = Callable[[Path], tuple[Container, FileStamp | None]]
"""`read_container`, here or in another process: parsing a big file holds the interpreter for
longer than a window may stand still (product.md 3.3)."""

_SHARING: Final = frozenset({5, 32, 33})  # Windows: a writer or a scanner has it open just now
_PAUSES_S: Final = (0.01, 0.03, 0.06, 0.1, 0.3)


def read_bytes(path: Path) -> tuple[bytes, FileStamp] | None:
    """Return the bytes and their stamp, None when there is no file.

    A file that changes while it is read is read again, for at most half a second.
    Raises StoreError (STORE_UNREADABLE).
    """
    for pause in (*_PAUSES_S, None):
        try:
            data, before, after = _read_once(path)
        except FileNotFoundError:
            return None
        except OSError as error:
            if getattr(error, "winerror", None) not in _SHARING or pause is None:
                raise _unreadable(path, error) from error
        else:
            if before == after and len(data) == after.size:
                return data, after
            if pause is None:
                raise StoreError("STORE_UNREADABLE", path=str(path), reason="it keeps changing")
        time.sleep(pause)
    raise AssertionError("the last round returns or raises")  # pragma: no cover


def read_container(path: Path) -> tuple[Container, FileStamp | None]:
    """Read and parse a store; no file is an empty store.

    A writer that does not replace but overwrites can be met halfway: damage counts only when the
    file still is the version that was read. Raises Corrupt, SchemaTooNew or StoreError.
    """
    for pause in (*_PAUSES_S, None):
        read = read_bytes(path)
        if read is None:
            return Container(), None
        data, stamp = read
        try:
            return parse_container(data, path=str(path)), stamp
        except Corrupt:
            if pause is None or _stamp(path) == stamp:
                raise
        time.sleep(pause)
    raise AssertionError("the last round returns or raises")  # pragma: no cover


def _read_once(path: Path) -> tuple[bytes, FileStamp, FileStamp]:
    if not stat.S_ISREG(path.stat().st_mode):  # opening a pipe would wait for whoever writes it
        raise OSError(errno.EINVAL, "it is no regular file")
    with path.open("rb") as file:
        before = FileStamp.of(os.fstat(file.fileno()))
        data = file.read()
        return data, before, FileStamp.of(os.fstat(file.fileno()))


def _stamp(path: Path) -> FileStamp | None:
    try:
        return FileStamp.read(path)
    except OSError as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: OSError) -> StoreError:
    reason = error.strerror or type(error).__name__
    return StoreError("STORE_UNREADABLE", path=str(path), reason=reason)
