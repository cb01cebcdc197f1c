"""What runs cost, and their ceilings (engine.md 1.1, 1.5, 3.8; formats.md 2.12)."""

from __future__ import annotations

import json
import math

import pytest
from pydantic import ValidationError

from oma_desktop.base.supervisor import Supervisor
from oma_desktop.engine.cost import ModelUse, estimate_from
from oma_desktop.engine.orchestrator import OpenMultiAgent
from oma_desktop.model.errors import InvalidInput
from oma_desktop.model.prices import Price, price_of
from oma_desktop.model.team import OrchestratorOptions
from tests.core.engine.run_world import InlineLanes, spec, statuses
from tests.core.engine.runner_world import VirtualClock
from tests.core.engine.test_delegation import BOSS, PLAIN, team, turn

TEN_A_MILLION = {"*": {"input": 10.0, "output": 100.0}}


def priced(world, prices=None, **changes):
    given = OrchestratorOptions.model_validate({"prices": prices or TEN_A_MILLION})
    world.options = world.options.model_copy(update={"prices": given.prices, **changes})
    return world


def simple(*titles, usage=(100_000, 1000)):
    """One agent, one turn a task: 1.0 for input and 0.1 for output at the prices above."""
    return team({title: [turn(title, usage=usage)] for title in titles}, "a")


async def run(world, *titles, **options):
    specs = [spec(t, *titles[:i], assignee="a") for i, t in enumerate(titles)]
    return await world.run(*specs, real_runner=True, **options)


# --- prices --------------------------------------------------------------------------------------


def test_the_most_exact_price_counts():
    prices = {n: Price(input=i, output=0) for i, n in enumerate(["x/m", "m", "*"])}
    assert price_of(prices, provider="x", model="m").input == 0
    assert price_of(prices, provider="y", model="m").input == 1
    assert price_of(prices, provider="y", model="n").input == 2
    assert price_of({}, provider="y", model="n") is None


def test_a_price_is_for_a_million_tokens_and_a_missing_one_is_no_zero():
    estimate = estimate_from({"m": Price(input=3, output=15)})
    use = ModelUse("a", "p", "m", {"input_tokens": 500_000, "output_tokens": 100_000})
    assert estimate(use) == 1.5 + 1.5
    with pytest.raises(InvalidInput, match="COST_PRICE_MISSING"):
        estimate(ModelUse("a", "p", "other", use.usage))


@pytest.mark.parametrize("bad", [-1, math.nan, math.inf])
def test_prices_are_amounts(bad):
    with pytest.raises(ValidationError):
        Price(input=bad, output=0)


# --- ceilings ------------------------------------------------------------------------------------


async def test_a_run_that_costs_too_much_ends_and_keeps_what_is_done():
    world = priced(simple("A", "B", "C"), max_cost_budget=2.0)
    result = await run(world, "A", "B", "C")
    assert result.status.code == "budget_exhausted"
    assert result.error_info.kind == "budget"
    assert result.error_info.code == "COST_BUDGET_EXCEEDED"
    assert statuses(result) == {"A": "completed", "B": "completed", "C": "skipped"}
    (event,) = world.of("budget_exceeded")
    assert dict(event.data) == {"code": "COST_BUDGET_EXCEEDED", "used": 2.2, "budget": 2.0}
    assert result.total_cost == pytest.approx(2.2)


async def test_a_ceiling_that_is_just_reached_is_not_crossed():
    world = priced(simple("A"), max_cost_budget=1.1)
    assert (await run(world, "A")).success


@pytest.mark.parametrize(("own", "engines", "ends"), [(1.0, 5.0, True), (5.0, 1.0, True),
                                                      (5.0, 5.0, False)])  # fmt: skip
async def test_the_smaller_ceiling_counts(own, engines, ends):
    world = priced(simple("A", "B"), max_cost_budget=engines)
    result = await run(world, "A", "B", max_cost_budget=own)
    assert (result.status.code == "budget_exhausted") is ends


async def test_a_ceiling_that_nobody_can_measure_is_refused_before_anything_runs():
    options = OrchestratorOptions(max_cost_budget=1.0)
    with pytest.raises(InvalidInput, match="COST_ESTIMATE_MISSING"):
        OpenMultiAgent(options, clock=VirtualClock(), supervisor=Supervisor(), lanes=InlineLanes())
    world = simple("A")
    with pytest.raises(InvalidInput, match="COST_ESTIMATE_MISSING"):
        await run(world, "A", max_cost_budget=1.0)
    assert world.store.saved == []


