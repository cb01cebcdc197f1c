"""The checkpoint record: key, bytes and metadata as the peer writes them (formats.md 2.2, 2.3)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from oma_desktop.base.clock import SystemClock
from oma_desktop.model.errors import Corrupt, SchemaTooNew
from oma_desktop.model.json_text import stringify
from oma_desktop.store.checkpoint import Checkpoint
from oma_desktop.store.filestore import FileStore
from oma_desktop.store.in_memory import InMemoryStore
from oma_desktop.store.read_only import read_only
from oma_desktop.store.ready_text import ReadyText, ready

GOLDEN = Path(__file__).parents[2] / "golden"
CHECKPOINTS = [
    (path, entry.key)
    for path in sorted(GOLDEN.glob("*/checkpoint.json"))
    if path.parent.name != "n_corrupt"
    for entry in read_only(path).list()
    if entry.key.startswith("__oma_checkpoint__/")
]


@pytest.fixture
def store() -> InMemoryStore:
    return InMemoryStore(clock=SystemClock())


@pytest.mark.parametrize(
    ("given", "key"),
    [
        ({}, "__oma_checkpoint__/latest"),
        ({"run_id": ""}, "__oma_checkpoint__/latest"),
        ({"run_id": "a/b c"}, "__oma_checkpoint__/a/b c/latest"),
        ({"key": "mine", "run_id": "r"}, "mine"),
    ],
)
def test_the_key(store: InMemoryStore, given: dict[str, Any], key: str) -> None:
    assert Checkpoint(store, **given).key == key


@pytest.mark.parametrize(
    ("path", "key"), CHECKPOINTS, ids=lambda v: getattr(v, "parent", Path(v)).name
)
def test_golden_snapshots_are_saved_with_the_peers_bytes(
    store: InMemoryStore, path: Path, key: str
) -> None:
    theirs = read_only(path).get(key)
    assert theirs is not None
    Checkpoint(store, key=key).save(json.loads(theirs.value))
    ours = store.get(key)
    assert ours is not None
    assert (ours.value, ours.metadata) == (theirs.value, theirs.metadata)
    assert list(ours.metadata or {}) == list(theirs.metadata or {})


def test_v1_gets_the_run_id_it_lacks(store: InMemoryStore) -> None:
    snapshot: Any = {"version": 1, "mode": "runTasks", "createdAt": "2026-01-02T03:04:05.678Z"}
    checkpoint = Checkpoint(store, run_id="r")
    checkpoint.save(snapshot)
    entry = store.get(checkpoint.key)
    assert entry is not None
    assert json.loads(entry.value) == {**snapshot, "runId": "r"}
    assert entry.metadata == {
        "namespace": "checkpoint",
        "version": 1,
        "runId": "r",
        "createdAt": "2026-01-02T03:04:05.678Z",
    }
    assert "runId" not in snapshot
    checkpoint.save({**snapshot, "runId": "own"})
    entry = store.get(checkpoint.key)
    assert entry is not None
    assert json.loads(entry.value)["runId"] == "own"


def test_encoded_text_is_saved_as_it_is(store: InMemoryStore) -> None:
    checkpoint = Checkpoint(store, run_id="r")
    checkpoint.save_text("{…}", run_id="r", created_at="2026-01-02T03:04:05.678Z")
    entry = store.get(checkpoint.key)
    assert entry is not None
    assert entry.value == "{…}"
    assert entry.metadata == {
        "namespace": "checkpoint",
        "version": 4,
        "runId": "r",
        "createdAt": "2026-01-02T03:04:05.678Z",
    }


def test_delete_removes_just_that_key(store: InMemoryStore) -> None:
    store.set("other", "1")
    checkpoint = Checkpoint(store)
    checkpoint.save_text("{}", run_id=None, created_at="")
    checkpoint.delete()
    checkpoint.delete()
    assert [e.key for e in store.list()] == ["other"]


@pytest.mark.parametrize(
    ("path", "key"), CHECKPOINTS, ids=lambda v: getattr(v, "parent", Path(v)).name
)
def test_golden_snapshots_load(path: Path, key: str) -> None:
    """Also those the peer wrongly refuses (golden/README.md)."""
    loaded = Checkpoint(read_only(path), key=key).load_latest()
    assert loaded is not None
    expected = json.loads((path.parent / "expected.json").read_bytes())
    if isinstance(expected, dict) and "checkpoints" in expected:
        facts = next(c for c in expected["checkpoints"] if c["key"] == key)
        assert loaded.snapshot["version"] == facts["version"]
        assert loaded.snapshot["mode"] == facts["mode"]


def test_absent_is_none(store: InMemoryStore) -> None:
    store.set("__oma_checkpoint__/other/latest", "damaged")
    assert Checkpoint(store).load_latest() is None
    assert Checkpoint(store).latest_text() is None


@pytest.mark.parametrize("text", ["", "{", "null", "[]", "{}", '{"version":4}', "[" * 9999])
def test_a_damaged_record_is_never_absent(store: InMemoryStore, text: str) -> None:
    checkpoint = Checkpoint(store, run_id="r")
    store.set(checkpoint.key, text)
    with pytest.raises(Corrupt) as caught:
        checkpoint.load_latest()
    assert caught.value.facts["key"] == checkpoint.key


@pytest.mark.parametrize(("name", "found"), [("snapshot-v99.json", 99), ("queue-v7.json", 7)])
def test_s10_a_newer_snapshot_is_left_alone(tmp_path: Path, name: str, found: int) -> None:
    path = tmp_path / "run.json"
    path.write_bytes((GOLDEN.parent / "cases" / "s10-newer-schema" / name).read_bytes())
    data = path.read_bytes()
    store = FileStore(path, clock=SystemClock())
    (key,) = [e.key for e in store.list() if e.key.startswith("__oma_checkpoint__/")]
    with pytest.raises(SchemaTooNew) as caught:
        Checkpoint(store, key=key).load_latest()
    facts = caught.value.facts
    assert (facts["found"], facts["path"], facts["key"]) == (found, str(path), key)
    assert isinstance(facts["supported"], int)
    assert path.read_bytes() == data


def test_saved_and_loaded_again(tmp_path: Path) -> None:
    snapshot: Any = {
        "version": 4,
        "mode": "runTasks",
        "createdAt": "2026-01-02T03:04:05.678Z",
        "identity": {
            "runId": "r",
            "attempt": 1,
            "lastTraceId": "0" * 31 + "1",
            "lastRootSpanId": "0" * 15 + "1",
        },
        "queue": {
            "version": 1,
            "tasks": [],
            "pending": [],
            "inProgress": [],
            "completed": [],
            "failed": [],
            "blocked": [],
            "skipped": [],
        },
        "completedTaskResults": [],
        "inFlightTasks": [],
        "pendingApprovals": [],
        "approvalDecisions": [],
        "omaDesktop": {"retries": {"t": 1}},
        "laterKey": [1.5, None, "\ud800"],
    }
    path = tmp_path / "run.json"
    Checkpoint(FileStore(path, clock=SystemClock()), run_id="r").save(snapshot)
    loaded = Checkpoint(read_only(path), run_id="r").load_latest()
    assert loaded is not None
    assert loaded.snapshot == snapshot
    assert list(loaded.snapshot) == list(snapshot)


def test_ready_text_reaches_a_file_as_it_is_and_any_other_store_as_a_string(
    store: InMemoryStore, tmp_path: Path
) -> None:
    document: Any = {"version": 4, "10": "é\ud800", "big": "\\" * 100_000, "createdAt": ""}
    file = FileStore(tmp_path / "run.json", clock=SystemClock())
    plain = FileStore(tmp_path / "plain.json", clock=SystemClock())
    for place in (Checkpoint(file, run_id="r"), Checkpoint(store, run_id="r")):
        text = ReadyText(ready(document, quoted=place.takes_pieces), quoted=place.takes_pieces)
        place.save_text(text, run_id="r", created_at="")
        assert place.latest_text() == stringify(document)
    assert Checkpoint(file).takes_pieces
    assert not Checkpoint(store).takes_pieces
    Checkpoint(plain, run_id="r").save_text(stringify(document), run_id="r", created_at="")
    assert read_only(file.path).list()[0].value == read_only(plain.path).list()[0].value
    assert len(file.path.read_bytes()) == len(plain.path.read_bytes())


def test_a_ready_value_is_a_value_like_any_other(tmp_path: Path) -> None:
    file = FileStore(tmp_path / "run.json", clock=SystemClock())
    made = ReadyText(ready({"a": ["x", "\u2028"]}))
    file.set_ready("k", made, {"m": 1})
    assert not file.compare_and_set("k", None, "1")
    assert not file.compare_and_set("k", "{}", "1")
    entry = file.get("k")
    assert entry is not None
    assert (entry.value, entry.metadata) == ('{"a":["x","\u2028"]}', {"m": 1})
    assert [entry] == file.list() == read_only(file.path).list()
    stamp = file.stamp
    file.set("k", made.text, {"m": 1})
    file.set_ready("k", ReadyText(ready({"a": ["x", "\u2028"]})), {"m": 1})
    assert file.stamp == stamp, "the same again is not written"
    assert file.compare_and_set("k", made.text, "2")
    assert read_only(file.path).list()[0].value == "2"
