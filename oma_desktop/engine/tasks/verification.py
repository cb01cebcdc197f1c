"""Judges look at a task's answer before it counts (engine.md 2.3 step 4; DEV-23, W29)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

from oma_desktop.engine.agents.team import AgentJob
from oma_desktop.engine.attempt import Attempt
from oma_desktop.engine.spans import span
from oma_desktop.engine.tasks.judging import (
    JUDGING,
    Vote,
    as_judge,
    judge_prompt,
    revise_text,
    revisions_in,
    vote_of,
)
from oma_desktop.model.checkpoint import TaskSnapshot
from oma_desktop.model.message import TokenUsage
from oma_desktop.model.result import AgentRunResult, add_usage, no_usage
from oma_desktop.model.verify import Dissent, Verdict, Verification, VerifySpec

REJECTED_WARNING = "VERIFICATION_REJECTED"
Revise: TypeAlias = Callable[[str, AgentRunResult], Awaitable[AgentRunResult | None]]
"""Ask the author of this answer again, with this text; None when the run stops before that."""


@dataclass(frozen=True, slots=True)
class Judged:
    """The answer that counts, with what the judges came to, and its own usage without theirs.

    `unfinished`: the run stops before they were done. The task stays at its last safe state, and
    the next attempt has it judged; nothing that should have been judged is handed on unjudged.
    """

    result: AgentRunResult
    own: TokenUsage
    unfinished: bool = False


class Verifier:
    """Has answers judged, one judge after the other, in slots of the pool (engine.md 2.5).

    Model routing leaves judges alone: engine.md 1.6 knows no phase of theirs, and a rule that fits
    everything would have an answer judged by the model that wrote it.
    What judges use is counted at once, in the synchronous step that gets their result.
    """

    def __init__(self, attempt: Attempt) -> None:
        self._attempt = attempt
        self._state = attempt.state
        self._bus = attempt.services.bus

    def wants(self, task_id: str, result: AgentRunResult) -> bool:
        """Whether this result has to be judged."""
        return result.success and task_id in self._state.verify

    async def judged(
        self, task: TaskSnapshot, result: AgentRunResult, *, question: str, revise: Revise
    ) -> Judged:
        """Judge, revise and judge again, as the task's spec says."""
        with span("consensus", "verify_consensus", task_id=task["id"]) as recorded:
            judged = await self._judged(task, result, question, revise)
            found = judged.result.verification
            recorded.event("consensus_verdict", verdict=None if found is None else found.verdict)
            return judged

    async def _judged(
        self, task: TaskSnapshot, result: AgentRunResult, question: str, revise: Revise
    ) -> Judged:
        work = _Work(task, self._state.verify[task["id"]], question, result)
        while True:
            self._hold(work)
            votes = await self._round(work)
            if votes is None:
                return Judged(work.answer, work.own, unfinished=True)
            verdict = work.after(votes)
            if verdict is not None:
                return self._finished(work, verdict)
            again = await revise(revise_text(work.last_dissent()), work.answer)
            if again is None or again.suspended or again.aborted:
                return Judged(again or work.answer, work.own_with(again), unfinished=True)
            if not work.take(again):
                return self._finished(work, "rejected")

    def _hold(self, work: _Work) -> None:
        """Account the author's usage before anybody judges (engine.md 2.3 step 2)."""
        self._state.budget.hold(work.task["id"], work.own)
        self._attempt.control.wake()

    async def _round(self, work: _Work) -> list[Vote] | None:
        votes: list[Vote] = []
        for index, name in enumerate(work.spec.judges):
            if self._must_stop():
                return None
            result = await self._ask(work, index, name)
            work.judges_used = add_usage(work.judges_used, result.token_usage)
            self._state.budget.settle(result.token_usage)
            self._attempt.control.wake()  # the ceiling of the run may be crossed now
            if result.suspended or result.aborted:
                return None
            vote = vote_of(name, result, work.spec)
            votes.append(vote)
            self._tell(work, vote)
            if work.is_decided(votes):
                break
        return votes

    async def _ask(self, work: _Work, index: int, name: str) -> AgentRunResult:
        team = self._attempt.team
        agent = team.agent(name)
        assert agent is not None, "judges are checked before a run starts"
        job = AgentJob(
            run_id=self._state.identity.run_id,
            # not the task's own id: its calls must not share idempotency keys with the author's
            task_id=f"{work.task['id']}{JUDGING}{work.round}:{name}",
            task_title=work.task["title"],
            prompt=judge_prompt(
                work.spec, judge=index, question=work.question, answer=work.answer.output
            ),
            token=self._attempt.control.token,
            attempt=work.round,
        )
        async with self._attempt.pool.slot():  # like any agent; the author gave its own back
            return await self._attempt.services.execute(team, as_judge(agent, team, work.spec), job)

    def _must_stop(self) -> bool:
        return self._attempt.control.token.stopped or self._state.over_budget

    def _tell(self, work: _Work, vote: Vote) -> None:
        facts = {"round": work.round, "accept": vote.accept, "critique": vote.critique}
        self._bus.emit("consensus_verdict", agent=vote.judge, task=work.task["id"], data=facts)

    def _finished(self, work: _Work, verdict: Verdict) -> Judged:
        found = Verification(verdict, work.round, tuple(work.dissent))
        self._bus.emit("verification", task=work.task["id"], data=found.to_json())
        warnings = work.answer.warnings
        if found.rejected:
            warnings = (*warnings, REJECTED_WARNING)
            self._bus.emit("warning", task=work.task["id"], data={"code": REJECTED_WARNING})
        whole = add_usage(work.own, work.judges_used)
        result = replace(work.answer, token_usage=whole, warnings=warnings, verification=found)
        return Judged(result, work.own)


