"""What a task is told first (engine.md 2.9), and what keeps it from being asked (idea 65)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from oma_desktop.engine.tasks.prompt import (
    PAYLOAD_LIMIT,
    Dependency,
    build_prompt,
    own_role,
    team_context,
)
from oma_desktop.model.team import AgentConfig
from tests.core.engine.run_world import RunWorld, ok, spec, statuses


def gives(value, output="text"):
    async def work(world, _agent, job):
        world.asked = [*getattr(world, "asked", []), job.task_title]
        if job.task_title == "A":
            return replace(ok(output), structured=value, has_structured=True)
        return ok()

    return work


async def consume(value, payload="structured", output="text", **facts):
    world = RunWorld(work=gives(value, output))
    result = await world.run(spec("A"), spec("B", "A", dependency_payload=payload, **facts))
    return world, result


async def test_structure_is_written_with_sorted_keys_numbers_first_and_no_odd_numbers():
    value = {"b": 1, "10": 0, "9": {"z": float("nan"), "a": [float("inf")]}, "é": "x"}
    world, _ = await consume(value)
    assert '{"9":{"a":[null],"z":null},"10":0,"b":1,"é":"x"}' in world.prompts["B"]


async def test_both_hands_on_text_and_structure():
    world, _ = await consume({"x": 1}, payload="both", output="the text")
    assert world.prompts["B"].index("the text") < world.prompts["B"].index('{"x":1}')


def cycle():
    value: dict[str, object] = {}
    value["self"] = value
    return value


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (cycle(), "DEPENDENCY_STRUCTURED_SERIALIZATION_FAILED"),
        ({"x": object()}, "DEPENDENCY_STRUCTURED_SERIALIZATION_FAILED"),
        ("x" * PAYLOAD_LIMIT, "DEPENDENCY_PAYLOAD_TOO_LARGE"),
    ],
)
async def test_idea_65_what_cannot_be_handed_on_fails_the_consumer_before_its_model(value, code):
    world = RunWorld(work=gives(value))
    tasks = [spec("A"), spec("B", "A", dependency_payload="structured", max_retries=3)]
    result = await world.run(*tasks)
    assert world.asked == ["A"]
    assert statuses(result) == {"A": "completed", "B": "failed"}
    [failed] = [e.data for e in world.of("error") if e.task == result.tasks[1]["id"]]
    info = failed["errorInfo"]
    assert (info["code"], info["kind"], info["retryable"]) == (code, "validation", False)
    assert world.of("task_retry") == []


async def test_idea_65_a_missing_structure_fails_the_consumer_and_what_waits_for_it():
    world = RunWorld()
    result = await world.run(spec("A"), spec("B", "A", dependency_payload="both"), spec("C", "B"))
    assert list(world.prompts) == ["A"]
    assert statuses(result) == {"A": "completed", "B": "failed", "C": "failed"}


@pytest.mark.parametrize(("length", "status"), [(0, "completed"), (1, "failed")])
async def test_idea_65_the_limit_is_64_kib_of_utf_8_exactly(length, status):
    text = "é" * (PAYLOAD_LIMIT // 2) + "x" * length
    _, result = await consume(None, payload="output", output=text)
    assert statuses(result)["B"] == status


async def test_a_payload_survives_a_restore():
    world, _ = await consume({"x": [1]})
    crashed = world.crashed(1)
    assert crashed.statuses()["A"] == "completed"
    crashed.prompts = {}
    await crashed.restore()
    assert '{"x":[1]}' in crashed.prompts["B"]


async def test_scope_all_tells_the_whole_memory_instead_of_outputs():
    world = RunWorld(memory=True)
    await world.run(
        spec("A", assignee="a"),
        spec("B", "A", assignee="b"),
        spec("C", "B", memory_scope="all", dependency_payload="structured"),
    )
    prompt = world.prompts["C"]
    assert "## Shared Team Memory" in prompt
    assert "A done" in prompt
    assert "What earlier tasks delivered" not in prompt


async def test_without_shared_memory_scope_all_still_gets_what_it_waited_for():
    world = RunWorld()
    await world.run(spec("A"), spec("B", "A", memory_scope="all"))
    assert "A done" in world.prompts["B"]


def test_the_parts_stand_in_order():
    roster = [AgentConfig(name="a", description="finds"), AgentConfig(name="b")]
    task = {"id": "2", "title": "T", "description": "do it"}
    done = {"id": "1", "title": "Before", "assignee": "a", "result": "found", "status": "completed"}
    text = build_prompt(
        task,
        dependencies=[Dependency(done, None)],
        memory_summary=None,
        messages=[{"from": "a", "content": "hello"}],
        team_context=own_role(team_context("win", roster), "b"),
    )
    order = ["Goal of the whole run: win", "- a: finds", "You are b", "# Task: T", "do it", "found"]
    places = [text.index(part) for part in [*order, "hello"]]
    assert places == sorted(places)


def test_without_reveal_nothing_is_told_of_the_team():
    task = {"id": "2", "title": "T", "description": "do it"}
    text = build_prompt(task, dependencies=[], memory_summary=None, messages=[], team_context=None)
    assert text == "# Task: T\n\ndo it"
    assert own_role(None, "b") is None
