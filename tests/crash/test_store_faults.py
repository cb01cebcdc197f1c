"""Every way a disk can fail or stop, at every call of a save (formats.md 1.4.3, 8 W6, W16, W19).

Exhaustive for one and for two faults of a short life of a store, random for more of them and for
callers that share a write. The same harness must find bugs that are planted.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typing_extensions import override

from oma_desktop.store import atomic, group_commit, rows
from tests.crash.store_disk import ERRORS, Disk, Fault, Inode
from tests.crash.store_schedule import PATH, Schedule, Violation, play

STOPS = (Fault(stop=True), Fault(stop=True, late=True))
FAILS = tuple(Fault(error=number) for number in ERRORS)
SOME_FAILS = (Fault(error=errno.ENOSPC), Fault(error=errno.EIO))
LATE = Fault(error=errno.EIO, late=True)
SHORT = (Fault(short=1), Fault(short=40))


@pytest.fixture(autouse=True)
def small_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every save takes several write calls."""
    monkeypatch.setattr(rows, "_WRITE_AT_ONCE", 60)


def life(schedule: Schedule) -> None:
    """A first save, a batch, a change."""
    schedule.save({"a": "1"})
    schedule.save({"b": "1", "c": "1"})
    schedule.save({"d": "1"})


def short_life(schedule: Schedule) -> None:
    """A first save and a batch."""
    schedule.save({"a": "1"})
    schedule.save({"b": "1", "c": "1"})


def calls_of(plan: Callable[[Schedule], None], faults: Mapping[int, Fault]) -> list[str]:
    disk = Disk(faults)
    play(disk, plan)
    return disk.calls


def kinds(name: str, *, every: bool) -> tuple[Fault, ...]:
    """What can happen at a call."""
    found = (*STOPS, *(FAILS if every else SOME_FAILS))
    if name == "write":
        found += SHORT
    if name in {"replace", "fsync", "close", "open_new"}:
        found += (LATE,)
    return found


def one_fault(*, every: bool = True) -> Iterator[dict[int, Fault]]:
    yield from faults_of(life, every=every)


def faults_of(plan: Callable[[Schedule], None], *, every: bool) -> Iterator[dict[int, Fault]]:
    for n, name in enumerate(calls_of(plan, {})):
        for fault in kinds(name, every=every):
            yield {n: fault}


def two_faults() -> Iterator[dict[int, Fault]]:
    """After a first fault that can be survived, everything again at every later call."""
    for first in faults_of(short_life, every=False):
        ((n, fault),) = first.items()
        if fault.stop:
            continue
        for m, name in enumerate(calls_of(short_life, first)):
            if m > n:
                for second in kinds(name, every=False):
                    yield {n: fault, m: second}


def test_one_fault_at_every_call(capsys: pytest.CaptureFixture[str]) -> None:
    played = [play(Disk(faults), life) for faults in one_fault()]
    report(capsys, "one fault", played)
    assert len(played) > 300


def test_two_faults_at_every_pair_of_calls(capsys: pytest.CaptureFixture[str]) -> None:
    played = [play(Disk(faults), short_life) for faults in two_faults()]
    report(capsys, "two faults", played)
    assert len(played) > 2500


def test_after_any_fault_the_next_save_succeeds() -> None:
    for faults in one_fault():
        (fault,) = faults.values()
        if fault.stop:
            continue
        disk = Disk(faults)
        schedule = play(disk, life)
        disk.script.clear()
        schedule.save({"again": "1"})
        schedule.save({"again2": "1"})
        assert "again2" in schedule.acknowledged, faults
        schedule.check_all()


