"""Task retries against the peer's vectors (golden/vectors/retry.json; engine.md 2.7)."""

from __future__ import annotations

import itertools
import json
import math

import pytest

from oma_desktop.engine.cancel import StopReason
from oma_desktop.engine.tasks.retry import delay_ms, jittered_ms, max_attempts, nominal_delay_ms
from oma_desktop.model.result import ErrorInfo
from tests.core.engine.run_world import GOLDEN, RunWorld, bad, ok, spec, statuses

VECTORS = json.loads((GOLDEN / "vectors" / "retry.json").read_text("utf-8"))["vectors"]
DELAYS = [v for v in VECTORS if v["fn"] == "computeRetryDelay"]
RUNS = [
    v
    for v in VECTORS
    if v["fn"] == "executeWithRetry"
    # A fractional count is refused by the run file (golden/README.md); NaN cannot be written there.
    and v["name"] != "fractional retries"
    and "taskJs" not in v
]


@pytest.mark.parametrize("vector", DELAYS, ids=lambda v: str(v["output"]))
def test_nominal_delays(vector):
    delay = nominal_delay_ms(
        base_ms=vector["baseDelay"], backoff=vector["backoff"], attempt=vector["attempt"]
    )
    assert delay == vector["output"]


def test_an_overflowing_backoff_is_the_ceiling_not_an_error():
    assert nominal_delay_ms(base_ms=1.5, backoff=1e300, attempt=9) == 30_000


def test_odd_numbers_of_a_file_fall_back():
    odd = {"maxRetries": math.nan, "retryDelayMs": math.inf, "retryBackoff": math.nan}
    assert max_attempts(odd) == 1
    assert delay_ms(odd, attempt=1, rng=lambda: 0.0) == 500


def outcome(word):
    usage = (10, 3)
    match word:
        case "ok":
            return ok("ok", usage)
        case "fail":
            return bad("bad", usage)
        case "terminal":
            return bad("bad", usage, retryable=False)
        case "http400":
            return bad("bad", usage, retryable=False)
        case "http429":
            return bad("bad", usage, retryable=True)
        case "throw":
            return bad("boom", (0, 0))
        case "suspended":
            return bad("bad", usage, suspended=True)
    raise AssertionError(word)


@pytest.mark.parametrize("vector", RUNS, ids=lambda v: v["name"])
async def test_a_run_retries_as_the_peer_does(vector):
    outcomes = iter(vector["outcomes"])
    draws = iter(vector["rng"])

    async def work(_world, _agent, _job):
        return outcome(next(outcomes))

    wanted = vector["output"]
    given = {
        "max_retries": vector["task"].get("maxRetries"),
        "retry_delay_ms": vector["task"].get("retryDelayMs"),
        "retry_backoff": vector["task"].get("retryBackoff"),
    }
    if (given["retry_delay_ms"] or 0) < 0:
        given["retry_delay_ms"] = 0  # a negative delay is refused where people write it
    world = RunWorld(agents=["a"], work=work, rng=lambda: next(draws))
    result = await world.run(spec("One", **given))
    retries = [dict(e.data) for e in world.of("task_retry")]
    assert retries == wanted["onRetry"]
    assert [r["nextDelayMs"] for r in retries] == wanted["delays"]
    if vector["name"] != "suspended is not retried":
        assert result.success == wanted["success"]
        assert result.total_usage == wanted["tokenUsage"]


async def test_idea_43_the_reported_delay_is_the_one_slept():
    times = []

    async def work(world, _agent, _job):
        times.append(world.clock.monotonic())
        return bad() if len(times) < 3 else ok()

    draws = itertools.cycle([0.25, 0.75])
    world = RunWorld(agents=["a"], work=work, rng=lambda: next(draws))
    await world.run(spec("One", max_retries=2, retry_delay_ms=1000))
    reported = [e.data["nextDelayMs"] / 1000 for e in world.of("task_retry")]
    assert [b - a for a, b in itertools.pairwise(times)] == pytest.approx(reported)
    assert reported == [jittered_ms(1000, 0.25) / 1000, jittered_ms(2000, 0.75) / 1000]


async def test_idea_43_a_stop_during_the_pause_ends_it_and_starts_no_further_attempt():
    calls = []

    async def work(_world, _agent, job):
        calls.append(job.attempt)
        return bad()

    world = RunWorld(agents=["a"], work=work)

    def stop_soon(event):
        if event.type == "task_retry":
            world.token.stop(StopReason.CANCEL)

    world.bus.subscribe(stop_soon)
    result = await world.run(spec("One", max_retries=5, retry_delay_ms=30_000))
    assert calls == [1]
    assert result.status.code == "cancelled"
    assert world.clock.monotonic() < 1
    assert world.statuses() == {"One": "in_progress"}, "not failed: a restore may try again"


