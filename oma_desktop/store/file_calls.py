"""The system calls of one atomic replace, behind a seam that tests can make fail.

Knows no policy: order, retries and cleaning up live in `store.atomic`.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path

_MACOS_FULL_FSYNC = 51  # F_FULLFSYNC: plain fsync on macOS leaves the data in the drive's cache


@dataclass(frozen=True, slots=True)
class FileStamp:
    """What tells one version of a file from the next without reading it (formats.md 8 W17)."""

    inode: int
    size: int
    mtime_ns: int

    @classmethod
    def of(cls, stat: os.stat_result) -> FileStamp:
        """Take the stamp out of a stat result."""
        return cls(stat.st_ino, stat.st_size, stat.st_mtime_ns)

    @classmethod
    def read(cls, path: Path) -> FileStamp | None:
        """Return the stamp of the file at `path`, None when there is none.

        Raises OSError when the path cannot be looked at.
        """
        try:
            return cls.of(path.stat())
        except FileNotFoundError:
            return None


class FileCalls:
    """The real calls. Each raises OSError like the call it stands for."""

    windows: bool = sys.platform == "win32"

    def make_folder(self, path: Path) -> None:
        """Create the folder and its parents; fine when it exists."""
        path.mkdir(parents=True, exist_ok=True)

    def stat(self, path: Path) -> os.stat_result:
        """Follow links and look at the file."""
        return path.stat()

    def stamp(self, path: Path) -> FileStamp | None:
        """Return the stamp of the file at `path`, None when there is none."""
        try:
            return FileStamp.of(self.stat(path))
        except FileNotFoundError:
            return None

    def open_new(self, path: Path, mode: int) -> int:
        """Create a file that must not exist yet and open it for writing."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), mode)

    def set_mode(self, fd: int, mode: int) -> None:
        """Give the open file the permission bits of the one it replaces; nothing on Windows."""
        if sys.platform != "win32":
            os.fchmod(fd, mode)

    def write(self, fd: int, data: memoryview) -> int:
        """Write some of the bytes; return how many."""
        return os.write(fd, data)

    def fsync(self, fd: int) -> None:
        """Return when the bytes are on the medium."""
        if sys.platform == "darwin":
            import fcntl  # noqa: PLC0415 - not there on Windows

            with contextlib.suppress(OSError):
                fcntl.fcntl(fd, _MACOS_FULL_FSYNC)
                return
        os.fsync(fd)

    def close(self, fd: int) -> None:
        """Close the descriptor."""
        os.close(fd)

    def replace(self, source: Path, target: Path) -> None:
        """Rename over the target, atomically within one file system."""
        source.replace(target)

    def fsync_folder(self, path: Path) -> None:
        """Make the rename itself durable; Windows has no such call."""
        if self.windows:
            return
        fd = os.open(path, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def unlink(self, path: Path) -> None:
        """Remove the file."""
        path.unlink()

    def pause(self, seconds: float) -> None:
        """Wait on the store lane; the loop is never asked to (cases s12)."""
        time.sleep(seconds)
