"""Limits as failures, ids, parallel calls, local servers (engine.md 3.4, 3.8, 8.5; DEV-18)."""

import copy
from dataclasses import replace
from pathlib import Path

import pytest

from oma_desktop.engine.agent_defaults import with_defaults
from oma_desktop.engine.cancel import StopReason
from oma_desktop.model.runfile import RunFile
from tests.core.engine.runner_world import Probe, World, problem, results_of, say

THREE = tuple((f"c{i}", "look", {"q": i}) for i in range(3))


# -- DEV-18 -----------------------------------------------------------------------------------


async def test_dev_18_the_turn_limit_is_a_failure_where_the_agent_says_so():
    options = {"maxTurns": 1, "failOn": ["MAX_TURNS_REACHED"]}
    world = World(say("looking", *THREE), tools=[Probe().spec()], **options)
    result = await world.run()
    assert (result.success, result.status.code) == (False, "error")
    assert (result.error_info.code, result.error_info.retryable) == ("MAX_TURNS_REACHED", False)
    assert result.token_usage == {"input_tokens": 10, "output_tokens": 1}
    assert world.ledger.trace()[-1] == "B5"
    again = World(say("never"), tools=[Probe().spec()], **options)
    resumed = await again.run(resume=world.ledger.last())
    assert resumed.error_info == result.error_info


async def test_dev_18_a_cut_answer_is_a_failure_and_no_answer_to_resume_from():
    options = {"failOn": ["OUTPUT_TRUNCATED"]}
    world = World(say("half an ans", stop="max_tokens"), **options)
    result = await world.run()
    assert (result.success, result.error_info.code) == (False, "OUTPUT_TRUNCATED")
    assert result.token_usage == {"input_tokens": 10, "output_tokens": 1}
    assert world.ledger.trace() == [], "a resume must not find it as a final answer"


async def test_dev_18_each_limit_is_chosen_on_its_own():
    world = World(say("half", stop="max_tokens"), failOn=["MAX_TURNS_REACHED"])
    result = await world.run()
    assert (result.success, result.warnings) == (True, ("OUTPUT_TRUNCATED",))


@pytest.mark.parametrize(
    ("own", "expected"), [(None, ["OUTPUT_TRUNCATED"]), ([], []), (["MAX_TURNS_REACHED"],) * 2]
)
def test_dev_18_agents_that_say_nothing_take_what_the_orchestrator_says(own, expected):
    agent = {"name": "a"} if own is None else {"name": "a", "failOn": own}
    run_file = RunFile.model_validate(
        {
            "team": {"name": "t", "agents": [agent]},
            "orchestrator": {"failOn": ["OUTPUT_TRUNCATED"]},
        }
    )
    team = with_defaults(run_file.team, run_file, Path("/nowhere"))
    assert team.agents[0].fail_on == expected


# -- ids and parallel calls -------------------------------------------------------------------


async def test_dev_02_empty_and_repeated_ids_are_fixed_before_anything_is_saved():
    calls = [("", "look", {"q": 0}), ("x", "look", {"q": 1}), ("x", "look", {"q": 2})]
    probe = Probe(answer=lambda i, _c: str(i["q"]))
    world = World(say("", *calls), say("done"), tools=[probe.spec()])
    await world.run()
    ids = [p["call"]["id"] for p in world.ledger.saves[0][1]["pendingToolCalls"]]
    assert ids == ["call_new1", "x", "x_2"]
    assert sorted(probe.ids) == sorted(ids)
    sent = results_of(world.model.requests[1].messages[-1])
    assert [(call_id, said) for call_id, said, _ in sent] == list(zip(ids, "012", strict=True))
    for _, entry in world.ledger.saves:
        assert '"id": ""' not in str(entry).replace("'", '"')


@pytest.mark.parametrize("limit", [1, 2, 3])
async def test_dev_21_at_most_so_many_calls_at_once_results_in_order(limit):
    world = World(say("", *THREE), say("done"), parallel=limit)
    probe = Probe(
        clock=world.clock,
        delays={"c0": 3, "c1": 2, "c2": 1},
        answer=lambda i, _c: str(i["q"]),
    )
    world = World(say("", *THREE), say("done"), tools=[probe.spec()], parallel=limit)
    probe.clock = world.clock
    await world.run()
    assert probe.most == limit
    sent = results_of(world.model.requests[1].messages[-1])
    assert [said for _, said, _ in sent] == ["0", "1", "2"]
    assert world.ledger.trace() == ["B1", "B2", "B2", "B2", "B5", "B6"]


