"""Opening what lies below a folder without ever following a link (engine.md 9.1).

Where the system can (`openat` and friends), every step is opened relative to the one before with
no-follow: a link that is swapped in after the checks is refused, it cannot lead anywhere. Elsewhere
(Windows) paths are used and checked again around each opening.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from oma_desktop.engine.tools.builtin.refusal import Refusal, of_os_error, quoted
from oma_desktop.engine.tools.builtin.workspace import Place
from oma_desktop.store.atomic import write_all

HAS_ANCHORS: Final = (
    hasattr(os, "O_NOFOLLOW")
    and hasattr(os, "O_DIRECTORY")
    and os.scandir in os.supports_fd
    and {os.open, os.stat, os.mkdir, os.rename, os.unlink} <= os.supports_dir_fd
)
_CLOEXEC: Final = getattr(os, "O_CLOEXEC", 0)
_BINARY: Final = getattr(os, "O_BINARY", 0)
_NOFOLLOW: Final = getattr(os, "O_NOFOLLOW", 0)
_DIRECTORY: Final = getattr(os, "O_DIRECTORY", 0)
_NONBLOCK: Final = getattr(os, "O_NONBLOCK", 0)  # a pipe that took a file's place must not hang us
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NOFOLLOW | _CLOEXEC | _BINARY
_READ: Final = os.O_RDONLY | _NOFOLLOW | _NONBLOCK | _CLOEXEC | _BINARY
_PROBE: Final = os.O_WRONLY | _NOFOLLOW | _NONBLOCK | _CLOEXEC | _BINARY


@dataclass(frozen=True, slots=True)
class Seen:
    """What a file was when it was looked at: enough to tell that it changed."""

    inode: int
    size: int
    modified_ns: int

    @classmethod
    def of(cls, found: os.stat_result) -> Seen:
        """Return the mark of a stat."""
        return cls(found.st_ino, found.st_size, found.st_mtime_ns)


class Calls(Protocol):
    """System calls on names inside one folder, no link followed; all raise OSError."""

    def lstat(self, name: str) -> os.stat_result:
        """Look at an entry itself."""

    def open(self, name: str, flags: int, mode: int = 0o777) -> int:
        """Open an entry."""

    def make(self, name: str) -> None:
        """Make a folder."""

    def rename(self, old: str, new: str) -> None:
        """Put one entry in another's place."""

    def unlink(self, name: str) -> None:
        """Remove a file."""

    def scan(self) -> AbstractContextManager[Iterator[os.DirEntry[str]]]:
        """List the entries."""

    def down(self, name: str) -> Calls:
        """Open a folder inside."""

    def sync(self) -> None:
        """Make renames durable."""

    def close(self) -> None:
        """Let go."""


class FdCalls:
    """One open folder, by descriptor."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def lstat(self, name: str) -> os.stat_result:
        """Look at an entry itself."""
        return os.stat(name, dir_fd=self._fd, follow_symlinks=False)

    def open(self, name: str, flags: int, mode: int = 0o777) -> int:
        """Open an entry; a link raises ELOOP."""
        return os.open(name, flags, mode, dir_fd=self._fd)

    def make(self, name: str) -> None:
        """Make a folder."""
        os.mkdir(name, dir_fd=self._fd)

    def rename(self, old: str, new: str) -> None:
        """Put one entry in another's place."""
        os.rename(old, new, src_dir_fd=self._fd, dst_dir_fd=self._fd)

    def unlink(self, name: str) -> None:
        """Remove a file."""
        os.unlink(name, dir_fd=self._fd)

    def scan(self) -> AbstractContextManager[Iterator[os.DirEntry[str]]]:
        """List the entries."""
        return os.scandir(self._fd)

    def down(self, name: str) -> FdCalls:
        """Open a folder inside; a link raises ENOTDIR or ELOOP."""
        return FdCalls(self.open(name, os.O_RDONLY | _DIRECTORY | _NOFOLLOW | _CLOEXEC))

    def sync(self) -> None:
        """Make renames durable."""
        with suppress(OSError):
            os.fsync(self._fd)

    def close(self) -> None:
        """Let go."""
        os.close(self._fd)


class PathCalls:
    """One folder by its path, looked at again before and after what matters."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def _checked(self, name: str) -> Path:
        if os.path.normcase(os.path.realpath(self._folder)) != os.path.normcase(self._folder):
            raise OSError(errno.ELOOP, "a folder became a link")
        return self._folder / name

    def lstat(self, name: str) -> os.stat_result:
        """Look at an entry itself."""
        return os.lstat(self._checked(name))

    def open(self, name: str, flags: int, mode: int = 0o777) -> int:
        """Open an entry; one that is or became a link raises ELOOP."""
        path = self._checked(name)
        if path.is_symlink():
            raise OSError(errno.ELOOP, "a link")
        fd = os.open(path, flags, mode)
        try:
            there = os.lstat(self._checked(name))
            if not os.path.samestat(os.fstat(fd), there):
                raise OSError(errno.ELOOP, "replaced while it was opened")
        except BaseException:
            os.close(fd)
            raise
        return fd

    def make(self, name: str) -> None:
        """Make a folder."""
        self._checked(name).mkdir()

    def rename(self, old: str, new: str) -> None:
        """Put one entry in another's place."""
        self._checked(old).replace(self._folder / new)

    def unlink(self, name: str) -> None:
        """Remove a file."""
        self._checked(name).unlink()

    def scan(self) -> AbstractContextManager[Iterator[os.DirEntry[str]]]:
        """List the entries."""
        return os.scandir(self._checked("."))

    def down(self, name: str) -> PathCalls:
        """Open a folder inside; a link raises ELOOP."""
        path = self._checked(name)
        found = os.lstat(path)
        if stat.S_ISLNK(found.st_mode) or os.path.realpath(path) != str(path):
            raise OSError(errno.ELOOP, "a link")
        if not stat.S_ISDIR(found.st_mode):
            raise OSError(errno.ENOTDIR, "no folder")
        return PathCalls(path)

    def sync(self) -> None:
        """Nothing: there is no way to."""

    def close(self) -> None:
        """Nothing is held."""


