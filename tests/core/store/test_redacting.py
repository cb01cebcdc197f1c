"""RedactingStore beyond the contract suite: what reaches the medium (formats.md 1.5)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from oma_desktop.model.checkpoint_loader import load_snapshot_text
from oma_desktop.store.checkpoint import Checkpoint
from oma_desktop.store.filestore import FileStore
from oma_desktop.store.in_memory import InMemoryStore
from oma_desktop.store.ledger import ApprovalLedger
from oma_desktop.store.memory import AtomicStore, BatchingStore, ExpiringStore
from oma_desktop.store.ready_text import ReadyStore
from oma_desktop.store.redacting import RedactingStore
from tests.contract.test_memory_store import Ticking

GOLDEN = Path(__file__).parents[2] / "golden"
KEY = "sk-FAKE0123456789fakeABCD"


class Bare:
    """Only the required part of the contract."""

    def __init__(self) -> None:
        self.held: dict[str, Any] = {}

    def get(self, key: str) -> Any:
        return self.held.get(key)

    def set(self, key: str, value: str, metadata: Any = None) -> None:
        self.held[key] = value

    def list(self) -> Any:
        return [*self.held.values()]

    def delete(self, key: str) -> None:
        self.held.pop(key, None)

    def clear(self) -> None:
        self.held.clear()


@pytest.fixture
def inner() -> InMemoryStore:
    return InMemoryStore(clock=Ticking())


@pytest.fixture
def store(inner: InMemoryStore) -> RedactingStore:
    return RedactingStore(inner, patterns=[r"EMP-\d+"])


def test_capabilities_are_those_of_the_inner_store_without_compare_and_set(
    store: RedactingStore,
) -> None:
    assert not isinstance(store, AtomicStore)
    assert not hasattr(store, "compare_and_set")
    assert isinstance(store, ExpiringStore)
    assert isinstance(store, BatchingStore)
    assert not isinstance(store, ReadyStore), "ready pieces would pass by"
    bare = RedactingStore(Bare())
    assert not isinstance(bare, ExpiringStore | AtomicStore | BatchingStore)
    assert not ApprovalLedger(store, clock=Ticking()).can_decide


def test_values_are_masked_on_their_way_in_and_nothing_else(
    store: RedactingStore, inner: InMemoryStore
) -> None:
    metadata = {"password": "metadata stays", "n": 1}
    store.set("password=key", f"password=x, {KEY} EMP-123", metadata)
    entry = inner.get("password=key")
    assert entry is not None
    assert entry.value == "password=[redacted], [redacted] [redacted]"
    assert entry.metadata == metadata
    inner.set("raw", KEY)
    raw = store.get("raw")
    assert raw is not None
    assert raw.value == KEY, "reads pass through"


def test_expiry_and_batch_mask_too(store: RedactingStore, inner: InMemoryStore) -> None:
    with store.batch():
        store.set_with_expiry("a", '{"token":1}', 3, {"m": 1})
    entry = inner.get("a")
    assert entry is not None
    assert (entry.value, entry.expires_at_turn) == ('{"token":"[redacted]"}', 3)


def test_json_notes_stay_json(store: RedactingStore, inner: InMemoryStore) -> None:
    store.set("a", '"password=x"', {"sharedMemoryValueEncoding": "json"})
    entry = inner.get("a")
    assert entry is not None
    assert json.loads(entry.value) == "password=[redacted]"


def test_a_checkpoint_under_a_key_of_its_own_is_known_by_its_metadata(
    store: RedactingStore,
) -> None:
    document = json.dumps({"queue": {"planRevisions": [{"addedTasks": {"session-retry": "t2"}}]}})
    Checkpoint(store, key="mine").save_text(document, created_at="x", run_id="r")
    entry = store.get("mine")
    assert entry is not None
    assert json.loads(entry.value) == json.loads(document)


STORES = sorted(p.parent.name for p in GOLDEN.glob("*/checkpoint.json") if p.parent.name[1] != "_")


@pytest.mark.parametrize("case", STORES)
def test_every_checkpoint_of_the_peer_is_still_loaded_after_redaction(
    case: str, tmp_path: Path
) -> None:
    source = FileStore(GOLDEN / case / "checkpoint.json", clock=Ticking())
    target = RedactingStore(FileStore(tmp_path / "s.json", clock=Ticking()))
    for entry in source.list():
        if not entry.key.startswith("__oma_checkpoint__/"):
            continue
        before = load_snapshot_text(entry.value)
        target.set(entry.key, entry.value, entry.metadata)
        text = target.get(entry.key)
        assert text is not None
        after = load_snapshot_text(text.value)
        assert [p.code for p in after.problems] == [p.code for p in before.problems]
        for part in ("identity", "mode", "version", "approvalDecisions"):
            assert after.snapshot.get(part) == before.snapshot.get(part)
        assert _structure(after.snapshot["queue"]) == _structure(before.snapshot["queue"])
        again = RedactingStore(InMemoryStore(clock=Ticking()))
        again.set(entry.key, text.value, entry.metadata)
        twice = again.get(entry.key)
        assert twice is not None
        assert twice.value == text.value, "a fixed point"


def _structure(queue: Any) -> Any:
    told = ("title", "description", "result", "reason", "metadata")
    tasks = [{k: v for k, v in t.items() if k not in told} for t in queue["tasks"]]
    revisions = [
        {k: v for k, v in r.items() if k not in told} for r in queue.get("planRevisions", [])
    ]
    return tasks, revisions


SECRETS = ("hunter2", KEY, "AKIAFAKEFAKEFAKEFAKE")


def test_idea_05_a_secret_in_every_content_field_is_gone_and_it_loads(
    store: RedactingStore,
) -> None:
    text = (GOLDEN / "a2_all_phases" / "checkpoint.json").read_text("utf-8")
    for entry in FileStore(GOLDEN / "a2_all_phases" / "checkpoint.json", clock=Ticking()).list():
        if entry.key.startswith("__oma_checkpoint__/"):
            snapshot = json.loads(entry.value)
            planted = _plant(snapshot)
            store.set(entry.key, json.dumps(snapshot), entry.metadata)
            got = store.get(entry.key)
            assert got is not None
            load_snapshot_text(got.value)
            assert planted > 10
            assert KEY not in got.value
    assert KEY not in text


def _plant(value: Any, told: frozenset[str] = frozenset({"text", "output", "description"})) -> int:
    """Put a secret into every free text of a document; return how many."""
    n = 0
    if isinstance(value, dict):
        for key, item in value.items():
            if key in told and isinstance(item, str):
                value[key] = f"{item} {KEY}"
                n += 1
            elif key == "input" and isinstance(item, dict):
                item["note"] = {"deep": [KEY]}
                n += 1
            else:
                n += _plant(item, told)
    elif isinstance(value, list):
        n += sum(_plant(item, told) for item in value)
    return n
