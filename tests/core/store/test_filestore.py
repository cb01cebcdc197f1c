"""FileStore on a real file system (formats.md 1.4, 8 W16-W20, W43; peer-defects.md P09, P10)."""

from __future__ import annotations

import errno
import json
import multiprocessing
import os
import shutil
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oma_desktop.model.errors import ChangedOnDisk, Corrupt, SchemaTooNew, StoreError, WriteFailed
from oma_desktop.store.file_calls import FileCalls
from oma_desktop.store.file_reading import read_container
from oma_desktop.store.filestore import FileStore
from oma_desktop.store.in_memory import InMemoryStore
from oma_desktop.store.read_only import read_only

TESTS = Path(__file__).parents[2]
CASES = TESTS / "cases"
GOLDEN = sorted(
    p for p in (TESTS / "golden").glob("*/checkpoint.json") if p.parent.name != "n_corrupt"
)


class Fixed:
    def now(self) -> datetime:
        return datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=UTC)


class Failing(FileCalls):
    """Every write fails while `reason` is set; counts the replaced files."""

    def __init__(self) -> None:
        self.reason: int | None = None
        self.replaced = 0

    def write(self, fd: int, data: memoryview) -> int:
        if self.reason:
            raise OSError(self.reason, os.strerror(self.reason))
        return super().write(fd, data)

    def replace(self, source: Path, target: Path) -> None:
        super().replace(source, target)
        self.replaced += 1


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.json"


@pytest.fixture
def calls() -> Failing:
    return Failing()


def open_store(path: Path, calls: FileCalls | None = None) -> FileStore:
    return FileStore(path, clock=Fixed(), calls=calls)


def copy_case(case: str, name: str, path: Path) -> bytes:
    source = next(CASES.glob(f"{case}-*")) / name
    shutil.copyfile(source, path)
    return path.read_bytes()


def names(path: Path) -> list[str]:
    return sorted(p.name for p in path.parent.iterdir())


def test_the_bytes_of_a_store(path: Path) -> None:
    store = open_store(path)
    store.set("a", 'quote " 中\u2028', {"b": 1.0, "a": [None]})
    store.set_with_expiry("b", "", 3)
    assert (
        path.read_bytes()
        == (
            '{"version":1,"entries":[{"key":"a","value":"quote \\" 中\u2028","metadata":{"b":1,"a":'
            '[null]},"createdAt":"2026-01-02T03:04:05.678Z"},{"key":"b","value":"",'
            '"createdAt":"2026-01-02T03:04:05.678Z","expiresAtTurn":3}]}'
        ).encode()
    )
    assert names(path) == ["run.json"]


def test_reading_creates_nothing(path: Path) -> None:
    store = open_store(path)
    assert store.get("a") is None
    assert store.list() == []
    store.delete("a")
    assert not store.compare_and_set("a", "1", "2")
    assert read_only(path).list() == []
    assert names(path) == []


def test_when_the_disk_is_touched(path: Path, calls: Failing) -> None:
    store = open_store(path, calls)
    counts = []
    for act in (
        lambda: store.set("a", "1", {"m": True}),
        lambda: store.set("a", "1", {"m": True}),  # the same again: not written
        lambda: store.set("a", "1", {"m": 1}),  # JSON true is not 1
        lambda: store.compare_and_set("a", "0", "2"),
        lambda: store.compare_and_set("a", "1", "2"),
        lambda: store.delete("b"),
        lambda: store.set_with_expiry("a", "2", 0),
        lambda: store.set_with_expiry("a", "2", 0),
        lambda: store.set("a", "2"),
        lambda: store.delete("a"),
        store.clear,
        store.list,
    ):
        before = calls.replaced
        act()
        counts.append(calls.replaced - before)
    assert counts == [1, 0, 1, 0, 1, 0, 1, 0, 1, 1, 1, 0]


def test_a_batch_is_one_write(path: Path, calls: Failing) -> None:
    store = open_store(path, calls)
    with store.batch():
        for n in range(100):
            store.set(f"k{n}", str(n))
        assert not path.exists()
    assert calls.replaced == 1
    assert len(open_store(path).list()) == 100
    with store.batch():
        store.get("k1")
    assert calls.replaced == 1


