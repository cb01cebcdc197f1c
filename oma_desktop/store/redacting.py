"""RedactingStore: a store whose medium never sees a secret (formats.md 1.5, 8 W14, W15).

It has no compare-and-set: a decision must be bound to the very bytes that were reviewed, and those
are masked here. Durable approvals therefore fail closed on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Protocol, cast, runtime_checkable

from oma_desktop.model.json_value import JsonObject
from oma_desktop.model.keys import is_checkpoint_key
from oma_desktop.model.redaction import compile_patterns
from oma_desktop.model.redaction_shapes import CHECKPOINT
from oma_desktop.model.redaction_values import CONTENT, PartMask, ValueRedactor
from oma_desktop.store.enlisting import EnlistingStore
from oma_desktop.store.memory import BatchingStore, ExpiringStore, MemoryStore, StoreEntry
from oma_desktop.store.ready_text import BufferStore, MaskedText, ReadyStore


@runtime_checkable
class MaskingStore(Protocol):
    """The optional capability of taking a checkpoint that was masked part by part.

    What did not change since the last save is then not searched again.
    """

    def mask(self) -> PartMask:
        """Return a mask for the parts of one checkpoint; the shapes are those of `CHECKPOINT`."""
        ...

    @property
    def takes_pieces(self) -> bool:
        """Whether quoted pieces reach the medium as they are."""
        ...

    def set_masked(self, key: str, value: MaskedText, metadata: JsonObject | None = None) -> None:
        """Like `set`, for a text made of parts that `mask` has seen."""
        ...


class RedactingStore:
    """Redacts the value on `set` and `set_with_expiry`; keys, metadata and reads pass through.

    `set_with_expiry`, `batch` and `enlist` are there only when the inner store has them,
    `compare_and_set` and ways around `set` never. `patterns` are expressions of the caller,
    applied after the rules. Raises InvalidInput REDACT_PATTERN_INVALID.
    """

    def __init__(self, inner: MemoryStore, *, patterns: Sequence[str] = ()) -> None:
        self.inner = inner
        self._redact = ValueRedactor(compile_patterns(patterns))
        if isinstance(inner, ExpiringStore):
            self.set_with_expiry = self._set_with_expiry
        if isinstance(inner, BatchingStore):
            self.batch = self._batch
        if isinstance(inner, EnlistingStore):
            self.enlist = inner.enlist

    @property
    def path(self) -> object:
        """Where the inner store lies, None where it has no place; for messages."""
        return getattr(self.inner, "path", None)

    def get(self, key: str) -> StoreEntry | None:
        """Return the entry as it is stored."""
        return self.inner.get(key)

    def list(self) -> list[StoreEntry]:
        """Return all entries as they are stored."""
        return self.inner.list()

    def set(self, key: str, value: str, metadata: JsonObject | None = None) -> None:
        """Upsert the redacted value."""
        self.inner.set(key, self._masked(key, value, metadata), metadata)

    def mask(self) -> PartMask:
        """Return a mask for the parts of one checkpoint."""
        return self._redact.part_by_part()

    @property
    def takes_pieces(self) -> bool:
        """Whether quoted pieces reach the medium as they are."""
        return isinstance(self.inner, ReadyStore)

    def set_masked(self, key: str, value: MaskedText, metadata: JsonObject | None = None) -> None:
        """Upsert a text whose parts are masked already."""
        if value.quoted and isinstance(self.inner, ReadyStore):
            self.inner.set_ready(key, value, metadata)
        elif not value.quoted and isinstance(self.inner, BufferStore):
            self.inner.set_buffer(key, value, metadata)
        else:
            self.inner.set(key, value.text, metadata)

    def delete(self, key: str) -> None:
        """Remove the key; silent when absent."""
        self.inner.delete(key)

    def clear(self) -> None:
        """Remove everything."""
        self.inner.clear()

    def _set_with_expiry(
        self,
        key: str,
        value: str,
        expires_at_turn: float,
        metadata: JsonObject | None = None,
    ) -> None:
        masked = self._masked(key, value, metadata)
        cast("ExpiringStore", self.inner).set_with_expiry(key, masked, expires_at_turn, metadata)

    def _batch(self) -> AbstractContextManager[None]:
        return cast("BatchingStore", self.inner).batch()

    def _masked(self, key: str, value: str, metadata: JsonObject | None) -> str:
        facts = metadata or {}
        if is_checkpoint_key(key) or facts.get("namespace") == "checkpoint":
            return self._redact(value, shape=CHECKPOINT, recall=True)
        encoded = facts.get("sharedMemoryValueEncoding") == "json"
        return self._redact(value, shape=CONTENT, encoded=encoded)
