"""Which record of a store a run is saved in (formats.md 2.1, 2.2; engine.md 7.2). Store lane."""

from __future__ import annotations

from oma_desktop.base.clock import Clock
from oma_desktop.engine.options import CheckpointOptions
from oma_desktop.model.checkpoint import DEFAULT_CHECKPOINT_KEY
from oma_desktop.model.errors import Conflict, InvalidInput
from oma_desktop.model.keys import checkpoint_key, is_checkpoint_key
from oma_desktop.store.checkpoint import Checkpoint
from oma_desktop.store.ledger import ApprovalLedger
from oma_desktop.store.memory import MemoryStore


def place_of_new_run(options: CheckpointOptions, run_id: str) -> Checkpoint:
    """The record of a new run: its own key unless another was asked for (P11).

    Raises Conflict CHECKPOINT_EXISTS when the record is taken; nothing is overwritten.
    """
    key = options.key or checkpoint_key(options.run_id or run_id)
    if options.store.get(key) is not None:
        raise Conflict("CHECKPOINT_EXISTS", key=key)
    return Checkpoint(options.store, key=key)


def place_of_saved_run(options: CheckpointOptions, run_id: str | None) -> Checkpoint:
    """The record to restore: as named, else the default key, else the only one there is.

    Raises InvalidInput CHECKPOINT_AMBIGUOUS with the keys when a choice is needed.
    """
    if options.key is not None:
        return Checkpoint(options.store, key=options.key)
    named = options.run_id or run_id
    if named:
        return Checkpoint(options.store, key=_key_of(options.store, named))
    keys = [e.key for e in options.store.list() if is_checkpoint_key(e.key)]
    if len(keys) > 1 and DEFAULT_CHECKPOINT_KEY not in keys:
        raise InvalidInput("CHECKPOINT_AMBIGUOUS", keys=keys)
    if not keys or DEFAULT_CHECKPOINT_KEY in keys:
        return Checkpoint(options.store, key=DEFAULT_CHECKPOINT_KEY)
    return Checkpoint(options.store, key=keys[0])


def _key_of(store: MemoryStore, run_id: str) -> str:
    """The run's own key, or the default key where only that holds this run (the peer's habit)."""
    own = checkpoint_key(run_id)
    if store.get(own) is None:
        shared = store.get(DEFAULT_CHECKPOINT_KEY)
        if shared is not None and (shared.metadata or {}).get("runId") == run_id:
            return DEFAULT_CHECKPOINT_KEY
    return own


def ledger_of(store: MemoryStore, clock: Clock) -> ApprovalLedger | None:
    """The ledger beside the checkpoint; None when the store cannot decide atomically."""
    ledger = ApprovalLedger(store, clock=clock)
    return ledger if ledger.can_decide else None
