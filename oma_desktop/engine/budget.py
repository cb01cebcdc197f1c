"""Tokens of a run over all its attempts, and the run's ceiling (engine.md 3.8; DEV-09, DEV-10)."""

from __future__ import annotations

from collections.abc import Iterable

from oma_desktop.model.message import TokenUsage
from oma_desktop.model.result import add_usage, no_usage


def total(usages: Iterable[TokenUsage]) -> TokenUsage:
    """The sum of all."""
    result = no_usage()
    for usage in usages:
        result = add_usage(result, usage)
    return result


class RunBudget:
    """Counts what was settled: finished tasks and failed attempts, of this and earlier attempts.

    What running agents used so far is added by the caller when it matters; answers that are being
    judged are `held`: they count for the ceiling and are settled with their task. `limit` None: no
    ceiling. The ceiling is crossed when input plus output are strictly greater.
    """

    def __init__(self, limit: int | None, *, settled: TokenUsage | None = None) -> None:
        self.limit = limit
        self.settled: TokenUsage = settled or no_usage()
        self.this_attempt: TokenUsage = no_usage()
        self._held: dict[str, TokenUsage] = {}

    def settle(self, usage: TokenUsage) -> None:
        """Count the usage of a finished agent run, failed or not."""
        self.settled = add_usage(self.settled, usage)
        self.this_attempt = add_usage(self.this_attempt, usage)

    def hold(self, task_id: str, usage: TokenUsage) -> None:
        """Count this for the ceiling until the task settles."""
        self._held[task_id] = usage

    def release(self, task_id: str) -> None:
        """The task settles now, or was held no more."""
        self._held.pop(task_id, None)

    def settle_earlier(self, usage: TokenUsage) -> None:
        """Count what earlier attempts used for work that is given up: no part of this attempt."""
        self.settled = add_usage(self.settled, usage)

    def settle_coordination(self, usage: TokenUsage) -> None:
        """Count what the coordinator used: part of the run, no part of its tasks' numbers."""
        self.settled = add_usage(self.settled, usage)

    @property
    def used(self) -> int:
        """Input plus output, settled or held."""
        whole = add_usage(self.settled, total(self._held.values()))
        return whole["input_tokens"] + whole["output_tokens"]

    @property
    def exceeded(self) -> bool:
        """Whether the ceiling was crossed."""
        return self.limit is not None and self.used > self.limit


def settled_at_restore(
    saved: TokenUsage | None, completed: Iterable[TokenUsage], in_flight: Iterable[TokenUsage]
) -> TokenUsage:
    """What counts as settled when a run is restored.

    `saved` is our own cumulative fact, running agents included; they settle again as a whole, so
    their part is taken out. A peer drops the fact, then completed results are all that is known.
    """
    known = total(completed)
    if saved is None:
        return known
    running = total(in_flight)
    return {
        "input_tokens": max(known["input_tokens"], saved["input_tokens"] - running["input_tokens"]),
        "output_tokens": max(
            known["output_tokens"], saved["output_tokens"] - running["output_tokens"]
        ),
    }


def smallest(*limits: int | None) -> int | None:
    """Ceilings of nested scopes combine by minimum; a narrower scope never widens."""
    given = [limit for limit in limits if limit is not None]
    return min(given) if given else None
