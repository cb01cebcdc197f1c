"""How a run repairs its plan: the policy, the gate, the limits (engine.md 6.1, 6.2)."""

from __future__ import annotations

import copy
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from oma_desktop.engine.agents.team import Team
from oma_desktop.model.checkpoint import RunMode, TaskSnapshot
from oma_desktop.model.errors import InvalidInput
from oma_desktop.model.json_value import JsonObject
from oma_desktop.model.plan_patch import PlanPatch, Trigger
from oma_desktop.model.result import AgentRunResult


class TaskOutcome:
    """What a policy is told of one finished task, before anything follows from it.

    Everything is the reader's own copy, made when it is first looked at: changing it changes
    nothing. `plan_revision` counts accepted revisions. `token_budget_remaining` and
    `cost_budget_remaining` are None where the run has no such ceiling. `verification` is there when
    judges looked at the answer.
    """

    def __init__(
        self,
        kind: Trigger,
        *,
        task: TaskSnapshot,
        result: AgentRunResult,
        tasks: Sequence[TaskSnapshot],
        plan_revision: int,
        verification: JsonObject | None = None,
        token_budget_remaining: int | None = None,
        cost_budget_remaining: float | None = None,
    ) -> None:
        self.kind = kind
        self.plan_revision = plan_revision
        self.token_budget_remaining = token_budget_remaining
        self.cost_budget_remaining = cost_budget_remaining
        self._task = task
        self._result = result
        self._tasks = tasks
        self._verification = verification

    @cached_property
    def task(self) -> TaskSnapshot:
        """The task, still in progress."""
        return copy.deepcopy(self._task)

    @cached_property
    def result(self) -> AgentRunResult:
        """What its agent came to, after all tries."""
        return copy.deepcopy(self._result)

    @cached_property
    def tasks(self) -> list[TaskSnapshot]:
        """All tasks of the run at that moment, in queue order."""
        return copy.deepcopy(list(self._tasks))

    @cached_property
    def verification(self) -> JsonObject | None:
        """`{verdict, dissent, rounds}`."""
        return copy.deepcopy(self._verification)

    def again(self) -> TaskOutcome:
        """The same outcome for another reader, untouched by the first."""
        return TaskOutcome(
            self.kind,
            task=self._task,
            result=self._result,
            tasks=self._tasks,
            plan_revision=self.plan_revision,
            verification=self._verification,
            token_budget_remaining=self.token_budget_remaining,
            cost_budget_remaining=self.cost_budget_remaining,
        )


Proposal: TypeAlias = PlanPatch | Mapping[str, object] | None
OnTaskOutcome: TypeAlias = Callable[[TaskOutcome], Proposal | Awaitable[Proposal]]
# The gate is written by others: only a real True lets a patch through.
OnPlanPatch: TypeAlias = Callable[[JsonObject, TaskOutcome], object]


@runtime_checkable
class Replanner(Protocol):
    """A policy with a name. Its own calls and their cost are its own business."""

    def replan(self, outcome: TaskOutcome) -> Proposal | Awaitable[Proposal]:
        """Propose a patch, or nothing. May be a coroutine function."""
        ...


@dataclass(frozen=True, slots=True)
class RecoveryOptions:
    """Adaptive recovery of one run; given with a run it replaces the engine's own as a whole.

    In mode `fixed` nothing else counts. `repairable` needs exactly one of `replanner`,
    `on_task_outcome` and `replanner_agent` (the name of an agent of the team that is asked, its
    tokens counting for the run), about outcomes in `agent_on` only. `on_plan_patch(patch, outcome)`
    sees every valid patch before it is applied and lets it through with True (it may be a coroutine
    function). The limits count over the whole run, earlier attempts included; a patch beyond them
    is refused whole, never cut.
    """

    mode: Literal["fixed", "repairable"] = "fixed"
    replanner: Replanner | None = None
    on_task_outcome: OnTaskOutcome | None = None
    replanner_agent: str | None = None
    agent_on: frozenset[Trigger] = frozenset(("failure", "verification_rejected"))
    on_plan_patch: OnPlanPatch | None = None
    max_plan_revisions: int = 3
    max_added_tasks: int = 20

    @property
    def policy(self) -> OnTaskOutcome:
        """The callable that is asked; only of checked options without `replanner_agent`."""
        if self.replanner is not None:
            return self.replanner.replan
        assert self.on_task_outcome is not None
        return self.on_task_outcome


def checked_recovery(
    options: RecoveryOptions | None, *, team: Team, mode: RunMode = "runTasks"
) -> RecoveryOptions | None:
    """Return the options when recovery is on, None when the plan is fixed.

    Raises InvalidInput before anything runs: RECOVERY_POLICY_MISSING, RECOVERY_POLICY_TWICE,
    RECOVERY_AGENT_UNKNOWN, RECOVERY_LIMIT_INVALID, RECOVERY_WITH_ROUNDS, RECOVERY_OF_FROZEN_PLAN.
    """
    if options is None or options.mode == "fixed":
        return None
    named = options.replanner_agent
    policies = [p for p in (options.replanner, options.on_task_outcome, named) if p is not None]
    if not policies:
        raise InvalidInput("RECOVERY_POLICY_MISSING")
    if len(policies) > 1:
        raise InvalidInput("RECOVERY_POLICY_TWICE")
    if named is not None and team.agent(named) is None:
        raise InvalidInput("RECOVERY_AGENT_UNKNOWN", agent=named)
    for name in ("max_plan_revisions", "max_added_tasks"):
        value: object = getattr(options, name)
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise InvalidInput("RECOVERY_LIMIT_INVALID", name=name, found=repr(value)[:40])
    if mode == "runFromPlan":
        raise InvalidInput("RECOVERY_OF_FROZEN_PLAN")
    if team.gates.round is not None:
        raise InvalidInput("RECOVERY_WITH_ROUNDS")
    return options
