"""Opening a store for writing, and lending it for a decision (formats.md 1.7; s08, s13, s15)."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from oma_desktop.base.clock import SystemClock
from oma_desktop.model.errors import Corrupt, Locked
from oma_desktop.store.filestore import FileStore
from oma_desktop.store.lock_file import LockKind, lock_path, read_owner
from oma_desktop.store.writers import OpenStore, live_writer, open_for_writing, writing

CASES = Path(__file__).parents[2] / "cases"
CLOCK = SystemClock()
DEAD = 999999


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.json"


def open_it(path: Path) -> OpenStore:
    return open_for_writing(path, app="test", clock=CLOCK)


def names(path: Path) -> list[str]:
    return sorted(p.name for p in path.parent.iterdir())


def test_open_write_close(path: Path) -> None:
    with open_it(path) as opened:
        assert read_owner(path, clock=CLOCK).owner == opened.lock.owner
        opened.store.set("a", "1")
        opened.lock.beat()
        opened.store.set("a", "2")
        assert names(path) == ["run.json", "run.json.lock"]
    assert names(path) == ["run.json"]
    assert live_writer(path) is None


def test_a_store_in_a_folder_that_is_not_there_yet(tmp_path: Path) -> None:
    path = tmp_path / ".oma" / "team" / "run" / "checkpoint.json"
    with open_it(path) as opened:
        opened.store.set("a", "1")
    assert names(path) == ["checkpoint.json"]


def test_s08_a_second_writer_of_this_process_is_refused(path: Path) -> None:
    with open_it(path) as opened:
        with pytest.raises(Locked, match="LOCK_HELD"):
            open_it(path)
        opened.store.set("a", "1")
        assert live_writer(path) is opened, "the refusal took nothing away"
    with open_it(path) as again:
        assert again.store.get("a") is not None


def test_a_decision_in_the_owners_process_uses_the_owners_store(path: Path) -> None:
    link = path.with_name("link.json")
    link.symlink_to(path)
    with open_it(path) as opened:
        opened.store.set("checkpoint", "1")
        with writing(link, app="test", clock=CLOCK) as store:
            assert store is opened.store
            assert store.compare_and_set("approval", None, "approved")
        assert opened.lock.held, "lending does not give the lock back"
        opened.store.set("checkpoint", "2")
    assert [e.value for e in FileStore(path, clock=CLOCK).list()] == ["2", "approved"]


def test_a_decision_after_the_attempt_gave_its_lock_back(path: Path) -> None:
    """The engine releases at the end or suspension; the window closes the store later."""
    with open_it(path) as opened:
        opened.store.set("checkpoint", "1")
        opened.lock.release()
        assert live_writer(path) is None
        with writing(path, app="test", clock=CLOCK) as store:
            assert store is not opened.store
            assert store.compare_and_set("approval", None, "approved")
        with pytest.raises(Locked, match="LOCK_LOST"):
            opened.store.set("checkpoint", "2")
    assert [e.value for e in FileStore(path, clock=CLOCK).list()] == ["1", "approved"]
    assert names(path) == ["run.json"]


def test_a_decision_without_an_owner_holds_the_lock_while_it_writes(path: Path) -> None:
    with writing(path, app="test", clock=CLOCK) as store:
        assert read_owner(path, clock=CLOCK).kind is LockKind.LIVE
        store.set("a", "1")
    assert names(path) == ["run.json"]
    with pytest.raises(KeyError), writing(path, app="test", clock=CLOCK):
        raise KeyError("decision failed")
    assert names(path) == ["run.json"]


@pytest.mark.parametrize("name", ["zero", "nul", "half", "null", "array"])
def test_s13_a_damaged_store_gives_the_lock_back(path: Path, name: str) -> None:
    shutil.copyfile(CASES / "s13-zero-and-nul-files" / f"{name}.json", path)
    data = path.read_bytes()
    with pytest.raises(Corrupt):
        open_it(path)
    assert path.read_bytes() == data
    assert names(path) == ["run.json"]
    assert live_writer(path) is None


def test_s15_opening_sweeps_under_the_lock(path: Path) -> None:
    folder = path.parent
    for source in (CASES / "s15-stale-temp-files" / "dir").iterdir():
        shutil.copyfile(source, folder / source.name.replace("OWN", str(os.getpid())))
    with open_it(path):
        assert f"run.json.tmp-{DEAD}-0" not in names(path)
    assert names(path) == ["notes.tmp", "run.json", f"run.json.tmp-{os.getpid()}-0"]


def test_a_store_whose_lock_is_lost_writes_no_more(path: Path) -> None:
    with open_it(path) as opened:
        opened.store.set("a", "1")
        data = path.read_bytes()
        lock_path(path).unlink()
        with pytest.raises(Locked, match="LOCK_LOST"):
            opened.store.set("a", "2")
        entry = opened.store.get("a")
        assert entry is not None
        assert entry.value == "1"
    assert path.read_bytes() == data
