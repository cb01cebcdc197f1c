"""The turn loop: saves, limits, budgets, loops, repairs (engine.md 3.2, 3.6-3.10; 13)."""

import asyncio

import pytest

from oma_desktop.base.supervisor import Supervisor
from oma_desktop.engine.cancel import StopReason
from oma_desktop.engine.tools.registry import ToolOutput
from tests.core.engine.runner_world import (
    Probe,
    World,
    problem,
    results_of,
    say,
    until_stopped,
)

TWO = (("c1", "look", {"q": "a"}), ("c2", "look", {"q": "b"}))


async def test_save_trace_of_a_two_call_round_is_that_of_the_format():
    tool = Probe()
    world = World(say("looking", *TWO), say("done"), tools=[tool.spec()])
    result = await world.run()
    assert world.ledger.trace() == ["B1", "B2", "B2", "B5", "B6"]
    phases = [entry["phase"] for _, entry in world.ledger.saves]
    assert phases == ["executing_tools"] * 3 + ["awaiting_model", "completed"]
    committed = [
        sum("commit" in p for p in entry.get("pendingToolCalls", []))
        for _, entry in world.ledger.saves
    ]
    assert committed == [0, 1, 2, 0, 0]
    assert (result.success, result.output, result.status.code) == (True, "done", "ok")
    assert result.token_usage == {"input_tokens": 20, "output_tokens": 2}
    assert result.entry["finalOutput"] == "done"
    assert [r["toolName"] for r in result.tool_calls] == ["look", "look"]


async def test_entry_has_the_keys_and_order_of_the_peer():
    world = World(say("looking", *TWO), say("done"), tools=[Probe().spec()])
    await world.run()
    assert list(world.ledger.saves[0][1]) == [
        "taskId",
        "assignee",
        "phase",
        "conversationMessages",
        "messages",
        "tokenUsage",
        "toolCalls",
        "turns",
        "pendingToolCalls",
    ]
    assert list(world.ledger.last())[-2:] == ["turns", "finalOutput"]


async def test_an_entry_once_saved_is_never_changed_afterwards():
    seen = []

    class Keeping(type(World(say("x")).ledger)):
        async def save(self, entry, boundary):
            seen.append(entry)
            await super().save(entry, boundary)

    world = World(say("looking", *TWO), say("done"), tools=[Probe().spec()])
    world.ledger = Keeping()
    await world.run()
    assert seen == [entry for _, entry in world.ledger.saves]


async def test_results_go_back_in_call_order_with_the_ids_of_the_provider():
    world = World(say("", *TWO), say("done"))
    tool = Probe(clock=world.clock, delays={"c1": 5, "c2": 1}, answer=lambda i, _c: i["q"])
    world = World(say("", *TWO), say("done"), tools=[tool.spec()])
    tool.clock = world.clock
    await world.run()
    sent = world.model.requests[1].messages[-1]
    assert results_of(sent) == [("c1", "a", False), ("c2", "b", False)]


async def test_drafts_are_told_but_only_whole_turns_enter_the_conversation():
    world = World(say("one two", *TWO), say("done"), tools=[Probe().spec()])
    await world.run()
    assert [d["text"] for d in world.of("text_delta")] == ["one two", "done"]
    broken = World(problem("cut"))
    result = await broken.run()
    assert result.messages == []
    assert broken.ledger.saves == []


async def test_dev_09_a_model_failure_is_a_result_with_the_facts_and_the_usage_so_far():
    world = World(say("looking", *TWO), problem("no", 400), tools=[Probe().spec()])
    result = await world.run()
    assert not result.success
    assert (result.status.code, result.output) == ("error", "no")
    info = result.error_info
    assert (info.kind, info.http_status, info.provider) == ("provider", 400, "fake")
    assert result.token_usage == {"input_tokens": 10, "output_tokens": 1}
    assert result.entry["phase"] == "awaiting_model"


async def test_a_stream_without_a_reply_is_an_error_not_an_empty_turn():
    async def nothing(_request, _token):
        return None

    result = await World(nothing).run()
    assert result.error_info.code == "MODEL_REPLY_MISSING"


