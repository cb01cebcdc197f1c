"""Trying a task again, and elsewhere: which way, how often, how long in between (engine.md 2.7)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from oma_desktop.engine.attempt import Attempt
from oma_desktop.engine.budget import total
from oma_desktop.engine.model_routes import same_endpoint
from oma_desktop.engine.run_state import Parked
from oma_desktop.engine.spans import note
from oma_desktop.engine.tasks.ceiling import over_ceiling
from oma_desktop.engine.tasks.retry import (
    asked_delay_ms,
    delay_ms,
    is_provider_failure,
    is_retryable,
    max_attempts,
    may_retry,
    pause,
)
from oma_desktop.engine.tasks.settling import failure_text
from oma_desktop.model.checkpoint import TaskSnapshot
from oma_desktop.model.message import TokenUsage
from oma_desktop.model.result import AgentRunResult, add_usage, no_usage
from oma_desktop.model.team import AgentConfig


class Once(Protocol):
    """One try of a task by this agent; faults become results."""

    async def __call__(self, task: TaskSnapshot, agent: AgentConfig, number: int) -> AgentRunResult:
        """Try number `number`, from 1."""
        ...


class Tries:
    """Repeats the tries of a task. `parks` says why a result leaves the task in progress."""

    def __init__(
        self, attempt: Attempt, *, once: Once, parks: Callable[[str, AgentRunResult], Parked | None]
    ) -> None:
        self._attempt = attempt
        self._state = attempt.state
        self._control = attempt.control
        self._bus = attempt.services.bus
        self._once = once
        self._parks = parks

    async def run(
        self, task: TaskSnapshot, ways: tuple[AgentConfig, ...]
    ) -> tuple[AgentRunResult, TokenUsage, AgentConfig]:
        """Return the last try's result with its own usage, what earlier tries used, and who tried.

        Where the endpoint failed the next way is taken, also when no further try is due; everything
        else is tried again the same way (engine.md 2.7). A restore begins with the first way.
        """
        task_id = task["id"]
        agent, *others = ways
        number = self._state.try_number(task_id)
        earlier = no_usage()
        while True:
            result = await self._once(task, agent, number)
            if not (result.success or result.suspended):
                # Given up in the middle: nobody knows how far its open calls came.
                self._state.unsure |= self._state.open_calls(task_id, waiting=False)
                self._account(task_id, result.token_usage, agent)
            own = result.token_usage
            other = others[0] if others and is_provider_failure(result) else None
            between = other is not None and self._control.stop is not None
            if between or self.stopped_between(task, result, number):
                result = replace(result, aborted=True)
            within = number < max_attempts(task) or other is not None
            if self._parks(task_id, result) is not None or not self._again(result, within=within):
                break
            slept = await self._pause(task, agent, result, number, other=other)
            if not slept or self._control.stop is not None:
                result = replace(result, aborted=True)
                break
            lost = self._state.nested.take((task_id,))
            self._state.budget.release(task_id)
            self._state.budget.settle(add_usage(own, lost))
            self._state.drop_entry(task_id)
            self._state.retries[task_id] = number
            self._state.total_retries += 1
            earlier = total((earlier, own, lost))
            number += 1
            if other is not None:
                agent, *others = others
            await self._attempt.save("retry")
        return result, earlier, agent

    def _account(self, task_id: str, own: TokenUsage, agent: AgentConfig) -> None:
        """Let a try that failed count for the ceiling of the run before another one begins."""
        self._state.budget.hold(task_id, own)
        over_ceiling(self._attempt, agent=agent.name)

    def _again(self, result: AgentRunResult, *, within: bool) -> bool:
        return within and self._control.stop is None and may_retry(result, self._control.token)

    def stopped_between(self, task: TaskSnapshot, result: AgentRunResult, number: int) -> bool:
        """Whether only the stop keeps this failure from being tried again: not final (DEV-12)."""
        within = number < max_attempts(task)
        return within and self._control.stop is not None and is_retryable(result)

    async def _pause(
        self,
        task: TaskSnapshot,
        agent: AgentConfig,
        result: AgentRunResult,
        number: int,
        *,
        other: AgentConfig | None,
    ) -> bool:
        """Wait before the next try; an endpoint's wish to be left alone binds no `other` one."""
        services = self._attempt.services
        wait_ms = delay_ms(task, attempt=number, rng=services.rng)
        if other is None or same_endpoint(agent, other):
            wait_ms = max(wait_ms, asked_delay_ms(result))
        facts: dict[str, object] = {
            "attempt": number,
            "maxAttempts": max(max_attempts(task), number + (other is not None)),
            "error": failure_text(result),
            "nextDelayMs": wait_ms,
        }
        if other is not None:
            facts["nextModel"] = other.model
        self._bus.emit("task_retry", agent=agent.name, task=task["id"], data=facts)
        note("retry_scheduled", retry_try=number, retry_delay_ms=wait_ms)
        async with self._attempt.pool.lent():
            return await pause(
                wait_ms / 1000,
                clock=services.clock,
                token=self._control.token,
                supervisor=services.supervisor,
            )
