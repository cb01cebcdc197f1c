"""What a run costs over all its attempts, and its ceiling (engine.md 1.1, 3.8).

Cost is counted call by call: models have different prices, and what a failed, abandoned or
delegated call cost was spent all the same. Calls that report no usage cannot be counted; they are
told by the warning USAGE_UNKNOWN.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from oma_desktop.engine.llm.presets import SCRIPTED
from oma_desktop.engine.tools.race import guarded_call
from oma_desktop.model.context_options import Summarize
from oma_desktop.model.errors import EngineError, InvalidInput
from oma_desktop.model.message import TokenUsage
from oma_desktop.model.prices import Price, price_of
from oma_desktop.model.team import AgentConfig


@dataclass(frozen=True, slots=True)
class ModelUse:
    """One model call, as an estimator sees it. `provider` and `model` may be empty."""

    agent: str
    provider: str
    model: str
    usage: TokenUsage


EstimateCost: TypeAlias = Callable[[ModelUse], float]
"""Written by others: what it gives back is judged by `RunCost`."""


class CostEstimateInvalid(EngineError):
    """COST_ESTIMATE_INVALID: an estimator raised, or gave no finite number from zero up.

    Facts: `agent`, `model`, `found`.
    """


def estimate_from(prices: Mapping[str, Price]) -> EstimateCost:
    """An estimator that looks prices up; it raises InvalidInput COST_PRICE_MISSING."""

    def estimate(use: ModelUse) -> float:
        price = price_of(prices, provider=use.provider, model=use.model)
        if price is None:
            raise InvalidInput("COST_PRICE_MISSING", agent=use.agent, model=use.model)
        return price.of(use.usage)

    return estimate


def models_of(agents: Iterable[AgentConfig]) -> Iterator[tuple[str, str, str]]:
    """(agent, provider, model) of all that agents ask themselves, their summaries included."""
    for agent in agents:
        if agent.backend is not None:
            continue
        provider = agent.provider or ""
        yield agent.name, provider, agent.model or SCRIPTED
        if isinstance(agent.context_strategy, Summarize) and agent.context_strategy.summary_model:
            yield agent.name, provider, agent.context_strategy.summary_model


def check_prices(prices: Mapping[str, Price], uses: Iterable[tuple[str, str, str]]) -> None:
    """Refuse a model without a price: its cost would silently be missing from every total.

    `uses` are (agent, provider, model). Without any prices nothing is counted and nothing wrong.
    Raises InvalidInput COST_PRICE_MISSING.
    """
    for agent, provider, model in uses if prices else ():
        if price_of(prices, provider=provider, model=model) is None:
            raise InvalidInput("COST_PRICE_MISSING", agent=agent, model=model)


class RunCost:
    """Adds up what calls cost. Without an estimator nothing is known and nothing is limited.

    `limit` None: no ceiling; it is crossed when the sum is strictly greater. Invariant: the sum
    never falls.
    """

    def __init__(
        self,
        estimate: EstimateCost | None = None,
        limit: float | None = None,
        *,
        spent: float = 0.0,
    ) -> None:
        self._estimate = estimate
        self.limit = limit
        self.spent = spent

    @property
    def known(self) -> bool:
        """Whether cost is counted at all."""
        return self._estimate is not None

    @property
    def exceeded(self) -> bool:
        """Whether the ceiling was crossed."""
        return self.limit is not None and self.spent > self.limit

    def add(self, use: ModelUse) -> None:
        """Count one call. Raises CostEstimateInvalid; then nothing is counted."""
        if self._estimate is None:
            return
        outcome = guarded_call(self._estimate, use)
        found: object = outcome.value if outcome.error is None else outcome.error
        if not is_cost(found):
            shown = repr(found)[:80]
            raise CostEstimateInvalid(
                "COST_ESTIMATE_INVALID", agent=use.agent, model=use.model, found=shown
            )
        self.spent += found  # type: ignore[operator]


def smallest_cost(*limits: float | None) -> float | None:
    """Ceilings of nested scopes combine by minimum."""
    given = [limit for limit in limits if limit is not None]
    return min(given) if given else None


def is_cost(value: object) -> bool:
    """Whether this is a usable amount."""
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and math.isfinite(value)
        and value >= 0
    )
