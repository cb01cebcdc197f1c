"""The life of one task in an attempt: gate, start, agent, retries, settling (engine.md 2.3)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, nullcontext
from dataclasses import replace
from functools import partial
from typing import cast

from oma_desktop.base.sentences import catalogue, describe
from oma_desktop.engine.agents.agent_outcome import masked
from oma_desktop.engine.agents.team import AgentJob
from oma_desktop.engine.attempt import Attempt
from oma_desktop.engine.budget import total
from oma_desktop.engine.queueing.nested_usage import entry_usage
from oma_desktop.engine.run_state import Parked
from oma_desktop.engine.saving.approvals import TaskBoundaries
from oma_desktop.engine.spans import span
from oma_desktop.engine.tasks.delegation import Delegation
from oma_desktop.engine.tasks.dispatch_gate import DispatchGate
from oma_desktop.engine.tasks.judging import asked_to_revise, with_more_turns
from oma_desktop.engine.tasks.prompt import Dependency, build_prompt, own_role
from oma_desktop.engine.tasks.settling import OnTasks, Settling
from oma_desktop.engine.tasks.task_tries import Tries
from oma_desktop.engine.tasks.verification import Judged, Verifier
from oma_desktop.model.checkpoint import TaskSnapshot
from oma_desktop.model.errors import ApprovalError, OmaError
from oma_desktop.model.message import TokenUsage
from oma_desktop.model.result import AgentRunResult, ErrorInfo, RunStatus, no_usage
from oma_desktop.model.team import AgentConfig


class TaskWork:
    """Runs single tasks. Two tasks of one agent work one after the other (engine.md 2.5).

    Who waits for its agent holds no slot of the pool, and who waits between tries lends its own.
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
        self._control = attempt.control
        self._bus = attempt.services.bus
        self._gate = DispatchGate(attempt)
        self._verifier = Verifier(attempt)
        self._settling = Settling(attempt, on_ready=on_ready, on_gone=on_gone, on_plan=on_plan)
        self._tries = Tries(attempt, once=self._once, parks=self._parks)
        self._agents: dict[str, asyncio.Lock] = {}

    async def run(self, task_id: str) -> None:
        """Bring the task as far as it goes: completed, failed, parked, or not started at all."""
        asked = self._state.queue.get(task_id)
        if not await self._gate.passes(task_id):
            return
        if self._control.stop is not None:
            self._gate.give_back(task_id)
            return
        if self._state.queue.get(task_id) is not asked or self._state.queue.hides(task_id):
            return  # a plan patch moved it meanwhile; the dispatcher hears what became of it
        with span(
            "task",
            "execute_task",
            of_run=True,
            task_id=task_id,
            task_title=asked["title"],
            task_role=asked.get("role"),
            agent_name=asked.get("assignee"),
        ) as recorded:
            await self._run(asked)
            status = self._state.queue.get(task_id)["status"]
            recorded.set(task_status=status, task_retries=self._state.retries.get(task_id))
            if status == "failed":
                recorded.fail("TASK_FAILED")

    async def _run(self, asked: TaskSnapshot) -> None:
        task_id = asked["id"]
        task = self._begin(task_id)
        agent = self._attempt.team.agent(task.get("assignee", ""))
        if agent is None:
            await self._settling.failed(task_id, missing_agent(task), no_usage())
            return
        data = cast("Mapping[str, object]", task)
        self._bus.emit("task_start", agent=agent.name, task=task_id, data=data)
        self._bus.emit("agent_start", agent=agent.name, task=task_id, data=data)
        await self._with_agent(task, agent, asked)

    def _begin(self, task_id: str) -> TaskSnapshot:
        task = self._state.queue.start(task_id)
        self._state.carried.pop(task_id, None)
        self._state.dispatched.add(task_id)
        self._bus.emit("task_status", task=task_id, data={"from": "pending", "to": "in_progress"})
        return task

    async def _with_agent(
        self, task: TaskSnapshot, agent: AgentConfig, asked: TaskSnapshot
    ) -> None:
        """Wait for the agent; the wait is shown and is no part of the duration (DEV-33)."""
        ways = self._ways(task, agent)
        lock = self._lock(agent, routed=ways != (agent,))
        async with self._place(task["id"], lock):
            if self._control.stop is not None:
                self._unbegin(asked)
                return
            clock = self._attempt.services.clock
            start = clock.monotonic()
            result, earlier, agent = await self._tries.run(task, ways)
            self._state.durations_ms[task["id"]] = round((clock.monotonic() - start) * 1000)
        judged = await self._judged(task, agent, result)
        result, own = judged.result, judged.own
        why = self._parks(task["id"], result) or ("stopped" if judged.unfinished else None)
        if why is not None:
            # what earlier tries and judges used is counted already
            self._settling.parked(task["id"], replace(result, token_usage=own), why)
            return
        lost = self._state.nested.at((task["id"],))
        result = replace(result, token_usage=total((earlier, result.token_usage, lost)))
        if result.success:
            await self._settling.succeeded(task["id"], result, own)
        else:
            await self._settling.failed(task["id"], result, own)

    def _ways(self, task: TaskSnapshot, agent: AgentConfig) -> tuple[AgentConfig, ...]:
        """The agent as it may work on the task; fallbacks that do not fit it are left out."""
        first, *others = self._attempt.routes.ways(agent, phase="worker", task=task)
        fitting = [a for a in others if not self._attempt.chooser.unmet_by(task, a)]
        return (first, *fitting)

    def _lock(self, agent: AgentConfig, *, routed: bool) -> asyncio.Lock | nullcontext[None]:
        """Routed work is done by a fresh agent, which waits for nobody (engine.md 2.5)."""
        return nullcontext() if routed else self._agents.setdefault(agent.name, asyncio.Lock())

    @asynccontextmanager
    async def _place(
        self, task_id: str, lock: asyncio.Lock | nullcontext[None]
    ) -> AsyncIterator[None]:
        """Wait for the agent, then for a slot, and tell what is waited for."""
        if isinstance(lock, asyncio.Lock) and lock.locked():
            self._bus.emit("task_status", task=task_id, data={"to": "waiting_for_agent"})
        async with lock:
            if not self._attempt.pool.has_room:
                self._bus.emit("task_status", task=task_id, data={"to": "waiting_for_slot"})
            async with self._attempt.pool.slot():
                yield

    async def _judged(
        self, task: TaskSnapshot, agent: AgentConfig, result: AgentRunResult
    ) -> Judged:
        """Have the answer judged where the task wants that; others get the agent meanwhile."""
        if not self._verifier.wants(task["id"], result):
            return Judged(result, result.token_usage)

        async def revise(text: str, answer: AgentRunResult) -> AgentRunResult | None:
            return await self._revised(task, agent, text, answer)

        question = await self._question(task)
        return await self._verifier.judged(task, result, question=question, revise=revise)

    async def _revised(
        self, task: TaskSnapshot, agent: AgentConfig, text: str, answer: AgentRunResult
    ) -> AgentRunResult | None:
        """The author goes on with its finished state; None when the run stops before that."""
        task_id = task["id"]
        if answer.entry is not None:
            self._state.put_entry(task_id, asked_to_revise(answer.entry, text))
            await self._attempt.save("revision_asked")
        lock = self._lock(agent, routed=agent != self._attempt.team.agent(agent.name))
        async with lock, self._attempt.pool.slot():
            if self._control.token.stopped:
                return None
            more = None if answer.entry is not None else f"{answer.output}\n\n{text}"
            result = await self._once(task, agent, self._state.try_number(task_id), more=more)
        if not (result.success or result.suspended):
            self._state.unsure |= self._state.open_calls(task_id, waiting=False)
        return result

    async def _question(self, task: TaskSnapshot) -> str:
        """What the author was asked; without its surroundings when those cannot be read now."""
        try:
            return await self._prompt(task)
        except OmaError:
            return build_prompt(task, dependencies=[], memory_summary="", messages=[])

    def _unbegin(self, asked: TaskSnapshot) -> None:
        """The run stops before the task did anything: back to where it was, approval included."""
        task_id = asked["id"]
        if task_id in self._state.entries:
            self._state.carried[task_id] = self._state.queue.get(task_id)
        self._state.queue.put_back(asked)
        self._gate.give_back(task_id)

    async def _once(
        self, task: TaskSnapshot, agent: AgentConfig, number: int, *, more: str | None = None
    ) -> AgentRunResult:
        """One try; faults of the engine's own kind become a result. `more` ends a fresh prompt."""
        state = self._state
        resume = state.entries.get(task["id"])
        boundaries = TaskBoundaries(
            task["id"], state, self._attempt.writer, self._attempt.approvals
        )
        try:
            job = AgentJob(
                run_id=state.identity.run_id,
                task_id=task["id"],
                task_title=task["title"],
                prompt="\n\n".join(filter(None, (await self._prompt(task), more))),
                token=self._control.token,
                boundaries=boundaries,
                resume=resume,
                attempt=number,
                run_masked=state.run_masked,
            )
            agent = with_more_turns(agent, resume)
            onward = Delegation(self._attempt, job, (agent.name,), (task["id"],))
            write = partial(state.messages.send, agent.name)
            job = replace(job, delegate=onward, send_message=write)
            result = await self._attempt.services.execute(self._attempt.team, agent, job)
        except OmaError as error:
            return replace(fault(error), token_usage=self._used(task["id"]))
        return replace(result, identity=result.identity or state.identity)

    def _used(self, task_id: str) -> TokenUsage:
        """What the task used up to its last boundary."""
        entry = self._state.entries.get(task_id)
        return no_usage() if entry is None else entry_usage(entry)

    async def _prompt(self, task: TaskSnapshot) -> str:
        state = self._state
        known = [d for d in task.get("dependsOn", ()) if d in state.queue]
        done = [t for t in map(state.queue.get, known) if t["status"] == "completed"]
        summary = None
        if task.get("memoryScope") == "all" and state.memory is not None:
            summary = await state.memory.summary()
        return build_prompt(
            task,
            dependencies=[Dependency(t, state.completed.get(t["id"])) for t in done],
            memory_summary=summary,
            messages=state.messages.addressed_to(task.get("assignee", "")),
            team_context=own_role(state.team_context, task.get("assignee", "")),
        )

    def _parks(self, task_id: str, result: AgentRunResult) -> Parked | None:
        """Why the task stays in progress, or None when the result is final (DEV-12).

        An agent whose own time ran out after a suspend fails as it would without, unless a further
        try is left; then its open calls are in doubt.
        """
        if result.suspended and not self._stopped_here(task_id):
            return "approval"
        token = self._control.token
        number = self._state.try_number(task_id)
        between = self._tries.stopped_between(self._state.queue.get(task_id), result, number)
        final = result.status.code == "timeout" and not between
        stopping = self._control.stop is not None and result.aborted and not final
        if result.suspended or stopping:
            return "stopped"
        return "stopped" if token.aborted and not result.success else None

    def _stopped_here(self, task_id: str) -> bool:
        """Whether a suspension is the operator's, not an open request of this task."""
        entry = self._state.entries.get(task_id)
        calls = () if entry is None else entry.get("pendingToolCalls", ())
        asks = any("approvalRequest" in c and "approvalDecision" not in c for c in calls)
        return self._control.token.stopped and not asks


def missing_agent(task: TaskSnapshot) -> AgentRunResult:
    """The result of a task whose agent is not in the team."""
    name = task.get("assignee", "")
    info = ErrorInfo("framework", code="AGENT_MISSING", message=f"AGENT_MISSING: {name}")
    return AgentRunResult(False, "", status=RunStatus("error", info.code), error_info=info)


def fault(error: OmaError) -> AgentRunResult:
    """A failed result for an error that came out of the agent or its preparation."""
    checked = isinstance(error, ApprovalError) or error.code.startswith("DEPENDENCY_")
    known = error.code in catalogue()
    text = describe(error.code, error.facts).title if known else str(error)
    info = ErrorInfo(
        "validation" if checked else "framework",
        code=error.code,
        name=type(error).__name__,
        message=masked(text),
        retryable=error.retryable,
    )
    return AgentRunResult(False, "", status=RunStatus("error", error.code), error_info=info)