async def test_cost_goes_on_over_restores_and_is_what_ends_the_run():
    world = priced(simple("A", "B", "C"), max_cost_budget=2.0)
    await run(world, "A")
    assert world.snapshot()["omaDesktop"]["usage"]["cost"] == pytest.approx(1.1)

    world = priced(simple("A", "B", "C"), max_cost_budget=3.0)
    await run(world, "A", "B", "C")
    done = [s["omaDesktop"]["usage"]["cost"] for s in world.store.saved]
    assert done == sorted(done)
    after_a = next(
        i for i, s in enumerate(world.store.saved)
        if [t["status"] for t in s["queue"]["tasks"]] == ["completed", "pending", "blocked"]
    )  # fmt: skip
    other = world.crashed(after_a)
    result = await other.restore(real_runner=True)
    assert result.status.code == "budget_exhausted"
    assert result.total_cost == pytest.approx(3.3)


async def test_a_peer_that_dropped_the_cost_does_not_make_it_zero():
    world = priced(simple("A", "B"))
    await run(world, "A", "B")
    at = next(
        i for i, s in enumerate(world.store.saved)
        if s["queue"]["tasks"][0]["status"] == "completed"
    )  # fmt: skip
    other = world.crashed(at)
    del other.store.saved[:]
    (entry,) = [e for e in other.store.list() if "checkpoint" in e.key]
    document = json.loads(entry.value)
    del document["omaDesktop"]
    other.store.set(entry.key, json.dumps(document))
    result = await other.restore(real_runner=True)
    assert result.total_cost == pytest.approx(2.2)
    assert "COST_RECOUNTED" in result.warnings


async def test_everything_that_was_spent_counts_failed_tries_and_delegations_too():
    replies = {
        "Flaky": {
            "attempts": [
                [turn("", ("x", "none", {}), usage=(1000, 0)),
                 {"error": {"message": "busy", "status": 503}}],
                [turn("end", usage=(10, 0))],
            ]
        },
        **PLAIN,
    }  # fmt: skip
    world = priced(team(replies, BOSS, "expert"))
    result = await world.run(
        spec("Flaky", assignee="expert", max_retries=1, retry_delay_ms=1),
        spec("Story", assignee="boss"),
        real_runner=True,
    )
    assert result.success
    assert result.total_usage == {"input_tokens": 2030, "output_tokens": 52}
    assert result.total_cost == pytest.approx((2030 * 10 + 52 * 100) / 1e6)


# --- estimators of others ------------------------------------------------------------------------


def estimated(estimate, *titles, **changes):
    world = simple(*titles)
    world.estimate = estimate
    world.options = world.options.model_copy(update=changes)
    return world


async def test_an_estimator_sees_every_call():
    uses = []

    def estimate(use):
        uses.append(use)
        return 0.5

    world = estimated(estimate, "A", "B")
    result = await run(world, "A", "B")
    assert result.total_cost == 1.0
    usage = {"input_tokens": 100_000, "output_tokens": 1000}
    assert uses == [ModelUse("a", "", "scripted", usage)] * 2


@pytest.mark.parametrize("bad", [-1, math.nan, math.inf, None, True, "1"])
async def test_an_invalid_estimate_fails_the_task_and_loses_no_tokens(bad):
    world = estimated(lambda _use: bad, "A", "B")
    specs = [spec("A", assignee="a", max_retries=3), spec("B", "A", assignee="a")]
    result = await world.run(*specs, real_runner=True)
    assert result.status.code == "error"
    assert statuses(result) == {"A": "failed", "B": "failed"}
    (failed,) = result.task_results.values()
    assert failed["errorInfo"]["kind"] == "budget"
    assert failed["errorInfo"]["code"] == "COST_ESTIMATE_INVALID"
    assert failed["output"] == "A"
    assert world.of("task_retry") == []
    assert result.total_usage == {"input_tokens": 100_000, "output_tokens": 1000}


async def test_an_estimator_that_raises_is_an_invalid_estimate():
    def estimate(_use):
        raise AttributeError("no such price")

    world = estimated(estimate, "A")
    result = await run(world, "A")
    assert result.status.code == "error"
    (failed,) = result.task_results.values()
    assert failed["errorInfo"]["code"] == "COST_ESTIMATE_INVALID"


async def test_without_prices_cost_is_not_known_which_is_not_zero():
    world = simple("A")
    result = await run(world, "A")
    assert result.total_cost is None
    assert "cost" not in world.snapshot()["omaDesktop"]["usage"]


async def test_an_answer_that_broke_off_costs_what_it_reported():
    used = {"input_tokens": 100_000, "output_tokens": 1000}
    broken = {"text": "half", "usage": used, "error": {"message": "gone"}}
    world = priced(team({"A": [broken]}, "a"))
    result = await run(world, "A")
    assert statuses(result) == {"A": "failed"}
    assert result.total_usage == used
    assert result.total_cost == pytest.approx(1.1)