async def test_error_messages_are_cut_to_1024():
    result = await World(problem("x" * 5000)).run()
    assert len(result.error_info.message) == 1024
    assert len(result.status.message) == 256


async def test_dev_18_turn_limit_is_a_success_with_a_warning_and_is_not_saved():
    world = World(say("try", TWO[0]), say("again", TWO[0]), tools=[Probe().spec()], maxTurns=2)
    result = await world.run()
    assert (result.success, result.output) == (True, "again")
    assert result.warnings == ("MAX_TURNS_REACHED",)
    assert len(world.model.requests) == 2
    assert world.ledger.trace() == ["B1", "B2", "B5", "B1", "B2", "B5"]
    assert {"code": "MAX_TURNS_REACHED"} in world.of("warning")


async def test_dev_18_a_cut_answer_is_a_success_with_a_warning():
    result = await World(say("half", stop="max_tokens")).run()
    assert (result.success, result.warnings) == (True, ("OUTPUT_TRUNCATED",))


async def test_missing_usage_is_said_not_guessed():
    result = await World(say("x", usage=None)).run()
    assert result.warnings == ("USAGE_UNKNOWN",)
    assert result.token_usage == {"input_tokens": 0, "output_tokens": 0}


async def test_idea_50_budget_hit_in_a_tool_turn_still_appends_the_results():
    world = World(
        say("x", *TWO, usage=(700, 100)), say("never"), tools=[Probe().spec()], maxTokenBudget=500
    )
    result = await world.run()
    assert result.status.code == "budget_exhausted"
    assert (result.success, result.budget_exceeded, result.output) == (False, True, "x")
    assert len(world.model.requests) == 1
    assert len(results_of(result.messages[-1])) == 2
    assert world.ledger.trace() == ["B1", "B2", "B2", "B5"]
    assert world.ledger.last()["phase"] == "completed"
    assert world.ledger.last()["budgetExceeded"] is True
    assert result.error_info.code == "TOKEN_BUDGET_EXCEEDED"


async def test_a_budget_is_exceeded_only_by_more_than_it():
    result = await World(say("x", usage=(400, 100)), maxTokenBudget=500).run()
    assert result.success
    over = World(say("x", usage=(401, 100)), maxTokenBudget=500)
    assert not (await over.run()).success
    assert over.ledger.trace() == ["B7"]


async def test_nested_usage_counts_once_when_the_round_closes():
    tool = Probe(answer=ToolOutput("sub", usage={"input_tokens": 100, "output_tokens": 5}))
    world = World(say("", TWO[0]), say("done"), tools=[tool.spec()])
    result = await world.run()
    committed = world.ledger.saves[1][1]
    assert committed["tokenUsage"]["input_tokens"] == 10
    usage = committed["pendingToolCalls"][0]["commit"]["delegationUsage"]
    assert usage == {"input_tokens": 100, "output_tokens": 5}
    assert result.token_usage == {"input_tokens": 120, "output_tokens": 7}


LOOP = {"maxRepetitions": 2, "loopDetectionWindow": 4}


async def test_idea_48_loop_warns_beside_the_results_then_ends():
    call = ("c", "look", {"b": 1, "a": 2})
    turned = ("c", "look", {"a": 2, "b": 1})
    world = World(
        say("", call), say("", turned), say("", call), tools=[Probe().spec()], loopDetection=LOOP
    )
    result = await world.run()
    assert result.loop_detected
    assert result.success
    warned = world.ledger.saves[3][1]
    assert warned["loopWarned"] is True
    assert (
        warned["pendingToolResultText"]
        == world.model.requests[2].messages[-1]["content"][1]["text"]
    )
    assert world.ledger.trace()[-1] == "B7"
    assert world.ledger.last()["loopDetected"] is True
    assert results_of(result.messages[-1])[0][2], "the call that was not run is answered"