async def test_idea_44_401_is_not_retried_429_is_and_a_plain_failure_is():
    answers = {"401": bad(retryable=False), "429": bad(retryable=True), "plain": bad()}
    seen = dict.fromkeys(answers, 0)

    async def work(_world, _agent, job):
        seen[job.task_title] += 1
        return answers[job.task_title]

    world = RunWorld(agents=["a", "b", "c"], work=work)
    result = await world.run(*(spec(n, max_retries=1, retry_delay_ms=10) for n in answers))
    assert seen == {"401": 1, "429": 2, "plain": 2}
    assert set(statuses(result).values()) == {"failed"}


async def test_dev_09_the_tokens_of_every_failed_attempt_count():
    answers = iter([bad(usage=(7, 3)), bad(usage=(1, 1)), ok(usage=(2, 2))])

    async def work(_world, _agent, _job):
        return next(answers)

    world = RunWorld(agents=["a"], work=work)
    result = await world.run(spec("One", max_retries=2, retry_delay_ms=1))
    assert result.total_usage == {"input_tokens": 10, "output_tokens": 6}
    assert world.snapshot()["omaDesktop"]["usage"] == result.total_usage
    assert next(iter(result.task_results.values()))["tokenUsage"] == result.total_usage


async def test_p_12_the_retry_counter_goes_on_after_a_crash():
    attempts = []

    async def work(_world, _agent, job):
        attempts.append(job.attempt)
        return bad()

    world = RunWorld(agents=["a"], work=work)
    await world.run(spec("One", max_retries=2, retry_delay_ms=1))
    assert attempts == [1, 2, 3]
    second = next(i for i, s in enumerate(world.store.saved) if s["omaDesktop"].get("retries"))
    other = world.crashed(second)
    assert list(other.snapshot()["omaDesktop"]["retries"].values()) == [1]
    attempts.clear()
    await other.restore()
    assert attempts == [2, 3], "the first attempt was used up before the crash"


def test_idea_44_error_without_facts_is_retryable_and_a_stable_verdict_wins():
    from oma_desktop.engine.cancel import CancelToken
    from oma_desktop.engine.tasks.retry import may_retry
    from oma_desktop.model.result import AgentRunResult

    token = CancelToken()
    assert may_retry(AgentRunResult(False, "x"), token)
    assert not may_retry(
        AgentRunResult(False, "x", error_info=ErrorInfo("provider", retryable=False)), token
    )


@pytest.mark.parametrize("further", [{"retryable": True}, {}])
async def test_dev_12_a_failure_after_a_suspend_is_not_final_while_tries_are_left(further):
    attempts = []

    async def work(world, _agent, job):
        attempts.append(job.attempt)
        if job.task_title == "One" and len(attempts) == 1:
            world.token.stop(StopReason.SUSPEND)
            return bad(**further)
        return ok()

    world = RunWorld(agents=["a"], work=work)
    result = await world.run(spec("One", max_retries=1, retry_delay_ms=10), spec("Two", "One"))
    assert result.status.code == "suspended"
    assert statuses(result) == world.statuses() == {"One": "in_progress", "Two": "blocked"}
    assert world.of("task_failed") == world.of("task_retry") == []
    assert (await world.restore()).success
    assert set(world.statuses().values()) == {"completed"}


@pytest.mark.parametrize(("tries", "retryable"), [(0, True), (1, False)])
async def test_a_failure_no_further_try_could_mend_stays_final_after_a_suspend(tries, retryable):

    async def work(world, _agent, _job):
        world.token.stop(StopReason.SUSPEND)
        return bad(retryable=retryable)

    world = RunWorld(agents=["a"], work=work)
    await world.run(spec("One", max_retries=tries, retry_delay_ms=10), spec("Two", "One"))
    assert world.statuses() == {"One": "failed", "Two": "failed"}


@pytest.mark.parametrize(("draw", "expected"), [(0.0, 500), (0.5, 750), (0.999999, 1000)])
def test_idea_43_jitter_keeps_half_of_the_delay(draw, expected):
    assert delay_ms({"retryDelayMs": 1000}, attempt=1, rng=lambda: draw) == expected


