"""MemoryStore: the contract of every store (formats.md 1.1), blocking, called on the store lane."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, runtime_checkable

from oma_desktop.model.json_value import JsonObject


@dataclass(frozen=True, slots=True)
class StoreEntry:
    """One entry. `created_at` is aware UTC with millisecond precision (formats.md 1.2)."""

    key: str
    value: str
    created_at: datetime
    metadata: JsonObject | None = None
    expires_at_turn: float | None = None


class MemoryStore(Protocol):
    """Required part of the contract; names follow formats.md 1.1."""

    def get(self, key: str) -> StoreEntry | None:
        """Return the entry, or None when the key does not exist."""
        ...

    def set(self, key: str, value: str, metadata: JsonObject | None = None) -> None:
        """Upsert. Keeps the first creation time, replaces metadata, drops any expiry."""
        ...

    def list(self) -> list[StoreEntry]:
        """Return all entries, in insertion order."""
        ...

    def delete(self, key: str) -> None:
        """Remove the key; silent when absent."""
        ...

    def clear(self) -> None:
        """Remove everything."""
        ...


@runtime_checkable
class AtomicStore(Protocol):
    """The optional capability durable approvals need."""

    def compare_and_set(
        self,
        key: str,
        expected: str | None,
        value: str,
        metadata: JsonObject | None = None,
    ) -> bool:
        """Write only if the stored value string equals `expected` (None: key must not exist)."""
        ...


@runtime_checkable
class ExpiringStore(Protocol):
    """The optional capability of entries with an expiry turn."""

    def set_with_expiry(
        self,
        key: str,
        value: str,
        expires_at_turn: float,
        metadata: JsonObject | None = None,
    ) -> None:
        """Like `set`, plus the number. Stores never filter on it."""
        ...


@runtime_checkable
class BatchingStore(Protocol):
    """The optional capability of several changes as one write (formats.md 8 W34)."""

    def batch(self) -> AbstractContextManager[None]:
        """Changes made inside reach the medium together at the end, or none of them does."""
        ...