def test_p_10_a_failed_write_changes_neither_memory_nor_file(path: Path, calls: Failing) -> None:
    """W19, P10: and a retried compare-and-set succeeds."""
    store = open_store(path, calls)
    store.set("a", "1", {"m": 1})
    store.set("b", "1")
    data, entries = path.read_bytes(), store.list()

    def in_batch() -> None:
        with store.batch():
            store.set("a", "2")
            store.set("d", "1")

    calls.reason = errno.ENOSPC
    for act in (
        lambda: store.set("a", "2"),
        lambda: store.set("c", "1"),
        lambda: store.compare_and_set("a", "1", "2"),
        lambda: store.delete("a"),
        store.clear,
        in_batch,
    ):
        with pytest.raises(WriteFailed, match="STORE_NO_SPACE"):
            act()
        assert store.list() == entries
        assert path.read_bytes() == data
        assert names(path) == ["run.json"]
    calls.reason = None
    assert store.compare_and_set("a", "1", "2")
    assert open_store(path).list() == store.list()


def test_s14_save_after_a_full_disk(path: Path, calls: Failing) -> None:
    store = open_store(path, calls)
    store.set("k", "x" * 200_000)
    before = path.read_bytes()
    calls.reason = errno.ENOSPC
    with pytest.raises(WriteFailed):
        store.set("k", "y" * 300_000)
    assert path.read_bytes() == before
    calls.reason = None
    store.set("k", "y" * 300_000)
    reopened = open_store(path).get("k")
    assert reopened is not None
    assert reopened.value == "y" * 300_000
    assert names(path) == ["run.json"]


@pytest.mark.parametrize("again", [False, True])
def test_s08_a_stale_copy_never_erases_what_another_wrote(path: Path, again: bool) -> None:
    copy_case("s08", "a-loaded.json", path)
    a = open_store(path)
    key = a.list()[0].key
    entries = a.list()
    fresh = path.with_name("new")
    theirs = copy_case("s08", "b-wrote.json", fresh)
    fresh.replace(path)
    for act in (
        lambda: a.set(key, "another task is done"),
        lambda: a.compare_and_set("x", None, "1"),
        lambda: a.compare_and_set("x", "not so", "1"),  # a false answer would be about old bytes
        lambda: a.set(key, entries[0].value, entries[0].metadata),  # nor is "saved" true now
        lambda: a.delete(key),
        a.clear,
    ):
        with pytest.raises(ChangedOnDisk) as caught:
            act()
        assert caught.value.facts["path"] == str(path)
        assert path.read_bytes() == theirs
        assert a.list() == entries
    assert names(path) == ["run.json"]
    a.reload()
    assert [e.value for e in a.list()] == [e.value for e in open_store(path).list()]
    a.set("mine", "1")
    if again:
        a.set("mine", "2")
    assert [e.key for e in open_store(path).list()] == [key, "mine"]


def test_s08_changed_while_the_new_bytes_are_written(path: Path) -> None:
    class Interrupted(FileCalls):
        def fsync(self, fd: int) -> None:
            super().fsync(fd)
            other = path.with_name("other")
            other.write_bytes(b'{"version":1,"entries":[]}')
            other.replace(path)

    open_store(path).set("a", "1")
    with pytest.raises(ChangedOnDisk):
        open_store(path, Interrupted()).set("a", "2")
    assert path.read_bytes() == b'{"version":1,"entries":[]}'
    assert names(path) == ["run.json"]


@pytest.mark.parametrize("how", ["appears", "vanishes", "overwritten"])
def test_other_changes_of_the_file(path: Path, how: str) -> None:
    if how != "appears":
        open_store(path).set("a", "1")
    store = open_store(path)
    store.list()
    if how == "vanishes":
        path.unlink()
    else:
        path.write_bytes(b'{"version":1,"entries":[] }')
    with pytest.raises(ChangedOnDisk):
        store.set("b", "1")
    assert path.exists() == (how != "vanishes")


