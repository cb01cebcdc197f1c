"""The checkpoint record: key, bytes and metadata as the peer writes them (formats.md 2.2, 2.3)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from oma_desktop.base.clock import SystemClock
from oma_desktop.store.checkpoint import Checkpoint
from oma_desktop.store.in_memory import InMemoryStore
from oma_desktop.store.read_only import read_only

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
