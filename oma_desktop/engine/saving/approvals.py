"""Durable approvals of a live run: asking, and using what was decided (engine.md 5.3-5.5)."""

from __future__ import annotations

from typing import Final, cast

from oma_desktop.base.clock import Clock
from oma_desktop.base.lanes import Lanes
from oma_desktop.engine.agents.boundaries import Boundary
from oma_desktop.engine.bus import EventBus
from oma_desktop.engine.run_state import RunState
from oma_desktop.engine.saving.checkpointing import CheckpointWriter
from oma_desktop.engine.saving.snapshotting import frozen_entry
from oma_desktop.engine.spans import span
from oma_desktop.model.approval import ApprovalRequest, ApprovalScope
from oma_desktop.model.approval_forms import PLAN_BOUNDARY
from oma_desktop.model.approval_rules import create_request, request_hash
from oma_desktop.model.checkpoint import InFlightEntry, PendingToolCall, TaskSnapshot
from oma_desktop.model.errors import (
    ApprovalError,
    ApprovalInvalid,
    ApprovalNotSaved,
    AtomicStoreRequired,
    StaleDecision,
    StoreError,
)
from oma_desktop.model.json_text import js_trim
from oma_desktop.model.json_value import JsonObject, JsonValue
from oma_desktop.store.ledger import ApprovalLedger

CANNOT_WAIT: Final = "VERIFY_CANNOT_WAIT"