def test_p_09_two_instances_never_erase_a_decision(path: Path) -> None:
    one, two = open_store(path), open_store(path)
    one.set("checkpoint", "1")
    assert [e.key for e in two.list()] == ["checkpoint"]
    assert two.compare_and_set("approval", None, "approved")
    with pytest.raises(ChangedOnDisk):
        one.set("checkpoint", "2")
    with pytest.raises(ChangedOnDisk):
        one.compare_and_set("approval", None, "rejected")
    one.reload()
    assert not one.compare_and_set("approval", None, "rejected")
    one.set("checkpoint", "2")
    assert {e.key: e.value for e in open_store(path).list()} == {
        "checkpoint": "2",
        "approval": "approved",
    }


def every_act(store: FileStore) -> list[Any]:
    return [
        store.list,
        lambda: store.get("a"),
        lambda: store.set("a", "1"),
        lambda: store.compare_and_set("a", None, "1"),
        lambda: store.delete("a"),
        store.clear,
        store.reload,
        lambda: read_only(store.path),
    ]


@pytest.mark.parametrize("name", ["zero", "nul", "half", "null", "array"])
def test_idea_42_s13_a_damaged_file_is_named_and_left_alone(path: Path, name: str) -> None:
    data = copy_case("s13", f"{name}.json", path)
    store = open_store(path)
    for act in every_act(store):
        with pytest.raises(Corrupt) as caught:
            act()
        assert caught.value.facts["path"] == str(path)
        assert path.read_bytes() == data
    assert names(path) == ["run.json"]


def test_s10_a_newer_store_is_left_alone(path: Path) -> None:
    data = copy_case("s10", "store-v2.json", path)
    for act in every_act(open_store(path)):
        with pytest.raises(SchemaTooNew) as caught:
            act()
        assert (caught.value.facts["found"], caught.value.facts["supported"]) == (2, 1)
        assert path.read_bytes() == data


def test_p_10_a_failed_load_is_not_remembered(path: Path) -> None:
    path.write_bytes(b"")
    store = open_store(path)
    with pytest.raises(Corrupt):
        store.list()
    path.write_bytes(b'{"version":1,"entries":[]}')
    store.set("a", "1")
    assert [e.key for e in open_store(path).list()] == ["a"]


def test_a_file_that_cannot_be_read(path: Path) -> None:
    path.mkdir()
    for act in every_act(open_store(path)):
        with pytest.raises(StoreError) as caught:
            act()
        assert caught.value.code == "STORE_UNREADABLE"


def test_s22_a_byte_order_mark_goes_with_the_next_write(path: Path) -> None:
    data = copy_case("s22", "store.json", path)
    assert data.startswith(b"\xef\xbb\xbf")
    assert b"\r\n" in data
    store = open_store(path)
    before = store.list()
    assert before
    assert [p.code for p in store.problems] == ["STORE_BOM"]
    first = before[0]
    store.set(first.key, first.value, first.metadata)  # unchanged: no reason to write
    assert path.read_bytes() == data
    store.set("new", "1")
    assert path.read_bytes().startswith(b'{"version":1,"entries":[{')
    assert open_store(path).list()[:-1] == before
    assert open_store(path).problems == ()


def test_w43_unknown_keys_survive(path: Path) -> None:
    path.write_bytes(
        b'{"version":1,"later":{"b":1,"a":2},"entries":[{"key":"a","value":"1","note":[7],'
        b'"createdAt":"2026-01-02T03:04:05.678Z"}],"0":true}'
    )
    store = open_store(path)
    store.set("b", "2")
    store.set("a", "3", {"m": 1})
    written = json.loads(path.read_bytes())
    assert (written["later"], written["0"]) == ({"b": 1, "a": 2}, True)
    assert written["entries"][0]["note"] == [7]
    assert written["entries"][0]["value"] == "3"


