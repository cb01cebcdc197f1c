"""Functions of the team inside a run: before, after, on loops (engine.md 3.7, 3.11)."""

import asyncio
from dataclasses import replace

import pytest

from oma_desktop.engine.agents.hooks import AgentHooks
from oma_desktop.engine.agents.loop_detection import LoopInfo
from oma_desktop.engine.cancel import StopReason
from oma_desktop.model.result import RunStatus
from tests.core.engine.runner_world import Probe, World, problem, say

CALL = ("c1", "look", {"q": 1})
LOOPING = [say("", (f"c{i}", "look", {"q": 1})) for i in range(8)]
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}


def sent(world, request=0, message=0):
    return world.model.requests[request].messages[message]["content"]


# -- beforeRun --------------------------------------------------------------------------------


async def test_before_run_gets_a_copy_and_the_agent_without_hooks():
    seen = []

    def look(before):
        seen.append(before)
        before.messages[0]["content"].append({"type": "text", "text": "spoilt"})

    world = World(say("done"), hooks=AgentHooks(before_run=look), beforeRun="m:f", afterRun="m:g")
    result = await world.run(prompt="# Task")
    assert result.success
    assert seen[0].prompt == "# Task"
    assert (seen[0].agent.before_run, seen[0].agent.after_run) == (None, None)
    assert sent(world) == [{"type": "text", "text": "# Task"}]


async def test_before_run_may_change_the_prompt_and_keeps_the_order_of_the_rest():
    async def change(before):
        return replace(before, prompt="other")

    world = World(say("done"), hooks=AgentHooks(before_run=change))
    said = [IMAGE, {"type": "text", "text": "a"}, IMAGE, {"type": "text", "text": "b"}]
    await world.run(prompt=[{"role": "user", "content": said}])
    assert sent(world) == [IMAGE, {"type": "text", "text": "other"}, IMAGE]


async def test_before_run_messages_count_first_then_the_prompt():
    def change(before):
        talk = [{"role": "user", "content": [{"type": "text", "text": "new"}]}]
        return replace(before, prompt="asked", messages=talk)

    world = World(say("", CALL), say("done"), tools=[Probe().spec()])
    world.team = replace(world.team, hooks={"w": AgentHooks(before_run=change)})
    result = await world.run()
    assert sent(world) == [{"type": "text", "text": "asked"}]
    assert result.entry["conversationMessages"][0]["content"] == sent(world)


async def test_before_run_is_skipped_by_a_resume():
    calls = []
    world = World(say("", CALL), say("done"), tools=[Probe().spec()])
    await world.run()
    state = world.ledger.saves[0][1]
    again = World(say("", CALL), say("done"), tools=[Probe().spec()])
    again.team = replace(again.team, hooks={"w": AgentHooks(before_run=calls.append)})
    assert (await again.run(resume=state)).success
    assert calls == []


ENDS_WITH_THE_MODEL = [
    {"role": "user", "content": [{"type": "text", "text": "a"}]},
    {"role": "assistant", "content": [{"type": "text", "text": "b"}]},
]
RESULT_OF_NOTHING = [
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "x", "content": "y"}]},
]


@pytest.mark.parametrize("messages", [[], ENDS_WITH_THE_MODEL, RESULT_OF_NOTHING, [{"role": "x"}]])
async def test_before_run_may_not_leave_a_conversation_no_model_can_answer(messages):
    hook = AgentHooks(before_run=lambda before: replace(before, messages=messages))
    world = World(say("never"), hooks=hook)
    assert (await world.run()).error_info.code == "HOOK_FAILED"
    assert world.model.requests == []


@pytest.mark.parametrize("answer", ["text", ValueError("no"), 3])
async def test_before_run_that_fails_fails_the_run_before_any_call(answer):
    def bad(_before):
        if isinstance(answer, Exception):
            raise answer
        return answer

    world = World(say("never"), hooks=AgentHooks(before_run=bad))
    result = await world.run()
    assert (result.success, result.error_info.kind) == (False, "callback")
    assert world.model.requests == []


async def test_a_hook_that_never_ends_is_left_at_the_time_limit():
    async def hang(_before):
        await asyncio.Event().wait()

    world = World(say("never"), hooks=AgentHooks(before_run=hang), timeoutMs=5000)
    result = await world.run()
    assert (result.status.code, result.error_info.retryable) == ("timeout", True)


# -- afterRun ---------------------------------------------------------------------------------


async def test_after_run_may_replace_the_answer_but_not_the_facts():
    def change(result):
        result.messages.clear()
        return replace(result, output="better", token_usage={"input_tokens": 0, "output_tokens": 0})

    world = World(say("done"), hooks=AgentHooks(after_run=change))
    result = await world.run()
    assert (result.success, result.output) == (True, "better")
    assert result.token_usage == {"input_tokens": 10, "output_tokens": 1}
    assert result.entry["finalOutput"] == "done"


@pytest.mark.parametrize(
    "answer", ["text", 3, lambda r: replace(r, output=None), lambda r: replace(r, structured={1j})]
)
async def test_after_run_must_give_a_result_that_can_be_kept(answer):
    hook = AgentHooks(after_run=lambda r: answer(r) if callable(answer) else answer)
    result = await World(say("done"), hooks=hook).run()
    assert (result.success, result.error_info.code) == (False, "HOOK_FAILED")


