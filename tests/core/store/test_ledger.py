"""The approval ledger: order of checks, exact codes, one decision (formats.md 3.1, 3.5)."""

from __future__ import annotations

import json
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest

from oma_desktop.base.clock import SystemClock
from oma_desktop.model.approval import ApprovalRequest, Reviewer
from oma_desktop.model.approval_rules import create_request
from oma_desktop.model.errors import (
    AlreadyDecided,
    ApprovalError,
    IntegrityMismatch,
    OmaError,
    WriteFailed,
)
from oma_desktop.store.filestore import FileStore
from oma_desktop.store.in_memory import InMemoryStore
from oma_desktop.store.ledger import ApprovalLedger
from oma_desktop.store.memory import StoreEntry
from oma_desktop.store.read_only import read_only

GOLDEN = Path(__file__).parents[2] / "golden"
NINE = Reviewer(id="reviewer-9")


class Fixed:
    def now(self) -> datetime:
        return datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=UTC)


class Plain:
    """A store without compare-and-set, as a redacting one."""

    def __init__(self, inner: InMemoryStore) -> None:
        self._inner = inner

    def get(self, key: str) -> StoreEntry | None:
        return self._inner.get(key)

    def set(self, key: str, value: str, metadata: Any = None) -> None:
        self._inner.set(key, value, metadata)

    def list(self) -> list[StoreEntry]:
        return self._inner.list()

    def delete(self, key: str) -> None:
        self._inner.delete(key)

    def clear(self) -> None:
        self._inner.clear()


def request(call: str = "c1", *, reason: str | None = None, minute: int = 0) -> ApprovalRequest:
    return create_request(
        run_id="run-1",
        scope="tool_call",
        boundary=f"t1:{call}",
        content={
            "kind": "tool_call",
            "toolName": "deploy",
            "rawInput": {"to": "staging"},
            "input": {"to": "staging"},
            "agentName": "operator",
            "taskId": "t1",
            "toolCallId": call,
            "consequential": True,
        },
        requested_at=datetime(2026, 1, 2, 3, minute, tzinfo=UTC),
        reason=reason,
    )


@pytest.fixture
def store() -> InMemoryStore:
    return InMemoryStore(clock=SystemClock())


@pytest.fixture
def ledger(store: InMemoryStore) -> ApprovalLedger:
    return ApprovalLedger(store, clock=Fixed())


def key(asked: ApprovalRequest) -> str:
    return f"__oma_approval__/{asked['id']}"


def test_the_row_and_its_metadata(store: InMemoryStore, ledger: ApprovalLedger) -> None:
    asked = request(reason="why")
    assert ledger.get(asked["id"]) is None
    row = ledger.ensure(asked)
    assert row == {"version": 1, "request": asked}
    entry = store.get(key(asked))
    assert entry is not None
    assert entry.value == json.dumps(row, separators=(",", ":"))
    assert entry.metadata == {
        "namespace": "approval",
        "version": 1,
        "runId": "run-1",
        "scope": "tool_call",
        "requestHash": asked["requestHash"],
        "requestedAt": "2026-01-02T03:00:00.000Z",
    }
    decision = ledger.decide(
        asked["id"], asked["requestHash"], "reject", {"id": " r ", "displayName": " R "}
    )
    assert decision == {
        "version": 1,
        "requestId": asked["id"],
        "runId": "run-1",
        "scope": "tool_call",
        "requestHash": asked["requestHash"],
        "decision": "rejected",
        "reviewer": {"id": "r", "displayName": " R "},
        "decidedAt": "2026-01-02T03:04:05.678Z",
    }
    entry = store.get(key(asked))
    assert entry is not None
    assert json.loads(entry.value) == {"version": 1, "request": asked, "decision": decision}
    assert entry.metadata == {
        "namespace": "approval",
        "version": 1,
        "runId": "run-1",
        "scope": "tool_call",
        "requestHash": asked["requestHash"],
        "decision": "rejected",
        "reviewerId": "r",
        "decidedAt": "2026-01-02T03:04:05.678Z",
    }
    assert ledger.get(asked["id"]) == json.loads(entry.value)


def test_w38_the_stored_request_is_reused(store: InMemoryStore, ledger: ApprovalLedger) -> None:
    first, later = request(reason="a"), request(reason="b", minute=9)
    assert first["id"] == later["id"]
    ledger.ensure(first)
    assert ledger.ensure(later) == {"version": 1, "request": first}
    ledger.decide(first["id"], first["requestHash"], "approve", NINE)
    assert ledger.ensure(later)["decision"]["decision"] == "approved"
    assert store.size == 1


