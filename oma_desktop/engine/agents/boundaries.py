"""Where a runner may be saved (engine.md 3.6): the contract between runner and orchestrator."""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol

from oma_desktop.model.approval import ApprovalRequest
from oma_desktop.model.checkpoint import InFlightEntry
from oma_desktop.model.json_value import JsonObject


class Boundary(StrEnum):
    """The safe boundaries B1..B8."""

    TOOLS_REQUESTED = "B1"
    CALL_COMMITTED = "B2"
    CALL_SUSPENDED = "B3"
    ROUND_SUSPENDED = "B4"
    ROUND_CLOSED = "B5"
    FINAL_ANSWER = "B6"
    TERMINATED = "B7"
    LOOP_WARNED = "B8"


class Boundaries(Protocol):
    """Given to a runner that works for a checkpointed task; None means nothing is saved."""

    async def save(self, entry: InFlightEntry, boundary: Boundary) -> None:
        """Best effort: returns after a save that started after this call; never raises."""
        ...

    async def save_strict(self, entry: InFlightEntry, boundary: Boundary) -> None:
        """Raise WriteFailed when the state is not on disk (B3, B4)."""
        ...

    async def request_approval(
        self, entry: InFlightEntry, call_id: str, content: JsonObject, reason: str | None
    ) -> ApprovalRequest:
        """Suspend one call: build the request (boundary `<taskId>:<toolCallId>`), put it on the
        pending call inside `entry`, save strictly, write the ledger row, announce it.

        Raises AtomicStoreRequired before anything is written when the store cannot decide
        atomically or there is no checkpoint.
        """
        ...
