"""What one snapshot says together with the ledger rows and the lock, gathered once.

The states of a run, its tasks and its calls are decided in `run_states` and `call_ledger` from
these facts alone; nothing here knows files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, cast

from oma_desktop.model.approval import ApprovalRow
from oma_desktop.model.checkpoint import CheckpointSnapshot
from oma_desktop.model.json_value import JsonObject
from oma_desktop.model.lenient import (
    moment_at,
    object_at,
    objects_at,
    text_at,
    texts_at,
)
from oma_desktop.model.own_facts import own_facts, unsure_calls
from oma_desktop.model.view import EndRecord

TERMINAL: Final = frozenset({"completed", "failed", "skipped"})
ACTIVE: Final = frozenset({"pending", "blocked", "in_progress"})


@dataclass(frozen=True, slots=True)
class Verdict:
    """A decision, from the ledger or from the snapshot. `consumed`: a snapshot knows it already.

    While only the ledger knows a decision, no attempt that saved anything has acted on it
    (formats.md 3.6: restore puts it on the call, the next save writes it).
    """

    approved: bool
    reviewer: str
    consumed: bool


@dataclass(frozen=True, slots=True)
class RunFacts:
    """One run at one moment. `live`: a living writer works on it; `doomed`: tasks that can never
    become ready because what they depend on failed, was skipped or does not exist; `unsure`: open
    calls (task id, call id) that an earlier attempt may have started (formats.md 2.12)."""

    snapshot: JsonObject
    run_id: str
    live: bool
    end: EndRecord | None
    tasks: Mapping[str, JsonObject]
    entries: Mapping[str, JsonObject]
    pending: Mapping[str, JsonObject]
    verdicts: Mapping[str, Verdict]
    open_ids: frozenset[str]
    open_task_ids: frozenset[str]
    doomed: frozenset[str]
    unsure: frozenset[tuple[str, str]]

    def at_rest(self, task_id: str, call_id: str) -> bool:
        """Whether our own suspension proves that an open call of the task never began."""
        drained = self.end is not None and self.end.status == "suspended"
        return drained and (task_id, call_id) not in self.unsure

    @property
    def rejected(self) -> bool:
        """Whether a plan, round or dispatch of this run was rejected and a save knows it."""
        return any(
            text_at(d, "decision") == "rejected" and text_at(d, "scope") != "tool_call"
            for d in objects_at(self.snapshot, "approvalDecisions")
        )


def gather(
    snapshot: CheckpointSnapshot, rows: Mapping[str, ApprovalRow], *, live: bool
) -> RunFacts:
    """Collect the facts of one run; `rows` are valid ledger rows by request id."""
    plain = cast("JsonObject", snapshot)
    tasks = {text_at(t, "id"): t for t in objects_at(plain.get("queue"), "tasks")}
    entries = {text_at(e, "taskId"): e for e in objects_at(plain, "inFlightTasks")}
    pending = {text_at(r, "id"): r for r in _pending_requests(plain)}
    verdicts = _verdicts(plain, rows)
    open_ids = frozenset(
        id_
        for id_, request in pending.items()
        if id_ not in verdicts and not _is_over(request, tasks)
    )
    return RunFacts(
        snapshot=plain,
        run_id=run_id_of(plain),
        live=live,
        end=end_of(plain),
        tasks=tasks,
        entries=entries,
        pending=pending,
        verdicts=verdicts,
        open_ids=open_ids,
        open_task_ids=frozenset(task_id_of(pending[i]) or "" for i in open_ids),
        doomed=_doomed(tasks),
        unsure=unsure_calls(own_facts(snapshot)),
    )


def run_id_of(snapshot: JsonObject) -> str:
    """Return the logical run id: v2 and later in `identity`, v1 at the top (formats.md 2.3)."""
    return text_at(snapshot.get("identity"), "runId") or text_at(snapshot, "runId")


def end_of(snapshot: JsonObject) -> EndRecord | None:
    """Return our own record of how the attempt ended, when there is one (formats.md 2.12)."""
    end = object_at(own_facts(snapshot), "end")
    status = text_at(end, "status")
    return EndRecord(status, moment_at(end, "at"), text_at(end, "by")) if status else None


def task_id_of(request: JsonObject) -> str | None:
    """Return the task a request is about; None for plans and rounds (formats.md 3.2)."""
    content = object_at(request, "content")
    if request.get("scope") == "tool_call":
        return text_at(content, "taskId") or None
    if request.get("scope") == "task_dispatch":
        return text_at(object_at(content, "task"), "id") or None
    return None


def agent_of(facts: RunFacts, task_id: str) -> str:
    """Return who runs or ran a task: its in-flight state first, then the queue."""
    entry = text_at(facts.entries.get(task_id), "assignee")
    return entry or text_at(facts.tasks.get(task_id), "assignee")


def pending_calls(entry: JsonObject) -> list[JsonObject]:
    """Return the calls of the open round, in the order of the model."""
    return objects_at(entry, "pendingToolCalls")


def _pending_requests(snapshot: JsonObject) -> Iterator[JsonObject]:
    yield from objects_at(snapshot, "pendingApprovals")
    for entry in objects_at(snapshot, "inFlightTasks"):
        for call in pending_calls(entry):
            request = object_at(call, "approvalRequest")
            if request and "commit" not in call:
                yield request


def _is_over(request: JsonObject, tasks: Mapping[str, JsonObject]) -> bool:
    """Whether the task a request is about has ended, so that no decision can matter."""
    task = tasks.get(task_id_of(request) or "")
    return task is not None and text_at(task, "status") in TERMINAL


def _verdicts(snapshot: JsonObject, rows: Mapping[str, ApprovalRow]) -> dict[str, Verdict]:
    known = {text_at(d, "requestId"): d for d in objects_at(snapshot, "approvalDecisions")}
    run_id = run_id_of(snapshot)
    found = {id_: _verdict(d, consumed=True) for id_, d in known.items()}
    for id_, row in rows.items():
        decision = row.get("decision")
        if decision is not None and id_ not in found and row["request"]["runId"] == run_id:
            found[id_] = _verdict(cast("JsonObject", decision), consumed=False)
    return found


def _verdict(decision: JsonObject, *, consumed: bool) -> Verdict:
    reviewer = text_at(object_at(decision, "reviewer"), "id")
    return Verdict(text_at(decision, "decision") == "approved", reviewer, consumed)


def _doomed(tasks: Mapping[str, JsonObject]) -> frozenset[str]:
    """Return waiting tasks whose dependencies can never all be completed.

    Everything that can still run is found from its sources; what is left over waits for a failed,
    skipped or missing task, or for itself in a circle.
    """
    waiting = {i: t for i, t in tasks.items() if text_at(t, "status") in ACTIVE}
    unmet = {i: _unmet(t, tasks) for i, t in waiting.items()}
    needed_by: dict[str, list[str]] = {}
    for id_, missing in unmet.items():
        for other in missing:
            needed_by.setdefault(other, []).append(id_)
    ready = [i for i, missing in unmet.items() if not missing]
    alive: set[str] = set()
    while ready:
        id_ = ready.pop()
        alive.add(id_)
        for other in needed_by.get(id_, ()):
            unmet[other].discard(id_)
            if not unmet[other]:
                ready.append(other)
    return frozenset(waiting.keys() - alive)


def _unmet(task: JsonObject, tasks: Mapping[str, JsonObject]) -> set[str]:
    # A running task has had its dependencies already.
    if text_at(task, "status") == "in_progress":
        return set()
    return {
        d
        for d in texts_at(task, "dependsOn")
        if d not in tasks or text_at(tasks[d], "status") != "completed"
    }
