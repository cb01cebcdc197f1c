"""What every store promises, capability by capability (formats.md 1.1, 1.2).

A new store joins by one line in STORES; optional capabilities are tested where they exist. A store
of somebody else's is tested with

    OMA_CONTRACT_STORE=package.module:make_store python -m pytest tests/contract

where `make_store()` returns a new, empty store at each call; nothing else is tested then.
"""

from __future__ import annotations

import importlib
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from oma_desktop.model.json_text import stringify
from oma_desktop.store.checkpoint import Checkpoint
from oma_desktop.store.filestore import FileStore
from oma_desktop.store.in_memory import InMemoryStore
from oma_desktop.store.memory import AtomicStore, BatchingStore, ExpiringStore
from oma_desktop.store.postgres import PostgresStore
from oma_desktop.store.ready_text import MaskedText, ReadyText, ready
from oma_desktop.store.redacting import RedactingStore
from oma_desktop.store.redis import RedisStore


class Ticking:
    """Each look is one second later."""

    def __init__(self) -> None:
        self.at = datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=UTC)

    def now(self) -> datetime:
        self.at += timedelta(seconds=1)
        return self.at


def redis_store(request: pytest.FixtureRequest) -> Any:
    url = request.getfixturevalue("redis_server").url
    store = RedisStore(url, clock=Ticking(), prefix=f"t{uuid4().hex}")
    request.addfinalizer(store.close)
    return store


def postgres_store(request: pytest.FixtureRequest) -> Any:
    url = request.getfixturevalue("postgres_server").url
    store = PostgresStore(url, clock=Ticking(), table=f"t{uuid4().hex}")
    request.addfinalizer(store.close)
    return store


def file_store(request: pytest.FixtureRequest) -> Any:
    return FileStore(request.getfixturevalue("tmp_path") / "store.json", clock=Ticking())


STORES: dict[str, Callable[[pytest.FixtureRequest], Any]] = {
    "memory": lambda _: InMemoryStore(clock=Ticking()),
    "file": file_store,
    "redacting": lambda request: RedactingStore(file_store(request)),
    "redis": redis_store,
    "postgresql": postgres_store,
    "redacting redis": lambda request: RedactingStore(redis_store(request)),
    "redacting postgresql": lambda request: RedactingStore(postgres_store(request)),
}
OURS = {*STORES}
if FOREIGN := os.environ.get("OMA_CONTRACT_STORE"):
    module, _, maker = FOREIGN.partition(":")
    make_store = getattr(importlib.import_module(module), maker)
    STORES = {FOREIGN: lambda _: make_store()}
DATABASES = {"redis", "postgresql"}
LACKS = {name: AtomicStore for name in STORES if name.startswith("redacting")}
"""What a store is not allowed to have; its tests of that capability are left out."""


def every(capability: type | None = None) -> list[Any]:
    """Parameters: every store that has the capability."""
    return [
        pytest.param(name, marks=[pytest.mark.database(n) for n in DATABASES & {*name.split()}])
        for name in STORES
        if capability is None or LACKS.get(name) is not capability
    ]


def made(request: pytest.FixtureRequest, capability: type | None = None) -> Any:
    """A new store; ours must have the capability they claim, others are asked."""
    store = STORES[request.param](request)
    if capability and request.param not in OURS and not isinstance(store, capability):
        pytest.skip(f"{request.param} is no {capability.__name__}")
    return store


@pytest.fixture(params=every())
def store(request: pytest.FixtureRequest) -> Any:
    return made(request)


class TestRequired:
    def test_absent_is_none_and_empty(self, store: Any) -> None:
        assert store.get("a") is None
        assert store.list() == []
        store.delete("a")

    @pytest.mark.parametrize("text", ["", "x", "中文 🔥", "\x00\x1f\u2028", '"\\', "\ud800 alone"])
    def test_keys_and_values_come_back(self, store: Any, text: str) -> None:
        store.set("k" + text, text)
        assert store.get("k" + text).value == text
        assert [e.key for e in store.list()] == ["k" + text]

    def test_set_keeps_the_first_creation_time_and_the_place(self, store: Any) -> None:
        store.set("a", "1")
        store.set("b", "1")
        first = store.get("a").created_at
        store.set("a", "2")
        assert store.get("a").created_at == first
        assert [e.key for e in store.list()] == ["a", "b"]
        assert first.microsecond % 1000 == 0

    def test_set_replaces_metadata_and_omitting_clears_it(self, store: Any) -> None:
        store.set("a", "1", {"x": 1, "y": [True, None]})
        assert store.get("a").metadata == {"x": 1, "y": [True, None]}
        store.set("a", "1", {"z": "2"})
        assert store.get("a").metadata == {"z": "2"}
        store.set("a", "1")
        assert store.get("a").metadata is None

    def test_empty_metadata_is_not_absent(self, store: Any) -> None:
        store.set("a", "1", {})
        assert store.get("a").metadata == {}

    def test_metadata_is_copied_on_write(self, store: Any) -> None:
        mine: dict[str, Any] = {"deep": {"list": [1]}}
        store.set("a", "1", mine)
        mine["deep"]["list"].append(2)
        mine["more"] = True
        assert store.get("a").metadata == {"deep": {"list": [1]}}

    def test_get_and_list_agree(self, store: Any) -> None:
        for n in range(5):
            store.set(f"k{n}", str(n), {"n": n})
        assert store.list() == [store.get(f"k{n}") for n in range(5)]

    def test_delete_and_come_back_at_the_end(self, store: Any) -> None:
        store.set("a", "1")
        store.set("b", "1")
        first = store.get("a").created_at
        store.delete("a")
        assert store.get("a") is None
        store.set("a", "1")
        assert [e.key for e in store.list()] == ["b", "a"]
        assert store.get("a").created_at > first

    def test_clear_removes_everything(self, store: Any) -> None:
        store.set("a", "1")
        first = store.get("a").created_at
        store.clear()
        assert store.list() == []
        store.set("a", "1")
        assert store.get("a").created_at > first


