"""InMemoryStore: the contract of stores without a medium (formats.md 1.3)."""

from __future__ import annotations

import builtins
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy

from oma_desktop.model.json_value import JsonObject
from oma_desktop.store.memory import StoreEntry
from oma_desktop.store.wall_clock import WallClock


class InMemoryStore:
    """An insertion-ordered map with every capability. Calls may come from any thread."""

    def __init__(self, *, clock: WallClock) -> None:
        self._clock = clock
        self._guard = threading.RLock()
        self._entries: dict[str, StoreEntry] = {}

    def get(self, key: str) -> StoreEntry | None:
        """Return the entry, or None when the key does not exist."""
        with self._guard:
            return self._entries.get(key)

    def list(self) -> list[StoreEntry]:
        """Return all entries, in insertion order."""
        with self._guard:
            return [*self._entries.values()]

    def set(self, key: str, value: str, metadata: JsonObject | None = None) -> None:
        """Upsert. Keeps the first creation time and the place, drops any expiry."""
        self._put(key, value, metadata, None)

    def set_with_expiry(
        self,
        key: str,
        value: str,
        expires_at_turn: float,
        metadata: JsonObject | None = None,
    ) -> None:
        """Like `set`, plus the number. Stores never filter on it."""
        self._put(key, value, metadata, expires_at_turn)

    def compare_and_set(
        self,
        key: str,
        expected: str | None,
        value: str,
        metadata: JsonObject | None = None,
    ) -> bool:
        """Write only if the stored value string equals `expected` (None: key must not exist)."""
        with self._guard:
            old = self._entries.get(key)
            if (old.value if old else None) != expected:
                return False
            self._put(key, value, metadata, None)
            return True

    def delete(self, key: str) -> None:
        """Remove the key; silent when absent."""
        with self._guard:
            self._entries.pop(key, None)

    def clear(self) -> None:
        """Remove everything."""
        with self._guard:
            self._entries.clear()

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Several changes together; an exception undoes them all."""
        with self._guard:
            before = dict(self._entries)
            try:
                yield
            except BaseException:
                self._entries = before
                raise

    def has(self, key: str) -> bool:
        """Tell whether the key exists."""
        with self._guard:
            return key in self._entries

    @property
    def size(self) -> int:
        """The number of entries."""
        with self._guard:
            return len(self._entries)

    def search(self, query: str) -> builtins.list[StoreEntry]:
        """Return entries whose key or value contains the query, in any case; all when empty."""
        wanted = query.lower()
        return [e for e in self.list() if wanted in e.key.lower() or wanted in e.value.lower()]

    def _put(
        self, key: str, value: str, metadata: JsonObject | None, expires_at_turn: float | None
    ) -> None:
        with self._guard:
            old = self._entries.get(key)
            created = old.created_at if old else self._clock.now()
            self._entries[key] = StoreEntry(
                key, value, created, deepcopy(metadata), expires_at_turn
            )
