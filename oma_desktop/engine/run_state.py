"""Everything one attempt of a run knows, on the loop only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from oma_desktop.engine.budget import RunBudget, total
from oma_desktop.engine.coordination_facts import Coordination
from oma_desktop.engine.cost import RunCost
from oma_desktop.engine.memory.message_bus import MessageBus
from oma_desktop.engine.memory.shared_memory import SharedMemory
from oma_desktop.engine.queueing.nested_usage import NestedUsage, entry_usage
from oma_desktop.engine.queueing.queue import TaskQueue
from oma_desktop.engine.tools.confirmation import Confirmation
from oma_desktop.model.approval import ApprovalDecision, ApprovalRequest
from oma_desktop.model.checkpoint import (
    CompletedTaskResult,
    InFlightEntry,
    QueueSnapshot,
    RunMode,
    TaskSnapshot,
)
from oma_desktop.model.json_value import JsonObject
from oma_desktop.model.message import TokenUsage
from oma_desktop.model.result import AgentRunResult, RunIdentity
from oma_desktop.model.verify import Verification, VerifySpec

Parked: TypeAlias = Literal["approval", "stopped"]


@dataclass(slots=True)
class RunState:
    """The live run.

    Invariants: documents in here are replaced, never changed in place; an id in `carried` is in
    `entries` too and its task was not started in this attempt yet.

    `carried` holds, per task that was in flight when the run was saved and has not started again,
    the task document to write meanwhile (W2). `dispatched` names tasks the dispatch gate has
    already let through, `let_through` those of rounds that began or were approved in earlier
    attempts. `parked` says why a task of this attempt stopped unfinished. `pending`
    holds requests of the run level (plan, round, dispatch); those of tool calls lie in `entries`.
    `run_masked`: see RestoreOptions. `metadata_overridden`: a restore was given other metadata than
    was saved.
    `unsure` names open calls (task id, call id) that may have started and left no result; a clean
    suspension must not hide them (formats.md 2.12).
    `outcomes` are results of this attempt that are not `completed`. `verify` says by task id
    who judges its answer (DEV-23), `verdicts` what came of it in this attempt; `team_context` is
    what prompts tell of the team (engine.md 2.9).
    """

    mode: RunMode
    identity: RunIdentity
    queue: TaskQueue
    messages: MessageBus
    budget: RunBudget
    cost: RunCost = field(default_factory=RunCost)
    nested: NestedUsage = field(default_factory=NestedUsage)
    coordination: Coordination = field(default_factory=Coordination)
    memory: SharedMemory | None = None
    embed_memory: bool = False
    goal: str | None = None
    metadata: JsonObject | None = None
    metadata_overridden: bool = False
    completed: dict[str, CompletedTaskResult] = field(default_factory=dict)
    outcomes: dict[str, AgentRunResult] = field(default_factory=dict)
    entries: dict[str, InFlightEntry] = field(default_factory=dict)
    carried: dict[str, TaskSnapshot] = field(default_factory=dict)
    dispatched: set[str] = field(default_factory=set)
    let_through: set[str] = field(default_factory=set)
    pending: dict[str, ApprovalRequest] = field(default_factory=dict)
    decisions: dict[str, ApprovalDecision] = field(default_factory=dict)
    retries: dict[str, int] = field(default_factory=dict)
    unsure: set[tuple[str, str]] = field(default_factory=set)
    confirmation: Confirmation = field(default_factory=Confirmation)
    flags: list[str] = field(default_factory=list)
    end: JsonObject | None = None
    own_extra: JsonObject = field(default_factory=dict)
    snapshot_extra: JsonObject = field(default_factory=dict)
    queue_extra: QueueSnapshot | None = None
    warnings: list[str] = field(default_factory=list)
    parked: dict[str, Parked] = field(default_factory=dict)
    durations_ms: dict[str, int] = field(default_factory=dict)
    total_retries: int = 0
    run_masked: frozenset[str] | None = frozenset()
    verify: dict[str, VerifySpec] = field(default_factory=dict)
    verdicts: dict[str, Verification] = field(default_factory=dict)
    team_context: str | None = None

    def put_entry(self, task_id: str, entry: InFlightEntry) -> None:
        """Replace what is known of a running agent; calls with a result are in doubt no more."""
        self.entries[task_id] = entry
        self.nested.taken_over((task_id,), entry)
        self.unsure -= {p for p in self.unsure if p[0] == task_id} - self.open_calls(task_id)

    def drop_entry(self, task_id: str) -> None:
        """Forget a running agent, its open calls included."""
        self.entries.pop(task_id, None)
        self.unsure = {pair for pair in self.unsure if pair[0] != task_id}

    def try_number(self, task_id: str) -> int:
        """Which try of the task is on, or comes next; from 1, over all attempts."""
        return self.retries.get(task_id, 0) + 1

    def give_up(self, task_id: str) -> None:
        """Forget the saved steps of a task that will not go on; what they cost stays counted."""
        entry = self.entries.get(task_id)
        if entry is not None:
            self.budget.settle_earlier(entry_usage(entry))
        self.drop_entry(task_id)
        self.carried.pop(task_id, None)

    def open_calls(self, task_id: str, *, waiting: bool = True) -> set[tuple[str, str]]:
        """Calls of a task without a result; without `waiting` only those that need no decision."""
        entry = self.entries.get(task_id)
        calls = () if entry is None else entry.get("pendingToolCalls", ())
        return {
            (task_id, c["call"]["id"])
            for c in calls
            if "commit" not in c
            and (waiting or "approvalRequest" not in c or "approvalDecision" in c)
        }

    def open_requests(self) -> list[ApprovalRequest]:
        """Requests not consumed yet: of the run, then of uncommitted calls (formats.md 2.9)."""
        found = dict(self.pending)
        for entry in self.entries.values():
            for call in entry.get("pendingToolCalls", ()):
                request = call.get("approvalRequest")
                if request is not None and "commit" not in call:
                    found.setdefault(request["id"], request)
        return list(found.values())

    def undecided(self) -> list[ApprovalRequest]:
        """Requests somebody still has to decide."""
        return [r for r in self.open_requests() if r["id"] not in self.decisions]

    def dispatch_request(self, task_id: str) -> ApprovalRequest | None:
        """The open dispatch request of a task, decided or not."""
        for request in self.pending.values():
            if request["scope"] == "task_dispatch" and request["boundary"] == task_id:
                return request
        return None

    def dispatch_requests(self) -> dict[str, ApprovalRequest]:
        """The open dispatch requests by task id, for whoever looks at many tasks."""
        return {r["boundary"]: r for r in self.pending.values() if r["scope"] == "task_dispatch"}

    def withdraw(self, task_id: str) -> None:
        """Forget the open dispatch request of a task that can no longer run."""
        request = self.dispatch_request(task_id)
        if request is not None:
            del self.pending[request["id"]]

    @property
    def over_budget(self) -> bool:
        """Whether one of the run's own ceilings was crossed."""
        return self.budget.exceeded or self.cost.exceeded

    def cumulative_usage(self) -> TokenUsage:
        """Tokens over all attempts, running agents and delegations up to their last boundary."""
        running = total(entry_usage(entry) for entry in self.entries.values())
        return total((self.budget.settled, running, self.nested.at(())))

    def waits_for_decision(
        self, task_id: str, *, among: Mapping[str, ApprovalRequest] | None = None
    ) -> bool:
        """Whether nothing of this task can run before a person decides.

        True with an undecided dispatch request, or when every open call has an undecided one.
        `among`: the `dispatch_requests` of now, where many tasks are looked at.
        """
        request = self.dispatch_request(task_id) if among is None else among.get(task_id)
        if request is not None and request["id"] not in self.decisions:
            return True
        entry = self.entries.get(task_id)
        if entry is None:
            return False
        calls = [c for c in entry.get("pendingToolCalls", ()) if "commit" not in c]
        return bool(calls) and all(
            "approvalRequest" in c and c["approvalRequest"]["id"] not in self.decisions
            for c in calls
        )
