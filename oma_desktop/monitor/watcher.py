"""File-system events as hints: a path is handed to the loop, nothing more (house.md 2.3, 4.3).

Folders are watched, never files: an atomic replace would take a file's watch with it. The observer
is help, not a promise: it may not start, die or stay silent, and polling goes on beside it.
"""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from typing_extensions import override
from watchdog.events import FileSystemEvent, FileSystemEventHandler
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver, ObservedWatch

from oma_desktop.base.lanes import Lanes
from oma_desktop.model.errors import WatchUnavailable

_KINDS: Final = frozenset({"created", "modified", "closed", "moved", "deleted"})

# Reasons of our own beside the system's words (case s24).
LIMIT: Final = "watch_limit"
SILENT: Final = "no_events"


@dataclass(slots=True)
class _Watch:
    """One watched folder; `inode` tells whether it is still the same one."""

    recursive: bool
    real: str = ""
    inode: int = 0
    handle: ObservedWatch | None = None


class Watcher:
    """Hands paths of changed files to `on_path`, on the loop.

    Invariants: after `close` nothing is handed over; trouble is told once, as WatchUnavailable,
    and never as an exception. Paths are given as they lie below the folder that was asked for,
    also when it is a link.
    """

    def __init__(
        self,
        *,
        lanes: Lanes,
        on_path: Callable[[str], None],
        on_trouble: Callable[[WatchUnavailable], None],
        make_observer: Callable[[], BaseObserver] = Observer,
    ) -> None:
        self._lanes = lanes
        self._on_path = on_path
        self._on_trouble = on_trouble
        self._make_observer = make_observer
        self._observer: BaseObserver | None = None
        self._folders: dict[str, _Watch] = {}
        self._loop = asyncio.get_running_loop()
        self._turn = asyncio.Lock()
        self._told = False
        self._closed = False

    @property
    def works(self) -> bool:
        """Whether every folder is watched, as far as is known."""
        return not self._told and all(w.handle is not None for w in self._folders.values())

    async def watch(self, folder: str, *, recursive: bool) -> None:
        """Watch a folder from now on; one that does not exist (yet) is tried again by `check`."""
        known = self._folders.get(folder)
        if known is not None and known.recursive >= recursive:
            return
        async with self._turn:
            if known is not None:
                await self._lanes.work(self._drop, known)
            self._folders[folder] = _Watch(recursive)
            await self._renew()

    async def unwatch(self, folder: str) -> None:
        """Stop watching a folder."""
        async with self._turn:
            known = self._folders.pop(folder, None)
            if known is not None:
                await self._lanes.work(self._drop, known)

    async def check(self) -> None:
        """Watch again what was deleted and made anew, and what could not be watched before."""
        async with self._turn:
            await self._renew()

    async def close(self) -> None:
        """Stop the observer and wait for its thread."""
        self._closed = True
        async with self._turn:
            self._folders.clear()
            observer, self._observer = self._observer, None
            if observer is not None:
                await self._lanes.work(_stop, observer)

    def silent(self) -> None:
        """Files change and no event comes: say so once."""
        self._tell(SILENT)

    async def _renew(self) -> None:
        if self._closed:
            return
        reason = await self._lanes.work(self._schedule_all)
        if reason:
            self._tell(reason)

    def _tell(self, reason: str) -> None:
        if not self._told and not self._closed:
            self._told = True
            self._on_trouble(_trouble(reason))

    def _schedule_all(self) -> str:
        """Schedule every folder whose watch is missing or dead; return the first trouble."""
        try:
            observer = self._started()
        except OSError as error:
            return _reason(error)
        alive = {e.watch for e in observer.emitters if e.is_alive()}
        trouble = ""
        for folder, watch in list(self._folders.items()):
            try:
                self._schedule(observer, folder, watch, alive)
            except OSError as error:
                watch.handle = None
                trouble = trouble or _reason(error)
        return trouble

    def _schedule(
        self, observer: BaseObserver, folder: str, watch: _Watch, alive: set[ObservedWatch]
    ) -> None:
        real = os.path.realpath(folder)
        try:
            inode = os.stat(real).st_ino  # noqa: PTH116 - a string is all that is known
        except FileNotFoundError:
            inode = 0
        if watch.handle is not None:
            if watch.handle in alive and (watch.real, watch.inode) == (real, inode):
                return
            self._drop(watch)
        if inode:
            handler = _Handler(lambda path: self._receive(path, real, folder))
            watch.real, watch.inode = real, inode
            watch.handle = observer.schedule(handler, real, recursive=watch.recursive)

    def _started(self) -> BaseObserver:
        if self._observer is None or not self._observer.is_alive():
            observer = self._make_observer()
            observer.start()
            for watch in self._folders.values():
                watch.handle = None
            self._observer = observer
        return self._observer

    def _drop(self, watch: _Watch) -> None:
        handle, watch.handle = watch.handle, None
        if handle is not None and self._observer is not None:
            # The emitter may have gone by itself, with its folder.
            try:
                self._observer.unschedule(handle)
            except (KeyError, OSError):
                return

    def _receive(self, path: str, real: str, folder: str) -> None:
        """Called in watchdog's thread."""
        if self._closed:
            return
        if real != folder and path.startswith(real):
            path = folder + path[len(real) :]
        try:
            self._loop.call_soon_threadsafe(self._arrive, path)
        except RuntimeError:
            self._closed = True  # the loop has ended before us

    def _arrive(self, path: str) -> None:
        if not self._closed:
            self._on_path(path)


class _Handler(FileSystemEventHandler):
    """Filters events to the kinds that can mean new bytes, and to the path they arrived at."""

    def __init__(self, receive: Callable[[str], None]) -> None:
        self._receive = receive

    @override
    def dispatch(self, event: FileSystemEvent) -> None:
        if event.event_type not in _KINDS:
            return
        if event.is_directory and event.event_type == "modified":
            return
        self._receive(os.fsdecode(event.src_path))
        if event.event_type == "moved" and event.dest_path:
            self._receive(os.fsdecode(event.dest_path))


def _stop(observer: BaseObserver) -> None:
    observer.unschedule_all()
    observer.stop()
    if observer.is_alive():
        observer.join(5.0)


def _trouble(reason: str) -> WatchUnavailable:
    if reason == SILENT:
        return WatchUnavailable("WATCH_SILENT", reason=reason)
    if reason == LIMIT:
        return WatchUnavailable("WATCH_LIMIT_REACHED", reason=reason)
    return WatchUnavailable("WATCH_UNAVAILABLE", reason=reason)


def _reason(error: OSError) -> str:
    """Return a word for the cause; ENOSPC here means the watch limit, not a full disk (s24)."""
    if error.errno in (errno.ENOSPC, errno.EMFILE, errno.ENFILE):
        return LIMIT
    return error.strerror or type(error).__name__
