"""What a restore will do, decided before anything runs (ux.md C8, restricted by issue 2).

How an uncommitted call of an open round is sorted, and why:

* request open: **needs you**. Restore runs nothing before it is decided; it cannot have begun.
* rejected: **denied**. The model gets an error result, the tool does not run.
* our own end record says `suspended`: **will run**. The engine writes that record only when every
  call is at rest, and saves once at the start of a restore, which removes it; so nothing has begun
  since. This holds for approved calls whose decision only the ledger knows, too. It does not hold
  for the calls our own facts name as `unsure`: an earlier attempt that died, or a tool that was
  given up, may have begun them, and a clean suspension later does not change that.
* anything else, approved or not: **may run twice (cannot tell)**. There is no start log. A decision
  that only the ledger knows proves nothing by itself: the peer puts it on the call in memory and
  saves only after the call, so an attempt of the peer may have died while running it. A decision
  already in the snapshot was in the hand of an attempt that may have begun.

A call whose saved input is masked (`[redacted]`) and that no reviewer approved always stands under
**may run twice**, begun or not: it is the list a person has to go through. Without one, a restore
answers it with an error result; the plan says so with a problem of its own.

A task whose answer is saved and whose judges were not done is **kept**, and each of its judges is
listed under **asked**: they are asked again from the first (a later one may not be needed).

An own suspended store restored by the peer, which died before its first save, looks untouched: no
file can tell that case (formats.md W26).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, ParamSpec

from oma_desktop.model.approval import ApprovalRow
from oma_desktop.model.approval_rules import (
    check_request,
    check_same_decision,
    check_same_request,
)
from oma_desktop.model.call_ledger import RoundCall, approval_id, calls_of_entry
from oma_desktop.model.checkpoint import CheckpointSnapshot
from oma_desktop.model.effects import effect_of_content, known_effects
from oma_desktop.model.errors import OmaError
from oma_desktop.model.json_value import JsonObject
from oma_desktop.model.lenient import object_at, text_at, whole_at
from oma_desktop.model.masked import is_masked
from oma_desktop.model.own_facts import answer_of, judges_of, own_facts
from oma_desktop.model.problem import problem_of
from oma_desktop.model.resume import CallItem, Evidence, NeedsYouItem, ResumePlan, TaskItem
from oma_desktop.model.run_facts import ACTIVE, TERMINAL, RunFacts, agent_of, gather, task_id_of
from oma_desktop.model.run_states import is_replaced
from oma_desktop.model.view import Effect, Problem

P = ParamSpec("P")

_ANSWER: Final = TaskItem("@synthesis", "@synthesis", "coordinator", "pending", "answer_due")
"""The closing answer of a run of a goal; no task, but a question to a model."""


def resume_plan(
    snapshot: CheckpointSnapshot,
    approvals: Mapping[str, ApprovalRow],
    *,
    effects: Mapping[str, Effect] | None = None,
    problems: tuple[Problem, ...] = (),
) -> ResumePlan:
    """Sort everything in one snapshot by what a restore does with it.

    `approvals` are the valid ledger rows by request id (a decision there counts although the
    snapshot does not know it); `effects` come from the run file; `problems` are those of reading.
    """
    facts = gather(snapshot, approvals, live=False)
    known = known_effects(facts.pending.values(), effects)
    lists = _Lists()
    if _stops_rejected(facts):
        _keep_only(facts, lists, "rejected")
    elif _is_plan_only(facts):
        _keep_only(facts, lists, "plan_only")
    else:
        _sort_tasks(facts, known, lists)
        if _answer_comes(facts):
            lists.asked.append(_ANSWER)
    identity = object_at(facts.snapshot, "identity")
    attempt = whole_at(identity, "attempt") or 1
    return ResumePlan(
        run_id=facts.run_id,
        attempt=attempt,
        next_attempt=attempt + 1,
        checkpoint_version=whole_at(facts.snapshot, "version"),
        kept=tuple(lists.kept),
        replayed=tuple(lists.replayed),
        asked=tuple(lists.asked),
        will_run=tuple(lists.will_run),
        calls_will_run=tuple(lists.calls_will_run),
        needs_you=tuple(_needs_you(facts)),
        may_run_twice=tuple(lists.may_run_twice),
        denied=tuple(lists.denied),
        tasks_run_again=tuple(lists.tasks_run_again),
        stay_failed=tuple(lists.stay_failed),
        problems=(
            *problems,
            *_problems(facts),
            *_masked(facts, lists.may_run_twice),
            *_refusals(snapshot, approvals),
        ),
    )


@dataclass(slots=True)
class _Lists:
    """The lists of the plan while they grow."""

    kept: list[TaskItem] = field(default_factory=list)
    replayed: list[CallItem] = field(default_factory=list)
    asked: list[TaskItem] = field(default_factory=list)
    will_run: list[TaskItem] = field(default_factory=list)
    calls_will_run: list[CallItem] = field(default_factory=list)
    may_run_twice: list[CallItem] = field(default_factory=list)
    denied: list[CallItem] = field(default_factory=list)
    tasks_run_again: list[TaskItem] = field(default_factory=list)
    stay_failed: list[TaskItem] = field(default_factory=list)


def _sort_tasks(facts: RunFacts, effects: Mapping[str, Effect], lists: _Lists) -> None:
    for id_, task in facts.tasks.items():
        status = text_at(task, "status")
        if status == "completed":
            lists.kept.append(_task(facts, id_, "completed"))
        elif status not in ACTIVE:
            lists.stay_failed.append(_task(facts, id_, _why_over(task)))
        elif id_ in facts.entries:
            _sort_entry(facts, id_, effects, lists)
        elif id_ in facts.open_task_ids:
            continue  # listed under "needs you"
        elif status == "in_progress":
            lists.tasks_run_again.append(_task(facts, id_, "no_saved_steps"))
        elif id_ in facts.doomed:
            lists.stay_failed.append(_task(facts, id_, "unreachable"))
        else:
            lists.will_run.append(_task(facts, id_, "not_started"))


def _sort_entry(facts: RunFacts, id_: str, effects: Mapping[str, Effect], lists: _Lists) -> None:
    """Sort one task with saved steps by its next safe action (formats.md 2.8)."""
    entry = facts.entries[id_]
    phase = text_at(entry, "phase")
    judges = judges_of(own_facts(facts.snapshot), id_)
    if phase == "completed":
        lists.kept.append(_task(facts, id_, "awaits_judgement" if judges else "finished"))
        lists.asked += [replace(_task(facts, id_, "judges"), agent=j, judges=()) for j in judges]
    elif phase == "awaiting_model":
        lists.asked.append(_task(facts, id_, "awaiting_model"))
    for call in calls_of_entry(entry):
        if call.pending is not None:
            _sort_call(facts, id_, call, effects, lists)


def _sort_call(
    facts: RunFacts, task_id: str, call: RoundCall, effects: Mapping[str, Effect], lists: _Lists
) -> None:
    request_id = approval_id(call)
    verdict = facts.verdicts.get(request_id or "")
    item = _CallMaker(facts, task_id, call, effects)
    if call.result is not None:
        lists.replayed.append(item.make("checkpoint"))
    elif request_id is not None and verdict is None:
        return  # listed under "needs you"
    elif verdict is not None and not verdict.approved:
        lists.denied.append(item.make("checkpoint"))
    elif item.masked:
        lists.may_run_twice.append(item.make("cannot_tell"))
    elif facts.at_rest(task_id, call.id):
        lists.calls_will_run.append(item.make("checkpoint"))
    else:
        lists.may_run_twice.append(item.make("cannot_tell"))


@dataclass(frozen=True, slots=True)
class _CallMaker:
    facts: RunFacts
    task_id: str
    call: RoundCall
    effects: Mapping[str, Effect]

    @property
    def masked(self) -> bool:
        """Whether nobody knows any more what this call would do, and nobody approved it."""
        decided = self.facts.verdicts.get(approval_id(self.call) or "") is not None
        return self.call.result is None and not decided and is_masked(self.call.call.get("input"))

    def make(self, evidence: Evidence) -> CallItem:
        request_id = approval_id(self.call)
        verdict = self.facts.verdicts.get(request_id or "")
        request = object_at(self.call.pending, "approvalRequest")
        asked = effect_of_content(object_at(request, "content"))
        known = self.effects.get(self.call.tool, Effect.UNKNOWN)
        return CallItem(
            task_id=self.task_id,
            task_title=_title(self.facts, self.task_id),
            agent=agent_of(self.facts, self.task_id),
            call_id=self.call.id,
            tool=self.call.tool,
            input=object_at(self.call.call, "input"),
            effect=asked if asked is Effect.CONSEQUENTIAL else known,
            evidence=evidence,
            approval_id=request_id,
            approved_by=verdict.reviewer if verdict is not None and verdict.approved else None,
            masked=self.masked,
        )


def _task(facts: RunFacts, id_: str, reason: str) -> TaskItem:
    status = text_at(facts.tasks.get(id_), "status")
    judges = judges_of(own_facts(facts.snapshot), id_) if status in ACTIVE else ()
    agent = agent_of(facts, id_) or None
    return TaskItem(id_, _title(facts, id_), agent, status, reason, judges)


def _title(facts: RunFacts, id_: str) -> str:
    return text_at(facts.tasks.get(id_), "title")


def _why_over(task: JsonObject) -> str:
    status = text_at(task, "status")
    return "replaced" if is_replaced(task) else status


def _needs_you(facts: RunFacts) -> Iterator[NeedsYouItem]:
    for id_ in facts.pending:
        if id_ in facts.open_ids:
            request = facts.pending[id_]
            task_id = task_id_of(request)
            yield NeedsYouItem(
                id_,
                text_at(request, "scope"),
                task_id,
                _title(facts, task_id) if task_id else None,
                text_at(object_at(request, "content"), "toolName") or None,
            )


def _answer_comes(facts: RunFacts) -> bool:
    """Whether the coordinator is asked for the closing answer (engine.md 4.5; P13)."""
    if text_at(facts.snapshot, "mode") != "runTeam" or "goal" not in facts.snapshot:
        return False
    done = all(text_at(task, "status") in TERMINAL for task in facts.tasks.values())
    return not done or answer_of(own_facts(facts.snapshot)) is None


def _stops_rejected(facts: RunFacts) -> bool:
    """Whether the restore ends as rejected: nothing runs, the rest is skipped (formats.md 3.6).

    An undecided request comes first there: then the restore ends as suspended.
    """
    if facts.open_ids:
        return False
    pending = (
        facts.verdicts.get(i)
        for i, request in facts.pending.items()
        if request.get("scope") != "tool_call"
    )
    return facts.rejected or any(v is not None and not v.approved for v in pending)


def _is_plan_only(facts: RunFacts) -> bool:
    """Whether an approved plan asked for a result without execution."""
    if facts.open_ids:
        return False
    asked = (
        i
        for i, request in facts.pending.items()
        if text_at(object_at(request, "content"), "continuation") == "plan_only"
    )
    return any(v.approved for i in asked if (v := facts.verdicts.get(i)) is not None)


def _keep_only(facts: RunFacts, lists: _Lists, reason: str) -> None:
    """List what stays when the restore ends before anything runs."""
    for id_, task in facts.tasks.items():
        status = text_at(task, "status")
        if status == "completed":
            lists.kept.append(_task(facts, id_, "completed"))
        else:
            why = reason if status in ACTIVE else _why_over(task)
            lists.stay_failed.append(_task(facts, id_, why))


def _problems(facts: RunFacts) -> Iterator[Problem]:
    if facts.open_ids:
        yield Problem("RESUME_WAITS_FOR_DECISION", "warning", facts={"n": len(facts.open_ids)})
    elif _stops_rejected(facts):
        yield Problem("RESUME_ENDS_REJECTED", "warning")
    elif _is_plan_only(facts):
        yield Problem("RESUME_PLAN_ONLY", "warning")
    if whole_at(facts.snapshot, "version") < 3:
        yield Problem("RESUME_NO_SAVED_STEPS", "warning")


def _masked(facts: RunFacts, calls: list[CallItem]) -> Iterator[Problem]:
    """Tell what was masked on disk (ux.md C8): everywhere, and in inputs that would be used."""
    if is_masked(facts.snapshot):
        yield Problem("RESUME_VALUES_MASKED", "warning")
    for call in calls:
        if call.masked:
            where: JsonObject = {
                "task": call.task_title or call.task_id,
                "tool": call.tool,
                "call": call.call_id,
            }
            yield Problem("RESUME_INPUT_MASKED", "warning", call.task_id, where)


def _refusals(snapshot: CheckpointSnapshot, rows: Mapping[str, ApprovalRow]) -> Iterator[Problem]:
    """Find what makes a restore refuse before anything runs (formats.md 3.6 steps 1 to 3)."""
    try:
        decisions = snapshot.get("approvalDecisions", [])
        requests = snapshot.get("pendingApprovals", [])
        for decision in decisions:
            yield from _refusal(check_same_decision, decision, rows.get(decision["requestId"]))
        for request in requests:
            yield from _refusal(check_request, snapshot, request)
            if request["id"] in rows:
                yield from _refusal(check_same_request, request, rows[request["id"]]["request"])
    except (KeyError, TypeError, AttributeError):
        return  # not even a loadable snapshot: `problems` of the loader say so


def _refusal(check: Callable[P, None], *args: P.args, **kwargs: P.kwargs) -> Iterator[Problem]:
    try:
        check(*args, **kwargs)
    except OmaError as error:
        yield problem_of(error, "")
