"""Announced work shares one write, and fails apart (formats.md 8 W16)."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path

import pytest

from oma_desktop.base.clock import SystemClock
from oma_desktop.model.errors import Conflict, WriteFailed
from oma_desktop.store.file_calls import FileCalls
from oma_desktop.store.filestore import FileStore


class Counted(FileCalls):
    def __init__(self) -> None:
        self.replaced = 0
        self.reason: int | None = None

    def replace(self, source: Path, target: Path) -> None:
        if self.reason:
            raise OSError(self.reason, "no")
        super().replace(source, target)
        self.replaced += 1


@pytest.fixture
def calls() -> Counted:
    return Counted()


@pytest.fixture
def store(tmp_path: Path, calls: Counted) -> FileStore:
    return FileStore(tmp_path / "run.json", clock=SystemClock(), calls=calls)


def setting(store: FileStore, key: str, value: str) -> Callable[[], str]:
    def work() -> str:
        store.set(key, value)
        return f"{key} is {value}"

    return store.enlist(work)


def test_what_is_announced_is_written_by_the_first_call(store: FileStore, calls: Counted) -> None:
    announced = [setting(store, f"k{n}", str(n)) for n in range(50)]
    assert announced[7]() == "k7 is 7"
    assert calls.replaced == 1
    late = setting(store, "late", "1")
    assert [call() for call in announced] == [f"k{n} is {n}" for n in range(50)]
    assert calls.replaced == 1
    assert late() == "late is 1"
    assert calls.replaced == 2
    assert len(FileStore(store.path, clock=SystemClock()).list()) == 51


def test_a_failure_undoes_its_own_changes_only(store: FileStore, calls: Counted) -> None:
    def refused() -> None:
        store.set("half", "1")
        raise Conflict("CHECKPOINT_EXISTS", key="x")

    one, bad, two = setting(store, "a", "1"), store.enlist(refused), setting(store, "b", "2")
    one()
    with pytest.raises(Conflict, match="CHECKPOINT_EXISTS"):
        bad()
    two()
    assert calls.replaced == 1
    assert [e.key for e in store.list()] == ["a", "b"]


def test_a_failed_write_is_everybodys(store: FileStore, calls: Counted) -> None:
    announced = [setting(store, f"k{n}", str(n)) for n in range(3)]
    calls.reason = errno.ENOSPC
    for call in announced:
        with pytest.raises(WriteFailed, match="STORE_NO_SPACE"):
            call()
    assert store.list() == []
    calls.reason = None
    setting(store, "k", "1")()
    assert [e.key for e in store.list()] == ["k"]


def test_an_unexpected_fault_stays_with_its_caller(store: FileStore) -> None:
    def broken() -> None:
        store.set("half", "1")
        raise KeyError("bug")

    def half_broken() -> None:
        with store.batch():
            broken()

    one, bad, two = setting(store, "a", "1"), store.enlist(half_broken), setting(store, "b", "2")
    assert one() == "a is 1"
    with pytest.raises(KeyError):
        bad()
    assert two() == "b is 2"
    assert [e.key for e in store.list()] == ["a", "b"]