class TestAtomic:
    @pytest.fixture(params=every(AtomicStore))
    def store(self, request: pytest.FixtureRequest) -> Any:
        return made(request, AtomicStore)

    def test_declared(self, store: Any) -> None:
        assert isinstance(store, AtomicStore)

    def test_none_means_must_not_exist(self, store: Any) -> None:
        assert store.compare_and_set("a", None, "1", {"m": 1})
        assert not store.compare_and_set("a", None, "2")
        assert (store.get("a").value, store.get("a").metadata) == ("1", {"m": 1})

    def test_only_the_value_is_compared(self, store: Any) -> None:
        store.set("a", "1", {"m": 1})
        created = store.get("a").created_at
        assert store.compare_and_set("a", "1", "2")
        assert store.get("a").metadata is None
        assert store.get("a").created_at == created

    def test_false_changes_nothing(self, store: Any) -> None:
        store.set("a", "1", {"m": 1})
        before = store.list()
        assert not store.compare_and_set("a", "other", "2")
        assert not store.compare_and_set("b", "1", "2")
        assert store.list() == before

    def test_an_empty_value_is_not_absent(self, store: Any) -> None:
        store.set("a", "")
        assert not store.compare_and_set("a", None, "1")
        assert store.compare_and_set("a", "", "1")

    def test_one_winner_of_two(self, store: Any) -> None:
        store.set("a", "0")
        for _ in range(10):
            expected = store.get("a").value
            gate = threading.Barrier(2)

            def race(n: int, expected: str = expected, gate: threading.Barrier = gate) -> bool:
                gate.wait()
                return bool(store.compare_and_set("a", expected, f"{expected}{n}"))

            with ThreadPoolExecutor(2) as pool:
                won = list(pool.map(race, (1, 2)))
            assert sorted(won) == [False, True]
            assert store.get("a").value == f"{expected}{1 + won.index(True)}"


class TestExpiring:
    @pytest.fixture(params=every())
    def store(self, request: pytest.FixtureRequest) -> Any:
        return made(request, ExpiringStore)

    def test_declared(self, store: Any) -> None:
        assert isinstance(store, ExpiringStore)

    @pytest.mark.parametrize("turn", [0, 2, 1.5])
    def test_stores_never_filter(self, store: Any, turn: float) -> None:
        store.set_with_expiry("a", "1", turn, {"m": 1})
        entry = store.get("a")
        assert (entry.value, entry.expires_at_turn, entry.metadata) == ("1", turn, {"m": 1})
        assert store.list() == [entry]

    def test_a_plain_set_drops_the_expiry(self, store: Any) -> None:
        store.set_with_expiry("a", "1", 3)
        created = store.get("a").created_at
        store.set("a", "1")
        assert store.get("a").expires_at_turn is None
        assert store.get("a").created_at == created

    def test_a_compare_and_set_drops_the_expiry(self, store: Any) -> None:
        if not isinstance(store, AtomicStore):
            pytest.skip("has no compare-and-set")
        store.set_with_expiry("a", "1", 4)
        created = store.get("a").created_at
        assert store.compare_and_set("a", "1", "2")
        assert store.get("a").expires_at_turn is None
        assert store.get("a").created_at == created


class TestBatching:
    @pytest.fixture(params=[n for n in STORES if n in ("memory", "file") or n not in OURS])
    def store(self, request: pytest.FixtureRequest) -> Any:
        return made(request, BatchingStore)

    def test_declared(self, store: Any) -> None:
        assert isinstance(store, BatchingStore)

    def test_changes_are_seen_inside_and_after(self, store: Any) -> None:
        store.set("old", "1")
        with store.batch():
            store.set("a", "1")
            store.delete("old")
            with store.batch():
                store.set("a", "2")
            assert [e.key for e in store.list()] == ["a"]
        assert store.get("a").value == "2"
        assert store.get("old") is None

    def test_an_exception_undoes_all(self, store: Any) -> None:
        store.set("a", "1")
        before = store.list()

        def fail() -> None:
            with store.batch():
                store.set("a", "2")
                store.clear()
                store.set("b", "1")
                raise KeyError("b")

        with pytest.raises(KeyError):
            fail()
        assert store.list() == before
        store.set("c", "1")
        assert [e.key for e in store.list()] == ["a", "c"]


@pytest.mark.parametrize("size", [0, 1, 40, 400_000])
def test_a_checkpoint_made_of_pieces_is_the_text_of_it(store: Any, size: int) -> None:
    """However a store takes the pieces of an encoder: the value is the text they make."""
    document = {"version": 4, "goal": '中\U0001f600\\"\n' * size, "half": "\ud800"}
    place = Checkpoint(store, run_id="r")
    pieces = ready(document, quoted=place.takes_pieces)
    masked = place.mask() is not None
    text = (MaskedText if masked else ReadyText)(pieces, quoted=place.takes_pieces)
    store.set("first", "1")
    for _ in range(2):
        place.save_text(text, run_id="r", created_at="2026-01-01T00:00:00.000Z")
        entry = store.get(place.key)
        assert entry.value == stringify(document)
        assert entry.metadata["runId"] == "r"
        assert [e.key for e in store.list()] == ["first", place.key]


def test_twenty_five_threads(store: Any) -> None:
    def put(n: int) -> None:
        store.set(f"k{n}", str(n))

    with ThreadPoolExecutor(25) as pool:
        list(pool.map(put, range(25)))
    assert {e.key: e.value for e in store.list()} == {f"k{n}": str(n) for n in range(25)}
