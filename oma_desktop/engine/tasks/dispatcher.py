"""The event-driven dispatcher: what may run, runs; the rest waits for news (engine.md 2.3)."""

from __future__ import annotations

import asyncio
from collections import Counter

from oma_desktop.engine.attempt import Attempt
from oma_desktop.engine.control import broken, fatal
from oma_desktop.engine.queueing.scheduling import ReadyQueue
from oma_desktop.engine.tasks.ceiling import over_ceiling
from oma_desktop.engine.tasks.round_gate import Rounds
from oma_desktop.engine.tasks.task_work import TaskWork
from oma_desktop.model.errors import OmaError


class Dispatcher:
    """Runs everything that can run, then returns.

    Invariants: at most `pool.size` tasks are in progress at once; a dependent starts only after its
    dependency was saved and announced; an open approval holds its own task only (P14); each pass
    over the state is caused by a change of it (P03, P04: `passes` counts them).
    """

    def __init__(self, attempt: Attempt) -> None:
        self._attempt = attempt
        self._state = attempt.state
        self._control = attempt.control
        self._ready = ReadyQueue(attempt.options.scheduling_strategy, self._state.queue.tasks)
        self._work = TaskWork(
            attempt, on_ready=self._on_ready, on_gone=self._on_gone, on_plan=self._on_plan
        )
        self._rounds = Rounds(attempt)
        self._running: dict[asyncio.Task[None], str] = {}
        self._again: set[str] = set()  # a plan patch moved them while a gate was asked
        self.passes = 0

    async def run(self) -> None:
        """Return when nothing runs and nothing more can start."""
        self._fill()
        while True:
            self.passes += 1
            self._control.looking()
            over_ceiling(self._attempt)
            if self._control.stop is None:
                self._admit()
            if self._running:
                await self._control.changed()
            elif not await self._next_round():
                return

    async def _next_round(self) -> bool:
        """With a round gate: whether another round begins now that nothing runs."""
        if self._control.stop is not None or not self._rounds.active:
            return False
        for task in self._rounds.waiting():
            if not self._assign(task["id"]):  # the reviewer sees who would do it
                return True
        ready = await self._rounds.advance()
        for task_id in ready:
            self._push(task_id)
        return bool(ready)

    # ------------------------------------------------------------------ admission

    def _fill(self) -> None:
        """Everything that is pending now; what waits for a person or a round stays out."""
        asked = self._state.dispatch_requests()
        for task in self._state.queue.with_status("pending"):
            task_id = task["id"]
            waits = self._state.waits_for_decision(task_id, among=asked)
            if not (waits or self._rounds.holds(task_id)):
                self._ready.push(task_id, first=task_id in asked)

    def _push(self, task_id: str) -> None:
        request = self._state.dispatch_request(task_id)
        self._ready.push(task_id, first=request is not None)

    def _on_ready(self, task_ids: list[str]) -> None:
        if self._rounds.active:
            self._rounds.keep(task_ids)
        else:
            at_work = set(self._running.values())
            for task_id in task_ids:
                if task_id in at_work:
                    self._again.add(task_id)
                elif self._state.queue.status(task_id) == "pending":
                    self._push(task_id)
        self._control.wake()

    def _on_plan(self) -> None:
        """The plan has new tasks."""
        self._ready.learn(self._state.queue.tasks)

    def _on_gone(self, task_ids: list[str]) -> None:
        for task_id in task_ids:
            self._ready.remove(task_id)

    def _admit(self) -> None:
        while len(self._running) < self._attempt.pool.size:
            task_id = self._ready.pop()
            if task_id is None:
                return
            if not self._assign(task_id):
                return
            self._start(task_id)

    def _assign(self, task_id: str) -> bool:
        """Name an agent where none is named; a task nobody can do stops the run."""
        task = self._state.queue.get(task_id)
        if "assignee" in task:
            return True
        try:
            name = self._attempt.chooser.choose(task, self._load())
        except OmaError as error:
            self._control.ask(fatal(error))
            return False
        self._state.queue.assign(task_id, name)
        return True

    def _load(self) -> Counter[str]:
        busy = (self._state.queue.get(task_id) for task_id in self._running.values())
        return Counter(t["assignee"] for t in busy if "assignee" in t)

    def _start(self, task_id: str) -> None:
        task = self._attempt.services.supervisor.spawn(
            self._work.run(task_id), name=f"task {task_id}"
        )
        assert task is not None
        self._running[task] = task_id
        task.add_done_callback(self._settled)

    def _settled(self, task: asyncio.Task[None]) -> None:
        task_id = self._running.pop(task)
        if task_id in self._again:
            self._again.discard(task_id)
            self._on_ready([task_id])
        if not task.cancelled() and (error := task.exception()) is not None:
            # A bug, reported by the supervisor. The rest drains; the last safe state stays.
            self._control.ask(broken(error))
        self._control.wake()