class Approvals:
    """The approval side of one attempt.

    `writer` None: a run without checkpoint; `ledger` None: its store cannot decide atomically.
    Nothing can be suspended then (engine.md 5.4, fail-closed list).
    """

    def __init__(
        self,
        state: RunState,
        *,
        writer: CheckpointWriter | None,
        ledger: ApprovalLedger | None,
        lanes: Lanes,
        clock: Clock,
        bus: EventBus,
    ) -> None:
        self._state = state
        self._writer = writer
        self._ledger = ledger
        self._lanes = lanes
        self._clock = clock
        self._bus = bus
        self._taken: dict[str, ApprovalRequest] = {}

    def able(self) -> tuple[CheckpointWriter, ApprovalLedger]:
        """Return what a suspension needs, or raise AtomicStoreRequired."""
        if self._writer is None or self._ledger is None:
            raise AtomicStoreRequired(
                "APPROVAL_ATOMIC_STORE_REQUIRED", checkpoint=self._writer is not None
            )
        return self._writer, self._ledger

    async def suspend_dispatch(self, task: TaskSnapshot, reason: str | None) -> ApprovalRequest:
        """Put the task before a reviewer: save, ledger row, announcement, in this order.

        Raises ApprovalError: nothing is let through. ApprovalNotSaved when the save failed, then
        nothing is pending; or when its row could not be written, then the saved request stays.
        """
        content: JsonObject = {"kind": "task_dispatch", "task": cast("JsonValue", task)}
        return await self._suspend("task_dispatch", task["id"], content, reason)

    async def suspend_plan(
        self, tasks: list[TaskSnapshot], reason: str | None, *, plan_only: bool
    ) -> ApprovalRequest:
        """Put the whole plan before a reviewer; raises as `suspend_dispatch`."""
        content: JsonObject = {
            "kind": "plan",
            "continuation": "plan_only" if plan_only else "execute",
            "tasks": cast("JsonValue", tasks),
        }
        return await self._suspend("plan", PLAN_BOUNDARY, content, reason)

    async def suspend_round(
        self, done: list[TaskSnapshot], following: list[TaskSnapshot], reason: str | None
    ) -> ApprovalRequest:
        """Put the next round before a reviewer; raises as `suspend_dispatch`."""
        boundary = "->".join(",".join(t["id"] for t in part) for part in (done, following))
        content: JsonObject = {
            "kind": "task_round",
            "completedTasks": cast("JsonValue", done),
            "nextTasks": cast("JsonValue", following),
        }
        return await self._suspend("task_round", boundary, content, reason)

    async def _suspend(
        self, scope: ApprovalScope, boundary: str, content: JsonObject, reason: str | None
    ) -> ApprovalRequest:
        with span("approval", "request_approval", approval_scope=scope) as recorded:
            request = await self._put(scope, boundary, content, reason)
            recorded.set(approval_id=request["id"])
            return request

    async def _put(
        self, scope: ApprovalScope, boundary: str, content: JsonObject, reason: str | None
    ) -> ApprovalRequest:
        writer, ledger = self.able()
        self._refuse_judged(content)
        request = await self._request(scope, boundary, content, reason)
        self._state.pending[request["id"]] = request
        try:
            await writer.save_strict(f"{scope}_suspended")
        except StoreError as error:
            self._state.pending.pop(request["id"], None)
            raise _unusable("not_saved", error) from error
        try:
            await self._lanes.store(ledger.ensure, request)
        except StoreError as error:
            # The checkpoint holds the request: it stays, and the next restore creates its row.
            raise _unusable("row_not_saved", error) from error
        self._bus.emit("approval_pending", data=cast("JsonObject", request))
        return request

    def _refuse_judged(self, content: JsonObject) -> None:
        """Tasks with judges cannot be held at a boundary of the run (engine.md 5.4 row 1).

        Who restores the store may be the peer, which would run them unjudged.
        """
        held = [content.get("task"), *_list(content, "tasks"), *_list(content, "nextTasks")]
        for task in held:
            if isinstance(task, dict) and task.get("id") in self._state.verify:
                title = task.get("title", "")
                facts = {"code": CANNOT_WAIT, "title": title}
                self._bus.emit("warning", task=str(task["id"]), data=facts)
                self._state.warnings.append(CANNOT_WAIT)
                raise ApprovalInvalid("APPROVAL_VALIDATION_ERROR", reason="verify", title=title)

    def take_dispatch(self, task: TaskSnapshot) -> bool:
        """Use up an approved dispatch of this task, if there is one.

        Raises StaleDecision when the task is not byte for byte what was reviewed.
        """
        self._taken.pop(task["id"], None)  # of an earlier look: the task may have changed since
        request = self._state.dispatch_request(task["id"])
        if request is None:
            return False
        decision = self._state.decisions.get(request["id"])
        if decision is None or decision["decision"] != "approved":
            return False
        content: JsonObject = {"kind": "task_dispatch", "task": cast("JsonValue", task)}
        if request_hash("task_dispatch", task["id"], content) != request["requestHash"]:
            raise StaleDecision("APPROVAL_STALE_DECISION", id=request["id"], task=task["id"])
        self._taken[task["id"]] = self._state.pending.pop(request["id"])
        return True

    def give_back_dispatch(self, task_id: str) -> None:
        """What `take_dispatch` used up is open to be used again; nothing where it used nothing."""
        request = self._taken.pop(task_id, None)
        if request is not None:
            self._state.pending[request["id"]] = request

    async def suspend_call(
        self,
        boundaries: TaskBoundaries,
        entry: InFlightEntry,
        call_id: str,
        content: JsonObject,
        reason: str | None,
    ) -> ApprovalRequest:
        """Put one tool call before a reviewer (engine.md 5.4, right column).

        Raises ApprovalError or StoreError, then nothing is pending. A request that is saved but
        whose row could not be written holds the call unannounced; the next restore creates the row.
        """
        with span("approval", "request_approval", approval_scope="tool_call") as recorded:
            _, ledger = self.able()
            boundary = f"{boundaries.task_id}:{call_id}"
            request = await self._request("tool_call", boundary, content, reason)
            recorded.set(approval_id=request["id"])
            call = pending_call(entry, call_id)
            call["approvalRequest"] = request
            try:
                await boundaries.save_strict(entry, Boundary.CALL_SUSPENDED)
            except StoreError:
                del call["approvalRequest"]
                boundaries.forget_request(entry)
                raise
            event, data = "approval_pending", cast("JsonObject", request)
            try:
                await self._lanes.store(ledger.ensure, request)
            except StoreError as error:
                # Failing the task here would throw away a request that is already on disk.
                event, data = "error", {"kind": "approval_row_failed", "code": error.code}
            self._bus.emit(event, agent=entry["assignee"], task=entry["taskId"], data=data)
            return request

    async def _request(
        self, scope: ApprovalScope, boundary: str, content: JsonObject, reason: str | None
    ) -> ApprovalRequest:
        """Build a request, or take the stored one when the same thing was asked before (W38).

        A call this run already knows a decision about is another call when it is asked for again
        (a retry repeats id and input): it gets the next `occurrence`, hence a decision of its own.
        """
        _, ledger = self.able()
        if self._state.identity.run_id != js_trim(self._state.identity.run_id):
            # The request would carry the trimmed id and make the checkpoint unreadable (W10).
            raise ApprovalInvalid("APPROVAL_VALIDATION_ERROR", reason="run_id_spaces")
        request = self._built(scope, boundary, content, reason)
        while scope == "tool_call" and request["id"] in self._state.decisions:
            nth = cast("int", content.get("occurrence", 1)) + 1
            content = {**content, "occurrence": nth}
            request = self._built(scope, boundary, content, reason)
        try:
            row = await self._lanes.store(ledger.get, request["id"])
        except StoreError as error:
            raise _unusable("row_not_read", error) from error
        return request if row is None else row["request"]

    def _built(
        self, scope: ApprovalScope, boundary: str, content: JsonObject, reason: str | None
    ) -> ApprovalRequest:
        return create_request(
            run_id=self._state.identity.run_id,
            scope=scope,
            boundary=boundary,
            content=content,
            requested_at=self._clock.now(),
            reason=reason,
        )