def test_ensure_checks_what_it_writes(store: InMemoryStore, ledger: ApprovalLedger) -> None:
    forged = cast("ApprovalRequest", {**request(), "boundary": "t1:c2"})
    with pytest.raises(IntegrityMismatch, match="APPROVAL_INTEGRITY_ERROR"):
        ledger.ensure(forged)
    assert store.size == 0


def test_stores_without_compare_and_set_can_be_read_only(store: InMemoryStore) -> None:
    asked = request()
    ApprovalLedger(store, clock=Fixed()).ensure(asked)
    ledger = ApprovalLedger(Plain(store), clock=Fixed())
    assert not ledger.can_decide
    assert [row["request"] for row in ledger.list()] == [asked]
    before = store.list()
    with pytest.raises(ApprovalError, match="APPROVAL_ATOMIC_STORE_REQUIRED"):
        ledger.ensure(asked)
    with pytest.raises(ApprovalError, match="APPROVAL_ATOMIC_STORE_REQUIRED"):
        ledger.decide(asked["id"], "", "approve", {"id": ""})
    assert store.list() == before


class TestOrderOfChecks:
    """Each act is wrong in one way more than the one after it; the first check speaks."""

    @pytest.fixture
    def asked(self, ledger: ApprovalLedger) -> ApprovalRequest:
        asked = request()
        ledger.ensure(asked)
        ledger.decide(asked["id"], asked["requestHash"], "approve", NINE)
        return asked

    @pytest.mark.parametrize(
        ("change", "code", "reason"),
        [
            ({"reviewer": {"id": " \ufeff"}}, "APPROVAL_VALIDATION_ERROR", "reviewer_blank"),
            ({"reviewer": {}}, "APPROVAL_VALIDATION_ERROR", "reviewer_blank"),
            ({"reviewer": None}, "APPROVAL_VALIDATION_ERROR", "reviewer_malformed"),
            (
                {"reviewer": {"id": "a", "displayName": 1}},
                "APPROVAL_VALIDATION_ERROR",
                "reviewer_malformed",
            ),
            ({"verdict": "approved"}, "APPROVAL_VALIDATION_ERROR", "verdict_unknown"),
            ({"request_id": "apr_none"}, "APPROVAL_NOT_FOUND", None),
            ({"tamper": True}, "APPROVAL_INTEGRITY_ERROR", None),
            ({"request_hash": "0" * 64}, "APPROVAL_STALE_DECISION", "hash_of_another_content"),
            ({"verdict": "reject"}, "APPROVAL_CONFLICT", "decided"),
        ],
    )
    def test_first_wrong_thing(
        self,
        store: InMemoryStore,
        ledger: ApprovalLedger,
        asked: ApprovalRequest,
        change: dict[str, Any],
        code: str,
        reason: str | None,
    ) -> None:
        if change.pop("tamper", False):
            change["request_hash"] = "0" * 64
            entry = store.get(key(asked))
            assert entry is not None
            store.set(key(asked), entry.value.replace("staging", "production"), entry.metadata)
        before = store.list()
        given: dict[str, Any] = {
            "request_id": asked["id"],
            "request_hash": asked["requestHash"],
            "verdict": "approve",
            "reviewer": Reviewer(id="somebody else"),
        } | change
        with pytest.raises(OmaError) as caught:
            ledger.decide(**given)
        assert caught.value.code == code
        if reason:
            assert caught.value.facts["reason"] == reason
        assert store.list() == before


def test_w39_the_same_decision_again_is_a_success(
    store: InMemoryStore, ledger: ApprovalLedger
) -> None:
    asked = request()
    ledger.ensure(asked)
    first = ledger.decide(asked["id"], asked["requestHash"], "approve", NINE)
    before = store.list()
    assert (
        ledger.decide(asked["id"], asked["requestHash"], "approve", {"id": "reviewer-9 "}) == first
    )
    with pytest.raises(AlreadyDecided) as caught:
        ledger.decide(asked["id"], asked["requestHash"], "approve", {"id": "reviewer-1"})
    assert caught.value.facts["reviewer"] == "reviewer-9"
    assert store.list() == before


