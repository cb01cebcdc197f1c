"""Every token counts exactly once, whatever happens (DEV-09, DEV-10, P12; formats.md 2.8, 2.12)."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from oma_desktop.engine.cancel import StopReason
from oma_desktop.engine.llm.base import ModelReply
from oma_desktop.model.result import add_usage, no_usage
from tests.core.engine.run_world import spec
from tests.core.engine.test_cost import priced
from tests.core.engine.test_delegation import ask, team, turn

LOOK = {"look": {"schema": {}, "results": {"*": {"data": "seen"}}}}

turns = st.sampled_from(["look", "ask expert", "ask deep", "both"])
ends = st.sampled_from(["text", "text", "text", "503", "400"])
scripts = st.tuples(st.lists(turns, max_size=3), ends)
tasks = st.lists(
    st.tuples(st.lists(scripts, min_size=1, max_size=2), st.integers(0, 2)),
    min_size=1,
    max_size=3,
)
stops = st.lists(st.tuples(st.integers(1, 30), st.sampled_from(["cancel", "suspend"])), max_size=3)


def replies_of(script, numbers):
    """One attempt: some tool turns, then an answer or a failure. Every turn costs its own sum."""
    kinds, end = script
    replies = []
    for index, kind in enumerate(kinds):
        cost = (next(numbers), 1)
        look = (f"l{index}", "look", {})
        calls = {
            "look": [look],
            "ask expert": [ask(f"e{index}", "expert")],
            "ask deep": [ask(f"d{index}", "deep")],
            "both": [ask(f"e{index}", "expert"), look, ask(f"d{index}", "deep")],
        }[kind]
        replies.append({**turn("", *calls, usage=cost), "delayMs": 10 * (index + 1)})
    if end == "text":
        return [*replies, turn("end", usage=(next(numbers), 1))]
    return [*replies, {"error": {"message": "no", "status": int(end)}}]


def world_of(plan, expert_ends):
    numbers = itertools.count(1)
    replies = {
        "expert::@other": [
            {**turn("", ("x", "look", {}), usage=(1000, 10)), "delayMs": 30},
            turn("known", usage=(2000, 20))
            if expert_ends
            else {"error": {"message": "no", "status": 400}},
        ],
        "deep::@other": [
            {**turn("", ask("n", "expert"), usage=(5000, 50)), "delayMs": 5},
            turn("deep", usage=(7000, 70)),
        ],
    }
    for index, (scripts_, _) in enumerate(plan):
        replies[f"t{index}"] = {"attempts": [replies_of(script, numbers) for script in scripts_]}
    agents = [
        {"name": f"a{index}", "tools": ["look"], "delegate": True} for index in range(len(plan))
    ]
    extra = [
        {"name": "expert", "tools": ["look"]},
        {"name": "deep", "delegate": True, "timeoutMs": 60},
    ]
    world = team(replies, *agents, *extra, tools=LOOK, limit=5)
    specs = [
        spec(f"t{index}", assignee=f"a{index}", max_retries=retries, retry_delay_ms=20)
        for index, (_, retries) in enumerate(plan)
    ]
    return priced(world), specs


class Spent:
    """Counts what models really gave, beside all accounting of the engine."""

    def __init__(self, world):
        self.usage = no_usage()
        adapter = world.team.adapter_for(None)
        self.real = adapter.stream
        adapter.stream = self.stream

    async def stream(self, request, token):
        async for event in self.real(request, token):
            if isinstance(event, ModelReply):
                self.usage = add_usage(self.usage, event.usage)
            yield event


def check(result, spent, saved):
    """Result, file and what models gave agree; the prices are 10 and 100 a million."""
    assert result.total_usage == spent.usage
    assert {k: saved[k] for k in spent.usage} == spent.usage
    cost = (spent.usage["input_tokens"] * 10 + spent.usage["output_tokens"] * 100) / 1e6
    assert result.total_cost == pytest.approx(cost)
    assert saved.get("cost", 0) == pytest.approx(cost)


def watch(world):
    """Check at every save that the saved total never falls."""
    seen = [no_usage()]

    def on_save(document):
        now = document["omaDesktop"]["usage"]
        for key in (*no_usage(), "cost"):
            assert now[key] >= seen[0].get(key, 0), "the total fell"
        seen[0] = now

    world.store.on_save = on_save
    return seen


@settings(max_examples=60, deadline=None)
@example(
    plan=[([(["look"], "text")], 0)], stop_at=[(7, "suspend"), (1, "cancel")], expert_ends=False
)
@given(plan=tasks, stop_at=stops, expert_ends=st.booleans())
async def test_dev_10_the_total_is_what_models_gave_over_any_stops_and_restores(
    plan, stop_at, expert_ends
):
    world, specs = world_of(plan, expert_ends)
    spent, seen = Spent(world), watch(world)
    count, reasons = 0, []

    def maybe_stop(event):
        nonlocal count
        count += 1
        if reasons and count >= reasons[0][0]:
            _, reason = reasons.pop(0)
            world.token.stop(StopReason.CANCEL if reason == "cancel" else StopReason.SUSPEND)

    world.bus.subscribe(maybe_stop)
    reasons[:] = stop_at[:1]
    result = await world.run(*specs, real_runner=True)
    check(result, spent, seen[0])
    for at in [*stop_at[1:], None]:
        if result.status.code not in {"cancelled", "suspended"}:
            break
        count, reasons[:] = 0, ([at] if at else [])
        result = await world.restore(real_runner=True)
        check(result, spent, seen[0])
    assert result.status.code in {"ok", "error"}


@settings(max_examples=60, deadline=None)
@given(plan=tasks, at=st.integers(0, 200), expert_ends=st.booleans())
async def test_p_12_after_a_crash_the_total_goes_on_from_the_saved_one(plan, at, expert_ends):
    world, specs = world_of(plan, expert_ends)
    await world.run(*specs, real_runner=True)
    at %= len(world.store.saved)
    saved = world.store.saved[at]["omaDesktop"]["usage"]
    other = world.crashed(at)
    watch(other)
    spent = Spent(other)
    result = await other.restore(real_runner=True)
    assert result.total_usage == add_usage(saved, spent.usage)
    more = (spent.usage["input_tokens"] * 10 + spent.usage["output_tokens"] * 100) / 1e6
    assert result.total_cost == pytest.approx(saved["cost"] + more)


@pytest.mark.parametrize("checkpoint", [True, None])
async def test_the_results_of_tasks_hold_the_usage_of_their_delegations(checkpoint):
    plan = [([(["both", "ask deep"], "text")], 0), ([(["look"], "503"), (["look"], "text")], 1)]
    world, specs = world_of(plan, expert_ends=True)
    spent = Spent(world)
    result = await world.run(*specs, real_runner=True, checkpoint=checkpoint)
    assert result.success
    whole = no_usage()
    for row in result.task_results.values():
        whole = add_usage(whole, row["tokenUsage"])
    assert whole == spent.usage == result.total_usage