def _list(content: JsonObject, key: str) -> list[JsonValue]:
    found = content.get(key)
    return found if isinstance(found, list) else []


def _unusable(reason: str, cause: StoreError) -> ApprovalNotSaved:
    """The store failed around a request: nothing is let through (engine.md 5.4)."""
    return ApprovalNotSaved(
        "APPROVAL_NOT_SAVED", **{**cause.facts, "step": reason, "cause": cause.code}
    )


class TaskBoundaries:
    """The `Boundaries` a runner works through for one task.

    Without a checkpoint (`writer` None) the run still knows how far its agents are.
    """

    def __init__(
        self,
        task_id: str,
        state: RunState,
        writer: CheckpointWriter | None,
        approvals: Approvals,
    ) -> None:
        self.task_id = task_id
        self._state = state
        self._writer = writer
        self._approvals = approvals

    async def save(self, entry: InFlightEntry, boundary: Boundary) -> None:
        """Best effort (engine.md 3.6)."""
        self._state.put_entry(self.task_id, frozen_entry(entry))
        if self._writer is not None:
            await self._writer.save(boundary.value)

    async def save_strict(self, entry: InFlightEntry, boundary: Boundary) -> None:
        """Raise StoreError when the state is not on disk."""
        self._state.put_entry(self.task_id, frozen_entry(entry))
        if self._writer is not None:
            await self._writer.save_strict(boundary.value)

    def forget_request(self, entry: InFlightEntry) -> None:
        """A request could not be saved: no later save of anybody may bring it to the disk."""
        if self.task_id in self._state.entries:
            self._state.put_entry(self.task_id, frozen_entry(entry))

    async def request_approval(
        self, entry: InFlightEntry, call_id: str, content: JsonObject, reason: str | None
    ) -> ApprovalRequest:
        """Suspend one call; raises ApprovalError or StoreError, then nothing is pending."""
        return await self._approvals.suspend_call(self, entry, call_id, content, reason)


def pending_call(entry: InFlightEntry, call_id: str) -> PendingToolCall:
    """The open call of an entry; raises ApprovalError APPROVAL_VALIDATION_ERROR."""
    for call in entry.get("pendingToolCalls", ()):
        if call["call"]["id"] == call_id and "commit" not in call:
            return call
    raise ApprovalError("APPROVAL_VALIDATION_ERROR", reason="call_gone", call=call_id)
