"""Callers that wait while a write is on its way share the next one (formats.md 8 W16, W19)."""

from __future__ import annotations

import errno
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from oma_desktop.base.clock import SystemClock
from oma_desktop.model.errors import WriteFailed
from oma_desktop.store.file_calls import FileCalls
from oma_desktop.store.filestore import FileStore


class Held(FileCalls):
    """The first write waits at its sync until it is let go."""

    def __init__(self) -> None:
        self.replaced = 0
        self.reason: int | None = None
        self.at_sync = threading.Event()
        self.go_on = threading.Event()

    def fsync(self, fd: int) -> None:
        self.at_sync.set()
        assert self.go_on.wait(20)
        if self.reason:
            raise OSError(self.reason, "no")
        super().fsync(fd)

    def replace(self, source: Path, target: Path) -> None:
        super().replace(source, target)
        self.replaced += 1


@pytest.fixture
def calls() -> Held:
    return Held()


@pytest.fixture
def store(tmp_path: Path, calls: Held) -> FileStore:
    return FileStore(tmp_path / "run.json", clock=SystemClock(), calls=calls)


def submitted(pool: ThreadPoolExecutor, store: FileStore, calls: Held) -> list[Future[Any]]:
    """One write on its way, twenty changes waiting for it."""
    first = pool.submit(store.set, "first", "1")
    assert calls.at_sync.wait(20)
    rest = [pool.submit(store.set, f"k{n}", str(n)) for n in range(18)]
    rest.append(pool.submit(store.compare_and_set, "first", "1", "2"))
    rest.append(pool.submit(store.compare_and_set, "first", "1", "3"))
    while store.waiting < len(rest):
        threading.Event().wait(0.001)
    return [first, *rest]


def test_all_that_wait_land_in_one_write(store: FileStore, calls: Held) -> None:
    with ThreadPoolExecutor(25) as pool:
        futures = submitted(pool, store, calls)
        assert store.list() == [], "reading waits for nobody and shows nothing unsaved"
        assert not any(f.done() for f in futures)
        calls.go_on.set()
        answers = [f.result() for f in futures]
    assert calls.replaced == 2
    assert sorted(answers[-2:]) == [False, True], "of two racing decisions one wins"
    on_disk = FileStore(store.path, clock=SystemClock())
    assert len(on_disk.list()) == 19
    assert on_disk.list() == store.list()


def test_a_failed_write_fails_those_it_carried_and_no_later_one(
    store: FileStore, calls: Held
) -> None:
    with ThreadPoolExecutor(25) as pool:
        futures = submitted(pool, store, calls)
        calls.reason = errno.EIO
        calls.go_on.set()
        errors = [f.exception() for f in futures]
    assert {type(e) for e in errors} == {WriteFailed}
    assert len({id(e) for e in errors}) == len(errors), "everybody has an error of his own"
    assert {e.code for e in errors if isinstance(e, WriteFailed)} == {"STORE_IO_ERROR"}
    assert store.list() == []
    assert not store.path.exists()
    calls.reason = None
    store.set("later", "1")
    assert [e.key for e in store.list()] == ["later"]


def test_a_batch_keeps_others_out_and_takes_them_along(store: FileStore, calls: Held) -> None:
    calls.go_on.set()
    with ThreadPoolExecutor(3) as pool:
        with store.batch():
            store.set("a", "1")
            others = [pool.submit(store.set, f"other{n}", "1") for n in range(3)]
            while store.waiting < 3:
                threading.Event().wait(0.001)
            assert [e.key for e in store.list()] == ["a"]
            assert pool is not None
        for other in others:
            other.result()
    assert calls.replaced == 1
    assert {e.key for e in store.list()} == {"a", "other0", "other1", "other2"}


def test_an_inner_batch_is_undone_alone(store: FileStore, calls: Held) -> None:
    calls.go_on.set()

    def refused() -> None:
        with store.batch():
            store.set("b", "1")
            raise KeyError("b")

    with store.batch():
        store.set("a", "1")
        with pytest.raises(KeyError):
            refused()
        store.set("c", "1")
    assert [e.key for e in store.list()] == ["a", "c"]
    assert calls.replaced == 1


def test_a_leader_that_breaks_fails_the_others_and_hands_on(
    store: FileStore, calls: Held, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ThreadPoolExecutor(25) as pool:
        first = pool.submit(store.set, "first", "1")
        assert calls.at_sync.wait(20)
        rest = [pool.submit(store.set, f"k{n}", str(n)) for n in range(5)]
        while store.waiting < 5:
            threading.Event().wait(0.001)
        inner = FileStore._check_version
        broken = threading.Event()

        def check(self: FileStore) -> None:
            if self._load().rows and not broken.is_set():
                broken.set()
                raise MemoryError
            inner(self)

        monkeypatch.setattr(FileStore, "_check_version", check)
        calls.go_on.set()
        first.result()
        errors = [f.exception() for f in rest]
    assert sorted(type(e).__name__ for e in errors) == ["MemoryError", *["WriteFailed"] * 4]
    assert [e.key for e in store.list()] == ["first"]
    store.set("after", "1")


def test_hundreds_of_threads_write_far_less_often_than_they_save(
    store: FileStore, calls: Held
) -> None:
    calls.go_on.set()

    def save(k: int) -> None:
        for n in range(20):
            store.set(f"k{k}", str(n))
            entry = store.get(f"k{k}")
            assert entry is not None
            assert entry.value == str(n)

    with ThreadPoolExecutor(50) as pool:
        list(pool.map(save, range(50)))
    assert calls.replaced <= 300, "1,000 saves; 40 in the best case"
    assert {e.value for e in FileStore(store.path, clock=SystemClock()).list()} == {"19"}
