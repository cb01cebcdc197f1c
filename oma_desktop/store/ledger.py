"""The approval ledger: rows beside the checkpoint, each decided once (formats.md 3.5).

What a valid row is, is said by `model.approval_rules`; this is where rows are read and written.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, cast

from oma_desktop.model.approval import (
    APPROVAL_KEY_PREFIX,
    ApprovalDecision,
    ApprovalRequest,
    ApprovalRow,
    Reviewer,
    Verdict,
)
from oma_desktop.model.approval_rules import (
    check_reviewer,
    make_decision,
    parse_row,
    validate_request,
)
from oma_desktop.model.errors import (
    AlreadyDecided,
    ApprovalError,
    ApprovalInvalid,
    ApprovalNotFound,
    AtomicStoreRequired,
    StaleDecision,
)
from oma_desktop.model.json_text import stringify
from oma_desktop.model.json_value import JsonObject, JsonValue
from oma_desktop.model.keys import approval_key, is_approval_key
from oma_desktop.store.memory import AtomicStore, MemoryStore
from oma_desktop.store.wall_clock import WallClock

VerdictWord: TypeAlias = Literal["approve", "reject"]
_VERDICTS: Final[dict[str, Verdict]] = {"approve": "approved", "reject": "rejected"}


@dataclass(frozen=True, slots=True)
class LedgerScan:
    """All rows of a store: those that hold, and by request id why the others do not."""

    rows: list[ApprovalRow]
    damaged: dict[str, ApprovalError]


class ApprovalLedger:
    """The rows `__oma_approval__/<id>` of one store.

    Reading works on every store; `ensure` and `decide` need compare-and-set. Blocking, for the
    store lane. Every call may also raise what the store raises.
    """

    def __init__(self, store: MemoryStore, *, clock: WallClock) -> None:
        self._store = store
        self._clock = clock

    @property
    def can_decide(self) -> bool:
        """Whether the store can decide atomically (formats.md 1.5: a redacting store cannot)."""
        return isinstance(self._store, AtomicStore)

    def ensure(self, request: ApprovalRequest) -> ApprovalRow:
        """Create the row of a request, or return the one that is there.

        The id binds run, scope, boundary and content, so an existing row asks the very same thing;
        it is reused, though reason or time may differ, and may be decided already (W38).
        Raises AtomicStoreRequired, IntegrityMismatch or ApprovalInvalid.
        """
        store = self._atomic()
        value = cast("JsonValue", request)
        validate_request(value, "$")
        row: JsonObject = {"version": 1, "request": value}
        key = approval_key(request["id"])
        if store.compare_and_set(key, None, stringify(row), _pending_metadata(request)):
            return cast("ApprovalRow", row)
        found = self.get(request["id"])
        if found is None:  # another process removed it in between
            raise AlreadyDecided("APPROVAL_CONFLICT", id=request["id"], reason="row_vanished")
        return found

    def get(self, request_id: str) -> ApprovalRow | None:
        """Return the row, None when absent. Raises IntegrityMismatch or ApprovalInvalid."""
        read = self._read(request_id)
        return None if read is None else read[1]

    def list(self) -> list[ApprovalRow]:
        """Return all rows that hold, in store order; `scan` also names the damaged ones."""
        return self.scan().rows

    def scan(self) -> LedgerScan:
        """Read all rows; a damaged one hides no other."""
        found = LedgerScan([], {})
        for entry in self._store.list():
            if is_approval_key(entry.key):
                identity = entry.key.removeprefix(APPROVAL_KEY_PREFIX)
                try:
                    row = parse_row(entry.value, entry.key, expected_id=identity)
                    found.rows.append(row)
                except ApprovalError as error:
                    found.damaged[identity] = error
        return found

    def decide(
        self,
        request_id: str,
        request_hash: str,
        verdict: VerdictWord,
        reviewer: Reviewer,
    ) -> ApprovalDecision:
        """Record the one decision of a request and return it as stored (formats.md 3.5).

        Repeating the same decision as the same reviewer returns the stored one (W39).
        Raises in this order: AtomicStoreRequired; ApprovalInvalid (reviewer, word);
        ApprovalNotFound; IntegrityMismatch; StaleDecision (another hash); AlreadyDecided.
        """
        store = self._atomic()
        check_reviewer(cast("JsonValue", reviewer), "reviewer")
        if verdict not in _VERDICTS:
            raise ApprovalInvalid(
                "APPROVAL_VALIDATION_ERROR", where="decision", reason="verdict_unknown"
            )
        text, row = self._existing(request_id)
        if row["request"]["requestHash"] != request_hash:
            raise StaleDecision(
                "APPROVAL_STALE_DECISION", id=request_id, reason="hash_of_another_content"
            )
        decision = make_decision(
            row["request"],
            verdict=_VERDICTS[verdict],
            reviewer=reviewer,
            decided_at=self._clock.now(),
        )
        if "decision" in row:
            return _repeated(decision, row["decision"])
        decided = stringify({**cast("JsonObject", row), "decision": cast("JsonValue", decision)})
        key = approval_key(request_id)
        if store.compare_and_set(key, text, decided, _decided_metadata(decision)):
            return decision
        return self._after_lost_race(decision)

    def _after_lost_race(self, decision: ApprovalDecision) -> ApprovalDecision:
        _, row = self._existing(decision["requestId"])
        if "decision" not in row:
            raise AlreadyDecided(
                "APPROVAL_CONFLICT", id=decision["requestId"], reason="row_changed"
            )
        return _repeated(decision, row["decision"])

    def _existing(self, request_id: str) -> tuple[str, ApprovalRow]:
        read = self._read(request_id)
        if read is None:
            raise ApprovalNotFound("APPROVAL_NOT_FOUND", id=request_id)
        return read

    def _read(self, request_id: str) -> tuple[str, ApprovalRow] | None:
        """Return the value string as stored, the expectation of compare-and-set, and its row."""
        key = approval_key(request_id)
        entry = self._store.get(key)
        if entry is None:
            return None
        return entry.value, parse_row(entry.value, key, expected_id=request_id)

    def _atomic(self) -> AtomicStore:
        if not isinstance(self._store, AtomicStore):
            raise AtomicStoreRequired(
                "APPROVAL_ATOMIC_STORE_REQUIRED", store=type(self._store).__name__
            )
        return self._store


def _repeated(mine: ApprovalDecision, stored: ApprovalDecision) -> ApprovalDecision:
    """Return the stored decision when mine only repeats it, else raise AlreadyDecided."""
    same_person = mine["reviewer"]["id"] == stored["reviewer"]["id"]
    if same_person and mine["decision"] == stored["decision"]:
        return stored
    raise AlreadyDecided(
        "APPROVAL_CONFLICT",
        id=stored["requestId"],
        decision=stored["decision"],
        reviewer=stored["reviewer"]["id"],
        decided_at=stored["decidedAt"],
        reason="decided",
    )


def _pending_metadata(request: ApprovalRequest) -> JsonObject:
    return {
        "namespace": "approval",
        "version": 1,
        "runId": request["runId"],
        "scope": request["scope"],
        "requestHash": request["requestHash"],
        "requestedAt": request["requestedAt"],
    }


def _decided_metadata(decision: ApprovalDecision) -> JsonObject:
    return {
        "namespace": "approval",
        "version": 1,
        "runId": decision["runId"],
        "scope": decision["scope"],
        "requestHash": decision["requestHash"],
        "decision": decision["decision"],
        "reviewerId": decision["reviewer"]["id"],
        "decidedAt": decision["decidedAt"],
    }