def test_dates_are_normalised_by_the_next_write_only(path: Path) -> None:
    data = b'{"version":1,"entries":[{"key":"a","value":"1","createdAt":"2026-01-02"}]}'
    path.write_bytes(data)
    store = open_store(path)
    store.list()
    assert path.read_bytes() == data
    store.set("b", "1")
    assert b'"createdAt":"2026-01-02T00:00:00.000Z"' in path.read_bytes()


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda p: p.parent.name)
def test_golden_files(golden: Path, path: Path) -> None:
    """Reading changes nothing; a change of one key leaves all other bytes as they are."""
    data = golden.read_bytes()
    path.write_bytes(data)
    stamp = path.stat()
    store = open_store(path)
    entries = store.list()
    expected = json.loads((golden.parent / "expected.json").read_bytes())
    if isinstance(expected, dict) and "keys" in expected:
        assert [e.key for e in entries] == expected["keys"]
    assert read_only(path).list() == entries
    assert (path.read_bytes(), path.stat().st_mtime_ns) == (data, stamp.st_mtime_ns)

    store.set("unrelated", "1")
    added = b'{"key":"unrelated","value":"1","createdAt":"2026-01-02T03:04:05.678Z"}'
    assert data.endswith(b"}]}")
    assert path.read_bytes() == data[:-2] + b"," + added + b"]}"
    store.delete("unrelated")
    assert path.read_bytes() == data


@pytest.mark.slow
def test_a_file_can_be_parsed_by_another_process(path: Path) -> None:
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:

        def reader(place: Path) -> Any:
            return pool.submit(read_container, place).result()

        store = FileStore(path, clock=Fixed(), reader=reader)
        store.set("a", "\ud800", {"m": 1})
        store.reload()
        assert store.list() == open_store(path).list()
        store.set("b", "1")
        path.write_bytes(b"")
        with pytest.raises(Corrupt) as caught:
            store.reload()
        assert caught.value.facts["path"] == str(path)


def test_there_are_golden_files() -> None:
    assert len(GOLDEN) > 40


def test_idea_42_twenty_five_threads_survive_a_reload(path: Path) -> None:
    store = open_store(path)
    with ThreadPoolExecutor(25) as pool:
        list(pool.map(lambda n: store.set(f"k{n}", str(n)), range(25)))
    assert {e.key: e.value for e in open_store(path).list()} == {f"k{n}": str(n) for n in range(25)}
    assert names(path) == ["run.json"]


KEYS = st.sampled_from(["a", "b", "c", "0", "é", "\ud83d"])
VALUES = st.text(st.characters(codec=None, exclude_categories=()), max_size=8)
METADATA = st.none() | st.dictionaries(
    KEYS, st.none() | st.booleans() | st.integers(-9, 9) | VALUES
)
OPS = st.one_of(
    st.tuples(st.just("set"), KEYS, VALUES, METADATA),
    st.tuples(st.just("set_with_expiry"), KEYS, VALUES, st.integers(0, 5), METADATA),
    st.tuples(st.just("compare_and_set"), KEYS, st.none() | VALUES, VALUES, METADATA),
    st.tuples(st.just("delete"), KEYS),
    st.tuples(st.just("clear")),
    st.tuples(st.just("reload")),
    st.tuples(st.just("fail"), st.booleans()),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(OPS, max_size=25))
def test_a_reloaded_file_equals_the_memory(
    tmp_path_factory: pytest.TempPathFactory, ops: list[Any]
) -> None:
    """Also when writes fail now and then: both stand where the last success left them."""
    path = tmp_path_factory.mktemp("ops") / "run.json"
    calls = Failing()
    on_disk, in_memory = open_store(path, calls), InMemoryStore(clock=Fixed())
    for name, *args in ops:
        if name == "fail":
            calls.reason = errno.EIO if args[0] else None
        elif name == "reload":
            on_disk = open_store(path, calls)
        else:
            try:
                answer = getattr(on_disk, name)(*args)
            except WriteFailed:
                assert calls.reason
            else:
                assert answer == getattr(in_memory, name)(*args)
        assert on_disk.list() == in_memory.list() == open_store(path).list()
    assert set(names(path)) <= {"run.json"}


VECTORS = json.loads((TESTS / "golden" / "vectors" / "filestore_bytes.json").read_bytes())
METHODS = {"cas": "compare_and_set", "setWithExpiry": "set_with_expiry"}


@pytest.mark.parametrize("vector", VECTORS["vectors"], ids=lambda v: str(v["name"]))
def test_the_peers_bytes(vector: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "store.json"
    store = open_store(path)
    results = [getattr(store, METHODS.get(op, op))(*args) for op, *args in vector["ops"]]
    assert results == vector["results"]
    text = path.read_bytes().decode()
    assert text.replace("2026-01-02T03:04:05.678Z", "<iso>") == vector["fileText"]
