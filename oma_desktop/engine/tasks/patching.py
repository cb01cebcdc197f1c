"""From an accepted patch to a changed plan: in place, on disk, then told (engine.md 6.3, 9-12)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from oma_desktop.base.ms_iso import to_ms_iso
from oma_desktop.engine.attempt import Attempt
from oma_desktop.engine.queueing.queue import Overlay, Settled
from oma_desktop.engine.tasks.patch_eligibility import check_eligibility
from oma_desktop.model.approval import ApprovalRequest
from oma_desktop.model.checkpoint import QueueSnapshot, TaskSnapshot
from oma_desktop.model.errors import StoreError
from oma_desktop.model.json_value import JsonObject
from oma_desktop.model.patch_rules import Draft, Plan, draft
from oma_desktop.model.plan_patch import PlanPatch, PlanRevision, Trigger

OnTasks = Callable[[list[str]], None]


@dataclass(frozen=True, slots=True)
class Laid:
    """A patch in place, with what it takes to undo it."""

    draft: Draft
    overlay: Overlay
    history: QueueSnapshot | None
    withdrawn: tuple[ApprovalRequest, ...]


class Patching:
    """Changes the plan of one attempt.

    Invariants: one patch at a time is between `lay` and its end (`turn`); until `publish` no task
    of it can start, and taking it back leaves what happened meanwhile (DEV-04, DEV-05). `on_moved`
    takes ids out of play, `on_ready` puts those back that may start.
    """

    def __init__(
        self,
        attempt: Attempt,
        *,
        on_ready: OnTasks,
        on_moved: OnTasks,
        on_plan: Callable[[], None],
    ) -> None:
        self._attempt = attempt
        self._state = attempt.state
        self._bus = attempt.services.bus
        self._on_ready = on_ready
        self._on_moved = on_moved
        self._on_plan = on_plan
        self._accepted: set[str] = set()
        self.turn = asyncio.Lock()

    # ------------------------------------------------------------------ looking

    @property
    def revisions(self) -> list[PlanRevision]:
        """The accepted revisions of the run, in order."""
        extra = self._state.queue_extra
        return [] if extra is None else cast("list[PlanRevision]", extra.get("planRevisions", []))

    @property
    def added_so_far(self) -> int:
        """How many tasks patches have added to this run."""
        return sum(len(r["addedTasks"]) for r in self.revisions)

    def was_applied(self, task_id: str, trigger: Trigger) -> bool:
        """Whether this very outcome of this task changed the plan already, maybe before a crash."""
        return any(
            r["triggerTaskId"] == task_id and r["trigger"] == trigger for r in self.revisions
        )

    def is_repeat(self, patch: PlanPatch) -> bool:
        """Whether the same words were accepted in this attempt."""
        return signature(patch) in self._accepted

    def check_agents(self, patch: PlanPatch) -> None:
        """Raise PlanRejected when an agent cannot do what the patch gives it."""
        roster = {agent.name: agent for agent in self._attempt.team.config.agents}
        check_eligibility(patch, self._tasks(), chooser=self._attempt.chooser, roster=roster)

    def draft(self, patch: PlanPatch, task_id: str, trigger: Trigger) -> Draft:
        """Work the patch out on the plan as it is now, changing nothing. Raises PlanRejected."""
        services = self._attempt.services
        plan = Plan(
            tasks=self._tasks(),
            trigger_id=task_id,
            trigger=trigger,
            version=len(self.revisions) + 1,
            started=self._state.entries.keys(),
        )
        return draft(patch, plan, new_id=services.ids.uuid, now=to_ms_iso(services.clock.now()))

    def rehearse(self, drafted: Draft) -> None:
        """Raise PlanRejected when a task of the patched plan would have no fitting agent.

        Routing looks at who waits for whom, so the plan is patched for this one look and put back.
        """
        queue, attempt = self._state.queue, self._attempt
        overlay = queue.lay_over(drafted.changed, drafted.added)
        try:
            attempt.check_requirements((*drafted.retargeted, *drafted.added))
        finally:
            queue.take_back(overlay)

    def _tasks(self) -> dict[str, TaskSnapshot]:
        return {task["id"]: task for task in self._state.queue.tasks}

    # ------------------------------------------------------------------ changing

    def lay(self, drafted: Draft) -> Laid:
        """Put the patch in place, in one step and unseen by the dispatcher."""
        state = self._state
        moved = [task["id"] for task in (*drafted.retargeted, *drafted.superseded)]
        requests = [r for r in map(state.dispatch_request, moved) if r is not None]
        laid = Laid(
            drafted,
            state.queue.lay_over(drafted.changed, drafted.added),
            state.queue_extra,
            tuple(requests),
        )
        # What a reviewer saw of a moved task is no longer what would run.
        for task_id in moved:
            state.withdraw(task_id)
            state.dispatched.discard(task_id)
        state.verify.update(drafted.verify)
        state.queue_extra = with_revision(state.queue_extra, drafted.revision)
        self._on_moved(moved)
        return laid

    async def make_durable(self) -> StoreError | None:
        """Save the patched plan; without a checkpoint there is nothing to save."""
        if self._attempt.writer is None:
            return None
        try:
            await self._attempt.writer.save_strict("plan_revision")
        except StoreError as error:
            return error
        return None

    def take_back(self, laid: Laid) -> None:
        """The patch never was; whatever else happened meanwhile did."""
        state = self._state
        state.queue_extra = laid.history
        for task_id in laid.draft.verify:
            state.verify.pop(task_id, None)
        settled = state.queue.take_back(laid.overlay)
        for request in laid.withdrawn:
            if state.queue.status(request["boundary"]) in {"pending", "blocked"}:
                state.pending[request["id"]] = request
        self._go_on(settled)

    def publish(self, laid: Laid, patch: PlanPatch) -> None:
        """Tell of the patch and let its tasks run; one synchronous step."""
        self._accepted.add(signature(patch))
        settled = self._state.queue.publish(laid.overlay)
        for task in laid.draft.superseded:
            now = cast("JsonObject", self._state.queue.get(task["id"]))
            self._bus.emit("task_skipped", task=task["id"], data=now)
        self._on_plan()
        self._go_on(settled)

    def _go_on(self, settled: Settled) -> None:
        for task_id in settled.failed:
            reason = self._state.queue.get(task_id).get("result", "")
            self._bus.emit("task_failed", task=task_id, data={"reason": reason})
        ready = [i for i in settled.ready if not self._state.waits_for_decision(i)]
        if ready:
            self._on_ready(ready)


def signature(patch: PlanPatch) -> str:
    """Two patches are the same when reason and operations are (formats.md 7.3)."""
    return json.dumps(patch.to_json(), separators=(",", ":"))


def with_revision(queue: QueueSnapshot | None, revision: PlanRevision) -> QueueSnapshot:
    """Return what the queue snapshot holds beside its tasks, one revision later."""
    known = cast("JsonObject", queue) if queue is not None else {}
    history = [*(queue.get("planRevisions", []) if queue is not None else []), revision]
    changed = {"version": 2, "planRevision": len(history), "planRevisions": history}
    return cast("QueueSnapshot", {**known, **changed})
