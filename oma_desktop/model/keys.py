"""Store keys of checkpoints and approvals (formats.md 2.2, 3.1). Nothing is escaped."""

from __future__ import annotations

from oma_desktop.model.approval import APPROVAL_KEY_PREFIX
from oma_desktop.model.checkpoint import CHECKPOINT_KEY_PREFIX, DEFAULT_CHECKPOINT_KEY


def checkpoint_key(run_id: str | None) -> str:
    """Return the key of a run; no or an empty run id gives the shared default key (T16)."""
    return f"{CHECKPOINT_KEY_PREFIX}{run_id}/latest" if run_id else DEFAULT_CHECKPOINT_KEY


def is_checkpoint_key(key: str) -> bool:
    """Whether a store key belongs to a checkpoint."""
    return key.startswith(CHECKPOINT_KEY_PREFIX)


def approval_key(approval_id: str) -> str:
    """Return the key of the ledger row of a request."""
    return APPROVAL_KEY_PREFIX + approval_id


def is_approval_key(key: str) -> bool:
    """Whether a store key belongs to an approval row."""
    return key.startswith(APPROVAL_KEY_PREFIX)


def is_reserved_key(key: str) -> bool:
    """Whether shared memory must neither show nor touch the key (formats.md 1.6.2)."""
    return is_checkpoint_key(key) or is_approval_key(key)
