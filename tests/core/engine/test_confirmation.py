"""Consequential calls that nobody confirmed (engine.md 5.7, DEV-16)."""

import json
from dataclasses import replace

import pytest

from oma_desktop.engine.tools.gate import Gates
from oma_desktop.model.governance import Governance
from oma_desktop.model.result_document import result_document
from tests.core.engine.run_world import RunWorld, spec, statuses

SCRIPT = {
    "team": {"name": "t"},
    "agents": [{"name": "a", "tools": ["act"]}, {"name": "b", "tools": ["act"]}],
    "orchestrator": {"requireConsequentialConfirmation": True},
    "tools": {"act": {"consequential": True, "results": {"*": {"data": "acted"}}}},
    "replies": {
        title: [
            {"text": "", "tools": [{"id": f"c-{title}", "name": "act", "input": {}}]},
            {"text": f"{title} is done"},
        ]
        for title in ("A", "B")
    },
}
PLAN = (spec("A", assignee="a"), spec("B", "A", assignee="b"))


async def goal_run(script, **facts):
    """A run of a goal as it stands before its first task, saved."""
    first = RunWorld(script=script)
    await first.run(*PLAN, real_runner=True)
    world = first.crashed(at=0)
    world.forget_events()
    (entry,) = [e for e in world.store.list() if "checkpoint" in e.key]
    document = {**json.loads(entry.value), "mode": "runTeam", "goal": "g"}
    document["omaDesktop"] = {**document["omaDesktop"], **facts}
    world.store.set(entry.key, json.dumps(document))
    return world


def ran(world):
    return [event.data["toolCallId"] for event in world.of("tool_start")]


async def test_dev_16_every_worker_of_a_goal_is_guarded_at_the_executor():
    world = await goal_run(SCRIPT)
    result = await world.restore(real_runner=True)
    assert ran(world) == []
    assert (result.status.code, result.status.message) == ("rejected", "CONFIRMATION_MISSING")
    assert result.confirmation_required
    assert result.flags == ("consequential-no-independence",)
    document = result_document(result)
    assert document["confirmationRequired"] is True
    assert document["flags"] == ["consequential-no-independence"]
    told = [e.data["tool"] for e in world.of("warning") if e.data["code"] == "CONFIRMATION_MISSING"]
    assert told == ["act", "act"]


async def test_a_refusal_is_not_forgotten_by_the_next_restore():
    world = await goal_run(SCRIPT)
    await world.restore(real_runner=True)
    again = await world.restore(real_runner=True)
    assert (again.status.code, again.confirmation_required) == ("rejected", True)


@pytest.mark.parametrize("approved", [True, False])
async def test_an_approved_plan_counts_also_after_a_crash(approved):
    world = await goal_run(SCRIPT, confirmation={"planApproved": approved})
    result = await world.restore(real_runner=True)
    assert ran(world) == (["c-A", "c-B"] if approved else [])
    assert result.confirmation_required is not approved
    saved = world.snapshot()["omaDesktop"]["confirmation"]
    assert saved == ({"planApproved": True} if approved else {"missing": ["act", "act"]})


async def test_a_gate_for_tools_decides_alone():
    gated = {**SCRIPT, "gates": {"tool": {"*": "allow"}}}
    world = await goal_run(gated)
    result = await world.restore(real_runner=True)
    assert ran(world) == ["c-A", "c-B"]
    assert not result.confirmation_required


async def test_tasks_a_person_wrote_are_exempt():
    world = RunWorld(script=SCRIPT)
    result = await world.run(*PLAN, real_runner=True)
    assert ran(world) == ["c-A", "c-B"]
    assert (result.status.code, result.flags, result.confirmation_required) == ("ok", (), False)
    assert "confirmationRequired" not in result_document(result)


async def test_a_host_may_ask_for_it_everywhere():
    world = RunWorld(script=SCRIPT)
    world.team = replace(world.team, gates=Gates(confirm_consequential=True))
    result = await world.run(*PLAN, real_runner=True)
    assert ran(world) == []
    assert result.status.code == "rejected"
    assert statuses(result) == {"A": "completed", "B": "completed"}


# --- whole runs of a goal ------------------------------------------------------------------------

PLANNED = json.dumps(
    [
        {"title": "A", "description": "do A", "assignee": "a"},
        {"title": "B", "description": "do B", "assignee": "b", "dependsOn": ["A"]},
    ]
)
GOAL = "First find facts, then write the report, then review each other's work."


def goal_script(**gates):
    replies = {
        **SCRIPT["replies"],
        "@decompose": [{"text": PLANNED}],
        "@synthesis": [{"text": "x"}],
    }
    return {**SCRIPT, "coordinator": True, "replies": replies, "gates": gates}


async def test_nobody_asked_about_a_goal_rejects_the_run():
    world = RunWorld(script=goal_script())
    result = await world.run_team(GOAL)
    assert ran(world) == []
    assert (result.status.code, result.confirmation_required) == ("rejected", True)
    assert result.flags == ("consequential-no-independence",)


async def test_a_plan_that_was_let_through_is_the_confirmation():
    world = RunWorld(script=goal_script(plan="allow"))
    result = await world.run_team(GOAL)
    assert ran(world) == ["c-A", "c-B"]
    assert (result.status.code, result.confirmation_required) == ("ok", False)
    assert result.flags == ("consequential-no-independence",)
    crashed = world.crashed(at=0)  # the plan gate is not asked again, and need not be
    crashed.forget_events()
    await crashed.restore(real_runner=True)
    assert ran(crashed) == ["c-A", "c-B"]


async def test_idea_38_an_approved_plan_is_confirmed_after_the_restore_too():
    world = RunWorld(script=goal_script(plan="suspend"))
    result = await world.run_team(GOAL)
    assert result.status.code == "suspended"
    world.decide()
    world.forget_events()
    result = await world.restore(real_runner=True)
    assert ran(world) == ["c-A", "c-B"]
    assert not result.confirmation_required


async def test_a_declared_governance_takes_its_place_and_is_remembered():
    roles = Governance(intent="required", roles=("a", "b"))
    world = RunWorld(script=goal_script())
    result = await world.run_team(GOAL, governance=roles)
    assert (result.flags, result.confirmation_required) == ((), False)
    crashed = world.crashed(at=0)
    assert crashed.snapshot()["omaDesktop"]["confirmation"] == {"governed": True}
    result = await crashed.restore(real_runner=True)
    assert (result.flags, result.confirmation_required) == ((), False)


async def test_one_agent_with_a_simple_goal_is_guarded_too():
    script = goal_script()
    script["replies"]["@default"] = script["replies"]["A"]
    world = RunWorld(script=script)
    result = await world.run_team("Say hello")
    assert result.routing["mode"] == "single"
    assert ran(world) == []
    assert (result.status.code, result.confirmation_required) == ("rejected", True)
    harmless = {**script, "agents": [{"name": "a"}, {"name": "b", "tools": ["act"]}]}
    result = await RunWorld(script=harmless).run_team("Say hello")
    assert result.flags == ()  # who may act does not act here
