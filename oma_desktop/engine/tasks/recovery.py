"""The outcome barrier: a task has a result, and the plan may change before anything follows.

Order: engine.md 6.3. Every refusal leaves the plan as it was and the original path goes on.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import cast

from oma_desktop.engine.attempt import Attempt
from oma_desktop.engine.recovery_options import RecoveryOptions, TaskOutcome
from oma_desktop.engine.spans import span
from oma_desktop.engine.tasks.agent_replanner import AgentReplanner, ReplannerFailed, proposal_of
from oma_desktop.engine.tasks.patching import OnTasks, Patching
from oma_desktop.engine.tasks.recovery_telling import Happened, Telling, because
from oma_desktop.engine.tools.race import Ended, Outcome, Race
from oma_desktop.model.errors import PlanRejected
from oma_desktop.model.json_value import JsonObject
from oma_desktop.model.message import TokenUsage
from oma_desktop.model.patch_rules import Draft, left_behind
from oma_desktop.model.plan_patch import PlanPatch, read_patch
from oma_desktop.model.result import AgentRunResult


class _Unheard(Exception):
    """The run stops, and nobody had the last word about this outcome."""


class OutcomeBarrier:
    """Asks the policy about each outcome and brings its patch into the plan.

    The trigger stays in progress meanwhile, so nothing that waits for it can start. Nobody is asked
    once the run is stopping (DEV-06).
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
        self._patching = Patching(attempt, on_ready=on_ready, on_moved=on_gone, on_plan=on_plan)
        self._tell = Telling(
            self._state, self._bus, revisions=lambda: len(self._patching.revisions)
        )
        services = attempt.services
        self._race = Race(supervisor=services.supervisor, clock=services.clock)

    async def wait(self, task_id: str, result: AgentRunResult, own: TokenUsage) -> bool:
        """Return when the outcome may take effect; False: it must not, a restore asks again.

        `own` is what the last try used; it counts for the ceiling from here on. False only while an
        operator suspends the run: the policy was not heard, so the task stays at its last safe
        state instead of failing, or releasing what waits for it, unrepaired.
        """
        options = self._attempt.recovery
        if options is None:
            return True
        happened = Happened(task_id, result)
        self._state.budget.hold(task_id, own)
        self._control.wake()
        if self._patching.was_applied(happened.task_id, happened.trigger):
            self._tell.decided(happened, "already_applied")
            return True
        self._tell.late_success(happened)
        try:
            if self._control.stop is not None:
                raise _Unheard
            if not self._state.over_budget:
                await self._consult(options, happened)
        except _Unheard:
            return not self._must_be_heard(happened)
        return True

    # ------------------------------------------------------------------ the steps

    async def _consult(self, options: RecoveryOptions, happened: Happened) -> None:
        outcome = self._outcome(happened)
        patch = await self._proposal(options, outcome, happened)
        if patch is None:
            return
        try:
            self._check_limits(options, patch)
            self._check(patch, happened)
        except PlanRejected as refusal:
            self._tell.refused(happened, refusal)
            return
        if not await self._approved(options, patch, outcome.again(), happened):
            return
        with span(
            "recovery",
            "apply_plan_revision",
            plan_trigger=happened.trigger,
            task_id=happened.task_id,
        ) as recorded:
            async with self._patching.turn:
                before = len(self._patching.revisions)
                await self._apply(options, patch, happened)
                after = len(self._patching.revisions)
            recorded.set(plan_revision_previous=before, plan_revision=after)
            if after > before:
                recorded.event("plan_revision_applied")

    async def _proposal(
        self, options: RecoveryOptions, outcome: TaskOutcome, happened: Happened
    ) -> PlanPatch | None:
        """Steps 2 and 3. None: there is nothing to apply, which was announced."""
        with span("callback", "recovery_policy_callback", callback_name="recovery_policy"):
            if options.replanner_agent is not None:
                answer = await self._agents_answer(options, outcome, happened)
            else:
                answer = await self._ask("recovery policy", lambda: options.policy(outcome))
        if answer.ended is not Ended.DONE:
            self._tell.failed(happened, "recovery_policy_failed", answer)
            return None
        if answer.value is None:
            self._tell.decided(happened, "no_patch")
            return None
        try:
            return read_patch(answer.value)
        except PlanRejected as refusal:
            self._tell.refused(happened, refusal)
            return None

    async def _agents_answer(
        self, options: RecoveryOptions, outcome: TaskOutcome, happened: Happened
    ) -> Outcome[object]:
        """The named agent's proposal; the rules are checked while it can still mend it."""

        def check(patch: PlanPatch) -> None:
            self._check_limits(options, patch)
            self._check(patch, happened)

        if happened.trigger not in options.agent_on:
            return Outcome(Ended.DONE)
        assert options.replanner_agent is not None
        asked = AgentReplanner(self._attempt, options.replanner_agent)
        result = await asked.ask(outcome, limits=self._limits_left(options), check=check)
        if self._control.stop is not None and not self._state.over_budget:
            raise _Unheard
        try:
            return Outcome(Ended.DONE, value=proposal_of(result))
        except ReplannerFailed as error:
            return Outcome(Ended.RAISED, error=error)

    def _limits_left(self, options: RecoveryOptions) -> dict[str, int]:
        return {
            "revisionsLeft": options.max_plan_revisions - len(self._patching.revisions),
            "tasksLeft": options.max_added_tasks - self._patching.added_so_far,
        }

    def _check_limits(self, options: RecoveryOptions, patch: PlanPatch) -> None:
        """Step 4."""
        if len(self._patching.revisions) >= options.max_plan_revisions:
            raise PlanRejected(
                "RECOVERY_REVISION_LIMIT", maxPlanRevisions=options.max_plan_revisions
            )
        so_far, wanted = self._patching.added_so_far, len(patch.add_tasks)
        if so_far + wanted > options.max_added_tasks:
            raise PlanRejected(
                "RECOVERY_ADDED_TASK_LIMIT",
                maxAddedTasks=options.max_added_tasks,
                requestedAdded=wanted,
                addedSoFar=so_far,
            )

    def _check(self, patch: PlanPatch, happened: Happened) -> Draft:
        """Steps 5 to 7: what can be known before anybody is asked to approve (DEV-24)."""
        if self._patching.is_repeat(patch):
            raise PlanRejected("RECOVERY_PATCH_REPEATED")
        try:
            self._patching.check_agents(patch)
        except PlanRejected as refusal:
            raise because("RECOVERY_PATCH_INELIGIBLE", refusal) from refusal
        drafted = self._patching.draft(patch, happened.task_id, happened.trigger)
        try:
            self._patching.rehearse(drafted)
        except PlanRejected as refusal:
            raise because("RECOVERY_PATCH_INELIGIBLE", refusal) from refusal
        return drafted

    async def _approved(
        self, options: RecoveryOptions, patch: PlanPatch, outcome: TaskOutcome, happened: Happened
    ) -> bool:
        """Step 8: only a real yes lets a patch through."""
        gate = options.on_plan_patch
        if gate is None:
            return True
        document = patch.to_json()
        self._bus.emit("gate_call", data={"gate": "plan_patch", "title": outcome.task["title"]})
        with span(
            "callback", "plan_patch_approval_callback", callback_name="plan_patch"
        ) as recorded:
            answer = await self._ask("plan patch gate", lambda: gate(document, outcome))
            said = "allow" if answer.value is True else "deny"
            recorded.event("approval_decision", decision=said)
        if answer.ended is not Ended.DONE or not isinstance(answer.value, bool):
            self._tell.failed(happened, "recovery_approval_failed", answer)
            return False
        if not answer.value:
            self._tell.decided(happened, "rejected")
        return answer.value

    async def _apply(self, options: RecoveryOptions, patch: PlanPatch, happened: Happened) -> None:
        """Steps 9 to 12. The plan may have changed while the policy and the gate thought."""
        if self._control.stop is not None:
            raise _Unheard
        try:
            self._check_limits(options, patch)
            drafted = self._check(patch, happened)
        except PlanRejected as refusal:
            self._tell.refused(happened, refusal)
            return
        left = left_behind(drafted, {t["id"]: t for t in self._state.queue})
        laid = self._patching.lay(drafted)
        error = await self._patching.make_durable()
        if error is not None:
            self._patching.take_back(laid)
            self._tell.not_durable(happened, drafted.revision, error)
            return
        self._patching.publish(laid, patch)
        revision = cast("JsonObject", drafted.revision)
        self._bus.emit("plan_revision", task=happened.task_id, data=revision)
        self._tell.decided(happened, "applied")
        if left:
            self._tell.warn(happened, "RECOVERY_DEPENDENTS_LEFT", {"tasks": left, "n": len(left)})

    # ------------------------------------------------------------------ looking

    def _must_be_heard(self, happened: Happened) -> bool:
        """Whether only an operator's suspension kept the policy from having its say.

        An answer that succeeded waits for it only where it is saved.
        """
        token = self._control.token
        if not token.stopped or token.aborted:
            return False
        return not happened.result.success or happened.task_id in self._state.entries

    def _outcome(self, happened: Happened) -> TaskOutcome:
        state, budget, cost = self._state, self._state.budget, self._state.cost
        verdict = happened.result.verification
        return TaskOutcome(
            happened.trigger,
            task=state.queue.get(happened.task_id),
            result=happened.result,
            tasks=state.queue.tasks,
            plan_revision=len(self._patching.revisions),
            verification=None if verdict is None else verdict.to_json(),
            cost_budget_remaining=None if cost.limit is None else cost.limit - cost.spent,
            token_budget_remaining=None if budget.limit is None else budget.limit - budget.used,
        )

    async def _ask(self, name: str, call: Callable[[], object]) -> Outcome[object]:
        """Foreign code, plain or a coroutine function, can neither raise nor hang a stop here.

        Raises _Unheard when the run was asked to stop first.
        """

        async def answer() -> object:
            found = call()
            return await found if inspect.isawaitable(found) else found

        found = await self._race.run(answer(), name=name, token=self._control.token)
        if found.ended is Ended.STOPPED:
            raise _Unheard
        return found