async def test_idea_48_a_turn_of_another_kind_resets_the_loop_warning():
    call, other = ("c", "look", {}), ("c", "look", {"x": 1})
    turns = [say("", call), say("", call), say("", other), say("", other), say("ok")]
    world = World(*turns, tools=[Probe().spec()], loopDetection=LOOP)
    result = await world.run()
    assert (result.output, result.loop_detected) == ("ok", False)
    assert len(world.of("loop_detected")) == 2


async def test_loop_terminate_stops_before_the_tool_runs():
    tool = Probe()
    call = ("c", "look", {})
    world = World(
        say("", call),
        say("", call),
        tools=[tool.spec()],
        loopDetection={**LOOP, "onLoopDetected": "terminate"},
    )
    result = await world.run()
    assert len(tool.calls) == 1
    assert result.loop_detected


async def test_loop_continue_only_counts():
    call = ("c", "look", {})
    world = World(
        say("", call),
        say("", call),
        say("end"),
        tools=[Probe().spec()],
        loopDetection={**LOOP, "onLoopDetected": "continue"},
    )
    result = await world.run()
    assert (result.output, result.loop_detected) == ("end", False)
    assert world.of("loop_detected") == []


async def test_a_repeated_text_with_schema_repair_counts_as_text_loop_b8():
    world = World(
        say("no json"),
        say("no json"),
        say('{"n": 1}'),
        loopDetection=LOOP,
        outputSchema={"type": "object", "required": ["n"]},
    )
    result = await world.run()
    assert world.ledger.trace() == ["B6", "B8", "B8", "B6"]
    assert result.structured == {"n": 1}


async def test_resume_keeps_the_memory_of_repetitions():
    call = ("c", "look", {})
    first = World(say("", call), problem(), tools=[Probe().spec()], loopDetection=LOOP)
    await first.run()
    again = World(
        say("never"), say("", call), say("ok"), tools=[Probe().spec()], loopDetection=LOOP
    )
    await again.run(resume=first.ledger.last())
    assert len(again.of("loop_detected")) == 1


SCHEMA = {
    "type": "object",
    "properties": {"n": {"type": "number"}, "unit": {"type": "string", "default": "m"}},
    "required": ["n"],
}


async def test_turns_of_a_given_history_count_as_repetitions():
    again = ("c1", "look", {"q": 1})
    call = {"type": "tool_use", "id": "c1", "name": "look", "input": {"q": 1}}
    turn = {"role": "assistant", "content": [call]}
    found = {"type": "tool_result", "tool_use_id": "c1", "content": "found"}
    task = {"role": "user", "content": [{"type": "text", "text": "t"}]}
    history = [task, *[turn, {"role": "user", "content": [found]}] * 2]
    options = {"loopDetection": {"onLoopDetected": "terminate"}}
    world = World(say("", again), tools=[Probe().spec()], **options)
    result = await world.run(prompt=history)
    assert result.loop_detected
    assert len(world.model.requests) == 1


async def test_dev_08_one_repair_extends_the_same_state():
    world = World(say("no"), say('```json\n{"n": 2}\n```'), outputSchema=SCHEMA)
    result = await world.run()
    assert result.structured == {"n": 2, "unit": "m"}
    assert result.has_structured
    assert len(result.messages) == 3
    assert result.token_usage == {"input_tokens": 20, "output_tokens": 2}
    assert [e["phase"] for _, e in world.ledger.saves] == [
        "completed",
        "awaiting_model",
        "completed",
    ]
    assert world.ledger.last()["tokenUsage"]["input_tokens"] == 20
    assert "JSON Schema" in world.model.requests[0].system_prompt


async def test_a_second_bad_answer_fails_for_good():
    result = await World(say("no"), say("still no"), outputSchema=SCHEMA).run()
    assert not result.success
    assert result.error_info.code == "STRUCTURED_OUTPUT_VALIDATION_FAILED"
    assert result.error_info.retryable is False
    assert result.output == "still no"


