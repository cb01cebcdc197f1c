"""One file replaced atomically: after any crash it holds the old bytes or the new ones.

Knows bytes and paths, no format (formats.md 1.4.3; house.md 2.7).
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Callable, Iterable
from itertools import count
from pathlib import Path
from typing import Final

from oma_desktop.model.errors import WriteFailed
from oma_desktop.store.file_calls import FileCalls, FileStamp

PRIVATE_MODE: Final = 0o600
_STEM_BYTES: Final = 200  # file systems allow 255 for a name; pid, counter and token take the rest
_counter = count()
_REAL: Final = FileCalls()

# ERROR_ACCESS_DENIED, ERROR_SHARING_VIOLATION, ERROR_LOCK_VIOLATION: a scanner, an indexer or a
# viewer has the target open for a moment (cases s12). The pauses add up to 2.55 s.
_WINDOWS_BUSY: Final = frozenset({5, 32, 33})
_PAUSES_S: Final = (0.01, 0.02, 0.04, 0.08, 0.15, 0.25, *(0.5,) * 4)

_CODES: Final = {
    errno.ENOSPC: "STORE_NO_SPACE",
    errno.EDQUOT: "STORE_NO_SPACE",
    errno.EROFS: "STORE_READ_ONLY_DISK",
    errno.EXDEV: "STORE_CROSS_DEVICE",
    errno.EACCES: "STORE_WRITE_DENIED",
    errno.EPERM: "STORE_WRITE_DENIED",
    errno.EIO: "STORE_IO_ERROR",
    errno.EBUSY: "STORE_FILE_BUSY",
}


def write_failed(error: OSError, path: Path) -> WriteFailed:
    """Turn an OSError into the WriteFailed whose code names the reason."""
    code = _CODES.get(error.errno or 0, "STORE_WRITE_FAILED")
    if getattr(error, "winerror", None) in _WINDOWS_BUSY:
        code = "STORE_FILE_BUSY"
    reason = error.strerror or type(error).__name__
    return WriteFailed(code, path=str(path), reason=reason, errno=error.errno)


def resolve(path: Path) -> Path:
    """Return where the bytes really go: links followed, also when the file is not there yet."""
    return Path(os.path.realpath(path))


def temp_stem(name: str) -> str:
    """Return what the names of temporary copies begin with: the name, cut where it is very long."""
    raw = os.fsencode(name)
    if len(raw) <= _STEM_BYTES:
        return name
    return raw[:_STEM_BYTES].decode("utf-8", "ignore")  # never half a character


def write_atomic(
    path: Path,
    data: bytes | Iterable[bytes],
    *,
    before_replace: Callable[[], None] | None = None,
    calls: FileCalls = _REAL,
) -> FileStamp:
    """Replace the file at `path` by `data` and return the stamp of what is there now.

    The bytes (several pieces are written one after the other) go to a sibling temporary file that
    only the owner can read, are synced, and take the target's place by one rename; permissions of
    an existing target are kept and links followed. `before_replace` runs when only the rename is
    left and may raise a StoreError to call it off.
    Raises WriteFailed (its code says why); the target then has its old bytes, the temporary file
    is gone unless it could not be removed. Sleeps up to 2.6 s on Windows when the target is busy.
    """
    pieces = (data,) if isinstance(data, bytes) else data
    target = resolve(path)
    temp = target.with_name(
        f"{temp_stem(target.name)}.tmp-{os.getpid()}-{next(_counter)}-{secrets.token_hex(4)}"
    )
    try:
        mode = _mode_for(target, calls=calls)
        calls.make_folder(target.parent)
        try:
            stamp = _write_temp(temp, pieces, mode=mode, calls=calls)
            if before_replace is not None:
                before_replace()
            _replace(temp, target, calls=calls)
        except BaseException:
            with contextlib.suppress(OSError):
                calls.unlink(temp)
            raise
    except OSError as error:
        raise write_failed(error, target) from error
    with contextlib.suppress(OSError):
        calls.fsync_folder(target.parent)
    return stamp


def _mode_for(target: Path, *, calls: FileCalls) -> int | None:
    try:
        found = calls.stat(target)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(found.st_mode):
        raise WriteFailed("STORE_NOT_A_FILE", path=str(target))
    return stat.S_IMODE(found.st_mode)


def _write_temp(
    temp: Path, pieces: Iterable[bytes], *, mode: int | None, calls: FileCalls
) -> FileStamp:
    fd = calls.open_new(temp, PRIVATE_MODE)
    try:
        if mode is not None and mode != PRIVATE_MODE:
            calls.set_mode(fd, mode)
        for piece in pieces:
            write_all(fd, memoryview(piece), calls=calls)
        calls.fsync(fd)
    except BaseException:
        with contextlib.suppress(OSError):
            calls.close(fd)
        raise
    calls.close(fd)
    return FileStamp.of(calls.stat(temp))  # after close: network file systems set the time then


def write_all(fd: int, data: memoryview, *, calls: FileCalls = _REAL) -> None:
    """Write every byte; a short write goes on where it stopped (formats.md 8 W6)."""
    while data:
        written = calls.write(fd, data)
        if written <= 0:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        data = data[written:]


def _replace(temp: Path, target: Path, *, calls: FileCalls) -> None:
    for pause in (*_PAUSES_S, None):
        try:
            calls.replace(temp, target)
        except OSError as error:
            busy = calls.windows and getattr(error, "winerror", None) in _WINDOWS_BUSY
            if not busy or pause is None:
                raise
            calls.pause(pause)
        else:
            return
