"""The store a run file asks for: as it is, or behind redaction (product.md 7)."""

from __future__ import annotations

from oma_desktop.model.runfile import Checkpoint, Redaction
from oma_desktop.store.memory import MemoryStore
from oma_desktop.store.redacting import RedactingStore


def as_asked(store: MemoryStore, wish: Checkpoint) -> MemoryStore:
    """Return the store behind redaction where `checkpoint.redact` wants it.

    Lock, origin and readers go on with the store itself. Raises InvalidInput
    REDACT_PATTERN_INVALID.
    """
    if not wish.redact:
        return store
    patterns = wish.redact.patterns if isinstance(wish.redact, Redaction) else ()
    return RedactingStore(store, patterns=patterns)