async def test_what_a_hook_raises_is_masked_before_it_is_stored():
    def leak(_before):
        raise ValueError("bad key sk-proj-abcdefghijklmnopqrstuvwx1234567890")

    result = await World(say("never"), hooks=AgentHooks(before_run=leak)).run()
    assert "abcdefghijklmnop" not in result.error_info.message
    assert "ValueError" in result.error_info.message


@pytest.mark.parametrize(
    ("change", "success", "code"),
    [
        ({"success": False}, False, "error"),
        ({"success": True, "status": RunStatus("error")}, True, "ok"),
        ({"success": False, "status": RunStatus("rejected")}, False, "rejected"),
    ],
)
async def test_after_run_success_and_status_are_made_to_agree(change, success, code):
    world = World(say("done"), hooks=AgentHooks(after_run=lambda r: replace(r, **change)))
    result = await world.run()
    assert (result.success, result.status.code) == (success, code)


async def test_after_run_cannot_undo_a_budget():
    hook = AgentHooks(after_run=lambda r: replace(r, success=True, budget_exceeded=False))
    result = await World(say("done"), hooks=hook, maxTokenBudget=5).run()
    assert (result.success, result.status.code) == (False, "budget_exhausted")
    assert result.budget_exceeded


async def test_after_run_is_not_called_for_failures_suspensions_and_stops():
    calls = []
    hook = AgentHooks(after_run=calls.append)
    assert not (await World(problem(), hooks=hook).run()).success
    schema = {"type": "object"}
    assert not (await World(say("no json"), hooks=hook, outputSchema=schema).run()).success
    stopped = World(say("never"), hooks=hook)
    stopped.token.stop(StopReason.CANCEL)
    await stopped.run()
    suspended = World(say("never"), hooks=hook)
    suspended.token.stop(StopReason.SUSPEND)
    assert (await suspended.run()).suspended
    assert calls == []


async def test_after_run_runs_again_when_a_completed_state_is_resumed():
    world = World(say("done"))
    await world.run()
    calls = []
    again = World(problem(), hooks=AgentHooks(after_run=calls.append))
    result = await again.run(resume=world.ledger.last())
    assert (result.output, len(calls)) == ("done", 1)


async def test_after_run_that_fails_fails_the_run_and_keeps_the_usage():
    def bad(_result):
        raise ValueError("no")

    result = await World(say("done"), hooks=AgentHooks(after_run=bad)).run()
    assert (result.success, result.error_info.kind) == (False, "callback")
    assert result.token_usage == {"input_tokens": 10, "output_tokens": 1}


async def test_idea_49_a_limit_that_passes_during_after_run_wins():
    world = World(say("done"), timeoutMs=5000)

    async def slow(result):
        await world.clock.sleep(6)
        return result

    world.team = replace(world.team, hooks={"w": AgentHooks(after_run=slow)})
    assert (await world.run()).status.code == "timeout"


# -- loops ------------------------------------------------------------------------------------


@pytest.mark.parametrize("action", ["warn", "inject"])
async def test_idea_48_a_loop_hook_may_warn(action):
    seen = []

    async def decide(info):
        seen.append(info)
        return action if len(seen) == 1 else "terminate"

    world = World(
        *LOOPING, tools=[Probe().spec()], hooks=AgentHooks(on_loop=decide), loopDetection={}
    )
    result = await world.run()
    assert result.loop_detected
    assert isinstance(seen[0], LoopInfo)
    assert (seen[0].kind, seen[0].repetitions, seen[0].turn) == ("tool_repetition", 3, 3)
    assert '"look"' in seen[0].detail.replace('\\"', '"')
    assert [b["type"] for b in sent(world, 3, -1)] == ["tool_result", "text"]
    assert len(seen) == 2


async def test_a_loop_hook_may_let_go_on():
    world = World(
        *LOOPING,
        tools=[Probe().spec()],
        hooks=AgentHooks(on_loop=lambda _info: "continue"),
        loopDetection={"onLoopDetected": "terminate"},
        maxTurns=6,
    )
    result = await world.run()
    assert (result.success, result.loop_detected) == (True, False)
    assert len(world.model.requests) == 6
    assert world.of("loop_detected") == []


async def test_a_loop_hook_may_end_it_before_any_tool_use_is_told():
    told = []
    probe = Probe()
    world = World(
        *LOOPING,
        tools=[probe.spec()],
        hooks=AgentHooks(on_loop=lambda _info: "terminate"),
        on_stream=told.append,
        loopDetection={},
    )
    result = await world.run()
    assert result.loop_detected
    kinds = [event.type for event in told]
    assert kinds.count("tool_use") == kinds.count("tool_result") == len(probe.calls) == 2


@pytest.mark.parametrize("answer", [None, "stop", ValueError("no")])
async def test_a_loop_hook_that_fails_fails_the_run(answer):
    def bad(_info):
        if isinstance(answer, Exception):
            raise answer
        return answer

    world = World(*LOOPING, tools=[Probe().spec()], hooks=AgentHooks(on_loop=bad), loopDetection={})
    result = await world.run()
    assert (result.success, result.error_info.code) == (False, "HOOK_FAILED")
    assert len(result.messages) == 5