async def test_idea_17_of_parallel_calls_only_the_missing_one_runs_again():
    turns = (say("", *THREE), say("done"))
    world = World(*turns, tools=[Probe().spec()])
    await world.run()
    state = copy.deepcopy(world.ledger.saves[3][1])
    del state["pendingToolCalls"][1]["commit"]
    probe = Probe()
    again = World(*turns, tools=[probe.spec()])
    result = await again.run(resume=state)
    assert probe.calls == [("c1", {"q": 1})]
    assert (result.success, len(result.tool_calls)) == (True, 3)


# -- DEV-09, idea 49 --------------------------------------------------------------------------


async def test_dev_09_what_a_run_used_is_kept_when_its_repair_ends_in_an_exception():
    schema = {"type": "object", "required": ["a"]}
    world = World(say("no json"), problem("gone"), outputSchema=schema)
    result = await world.run()
    assert (result.success, result.error_info.kind) == (False, "provider")
    assert result.token_usage == {"input_tokens": 10, "output_tokens": 1}


async def test_idea_49_one_time_limit_spans_both_passes():
    world = World(timeoutMs=10_000, outputSchema={"type": "object"})

    def after(seconds, text):
        async def turn(_request, _token):
            await world.clock.sleep(seconds)
            return say(text)

        return turn

    world.model.turns = (after(6, "no json"), after(6, "{}"))
    result = await world.run()
    assert (result.success, result.status.code) == (False, "timeout")
    assert result.structured is None


async def test_idea_49_a_caller_abort_beats_a_late_valid_answer():
    world = World(outputSchema={"type": "object"})

    async def late(_request, _token):
        world.token.stop(StopReason.CANCEL)
        return say("{}")

    world.model.turns = (say("no json"), late)
    result = await world.run()
    assert (result.success, result.status.code, result.structured) == (False, "cancelled", None)


async def test_p_12_a_repair_happens_after_a_restore_and_all_usage_counts():
    schema = {"outputSchema": {"type": "object", "required": ["a"]}}
    crashed = World(say("no json"), **schema)
    crashed.model.turns = (say("no json"), problem("gone"))
    await crashed.run()
    for number, (boundary, state) in enumerate(crashed.ledger.saves):
        world = World(say("no json"), say('{"a": 1}'), **schema)
        result = await world.run(resume=copy.deepcopy(state))
        assert (result.success, result.structured) == (True, {"a": 1}), (number, boundary)
        assert result.token_usage == {"input_tokens": 20, "output_tokens": 2}
        assert len(world.model.requests) == 1


# -- local servers ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("local", "tools", "turns", "warned"),
    [
        (True, True, [say("done")], True),
        (True, True, [say("", THREE[0]), say("done")], False),
        (True, False, [say("done")], False),
        (False, True, [say("done")], False),
    ],
)
async def test_a_local_model_that_ignores_its_tools_is_told_once(local, tools, turns, warned):
    world = World(*turns, tools=[Probe().spec()] if tools else [])
    world.model.is_local = local
    result = await world.run()
    assert result.success
    assert ("TOOLS_NOT_USED" in result.warnings) == warned
    assert len([e for e in world.of("warning") if e["code"] == "TOOLS_NOT_USED"]) == warned


# -- reasoning --------------------------------------------------------------------------------


async def test_reasoning_of_a_tool_turn_is_sent_back_and_saved_untouched():
    thought = {"type": "reasoning", "text": "hm", "signature": "sig==", "redactedData": "x"}
    first = say("", THREE[0])
    first = replace(first, content=[thought, *first.content])
    world = World(first, say("done"), tools=[Probe().spec()])
    await world.run()
    assert world.model.requests[1].messages[1]["content"][0] == thought
    assert world.ledger.last()["conversationMessages"][1]["content"][0] == thought


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, (False, None)),
        ({"preserveReasoningAsText": True}, (True, 1200)),
        ({"preserveReasoningAsText": True, "compressReasoningText": False}, (True, None)),
        ({"preserveReasoningAsText": True, "compressReasoningText": {"minChars": 9}}, (True, 9)),
    ],
)
async def test_how_reasoning_is_replayed_is_the_agents_choice(options, expected):
    world = World(say("done"), **options)
    await world.run()
    request = world.model.requests[0]
    assert (request.reasoning_as_text, request.reasoning_chars) == expected
