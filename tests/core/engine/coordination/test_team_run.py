"""A goal from its plan to its answer, by scripted models (engine.md 4)."""

import json

import pytest

from oma_desktop.model.errors import InvalidInput
from oma_desktop.model.result_document import result_document
from oma_desktop.model.runfile import Coordinator
from tests.core.engine.run_world import RunWorld, statuses

GOAL = "First find three venues, then draft a budget and finally build the agenda"
PLAN = [
    {"title": "Venues", "description": "Find three venues.", "assignee": "scout"},
    {"title": "Budget", "description": "Draft a budget.", "assignee": "clerk"},
    {"title": "Agenda", "description": "Build it.", "dependsOn": ["venues ", "Budget"]},
]


def turn(text, tokens=10):
    return {"text": text, "usage": {"input_tokens": tokens, "output_tokens": 1}}


def script(plan=PLAN, *, synthesis="All set.", **extra):
    plans = plan if isinstance(plan, list) and plan and "text" in plan[0] else [turn_of(plan)]
    return {
        "team": {"name": "desk", "sharedMemory": "memory"},
        "agents": [
            {"name": "scout", "description": "Finds venues."},
            {"name": "clerk", "description": "Counts money."},
        ],
        "replies": {
            "@decompose": plans,
            "@synthesis": [turn(synthesis, 100)],
            "@default": [turn("done")],
        },
        **extra,
    }


def turn_of(plan):
    return turn(json.dumps(plan), 50)


async def test_a_goal_is_planned_done_and_summed_up():
    world = RunWorld(script=script())
    result = await world.run_team(GOAL)
    assert result.success
    assert statuses(result) == {"Venues": "completed", "Budget": "completed", "Agenda": "completed"}
    assert result.final_answer == "All set."
    assert result.goal == GOAL
    assert world.snapshot()["mode"] == "runTeam"
    assert world.snapshot()["goal"] == GOAL
    assert result.log["modelCalls"][0] == "coordinator | @decompose | turn 0"
    assert result.log["modelCalls"][-1] == "coordinator | @synthesis | turn 0"


async def test_dev_13_the_answer_is_kept_apart_from_the_plan():
    world = RunWorld(script=script())
    result = await world.run_team(GOAL)
    document = result_document(result)
    assert document["finalAnswer"] == "All set."
    assert document["coordinatorOutput"] == json.dumps(PLAN) + "\n\n---\n\n" + "All set."


async def test_plan_only_gives_the_plan_and_runs_nothing():
    world = RunWorld(script=script())
    result = await world.run_team("hi", plan_only=True)
    assert result.success
    assert result.plan_only
    assert set(statuses(result).values()) == {"pending"}
    assert all("assignee" in t for t in result.tasks)
    assert result.metrics is None
    assert result.total_usage == {"input_tokens": 50, "output_tokens": 1}
    assert result.log["modelCalls"] == ["coordinator | @decompose | turn 0"]
    assert world.store.list() == [], "a restore must not run what was only to be planned"


async def test_one_agent_alone_makes_no_plan():
    world = RunWorld(script=script())
    with pytest.raises(InvalidInput) as refused:
        await world.run_team(GOAL, mode="single", plan_only=True)
    assert refused.value.code == "RUN_MODE_CONFLICT"


async def test_a_coordinator_without_a_model_is_not_needed_for_a_script():
    world = RunWorld(script=script())
    result = await world.run_team(GOAL, coordinator=Coordinator(model="m", instructions="Be brief"))
    assert result.success
