"""A call that may have started is never listed as "will run" (ux.md C8; formats.md 2.12)."""

from __future__ import annotations

import json

import pytest

from oma_desktop.engine.agents.boundaries import Boundary
from oma_desktop.engine.cancel import CancelToken, StopReason
from oma_desktop.model.call_ledger import call_state, calls_of_entry
from oma_desktop.model.resume_rules import resume_plan
from oma_desktop.model.run_facts import gather
from oma_desktop.model.view import CallState
from tests.core.engine.run_world import RunWorld, bad, spec, statuses

SLOW = {
    "team": {"name": "x"},
    "orchestrator": {"maxConcurrency": 2},
    "agents": [{"name": "a", "tools": ["look"]}],
    "tools": {"look": {"schema": {}, "results": {"*": {"data": "seen", "delayMs": 60_000}}}},
    "replies": {"A": [{"tools": [{"id": "c0", "name": "look", "input": {}}]}, {"text": "end"}]},
}


def stop_at(world, type_, nth, reason):
    seen = []

    def hear(event):
        if event.type == type_:
            seen.append(event)
            if len(seen) == nth:
                world.token.stop(reason)

    world.bus.subscribe(hear)


def plan_of(world):
    return resume_plan(world.snapshot(), {r["request"]["id"]: r for r in world.ledger().list()})


def ids(calls):
    return [call.call_id for call in calls]


async def test_an_agents_time_limit_after_a_suspend_fails_the_task():
    script = {**SLOW, "agents": [{"name": "a", "tools": ["look"], "timeoutMs": 1000}]}
    world = RunWorld(script=script)
    stop_at(world, "tool_start", 1, StopReason.SUSPEND)
    result = await world.run(spec("A", assignee="a"), real_runner=True)
    assert ids_started(world) == ["c0"]
    assert not world.of("tool_end")
    assert statuses(result) == {"A": "failed"}
    assert not plan_of(world).calls_will_run
    assert "unsure" not in world.snapshot()["omaDesktop"]


async def test_with_a_try_left_it_waits_and_its_call_is_in_doubt():
    script = {**SLOW, "agents": [{"name": "a", "tools": ["look"], "timeoutMs": 1000}]}
    world = RunWorld(script=script)
    stop_at(world, "tool_start", 1, StopReason.SUSPEND)
    result = await world.run(spec("A", assignee="a", max_retries=1), real_runner=True)
    assert (result.status.code, statuses(result)) == ("suspended", {"A": "in_progress"})
    plan = plan_of(world)
    assert (ids(plan.may_run_twice), plan.calls_will_run) == (["c0"], ())


def ids_started(world):
    return [e.data["toolCallId"] for e in world.of("tool_start")]


async def test_a_call_given_up_under_a_suspend_is_in_doubt():
    """Whatever aborts an agent while the run only suspends: its open calls may have begun."""
    entries = {}

    async def work(world, _agent, job):
        world.token.stop(StopReason.SUSPEND)
        await job.boundaries.save({**entries["A"], "taskId": job.task_id}, Boundary.TOOLS_REQUESTED)
        return bad("stopped", aborted=True)

    first = RunWorld(script=SLOW)
    stop_at(first, "tool_start", 1, StopReason.CANCEL)
    await first.run(spec("A", assignee="a"), real_runner=True)
    entries["A"] = first.snapshot()["inFlightTasks"][0]
    world = RunWorld(agents=["a"], work=work)
    result = await world.run(spec("A", assignee="a"))
    assert result.status.code == "suspended"
    plan = plan_of(world)
    assert (ids(plan.may_run_twice), plan.calls_will_run) == (["c0"], ())


async def killed_while_c0_runs():
    world = RunWorld(script=SLOW)
    await world.run(spec("A", assignee="a"), real_runner=True)
    at = next(i for i, s in enumerate(world.store.saved) if has_open_call(s))
    return world.crashed(at)


def has_open_call(snapshot):
    entries = snapshot.get("inFlightTasks", [])
    return any("commit" not in c for e in entries for c in e.get("pendingToolCalls", []))


async def test_a_suspend_after_a_crash_does_not_hide_what_may_have_started():
    world = await killed_while_c0_runs()
    assert ids(plan_of(world).may_run_twice) == ["c0"]
    for _ in range(2):  # the second restore starts from the fact the first one wrote
        world.token = CancelToken()
        world.token.stop(StopReason.SUSPEND)
        world.store.saved.clear()
        result = await world.restore(real_runner=True, fresh=False)
        assert result.status.code == "suspended"
        task_id = world.snapshot()["inFlightTasks"][0]["taskId"]
        noted = [{"taskId": task_id, "toolCallId": "c0"}]
        assert world.store.saved
        assert all(s["omaDesktop"]["unsure"] == noted for s in world.store.saved)
        plan = plan_of(world)
        assert (ids(plan.may_run_twice), plan.calls_will_run) == (["c0"], ())
        (row,) = calls_shown(world, task_id)
        assert row is CallState.OUTCOME_UNKNOWN


def calls_shown(world, task_id):
    snapshot = world.snapshot()
    facts = gather(snapshot, {}, live=False)
    calls = calls_of_entry(snapshot["inFlightTasks"][0])
    return [call_state(c, facts, task_id=task_id) for c in calls]


async def test_a_result_ends_the_doubt():
    world = await killed_while_c0_runs()
    stop_at(world, "tool_end", 1, StopReason.SUSPEND)
    result = await world.restore(real_runner=True)
    assert result.status.code == "suspended"
    assert "unsure" in world.store.saved[0]["omaDesktop"]
    assert "unsure" not in world.snapshot()["omaDesktop"]


@pytest.mark.parametrize("junk", [7, {}, [3, {"taskId": "t"}, {"taskId": 1, "toolCallId": []}]])
async def test_an_unusable_note_of_doubt_is_left_out(junk):
    world = await killed_while_c0_runs()
    entry = next(e for e in world.store.list() if "checkpoint" in e.key)
    document = json.loads(entry.value)
    document["omaDesktop"] |= {"unsure": junk, "end": {"status": "suspended", "at": "", "by": "x"}}
    world.store.set(entry.key, json.dumps(document), entry.metadata)
    assert ids(plan_of(world).calls_will_run) == ["c0"]
    assert (await world.restore(real_runner=True)).success