FAULT = st.one_of(
    st.sampled_from(FAILS),
    st.sampled_from(STOPS),
    st.sampled_from(SHORT),
    st.just(LATE),
)
GROUPS = st.lists(
    st.lists(st.sampled_from("abcdef"), min_size=1, max_size=3, unique=True),
    min_size=1,
    max_size=6,
)
FAULTS = st.dictionaries(st.integers(0, 90), FAULT, max_size=6)
QUICK = settings(
    max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@QUICK
@given(GROUPS, FAULTS)
def test_any_faults_of_any_life(groups: list[list[str]], faults: dict[int, Fault]) -> None:
    def plan(schedule: Schedule) -> None:
        for n, keys in enumerate(groups):
            schedule.save(dict.fromkeys(keys, str(n)))

    play(Disk(faults), plan)


def together(pool: ThreadPoolExecutor) -> Callable[[Schedule], None]:
    """One save, then one with three others that come while it is written, then one more."""

    def plan(schedule: Schedule) -> None:
        schedule.save({"a": "1"})
        schedule.save_together({"b": "1"}, [{"x": "1"}, {"y": "1"}, {"z": "1"}], pool)
        schedule.save({"c": "1"})

    return plan


def test_one_fault_at_every_call_while_others_wait(capsys: pytest.CaptureFixture[str]) -> None:
    played = []
    with ThreadPoolExecutor(3) as pool:
        plan = together(pool)
        names = calls_of(plan, {})
        assert names.count("replace") == 4, "three waiters, one write"
        for n, name in enumerate(names):
            played += [play(Disk({n: fault}), plan) for fault in kinds(name, every=False)]
    report(capsys, "callers that share a write", played)
    assert len(played) > 200


@settings(QUICK, max_examples=150)
@given(FAULTS)
def test_any_faults_while_others_wait(faults: dict[int, Fault]) -> None:
    with ThreadPoolExecutor(3) as pool:
        play(Disk(faults), together(pool))


def report(capsys: pytest.CaptureFixture[str], name: str, played: list[Schedule]) -> None:
    images = sum(schedule.checked for schedule in played)
    with capsys.disabled():
        print(f"\n{name}: {len(played)} schedules, {images} states after power cuts, 0 violations")


# ---------------------------------------------------------------------- planted bugs


class NoSync(Disk):
    @override
    def fsync(self, fd: int) -> None:
        self._call("fsync", lambda: None)


class SyncAfterRename(Disk):
    """The bytes are synced only when the name is there already."""

    @override
    def fsync(self, fd: int) -> None:
        self._late = self._open[fd]
        self._call("fsync", lambda: None)

    @override
    def replace(self, source: Path, target: Path) -> None:
        super().replace(source, target)
        late: Inode = self._late

        def act() -> None:
            late.synced = late.data

        self._call("fsync", act)


class NoFolderSync(Disk):
    @override
    def fsync_folder(self, path: Path) -> None:
        self._call("fsync_folder", lambda: None)


def first_violation(make: Callable[[Mapping[int, Fault]], Disk]) -> str | None:
    for faults in one_fault(every=False):
        try:
            play(make(faults), life)
        except Violation as violation:
            return str(violation)
    return None


@pytest.mark.parametrize("make", [NoSync, SyncAfterRename])
def test_a_missing_or_late_sync_is_found(make: type[Disk]) -> None:
    assert first_violation(make) == (
        "after a power cut the file is neither the old nor the new state"
    )


def test_a_missing_folder_sync_costs_the_last_saves_at_most() -> None:
    """formats.md 1.4.3 step 6: then an older state may come back, but never a broken one."""
    assert first_violation(NoFolderSync) is None


def test_writing_on_the_spot_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def in_place(path: Path, data: Any, *, before_replace: Any, calls: Disk) -> Any:
        before_replace()
        inode = calls.files.setdefault(path.name, Inode(1, 0o100600))
        inode.data, inode.synced = b"", None
        for piece in data:
            calls._call("write", lambda piece=piece: setattr(inode, "data", inode.data + piece))
        calls.replaced.append(inode.data)
        inode.mtime_ns += 1
        inode.synced = inode.data
        return calls.reader(PATH)[1]

    monkeypatch.setattr("oma_desktop.store.filestore.write_atomic", in_place)
    assert first_violation(Disk) is not None


def test_a_short_write_that_is_not_gone_on_with_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(atomic, "write_all", lambda fd, data, *, calls: calls.write(fd, data))
    assert (first_violation(Disk) or "").startswith("the file cannot be read")


def test_an_error_that_is_swallowed_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_commit._Waiter, "outcome", lambda self: None)
    assert first_violation(Disk) == "an acknowledged write is gone"


def test_a_memory_ahead_of_the_disk_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    from oma_desktop.store import filestore

    real = filestore.FileStore._write

    def write(self: filestore.FileStore, changes: Any) -> None:
        known = self._load()
        after = known.rows
        for change in changes:
            after = change(after)
        self._mirror = filestore._Mirror(after, known.extra, known.stamp, ())
        real(self, [dict])

    monkeypatch.setattr(filestore.FileStore, "_write", write)
    assert first_violation(Disk) == "the memory is ahead of the file or behind it"


def test_waking_those_who_wait_before_the_write_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A group commit that says "saved" when it has only taken the changes over."""
    real = group_commit.GroupCommit._write_together

    def hasty(self: Any) -> None:
        waiting = list(self._waiting)
        for waiter in waiting[1:]:
            waiter.done = True
            waiter.wake.release()
        self._waiting = waiting
        real(self)

    monkeypatch.setattr(group_commit._Waiter, "outcome", lambda self: None)
    monkeypatch.setattr(group_commit.GroupCommit, "_write_together", hasty)
    found = []
    with ThreadPoolExecutor(3) as pool:
        plan = together(pool)
        for n, name in product(range(60), ["stop", "fail"]):
            fault = STOPS[0] if name == "stop" else SOME_FAILS[0]
            try:
                play(Disk({n: fault}), plan)
            except Violation as violation:
                found.append(str(violation))
    assert "an acknowledged write is gone" in found
