"""What happens when an agent is done with a task, in the order of engine.md 2.3."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import cast

from oma_desktop.engine.attempt import Attempt
from oma_desktop.engine.run_state import Parked
from oma_desktop.engine.slices import in_slices
from oma_desktop.engine.tasks.failure_text import failure_text
from oma_desktop.engine.tasks.recovery import OutcomeBarrier
from oma_desktop.model.canonical import dependency_payload
from oma_desktop.model.checkpoint import CompletedTaskResult, TaskSnapshot
from oma_desktop.model.errors import InvalidInput, StoreError
from oma_desktop.model.json_value import JsonValue
from oma_desktop.model.message import TokenUsage
from oma_desktop.model.result import AgentRunResult, add_usage

__all__ = ["OnTasks", "Settling", "completed_result", "failure_text"]

OnTasks = Callable[[list[str]], None]


class Settling:
    """Turns results into queue changes, saves them, and announces them.

    Invariant: usage is counted in the same synchronous step that drops the in-flight entry, so a
    snapshot never counts it twice or not at all. `own` is the usage of the last try alone: what
    earlier tries used was counted when they ended, delegations that no commit holds come with it.
    The outcome barrier stands before everything: it may change the plan, and holds the task in
    progress until it is done (engine.md 6.3).
    """

    def __init__(
        self,
        attempt: Attempt,
        *,
        on_ready: OnTasks,
        on_gone: OnTasks,
        on_plan: Callable[[], None] = lambda: None,
    ) -> None:
        self._attempt = attempt
        self._state = attempt.state
        self._bus = attempt.services.bus
        self._on_ready = on_ready
        self._on_gone = on_gone
        self._barrier = OutcomeBarrier(attempt, on_ready=on_ready, on_gone=on_gone, on_plan=on_plan)

    async def succeeded(self, task_id: str, result: AgentRunResult, own: TokenUsage) -> None:
        """Keep the result, unblock what waited, save, then tell."""
        if not await self._barrier.wait(task_id, result, own):
            # what earlier tries and judges used is counted already
            self.parked(task_id, replace(result, token_usage=own), "stopped")
            return
        state = self._state
        task = state.queue.get(task_id)
        await self._remember(task, result)
        self._leave_flight(task_id, own)
        state.completed[task_id] = completed_result(task, result)
        if result.verification is not None:
            state.verdicts[task_id] = result.verification
        state.warnings += result.warnings
        ready = state.queue.complete_task(task_id, result.output)
        await self._attempt.save("task_completed")
        agent = task.get("assignee")
        data = cast("dict[str, object]", result.to_json())
        self._bus.emit("task_complete", agent=agent, task=task_id, data=data)
        self._bus.emit("agent_complete", agent=agent, task=task_id, data=data)
        self._on_ready(ready)

    async def failed(self, task_id: str, result: AgentRunResult, own: TokenUsage) -> None:
        """Fail the task and what waited for it, save (DEV-12), then tell about each (DEV-17)."""
        if not await self._barrier.wait(task_id, result, own):
            # what earlier tries and judges used is counted already
            self.parked(task_id, replace(result, token_usage=own), "stopped")
            return
        state = self._state
        task = state.queue.get(task_id)
        self._leave_flight(task_id, own)
        state.outcomes[task_id] = result
        cascaded = state.queue.fail(task_id, failure_text(result))
        for gone in (task_id, *cascaded):
            state.withdraw(gone)
            state.give_up(gone)
        self._on_gone(cascaded)
        await self._attempt.save("task_failed")
        data = cast("dict[str, object]", result.to_json())
        self._bus.emit("error", agent=task.get("assignee"), task=task_id, data=data)
        async for gone in in_slices((task_id, *cascaded)):
            facts = {} if gone == task_id else {"cascaded_from": task_id}
            reason = state.queue.get(gone).get("result", "")
            self._bus.emit("task_failed", task=gone, data={"reason": reason, **facts})

    def parked(self, task_id: str, result: AgentRunResult, why: Parked) -> None:
        """Leave the task in progress at its last safe state; a later restore goes on from there.

        Where there is none (agents that are programs) it begins again, and what it used is settled.
        """
        if task_id not in self._state.entries:
            self._state.budget.release(task_id)
            self._state.budget.settle(result.token_usage)
        self._state.parked[task_id] = why
        self._state.outcomes[task_id] = result
        task = self._state.queue.get(task_id)
        data = cast("dict[str, object]", result.to_json())
        self._bus.emit("agent_complete", agent=task.get("assignee"), task=task_id, data=data)

    def _leave_flight(self, task_id: str, own: TokenUsage) -> None:
        self._state.entries.pop(task_id, None)
        self._state.outcomes.pop(task_id, None)
        self._state.retries.pop(task_id, None)
        self._state.budget.release(task_id)
        self._state.budget.settle(add_usage(own, self._state.nested.take((task_id,))))

    async def _remember(self, task: TaskSnapshot, result: AgentRunResult) -> None:
        memory = self._state.memory
        if memory is None:
            return
        agent = task.get("assignee", "")
        try:
            await memory.write(agent, f"task:{task['id']}:result", result.output)
            if result.verification is not None:
                verdict = result.verification.to_json()
                await memory.write(agent, f"task:{task['id']}:verdict", verdict)
        except StoreError as error:
            # The result itself is kept in the checkpoint; only the note for others is missing.
            self._bus.emit(
                "error", task=task["id"], data={"kind": "memory_write_failed", "code": error.code}
            )
        memory.advance()


def completed_result(task: TaskSnapshot, result: AgentRunResult) -> CompletedTaskResult:
    """The checkpoint's record of a finished task (formats.md 2.7).

    A structured value that JSON cannot express costs the record its `agentResult`, not the save.
    """
    doc: CompletedTaskResult = {"taskId": task["id"]}
    if "assignee" in task:
        doc["assignee"] = task["assignee"]
    doc["result"] = result.output
    if not result.has_structured or _is_json(result.structured):
        doc["agentResult"] = result.to_json()
    return doc


def _is_json(value: JsonValue) -> bool:
    try:
        dependency_payload(value)
    except InvalidInput:
        return False
    return True
