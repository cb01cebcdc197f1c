"""The monitor: from paths a person opened to pictures of every store in them.

Watching, polling and hints all end in the same question: does the file differ from its picture?
Answers come as `StoreView`s on the loop; nothing here writes anything.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Final

from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver

from oma_desktop.base.clock import Clock
from oma_desktop.base.lanes import Lanes
from oma_desktop.base.supervisor import Supervisor
from oma_desktop.model.call_detail import CallDetail
from oma_desktop.model.container import Container
from oma_desktop.model.errors import NotFound, OmaError, WatchUnavailable
from oma_desktop.model.resume import ResumePlan
from oma_desktop.model.view import ConversationView, Effect, RunRef, RunState, StoreView
from oma_desktop.monitor.catalog import Catalog, Found, may_be_store
from oma_desktop.monitor.dbwatch import DatabaseFollower, DatabaseWatch
from oma_desktop.monitor.debounce import Debounce
from oma_desktop.monitor.follower import Follower
from oma_desktop.monitor.jobs import CallJob, ConversationJob, PlanJob
from oma_desktop.monitor.ownership import Look, look_at
from oma_desktop.monitor.reader import Reader
from oma_desktop.monitor.watcher import Watcher
from oma_desktop.store.address import (
    DatabaseAddress,
    StoreAddress,
    is_database,
    parse_address,
)
from oma_desktop.store.file_calls import FileStamp

SWEEP_S: Final = 2.0
"""Events are only hints (ux.md C2): every file is looked at this often all the same."""
SCAN_EVERY: Final = 15
"""Sweeps between two walks through the folders when events work."""
SCAN_GAP_S: Final = 1.0
_BATCH: Final = 200
_READS_AT_ONCE: Final = 4
_LOCK: Final = ".lock"
_SILENT_AFTER: Final = 2
_SETTLED_NS: Final = 1_000_000_000


class _Root:
    """One folder a person opened."""

    def __init__(self, path: str, scan: Debounce) -> None:
        self.catalog = Catalog(path)
        self.scan = scan
        self.stores: frozenset[str] = frozenset()
        self.told = False


class Monitor:
    """Follows stores. All callbacks and methods run on the loop; none of them blocks it.

    `on_view` gets every new picture, `on_gone` the path of a store that is not followed any more,
    `on_notice` what a person should know once (WatchUnavailable, or a folder too big), `on_scanned`
    a folder that was walked through and holds no store.
    Invariant: after `close` no callback is called.
    """

    def __init__(  # noqa: PLR0917 - the shape app.session was promised
        self,
        clock: Clock,
        supervisor: Supervisor,
        lanes: Lanes,
        on_view: Callable[[StoreView], None],
        on_gone: Callable[[str], None],
        on_notice: Callable[[OmaError], None],
        *,
        on_scanned: Callable[[str], None] | None = None,
        reader: Reader | None = None,
        make_observer: Callable[[], BaseObserver] = Observer,
        sweep_s: float = SWEEP_S,
    ) -> None:
        self._sweep_s = sweep_s
        # However many stores there are: a question of the screen waits for few reads.
        self._gate = asyncio.Semaphore(_READS_AT_ONCE)
        self._aliases: dict[str, str] = {}
        self._clock = clock
        self._supervisor = supervisor
        self._lanes = lanes
        self._on_view = on_view
        self._on_gone = on_gone
        self._on_notice = on_notice
        self._on_scanned = on_scanned
        self._reader = reader or Reader(lanes)
        self._watcher = Watcher(
            lanes=lanes,
            on_path=self._on_path,
            on_trouble=self._on_trouble,
            make_observer=make_observer,
        )
        self._roots: dict[str, _Root] = {}
        self._files: set[str] = set()
        self._followers: dict[str, Follower] = {}
        self._databases: dict[str, DatabaseWatch] = {}
        self._leaving: list[DatabaseWatch] = []
        self._n_silent = 0
        self._heard = False
        self._closed = False
        self._sweeping = False

    # -- what a person opened ------------------------------------------------------------------

    def add(self, path: str) -> None:
        """Follow a store file, every store below a folder, or a store in a database.

        Twice is once. Raises InvalidInput for an address that is none.
        """
        if is_database(path):
            self._add_database(parse_address(path))
            return
        path = os.path.abspath(path)  # noqa: PTH100 - paths of views are strings
        if path in self._roots or path in self._files or self._closed:
            return
        self._start_sweep()
        if os.path.isdir(path):  # noqa: PTH112
            scan = partial(self._scan, path)
            self._roots[path] = _Root(path, self._debounce(scan, f"scan {path}"))
            self._roots[path].scan.ask()
            self._spawn(self._watch(path, recursive=True), f"watch {path}")
        else:
            self._files.add(path)
            real = os.path.realpath(path)
            self._aliases[real] = path
            for folder in {os.path.dirname(path), os.path.dirname(real)}:  # noqa: PTH120
                if not self._is_below_root(folder):
                    self._spawn(self._watch(folder, recursive=False), f"watch {folder}")
            self._follow(path)

    async def _watch(self, folder: str, *, recursive: bool) -> None:
        """Watch, then look again: what changed before the watch began was not announced."""
        await self._watcher.watch(folder, recursive=recursive)
        if not self._closed:
            self.look_again()

    def remove(self, path: str) -> None:
        """Follow a file, folder or database no longer; nothing in it changes."""
        watch = self._databases.pop(path, None)
        if watch is not None:
            self._leaving = [w for w in self._leaving if not w.ended] + [watch]
            watch.stop()
            self._drop(path)
            return
        path = os.path.abspath(path)  # noqa: PTH100
        root = self._roots.pop(path, None)
        if root is not None:
            root.scan.close()
            self._spawn(self._watcher.unwatch(path), f"unwatch {path}")
        self._files.discard(path)
        wanted = self._wanted()
        for store in [p for p in self._followers if p not in wanted]:
            self._drop(store)

    def hint(self, path: str) -> None:
        """This process has written the store at `path`: look again."""
        if (watch := self._databases.get(path)) is not None:
            watch.look_again()
            return
        follower = self._followers.get(os.path.abspath(path))  # noqa: PTH100
        if follower is not None:
            follower.written_here()
        else:
            self._scan_around(path)

    def look_again(self) -> None:
        """Look at everything now."""
        for follower in self._followers.values():
            follower.look_again()
        for watch in self._databases.values():
            watch.look_again()
        for root in self._roots.values():
            root.scan.ask()

    def view(self, path: str) -> StoreView | None:
        """Return the present picture of a store."""
        follower = self._followers.get(path)
        return follower.view if follower else None

    # -- questions -----------------------------------------------------------------------------

    async def conversation(self, ref: RunRef, task_id: str) -> ConversationView:
        """Read the messages of one task. Raises StoreError or NotFound."""
        job = ConversationJob(
            ref.store, ref.key, task_id, live=self._is_live(ref), address=_address(ref)
        )
        return await self._reader.conversation(job, size=self._size(ref.store))

    async def call_detail(
        self, ref: RunRef, task_id: str, call_id: str, *, round_: int | None = None
    ) -> CallDetail:
        """Read whole input and output of one call. Raises StoreError or NotFound."""
        job = CallJob(ref.store, ref.key, task_id, call_id, round_, _address(ref))
        return await self._reader.call(job, size=self._size(ref.store))

    def read_file(self, path: Path) -> tuple[Container, FileStamp | None]:
        """Read a store file for its writer; big ones in the worker process. Blocks, on a lane."""
        return self._reader.container(path)

    async def resume_plan(
        self, ref: RunRef, *, effects: Mapping[str, Effect] | None = None
    ) -> ResumePlan:
        """Compute what a restore would do. Raises StoreError or NotFound."""
        job = PlanJob(ref.store, ref.key, effects, _address(ref))
        return await self._reader.plan(job, size=self._size(ref.store))

    async def close(self) -> None:
        """Stop watching and reading; joins the observer's thread and the worker process."""
        self._closed = True
        for root in self._roots.values():
            root.scan.close()
        for follower in self._followers.values():
            follower.close()
        await asyncio.gather(*(w.close() for w in (*self._databases.values(), *self._leaving)))
        await self._watcher.close()
        await self._reader.close()

    def _is_live(self, ref: RunRef) -> bool:
        view = self.view(ref.store)
        runs = view.runs if view else ()
        return any(r.key == ref.key and r.state is RunState.RUNNING for r in runs)

    def _size(self, path: str) -> int:
        """Return the size at the last look; a store nobody follows counts as big."""
        follower = self._followers.get(path)
        if follower is None and not is_database(path) and not os.path.isfile(path):  # noqa: PTH113
            raise NotFound("STORE_MISSING", path=path)
        return follower.size if follower else 1 << 40

    # -- followers -----------------------------------------------------------------------------

    def _follow(self, path: str) -> None:
        if path in self._followers:
            return
        self._followers[path] = Follower(
            path,
            clock=self._clock,
            supervisor=self._supervisor,
            lanes=self._lanes,
            reader=self._reader,
            gate=self._gate,
            on_view=self._on_view,
            on_gone=self._on_vanished,
        )
        self._followers[path].look_again()

    def _add_database(self, address: StoreAddress) -> None:
        if not isinstance(address, DatabaseAddress) or self._closed:
            return
        if address.text in self._databases:
            return
        follower = DatabaseFollower(
            address.text,
            clock=self._clock,
            supervisor=self._supervisor,
            lanes=self._lanes,
            reader=self._reader,
            gate=self._gate,
            on_view=self._on_view,
            on_gone=self._on_vanished,
        )
        self._followers[address.text] = follower
        self._databases[address.text] = DatabaseWatch(
            address,
            follower,
            clock=self._clock,
            lanes=self._lanes,
            supervisor=self._supervisor,
            on_deaf=self._on_trouble,
        )

    def _drop(self, path: str) -> None:
        follower = self._followers.pop(path, None)
        if follower is not None:
            follower.close()
            if not self._closed:
                self._on_gone(path)

    def _on_vanished(self, path: str) -> None:
        """The file is gone: one that was opened by name stays, with its problem."""
        if path not in self._files:
            self._drop(path)

    def _wanted(self) -> set[str]:
        stores = (root.stores for root in self._roots.values())
        return self._files.union(self._databases, *stores)

    def _is_below_root(self, path: str) -> bool:
        return any(path == r or path.startswith(r + os.sep) for r in self._roots)

    # -- folders -------------------------------------------------------------------------------

    async def _scan(self, path: str) -> None:
        root = self._roots.get(path)
        if root is None:
            return
        found = await self._lanes.work(root.catalog.scan)
        if self._roots.get(path) is not root:
            return
        self._tell_limit(root, found)
        if not found.stores and self._on_scanned is not None:
            self._on_scanned(path)
        new = [s for s in found.stores if s not in self._followers]
        # A store that vanished stays until its follower is sure; see `Follower`.
        root.stores = frozenset(found.stores) | (root.stores & self._followers.keys())
        for batch in _batches(new):
            for store in batch:
                self._follow(store)
            await self._clock.sleep(0)

    def _tell_limit(self, root: _Root, found: Found) -> None:
        if not found.complete and not root.told:
            root.told = True
            error = WatchUnavailable(
                "WATCH_FOLDER_TOO_BIG", path=root.catalog.root, n=len(found.stores)
            )
            self._on_notice(error)

    def _scan_around(self, path: str) -> None:
        for root_path, root in self._roots.items():
            if path == root_path or path.startswith(root_path + os.sep):
                root.scan.ask()

    # -- events and sweeps ---------------------------------------------------------------------

    def _on_path(self, path: str) -> None:
        self._heard = True
        if path not in self._followers:
            path = self._aliases.get(path, path)
        follower = self._followers.get(path)
        if follower is not None:
            follower.look_again()
        elif path.endswith(_LOCK) and (owned := self._followers.get(path[: -len(_LOCK)])):
            owned.lock_changed()
        elif may_be_store(path) or os.path.splitext(path)[1] == "":  # noqa: PTH122 - maybe a folder
            self._scan_around(path)

    def _on_trouble(self, error: WatchUnavailable) -> None:
        if not self._closed:
            self._on_notice(error)

    def _start_sweep(self) -> None:
        if not self._sweeping:
            self._sweeping = True
            self._spawn(self._sweep_for_ever(), "monitor sweep")

    async def _sweep_for_ever(self) -> None:
        n = 0
        while not self._closed:
            await self._clock.sleep(self._sweep_s)
            n += 1
            await self._watcher.check()
            await self._sweep()
            if n % (SCAN_EVERY if self._watcher.works else 1) == 0:
                for root in self._roots.values():
                    root.scan.ask()

    async def _sweep(self) -> None:
        missed = False
        for paths in _batches([p for p in self._followers if p not in self._databases]):
            looks = await self._lanes.work(self._look_at_all, paths)
            for path, look in zip(paths, looks, strict=True):
                follower = self._followers.get(path)
                if follower is not None and follower.is_news(look):
                    missed |= follower.missed(look) and self._is_settled(look)
                    follower.look_again()
        self._note_silence(missed=missed)

    def _look_at_all(self, paths: list[str]) -> list[Look]:
        return [look_at(path, clock=self._clock) for path in paths]

    def _is_settled(self, look: Look) -> bool:
        """Whether the version is old enough for its event to have come."""
        now_ns = int(self._clock.now().timestamp() * 1e9)
        stamp = look.stamp
        return isinstance(stamp, FileStamp) and now_ns - stamp.mtime_ns > _SETTLED_NS

    def _note_silence(self, *, missed: bool) -> None:
        """Count sweeps that found a change while no event at all came since the last one."""
        heard, self._heard = self._heard, False
        if heard:
            self._n_silent = 0
        elif missed:
            self._n_silent += 1
            if self._n_silent >= _SILENT_AFTER:
                self._watcher.silent()

    def _debounce(self, go: Callable[[], Awaitable[None]], name: str) -> Debounce:
        return Debounce(
            go,
            name=name,
            clock=self._clock,
            supervisor=self._supervisor,
            gap_s=SCAN_GAP_S,
        )

    def _spawn(self, work: Coroutine[object, object, None], name: str) -> None:
        self._supervisor.spawn(work, name=name)


def _address(ref: RunRef) -> StoreAddress | None:
    """Return the address with its login where the store is a database."""
    return parse_address(ref.store) if is_database(ref.store) else None


def _batches(items: list[str]) -> Iterator[list[str]]:
    for start in range(0, len(items), _BATCH):
        yield items[start : start + _BATCH]