def scripted_failures(*errors, **task):
    """A world whose one task fails with these errors, then succeeds."""
    replies = [[{"error": {"message": "no", **error}}] for error in errors]
    script = {
        "team": {"name": "t"},
        "agents": [{"name": "a"}],
        "replies": {"One": {"attempts": [*replies, [{"text": "end"}]]}},
    }
    return RunWorld(script=script), spec("One", retry_delay_ms=1000, **task)


@pytest.mark.parametrize(
    ("wish", "delay"), [(None, 500), (0.2, 500), (7.0011, 7002), (3600, 3_600_000)]
)
async def test_retry_after_is_the_least_delay_reported_and_slept(wish, delay):
    """engine.md 8.6: the same schedule, but at least what the endpoint asked for."""
    world, one = scripted_failures({"status": 429, "retryAfterS": wish}, max_retries=1)
    result = await world.run(one, real_runner=True)
    assert result.success
    assert [e.data["nextDelayMs"] for e in world.of("task_retry")] == [delay]
    assert world.clock.monotonic() == pytest.approx(delay / 1000)


async def test_idea_44_a_wish_to_wait_makes_a_refusal_no_more_retryable():
    world, one = scripted_failures({"status": 401, "retryAfterS": 5}, max_retries=3)
    result = await world.run(one, real_runner=True)
    assert result.status.code == "error"
    assert world.of("task_retry") == []


@pytest.mark.parametrize(
    "status", [400, 401, 403, 404, 408, 409, 413, 422, 429, 500, 502, 503, 529]
)
async def test_idea_45_which_statuses_are_tried_again(status):
    world, one = scripted_failures({"status": status}, max_retries=1)
    result = await world.run(one, real_runner=True)
    again = status in {408, 409, 429} or status >= 500
    assert result.success is again
    assert len(world.of("task_retry")) == again


async def test_idea_45_a_call_that_was_stopped_is_a_cancellation_not_a_failure_to_repeat():
    script = {
        "team": {"name": "t"},
        "agents": [{"name": "a"}],
        "replies": {"One": [{"text": "slow", "delayMs": 10_000}]},
    }
    world = RunWorld(script=script)
    world.bus.subscribe(
        lambda e: world.token.stop(StopReason.CANCEL) if e.type == "model_call" else None
    )
    result = await world.run(spec("One", max_retries=3), real_runner=True)
    assert result.status.code == "cancelled"
    assert world.of("task_retry") == []


async def test_dev_12_a_try_that_crosses_the_runs_budget_is_the_last_and_is_not_final():
    """The tries that are left are not used up by the stop: a restore with more budget has them."""
    calls = []

    async def work(_world, _agent, job):
        calls.append(job.attempt)
        return bad(usage=(100, 0)) if len(calls) == 1 else ok()

    world = RunWorld(agents=["a"], work=work, max_token_budget=50)
    result = await world.run(spec("One", max_retries=5), spec("Two", "One"))
    assert calls == [1]
    assert result.status.code == "budget_exhausted"
    assert world.of("task_retry") == []
    assert len(world.of("budget_exceeded")) == 1
    assert result.total_usage["input_tokens"] == 100
    assert world.statuses() == {"One": "in_progress", "Two": "blocked"}
    world.options = world.options.model_copy(update={"max_token_budget": 5000})
    again = await world.restore()
    assert set(statuses(again).values()) == {"completed"}


async def test_dev_12_a_failure_while_the_budget_stops_the_run_is_not_final_while_tries_are_left():
    async def work(world, _agent, job):
        if job.task_title == "Rich":
            await world.clock.sleep(1)
            return ok(usage=(1000, 0))
        await world.clock.sleep(5)
        return bad()

    world = RunWorld(agents=["a", "b"], work=work, max_token_budget=50, max_concurrency=2)
    await world.run(spec("Rich", assignee="a"), spec("Poor", assignee="b", max_retries=2))
    assert world.statuses() == {"Rich": "completed", "Poor": "in_progress"}


async def test_a_failure_without_tries_left_stays_final_also_beside_a_budget_stop():
    async def work(world, _agent, job):
        if job.task_title == "Rich":
            await world.clock.sleep(1)
            return ok(usage=(1000, 0))
        await world.clock.sleep(5)
        return bad()

    world = RunWorld(agents=["a", "b"], work=work, max_token_budget=50, max_concurrency=2)
    await world.run(spec("Rich", assignee="a"), spec("Poor", assignee="b"))
    assert world.statuses() == {"Rich": "completed", "Poor": "failed"}