class _Work:
    """One task while it is judged."""

    def __init__(
        self, task: TaskSnapshot, spec: VerifySpec, question: str, answer: AgentRunResult
    ) -> None:
        self.task = task
        self.spec = spec
        self.question = question
        self.answer = answer
        self.own = answer.token_usage
        self.judges_used = no_usage()
        self.round = 1 + revisions_in(answer.entry)
        self.dissent: list[Dissent] = []

    def after(self, votes: list[Vote]) -> Verdict | None:
        """The verdict after a round, or None when the author is to revise."""
        self.dissent += [v.dissent(self.round) for v in votes if not v.accept]
        spec = self.spec
        if sum(v.accept for v in votes) >= spec.votes_needed or spec.on_dissent == "keep":
            return "accepted"
        return None if self._may_revise() else "rejected"

    def is_decided(self, votes: list[Vote]) -> bool:
        """Whether no further judge is needed; before a revision every judge is heard."""
        accepted = sum(v.accept for v in votes)
        left = len(self.spec.judges) - len(votes)
        hopeless = accepted + left < self.spec.votes_needed
        return accepted >= self.spec.votes_needed or (hopeless and not self._may_revise())

    def _may_revise(self) -> bool:
        return self.spec.on_dissent == "revise" and self.round < self.spec.max_rounds

    def last_dissent(self) -> list[Dissent]:
        """The dissents of this round."""
        return [d for d in self.dissent if d.round == self.round]

    def own_with(self, again: AgentRunResult | None) -> TokenUsage:
        """The author's usage with a revision: a state that went on counts from its beginning."""
        if again is None:
            return self.own
        goes_on = self.answer.entry is not None
        return again.token_usage if goes_on else add_usage(self.own, again.token_usage)

    def take(self, again: AgentRunResult) -> bool:
        """Go on with a revised answer. One that failed leaves the answer as it was."""
        self.own = self.own_with(again)
        if again.success:
            self.answer = again
            self.round += 1
        return again.success