def test_w39_a_decision_whose_answer_was_lost_can_be_repeated() -> None:
    """The write reached the medium, the caller saw an error: trying again is no conflict."""

    class Lossy(InMemoryStore):
        lose = False

        def compare_and_set(self, *args: Any) -> bool:
            done = super().compare_and_set(*args)
            if self.lose:
                self.lose = False
                raise WriteFailed("STORE_WRITE_FAILED")
            return done

    store = Lossy(clock=Fixed())
    ledger = ApprovalLedger(store, clock=Fixed())
    asked = request()
    store.lose = True
    with pytest.raises(WriteFailed):
        ledger.ensure(asked)
    assert ledger.ensure(asked)["request"] == asked
    store.lose = True
    with pytest.raises(WriteFailed):
        ledger.decide(asked["id"], asked["requestHash"], "approve", NINE)
    before = store.list()
    decision = ledger.decide(asked["id"], asked["requestHash"], "approve", NINE)
    assert store.list() == before
    row = ledger.get(asked["id"])
    assert row is not None
    assert row["decision"] == decision
    with pytest.raises(AlreadyDecided):
        ledger.decide(asked["id"], asked["requestHash"], "reject", NINE)


def test_idea_35_one_of_two_racing_decisions_wins(store: InMemoryStore) -> None:
    asked = request()
    gate = threading.Barrier(2)

    class Slow(InMemoryStore):
        def compare_and_set(self, *args: Any) -> bool:
            if args[1] is not None:
                gate.wait(timeout=10)  # both have read the undecided row
            return super().compare_and_set(*args)

    slow = Slow(clock=Fixed())
    ApprovalLedger(slow, clock=Fixed()).ensure(asked)

    def decide(who: tuple[str, str]) -> str:
        try:
            ApprovalLedger(slow, clock=Fixed()).decide(
                asked["id"], asked["requestHash"], cast("Any", who[0]), {"id": who[1]}
            )
        except AlreadyDecided as error:
            return error.code
        return "ok"

    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(decide, [("approve", "a"), ("reject", "b")]))
    assert sorted(answers) == ["APPROVAL_CONFLICT", "ok"]
    row = ApprovalLedger(slow, clock=Fixed()).get(asked["id"])
    assert row is not None
    assert row["decision"]["decision"] == ("approved" if answers[0] == "ok" else "rejected")


def test_a_row_that_changed_otherwise_is_a_conflict(store: InMemoryStore) -> None:
    asked = request()

    class Meddled(InMemoryStore):
        def compare_and_set(self, *args: Any) -> bool:
            entry = self.get(args[0])
            if entry is not None:
                self.set(args[0], entry.value + " ", entry.metadata)
            return super().compare_and_set(*args)

    meddled = Meddled(clock=Fixed())
    ledger = ApprovalLedger(meddled, clock=Fixed())
    ledger.ensure(asked)
    with pytest.raises(AlreadyDecided) as caught:
        ledger.decide(asked["id"], asked["requestHash"], "approve", NINE)
    assert caught.value.facts["reason"] == "row_changed"


@pytest.mark.parametrize(
    "value",
    ["", "not json", "null", "[]", "{}", '{"version":1}', '{"version":2,"request":{}}', "[" * 9999],
)
def test_a_damaged_row_is_named_and_hides_no_other(
    store: InMemoryStore, ledger: ApprovalLedger, value: str
) -> None:
    good, bad = request("c1"), request("c2")
    ledger.ensure(good)
    ledger.ensure(bad)
    store.set(key(bad), value)
    with pytest.raises(IntegrityMismatch, match="APPROVAL_INTEGRITY_ERROR"):
        ledger.get(bad["id"])
    with pytest.raises(IntegrityMismatch):
        ledger.ensure(bad)
    found = ledger.scan()
    assert [row["request"] for row in found.rows] == [good]
    assert list(found.damaged) == [bad["id"]]


def test_a_row_under_the_key_of_another_request(
    store: InMemoryStore, ledger: ApprovalLedger
) -> None:
    one, other = request("c1"), request("c2")
    ledger.ensure(one)
    entry = store.get(key(one))
    assert entry is not None
    store.set(key(other), entry.value)
    with pytest.raises(IntegrityMismatch):
        ledger.decide(other["id"], one["requestHash"], "approve", NINE)


# --- the peer's answers -------------------------------------------------------------------------


@pytest.fixture
def suspended(tmp_path: Path) -> tuple[FileStore, ApprovalRequest]:
    path = tmp_path / "checkpoint.json"
    shutil.copyfile(GOLDEN / "c_tool_gate_1_suspended" / "checkpoint.json", path)
    store = FileStore(path, clock=Fixed())
    (row,) = ApprovalLedger(store, clock=Fixed()).list()
    return store, row["request"]


