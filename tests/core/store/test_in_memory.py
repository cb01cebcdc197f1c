"""The extras of InMemoryStore (formats.md 1.3)."""

from __future__ import annotations

from oma_desktop.base.clock import SystemClock
from oma_desktop.store.in_memory import InMemoryStore


def test_search_size_and_has() -> None:
    store = InMemoryStore(clock=SystemClock())
    store.set("Alpha", "one")
    store.set("beta", "TWO alpha")
    store.set("gamma", "three")
    assert [e.key for e in store.search("ALPHA")] == ["Alpha", "beta"]
    assert [e.key for e in store.search("two")] == ["beta"]
    assert [e.key for e in store.search("")] == ["Alpha", "beta", "gamma"]
    assert store.search("nothing") == []
    assert store.size == 3
    assert store.has("beta")
    assert not store.has("Beta")
