"""Rounds: with a round gate, tasks run in batches and a person may look in between (engine.md 2.4).

By its nature this gate holds the whole run (P14): the next batch starts when the last one is over.
"""

from __future__ import annotations

from collections.abc import Iterable

from oma_desktop.engine.attempt import Attempt
from oma_desktop.engine.tasks.run_gate import RunGate
from oma_desktop.model.checkpoint import TaskSnapshot
from oma_desktop.model.errors import ApprovalError


class Rounds:
    """Keeps what became ready during a round until the gate lets the next one begin.

    Without a round gate there are no rounds: `active` is false and nothing is kept. A restored run
    does not know which round it died in: what became ready and nobody let through waits until the
    rest is over, so that a crash opens no way past the gate.
    """

    def __init__(self, attempt: Attempt) -> None:
        self._state = attempt.state
        self._approvals = attempt.approvals
        self._question = attempt.team.gates.round
        self._gate = RunGate(attempt, "round")
        self._next = {t["id"] for t in self._state.queue.with_status("pending") if self._is_new(t)}
        self._before = self._done() - self._needed()

    @property
    def active(self) -> bool:
        """Whether tasks run in rounds."""
        return self._question is not None

    def keep(self, task_ids: Iterable[str]) -> None:
        """These became ready: they belong to the next round."""
        self._next.update(task_ids)

    def waiting(self) -> list[TaskSnapshot]:
        """The next round as it stands, in queue order."""
        return [t for t in self._state.queue.with_status("pending") if t["id"] in self._next]

    async def advance(self) -> list[str]:
        """The round is over: ask, and return the ids that may start now, none to wait or end.

        A round without any success is followed by the next one without a question.
        """
        following = self.waiting()
        done = [t for t in self._state.queue if t["id"] in self._done() - self._before]
        if not following or self._question is None:
            return []
        if done and not await self._let_through(done, following):
            return []
        self._next.clear()
        self._before = self._done()
        return [t["id"] for t in following]

    async def _let_through(self, done: list[TaskSnapshot], following: list[TaskSnapshot]) -> bool:
        assert self._question is not None
        facts: dict[str, object] = {
            "done": [t["title"] for t in done],
            "next": [t["title"] for t in following],
        }
        decision = await self._gate.ask(self._question(done, following), facts)
        if decision is not None and decision.action == "suspend":
            try:
                await self._approvals.suspend_round(done, following, decision.reason)
            except ApprovalError as error:
                self._gate.refused(error)
        return decision is not None and decision.action == "allow"

    def holds(self, task_id: str) -> bool:
        """Whether a task waits for the gate although it is ready."""
        return self.active and task_id in self._next

    def _is_new(self, task: TaskSnapshot) -> bool:
        """Whether no round that began held this task: those without dependencies are the first."""
        return bool(task.get("dependsOn")) and task["id"] not in self._state.let_through

    def _needed(self) -> set[str]:
        """What the next round builds on; the gate is shown it, whichever attempt did it."""
        return {d for t in self.waiting() for d in t.get("dependsOn", ())}

    def _done(self) -> set[str]:
        return {t["id"] for t in self._state.queue.with_status("completed")}
