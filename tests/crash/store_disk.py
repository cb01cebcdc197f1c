"""A disk in memory that fails, stops and loses what was not synced, at exactly the told calls.

It tells what every process sees (the page cache) from what survives a power cut: bytes that were
not synced may be gone, torn or zero afterwards; names that were not synced may be as before, but
come back in the order in which they were changed, as journaling file systems promise.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

from typing_extensions import override

from oma_desktop.model.container import Container, parse_container
from oma_desktop.store.file_calls import FileCalls, FileStamp

ERRORS: Final = (errno.ENOSPC, errno.EIO, errno.EROFS, errno.EXDEV, errno.EBUSY, errno.EACCES)


class Stopped(BaseException):
    """The process is gone: no call happens any more."""


@dataclass(frozen=True, slots=True)
class Fault:
    """What a call does instead of working: raise `error`, write only `short` bytes, or `stop`.

    `late`: the call happens first, then it fails.
    """

    error: int = 0
    short: int = 0
    stop: bool = False
    late: bool = False


class Inode:
    """A file: `data` for everybody who looks, `synced` for after a power cut (None: not all)."""

    def __init__(self, number: int, mode: int) -> None:
        self.number = number
        self.mode = mode
        self.data = b""
        self.synced: bytes | None = None
        self.mtime_ns = number

    def after_power_cut(self) -> set[bytes]:
        """Everything the file may hold then."""
        if self.synced == self.data:
            return {self.data}
        size = len(self.data)
        return {b"", self.data[: size // 2], b"\0" * size, self.data[:-1], self.data}


class Disk(FileCalls):
    """One folder. `script` says which call (counted from 0) goes wrong and how."""

    windows = False

    def __init__(self, script: Mapping[int, Fault] | None = None) -> None:
        self.script = dict(script or {})
        self.calls: list[str] = []
        self.stopped = False
        self.files: dict[str, Inode] = {}
        self.hook: Callable[[str], None] = lambda name: None
        self.replaced: list[bytes] = []
        """What was made the target, one after the other."""
        self.certain = 0
        """So many of those are certain to survive: a folder sync came after them."""
        self._certain_files: dict[str, Inode] = {}
        self._renames: list[dict[str, Inode]] = []  # the folder after each change not synced yet
        self._open: dict[int, Inode] = {}
        self._numbers = 0

    # ------------------------------------------------------------------ what is left

    def seen(self, path: Path) -> bytes | None:
        """What any process reads now, and after a kill."""
        inode = self.files.get(path.name)
        return None if inode is None else inode.data

    def after_power_cut(self, path: Path) -> Iterator[bytes | None]:
        """Everything the file may hold after a power cut now; None: no file."""
        for files in (self._certain_files, *self._renames):
            inode = files.get(path.name)
            if inode is None:
                yield None
            else:
                yield from inode.after_power_cut()

    def reader(self, path: Path) -> tuple[Container, FileStamp | None]:
        """Read the store as `read_container` does."""
        inode = self.files.get(path.name)
        if inode is None:
            return Container(), None
        return parse_container(inode.data, path=str(path)), FileStamp.of(_stat(inode))

    # ------------------------------------------------------------------ the calls

    def _call(self, name: str, act: Callable[[], Any]) -> Any:
        if self.stopped:
            raise Stopped
        fault = self.script.get(len(self.calls))
        self.calls.append(name)
        self.hook(name)
        if fault is None or fault.short:
            return act()
        if fault.late:
            act()
        if fault.stop:
            self.stopped = True
            raise Stopped
        raise OSError(fault.error, os.strerror(fault.error))

    @override
    def make_folder(self, path: Path) -> None:
        self._call("make_folder", lambda: None)

    @override
    def stat(self, path: Path) -> os.stat_result:
        return self._call("stat", lambda: _stat(self._at(path)))  # type: ignore[no-any-return]

    def _at(self, path: Path) -> Inode:
        if path.name not in self.files:
            raise FileNotFoundError(errno.ENOENT, "no such file", str(path))
        return self.files[path.name]

    @override
    def open_new(self, path: Path, mode: int) -> int:
        def act() -> int:
            assert path.name not in self.files
            self._numbers += 1
            inode = self.files[path.name] = Inode(self._numbers, stat.S_IFREG | mode)
            self._renames.append(dict(self.files))
            self._open[self._numbers] = inode
            return self._numbers

        return self._call("open_new", act)  # type: ignore[no-any-return]

    @override
    def set_mode(self, fd: int, mode: int) -> None:
        self._call("set_mode", lambda: setattr(self._open[fd], "mode", stat.S_IFREG | mode))

    @override
    def write(self, fd: int, data: memoryview) -> int:
        fault = self.script.get(len(self.calls))

        def act() -> int:
            part = bytes(data[: fault.short] if fault is not None and fault.short else data)
            inode = self._open[fd]
            inode.data += part
            inode.mtime_ns += 1
            return len(part)

        return self._call("write", act)  # type: ignore[no-any-return]

    @override
    def fsync(self, fd: int) -> None:
        def act() -> None:
            self._open[fd].synced = self._open[fd].data

        self._call("fsync", act)

    @override
    def close(self, fd: int) -> None:
        self._call("close", lambda: self._open.pop(fd, None))

    @override
    def replace(self, source: Path, target: Path) -> None:
        def act() -> None:
            inode = self._at(source)
            del self.files[source.name]
            self.files[target.name] = inode
            self._renames.append(dict(self.files))
            self.replaced.append(inode.data)

        self._call("replace", act)

    @override
    def fsync_folder(self, path: Path) -> None:
        def act() -> None:
            self._certain_files, self._renames = dict(self.files), []
            self.certain = len(self.replaced)

        self._call("fsync_folder", act)

    @override
    def unlink(self, path: Path) -> None:
        def act() -> None:
            self._at(path)
            del self.files[path.name]
            self._renames.append(dict(self.files))

        self._call("unlink", act)


def _stat(inode: Inode) -> Any:
    return SimpleNamespace(
        st_mode=inode.mode, st_ino=inode.number, st_size=len(inode.data), st_mtime_ns=inode.mtime_ns
    )