async def test_dev_08_resuming_a_completed_phase_with_a_bad_answer_asks_the_model():
    first = World(say("no"), problem(), outputSchema=SCHEMA)
    await first.run()
    state = first.ledger.saves[0][1]
    assert state["phase"] == "completed"
    world = World(say("unused"), say('{"n": 3}'), outputSchema=SCHEMA)
    result = await world.run(resume=state)
    assert result.structured == {"n": 3, "unit": "m"}
    assert len(world.model.requests) == 1


async def test_the_repair_is_not_given_twice_over_a_restore():
    first = World(say("no"), problem(), outputSchema=SCHEMA)
    await first.run()
    world = World(say("unused"), say("no again"), outputSchema=SCHEMA)
    result = await world.run(resume=first.ledger.last())
    assert result.error_info.code == "STRUCTURED_OUTPUT_VALIDATION_FAILED"
    assert len(world.model.requests) == 1


async def test_a_repair_gets_its_turn_after_the_last_allowed_one():
    result = await World(say("no"), say('{"n": 1}'), outputSchema=SCHEMA, maxTurns=1).run()
    assert result.structured == {"n": 1, "unit": "m"}


async def test_idea_49_budget_spans_both_passes():
    world = World(
        say("no", usage=(60, 0)),
        say('{"n": 1}', usage=(60, 0)),
        outputSchema=SCHEMA,
        maxTokenBudget=100,
    )
    result = await world.run()
    assert result.status.code == "budget_exhausted"
    assert not result.has_structured


async def test_idea_49_a_late_valid_answer_is_not_a_success():
    async def late(_request, _token):
        await world.clock.sleep(9)
        return say('{"n": 1}')

    world = World(say("no"), late, outputSchema=SCHEMA, timeoutMs=5000)
    result = await world.run()
    assert (result.success, result.status.code, result.has_structured) == (False, "timeout", False)


async def test_dev_07_whole_run_timeout_ends_as_timeout_while_streaming():
    result = await World(until_stopped, timeoutMs=5000).run()
    assert (result.success, result.aborted, result.status.code) == (False, True, "timeout")
    assert result.error_info.retryable is True


async def test_idea_52_call_timeout_is_fresh_for_every_call():
    async def slow(_request, _token):
        await world.clock.sleep(3)
        return say("", TWO[0])

    async def slow_end(_request, _token):
        await world.clock.sleep(3)
        return say("done")

    world = World(slow, slow_end, tools=[Probe().spec()], callTimeoutMs=4000)
    result = await world.run()
    assert result.output == "done"


async def test_idea_52_call_timeout_is_not_a_caller_abort():
    result = await World(until_stopped, callTimeoutMs=4000).run()
    assert (result.status.code, result.aborted) == ("timeout", False)
    assert (result.error_info.code, result.error_info.retryable) == ("LLM_CALL_TIMEOUT", True)

    async def cancel(_request, token):
        world.token.stop(StopReason.CANCEL)
        return await until_stopped(_request, token)

    world = World(cancel, callTimeoutMs=4000)
    result = await world.run()
    assert (result.status.code, result.aborted) == ("cancelled", True)
    assert result.error_info.kind == "cancellation"


async def test_idea_16_a_commit_is_durable_before_a_listener_that_fails():
    world = World(say("", TWO[0]), say("done"), tools=[Probe().spec()])

    def bad(event):
        if event.type == "tool_end":
            raise RuntimeError("listener")

    world.bus.subscribe(bad)
    result = await world.run()
    assert result.success
    assert "commit" in world.ledger.saves[1][1]["pendingToolCalls"][0]


@pytest.mark.parametrize("reason", [StopReason.CANCEL, StopReason.TIMEOUT, StopReason.BUDGET])
async def test_a_stop_before_the_first_call_makes_no_call(reason):
    world = World(say("never"))
    world.token.stop(reason)
    result = await world.run()
    assert world.model.requests == []
    assert not result.success
    assert result.entry is None


async def test_cancellation_of_the_task_itself_goes_through():
    started = asyncio.Event()

    async def hang(request, token):
        started.set()
        return await until_stopped(request, token)

    world = World(hang)
    supervisor = Supervisor()
    task = supervisor.spawn(world.runner(supervisor).run(), name="runner")
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await supervisor.close()
