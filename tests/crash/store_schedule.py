"""One schedule: a FileStore on a disk that goes wrong as told, and what must hold afterwards."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TypeAlias

from oma_desktop.model.container import parse_container
from oma_desktop.model.errors import ChangedOnDisk, StoreError
from oma_desktop.store.filestore import FileStore
from tests.crash.store_disk import Disk, Fault, Stopped

PATH = Path("/no-such-disk/run.json")
Values: TypeAlias = dict[str, str]
MakeDisk: TypeAlias = Callable[[Mapping[int, Fault]], Disk]


class Violation(AssertionError):
    """The store lost, tore or invented something."""


class Fixed:
    def now(self) -> datetime:
        return datetime(2026, 1, 2, tzinfo=UTC)


def whole(value: str) -> str:
    """A value long enough for several writes; half of it is not it."""
    return f"{value}<{value * 30}>"


class Schedule:
    """Plays changes against a disk and keeps the books. No two groups save the same value of a key.

    `acknowledged` is what the store has promised, `asked` what it may have written besides: every
    state that ever becomes the file must be the one plus any whole groups of the other.
    """

    def __init__(self, disk: Disk) -> None:
        self.disk = disk
        self.store = FileStore(PATH, clock=Fixed(), calls=disk, reader=disk.reader)
        self.acknowledged: Values = {}
        self.asked: list[Values] = []
        self.promised: list[tuple[int, Values]] = []
        """How many files had been replaced when which values were acknowledged."""
        self.checked = 0

    def save(self, group: Values) -> None:
        """One change (several keys: a batch); an error means that it is not acknowledged."""
        self.asked.append(group)
        try:
            with self.store.batch():
                for key, value in group.items():
                    self.store.set(key, whole(value))
        except ChangedOnDisk:
            self.store.reload()  # a rename that came too late to be counted
        except StoreError:
            pass
        else:
            self.acknowledge(group)

    def acknowledge(self, group: Values) -> None:
        self.acknowledged = {**self.acknowledged, **group}
        self.promised.append((len(self.disk.replaced), group))

    def save_together(self, first: Values, others: list[Values], pool: ThreadPoolExecutor) -> None:
        """`others` come from threads of their own while the bytes of `first` are written."""
        running = []

        def others_come(name: str) -> None:
            if name == "fsync" and not running:
                running.extend(pool.submit(self._quietly, group) for group in others)
                while self.store.waiting < len(others):
                    pass

        self.disk.hook = others_come
        try:
            self.save(first)
        finally:
            self.disk.hook = lambda name: None
            wait(running)
        if any(isinstance(future.exception(), Stopped) for future in running):
            raise Stopped

    def _quietly(self, group: Values) -> None:
        (key, value), *_ = group.items()
        self.asked.append(group)
        with contextlib.suppress(StoreError):
            self.store.set(key, whole(value))
            self.acknowledge(group)

    # ------------------------------------------------------------------ what must hold

    def check_all(self) -> None:
        """Raise Violation unless everything that may be found now is right."""
        for state in self.disk.replaced:
            self._legitimate(state)
        states = [None, *self.disk.replaced]
        seen = self.disk.seen(PATH)
        if seen != states[-1]:
            raise Violation("after a kill the file is not what was last put there")
        self._keeps_promises(seen, len(self.disk.replaced))
        for found in self.disk.after_power_cut(PATH):
            self.checked += 1
            if found not in states[self.disk.certain :]:
                raise Violation("after a power cut the file is neither the old nor the new state")
            self._keeps_promises(found, self.disk.certain)

    def check_memory(self) -> None:
        """Raise Violation unless the store shows what is in the file (W19)."""
        if self.store.stamp == self.disk.reader(PATH)[1]:
            shown = {e.key: e.value for e in self.store.list()}
            if shown != values(self.disk.seen(PATH)):
                raise Violation("the memory is ahead of the file or behind it")

    def check_tidy(self) -> None:
        """Raise Violation when a temporary file was left though it could have been removed."""
        if set(self.disk.files) - {PATH.name}:
            raise Violation("a temporary file was left")

    def _legitimate(self, state: bytes) -> None:
        """The file is what the visible ones of the groups make, each of them whole."""
        found = values(state)
        made: Values = {}
        for group in self.asked:
            if any(found.get(key) == whole(value) for key, value in group.items()):
                made |= {key: whole(value) for key, value in group.items()}
        if found != made:
            raise Violation("the file holds what nobody saved, or half a batch")

    def _keeps_promises(self, state: bytes | None, certain: int) -> None:
        found = values(state)
        for replaced, group in self.promised:
            if replaced > certain:
                continue
            since = self.asked[self.asked.index(group) :]
            for key in group:
                if found.get(key) not in {whole(later[key]) for later in since if key in later}:
                    raise Violation("an acknowledged write is gone")


@cache
def values(state: bytes | None) -> Values:
    """The values of a file; raises Violation on anything that is no whole store."""
    if state is None:
        return {}
    try:
        entries = parse_container(state, path="").entries
    except StoreError as error:
        raise Violation(f"the file cannot be read: {error.code}") from error
    return {entry.key: entry.value for entry in entries}


def play(disk: Disk, plan: Callable[[Schedule], None]) -> Schedule:
    """Play a plan to its end or to the stop, and check everything."""
    schedule = Schedule(disk)
    try:
        plan(schedule)
    except Stopped:
        schedule.check_all()
        return schedule
    schedule.check_all()
    schedule.check_memory()
    if not any(disk.script.get(n) for n, name in enumerate(disk.calls) if name == "unlink"):
        schedule.check_tidy()
    return schedule
