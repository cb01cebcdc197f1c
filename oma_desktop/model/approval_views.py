"""Every approval request of a store as it is shown and decided (ux.md C7).

A request may lie in the ledger, in a checkpoint, or in both. Its hash is recomputed here and its
content compared with what the checkpoint would ask now (formats.md 3.6), so that nobody decides
over something else than what will run. Odd rows are shown with their problem, never left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, cast

from oma_desktop.model.approval import APPROVAL_KEY_PREFIX, ApprovalRequest, ApprovalRow
from oma_desktop.model.approval_rules import (
    check_request,
    check_same_request,
    request_hash,
    validate_request,
    validate_row,
)
from oma_desktop.model.checkpoint import CheckpointSnapshot
from oma_desktop.model.container import Container
from oma_desktop.model.effects import effect_of_content
from oma_desktop.model.errors import OmaError
from oma_desktop.model.json_text import STORE_DEPTH, parse
from oma_desktop.model.json_value import JsonObject
from oma_desktop.model.keys import is_approval_key
from oma_desktop.model.lenient import maybe_text_at, moment_at, object_at, text_at
from oma_desktop.model.problem import problem_of
from oma_desktop.model.run_facts import RunFacts, task_id_of
from oma_desktop.model.view import ApprovalView, Effect, Problem


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """One ledger row as stored: the exact string, what could be read of it, and its problem."""

    id: str
    value: str
    document: JsonObject
    row: ApprovalRow | None
    problem: Problem | None


def read_ledger(container: Container) -> dict[str, LedgerRow]:
    """Return all approval rows of a store by request id, in file order."""
    rows: dict[str, LedgerRow] = {}
    for entry in container.entries:
        if is_approval_key(entry.key):
            id_ = entry.key.removeprefix(APPROVAL_KEY_PREFIX)
            rows[id_] = _read_row(id_, entry.value, entry.key)
    return rows


def valid_rows(ledger: Mapping[str, LedgerRow]) -> dict[str, ApprovalRow]:
    """Return the rows whose decisions count."""
    return {id_: r.row for id_, r in ledger.items() if r.row is not None}


def _read_row(id_: str, value: str, key: str) -> LedgerRow:
    document: JsonObject = {}
    try:
        document = object_at(parse(value, where=key, max_depth=STORE_DEPTH))
        row = validate_row(document, key, expected_id=id_)
    except OmaError as error:
        return LedgerRow(id_, value, document, None, problem_of(error, key))
    return LedgerRow(id_, value, document, row, None)


def approval_views(
    ledger: Mapping[str, LedgerRow], runs: Mapping[str, tuple[RunFacts, CheckpointSnapshot]]
) -> Iterator[ApprovalView]:
    """Yield every request once: ledger order first, then those only a checkpoint knows.

    `runs` are the readable runs by checkpoint key.
    """
    for row in ledger.values():
        request = object_at(row.document, "request")
        yield _view(row.id, request, row, _run_of(row.id, text_at(request, "runId"), runs))
    for facts, snapshot in runs.values():
        for id_, request in facts.pending.items():
            if id_ not in ledger:
                yield _view(id_, request, None, (facts, snapshot))


_Run = tuple[RunFacts, CheckpointSnapshot] | None


def _run_of(id_: str, run_id: str, runs: Mapping[str, tuple[RunFacts, CheckpointSnapshot]]) -> _Run:
    """Return the run that asks for this request, else one with its run id."""
    mine = [r for r in runs.values() if run_id in ("", r[0].run_id)]
    asking = (r for r in mine if id_ in r[0].pending or id_ in r[0].verdicts)
    return next(asking, next((r for r in mine if r[0].run_id == run_id), None))


def _view(id_: str, request: JsonObject, row: LedgerRow | None, run: _Run) -> ApprovalView:
    facts, snapshot = run if run is not None else (None, None)
    if not request and facts is not None:
        request = facts.pending.get(id_, {})  # the row is unreadable, the checkpoint is not
    content = object_at(request, "content")
    task_id = task_id_of(request)
    decision = object_at(row.document, "decision") if row else {}
    state = _state(id_, row, facts)
    task = facts.tasks.get(task_id or "", {}) if facts else object_at(content, "task")
    return ApprovalView(
        id=id_,
        run_id=text_at(request, "runId"),
        scope=text_at(request, "scope"),
        boundary=text_at(request, "boundary"),
        request_hash=text_at(request, "requestHash"),
        hash_matches=_hash_matches(request),
        state=state,
        open=facts is not None and id_ in facts.open_ids,
        content=content,
        reason=maybe_text_at(request, "reason"),
        requested_at=moment_at(request, "requestedAt"),
        reviewer_id=maybe_text_at(object_at(decision, "reviewer"), "id"),
        reviewer_name=maybe_text_at(object_at(decision, "reviewer"), "displayName"),
        decided_at=moment_at(decision, "decidedAt"),
        matches_checkpoint=_matches(id_, request, facts, snapshot),
        task_id=task_id,
        task_title=maybe_text_at(task, "title"),
        agent=maybe_text_at(content, "agentName") or maybe_text_at(task, "assignee"),
        tool=maybe_text_at(content, "toolName"),
        effect=effect_of_content(content) if "toolName" in content else Effect.UNKNOWN,
        problem=row.problem if row else None,
        row_value=row.value if row else None,
    )


def _state(
    id_: str, row: LedgerRow | None, facts: RunFacts | None
) -> Literal["pending", "approved", "rejected"]:
    decided = row.row.get("decision") if row and row.row else None
    if decided is not None:
        return decided["decision"]
    verdict = facts.verdicts.get(id_) if facts else None
    if verdict is None:
        return "pending"
    return "approved" if verdict.approved else "rejected"


def _hash_matches(request: JsonObject) -> bool:
    """Recompute the hash over scope, boundary and content (formats.md 3.2.1)."""
    try:
        computed = request_hash(
            text_at(request, "scope"), text_at(request, "boundary"), object_at(request, "content")
        )
    except OmaError:
        return False
    return computed == request.get("requestHash")


def _matches(
    id_: str, request: JsonObject, facts: RunFacts | None, snapshot: CheckpointSnapshot | None
) -> bool | None:
    """Compare with what the checkpoint would ask now; None when it no longer asks."""
    if facts is None or snapshot is None or id_ not in facts.pending:
        return None
    try:
        asked = validate_request(request, "request")
        check_request(snapshot, asked)
        check_same_request(cast("ApprovalRequest", facts.pending[id_]), asked)
    except OmaError:
        return False
    return True