@contextmanager
def opened(
    place: Place, steps: Sequence[str], *, create: bool = False, anchors: bool = HAS_ANCHORS
) -> Iterator[Folder]:
    """Open the folder `steps` below the root of `place`, making what is missing with `create`.

    Raises Refusal WORKSPACE_MISSING, or what `of_os_error` says; also for OSErrors of the block.
    """
    try:
        with _walked(place.root, steps, create=create, anchors=anchors) as calls:
            yield Folder(calls)
    except OSError as error:
        raise of_os_error(error, place.path) from error


@contextmanager
def _walked(root: Path, steps: Sequence[str], *, create: bool, anchors: bool) -> Iterator[Calls]:
    if create:
        root.mkdir(parents=True, exist_ok=True)
    calls = _root(root, anchors=anchors)
    try:
        for step in steps:
            if create:
                with suppress(FileExistsError):
                    calls.make(step)
            below = calls.down(step)
            calls.close()
            calls = below
        yield calls
    finally:
        calls.close()


def _root(root: Path, *, anchors: bool) -> Calls:
    try:
        if anchors:
            return FdCalls(os.open(root, os.O_RDONLY | _DIRECTORY | _CLOEXEC))
        if not root.is_dir():
            raise FileNotFoundError(errno.ENOENT, "no folder")
        return PathCalls(root)
    except (FileNotFoundError, NotADirectoryError) as error:
        text = f"The workspace {quoted(root)} does not exist; file_write creates it."
        raise Refusal("WORKSPACE_MISSING", text) from error


class Folder:
    """What tools do in an open folder. Only plain files are read or replaced."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    def kind(self, name: str) -> int:
        """Return the file type bits of an entry (`stat.S_IFMT`)."""
        return stat.S_IFMT(self._calls.lstat(name).st_mode)

    def read(self, name: str, *, limit: int) -> tuple[bytes, Seen]:
        """Return the bytes of a file and its mark. Raises Refusal NOT_A_FILE, TOO_LARGE."""
        _check_plain(self._calls.lstat(name), name)
        fd = self._calls.open(name, _READ)
        with open(fd, "rb") as file:  # noqa: PTH123 - a descriptor
            found = os.fstat(fd)
            _check_plain(found, name)
            data = file.read(limit + 1) if found.st_size <= limit else b""
            size = max(found.st_size, len(data))
            if size > limit:
                text = f"{quoted(name)} is too large: {size} bytes, the limit is {limit}."
                raise Refusal("TOO_LARGE", text)
            return data, Seen.of(found)

    def replace(self, name: str, data: bytes, *, expect: Seen | None = None) -> bool:
        """Put `data` in the place of a file in one step; return whether it is new.

        Its permissions are kept. Raises Refusal NOT_A_FILE, CHANGED when `expect` does not fit.
        """
        old = self._plain_or_none(name)
        temp = f".{secrets.token_hex(8)}.tmp"
        fd = self._calls.open(temp, _NEW, 0o666 if old is None else 0o600)
        try:
            try:
                if old is not None and hasattr(os, "fchmod"):
                    os.fchmod(fd, stat.S_IMODE(old.st_mode) & 0o777)
                write_all(fd, memoryview(data))
                os.fsync(fd)
            finally:
                os.close(fd)
            if expect is not None and Seen.of(self._calls.lstat(name)) != expect:
                raise Refusal("CHANGED", f"{quoted(name)} was changed by somebody else meanwhile.")
            self._calls.rename(temp, name)
        except BaseException:
            with suppress(OSError):
                self._calls.unlink(temp)
            raise
        self._calls.sync()
        return old is None

    def _plain_or_none(self, name: str) -> os.stat_result | None:
        """Look at a file that is to be replaced: it must be plain and writable."""
        try:
            found = self._calls.lstat(name)
        except FileNotFoundError:
            return None
        _check_plain(found, name)
        os.close(self._calls.open(name, _PROBE))  # a rename would not ask for this permission
        return found

    def entries(self) -> list[tuple[str, bool]]:
        """Return plain files and folders (True) by name; links and devices are left out."""
        with self._calls.scan() as found:
            kept = [
                (entry.name, entry.is_dir(follow_symlinks=False))
                for entry in found
                if entry.is_file(follow_symlinks=False) or entry.is_dir(follow_symlinks=False)
            ]
        return sorted(kept)


def _check_plain(found: os.stat_result, name: str) -> None:
    if stat.S_ISLNK(found.st_mode):
        raise OSError(errno.ELOOP, "a link")
    if not stat.S_ISREG(found.st_mode):
        raise Refusal("NOT_A_FILE", f"{quoted(name)} is not a plain file.")