DONE = {"verdict": "reject", "reviewer": {"id": "reviewer-8"}}
TRIES: dict[str, dict[str, Any]] = {
    "approve ok, reviewer id is trimmed": {
        "reviewer": {"id": " reviewer-9 ", "displayName": "  spaced  "}
    },
    "wrong hash": {"request_hash": "0" * 64},
    "upper-case hash": {"upper": True},
    "unknown id": {"request_id": "apr_" + "0" * 32},
    "empty reviewer": {"reviewer": {"id": "  "}},
    "bad decision word": {"verdict": "approved"},
    "displayName not a string": {"reviewer": {"id": "a", "displayName": 7}},
    "second decision": {"before": DONE},
    "record content tampered": {"tamper": True},
}
ANSWERS = json.loads((GOLDEN / "c_decide_errors" / "expected.json").read_bytes())


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda a: str(a["label"]))
def test_golden_decide_errors(
    suspended: tuple[FileStore, ApprovalRequest], answer: dict[str, Any]
) -> None:
    store, asked = suspended
    ledger = ApprovalLedger(store, clock=Fixed())
    given: dict[str, Any] = {
        "request_id": asked["id"],
        "request_hash": asked["requestHash"],
        "verdict": "approve",
        "reviewer": NINE,
    }
    change = dict(TRIES[answer["label"]])
    if change.pop("upper", False):
        change["request_hash"] = asked["requestHash"].upper()
    if before := change.pop("before", None):
        ledger.decide(**(given | before))
    if change.pop("tamper", False):
        entry = store.get(key(asked))
        assert entry is not None
        row = json.loads(entry.value)
        row["request"]["content"]["input"]["extra"] = 1
        store.set(key(asked), json.dumps(row), entry.metadata)
    data = store.path.read_bytes()
    if answer["ok"]:
        decision = ledger.decide(**(given | change))
        assert decision["decision"] == answer["decision"]
        assert decision["reviewer"] == answer["reviewer"]
        return
    with pytest.raises(ApprovalError) as caught:
        ledger.decide(**(given | change))
    assert caught.value.code == answer["code"]
    assert store.path.read_bytes() == data


def test_every_golden_answer_has_its_try() -> None:
    assert sorted(TRIES) == sorted(a["label"] for a in ANSWERS)


def test_golden_approved_bytes(suspended: tuple[FileStore, ApprovalRequest]) -> None:
    """Our decision at the peer's moment gives the peer's bytes."""
    golden = GOLDEN / "c_tool_gate_2_approved" / "checkpoint.json"
    (theirs,) = ApprovalLedger(read_only(golden), clock=Fixed()).list()
    peer = theirs["decision"]

    class Then:
        def now(self) -> datetime:
            return datetime.fromisoformat(peer["decidedAt"])

    store, asked = suspended
    if asked["id"] != theirs["request"]["id"]:
        pytest.fail("the two golden files are of one run")
    ApprovalLedger(store, clock=Then()).decide(
        asked["id"], asked["requestHash"], "approve", peer["reviewer"]
    )
    assert store.path.read_bytes() == golden.read_bytes()


@pytest.mark.parametrize(
    "golden",
    sorted(p for p in GOLDEN.glob("*/checkpoint.json") if p.parent.name != "n_corrupt"),
    ids=lambda p: p.parent.name,
)
def test_golden_rows_hold(golden: Path) -> None:
    expected = json.loads((golden.parent / "expected.json").read_bytes())
    found = ApprovalLedger(read_only(golden), clock=Fixed()).scan()
    assert found.damaged == {}
    states = [row.get("decision", {}).get("decision", "pending") for row in found.rows]
    if isinstance(expected, dict) and "approvals" in expected:
        assert states == [a["state"] for a in expected["approvals"]]


# --- cold start ---------------------------------------------------------------------------------


def test_s02_a_fresh_process_lists_and_decides(tmp_path: Path) -> None:
    case = Path(__file__).parents[2] / "cases" / "s02-cold-approval-resume" / "store.json"
    path = tmp_path / "store.json"
    shutil.copyfile(case, path)
    for _ in range(2):  # a restart changes neither the id nor the file
        (row,) = ApprovalLedger(read_only(path), clock=Fixed()).list()
        assert row["request"]["content"]["input"] == {"amount": 25, "currency": "CNY"}
        assert "decision" not in row
    assert path.read_bytes() == case.read_bytes()
    asked = row["request"]
    ApprovalLedger(FileStore(path, clock=Fixed()), clock=Fixed()).decide(
        asked["id"], asked["requestHash"], "approve", NINE
    )
    (row,) = ApprovalLedger(FileStore(path, clock=Fixed()), clock=Fixed()).list()
    assert row["decision"]["decision"] == "approved"
    assert row["request"] == asked
