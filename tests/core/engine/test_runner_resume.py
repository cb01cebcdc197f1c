"""Resume by phase, commits, decisions, suspends and aborts (engine.md 3.4, 3.13, 5.5; cases)."""

import copy
import itertools
import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oma_desktop.engine.agents.boundaries import Boundary
from oma_desktop.engine.agents.runner_state import answered
from oma_desktop.engine.cancel import StopReason
from oma_desktop.engine.tools.gate import ALLOW, suspend
from oma_desktop.engine.tools.registry import ToolOutput
from oma_desktop.model.json_text import parse
from tests.core.engine.runner_world import (
    Ledger,
    Probe,
    World,
    decide,
    problem,
    results_of,
    say,
)

CASES = Path(__file__).parents[2] / "cases"
TWO = (("c1", "look", {"q": "a"}), ("c2", "look", {"q": "b"}))
ROUND = (say("looking", *TWO), say("done"))


async def after_save(number, *, tools=None, turns=ROUND, gate=None):
    """The state on disk when the process died right after save `number`."""
    tools = tools or [Probe().spec()]
    world = World(*turns, tools=tools, gate=gate)
    await world.run()
    return world.ledger.saves[number][1]


# -- commits ----------------------------------------------------------------------------------


async def test_idea_14_a_committed_call_is_replayed_and_never_runs():
    state = await after_save(2)
    tool = Probe()
    world = World(*ROUND, tools=[tool.spec()])
    result = await world.run(resume=state)
    assert tool.calls == []
    assert result.output == "done"
    assert world.ledger.trace() == ["B5", "B6"]
    assert world.of("tool_start") == world.of("tool_end") == []
    assert len(world.of("tool_result")) == 2


async def test_idea_15_an_uncommitted_call_runs_again_with_the_same_id():
    state = await after_save(1)
    tool = Probe()
    world = World(*ROUND, tools=[tool.spec()])
    await world.run(resume=state)
    assert tool.calls == [("c2", {"q": "b"})]
    assert results_of(world.model.requests[0].messages[-1]) == [
        ("c1", "found", False),
        ("c2", "found", False),
    ]


@pytest.mark.parametrize("save", range(5))
async def test_a_crash_after_any_save_gives_the_same_end(save):
    whole = World(*ROUND, tools=[Probe().spec()])
    expected = await whole.run()
    state = await after_save(save)
    tool = Probe()
    world = World(*ROUND, tools=[tool.spec()])
    result = await world.run(resume=copy.deepcopy(state))
    assert result.output == expected.output
    assert result.messages == expected.messages
    assert result.token_usage == expected.token_usage
    assert [r["toolName"] for r in result.tool_calls] == ["look", "look"]
    committed = sum("commit" in p for p in state.get("pendingToolCalls", []))
    open_calls = len(state.get("pendingToolCalls", [])) - committed
    assert len(tool.calls) == open_calls


async def test_resume_does_not_change_the_entry_it_was_given():
    state = await after_save(1)
    before = copy.deepcopy(state)
    await World(*ROUND, tools=[Probe().spec()]).run(resume=state)
    assert state == before


async def test_an_error_result_is_committed_and_replayed_like_any_other():
    state = await after_save(2, tools=[Probe(answer=ValueError("no such file")).spec()])
    tool = Probe()
    world = World(*ROUND, tools=[tool.spec()])
    result = await world.run(resume=state)
    assert tool.calls == []
    assert results_of(result.messages[1]) == [
        ("c1", "no such file", True),
        ("c2", "no such file", True),
    ]


async def test_dev_01_a_rich_result_is_committed_and_replayed():
    parts = [
        {"type": "text", "text": "shot"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}},
    ]
    state = await after_save(2, tools=[Probe(answer=ToolOutput(None, model_output=parts)).spec()])
    commit = state["pendingToolCalls"][0]["commit"]
    assert commit["result"]["content"] == parts
    assert commit["record"]["output"] == "shot\n[image: image/png; inline data]"
    result = await World(*ROUND, tools=[Probe().spec()]).run(resume=state)
    assert result.messages[1]["content"][0]["content"] == parts


async def test_turns_and_usage_go_on_counting_over_a_restore():
    state = await after_save(3)
    world = World(*ROUND, tools=[Probe().spec()], maxTurns=1)
    result = await world.run(resume=state)
    assert world.model.requests == []
    assert (result.output, result.warnings) == ("looking", ("MAX_TURNS_REACHED",))


async def test_a_completed_state_needs_no_model():
    state = await after_save(4)
    world = World(problem())
    result = await world.run(resume=state)
    assert (result.success, result.output) == (True, "done")
    assert world.model.requests == []
    assert world.ledger.saves == []


@settings(max_examples=60, deadline=None)
@given(st.permutations(range(5)), st.integers(1, 5), st.integers(0, 5))
def test_completion_order_of_parallel_tools_does_not_matter(order, parallel, dies_after):
    """Whatever finishes first, and wherever it dies: same results, nothing committed runs twice."""
    import asyncio

    calls = tuple((f"c{n}", "look", {"n": n}) for n in range(5))
    turns = (say("", *calls), say("done"))

    def world(resume_world=False):
        made = World(*turns, parallel=parallel)
        tool = Probe(
            clock=made.clock,
            delays={f"c{n}": 1 + place for n, place in enumerate(order)},
            answer=lambda i, _c: f"r{i['n']}",
        )
        made = World(*turns, tools=[tool.spec()], parallel=parallel)
        tool.clock = made.clock
        return made, tool

    async def scenario():
        first, tool = world()
        result = await first.run()
        assert results_of(result.messages[1]) == [(f"c{n}", f"r{n}", False) for n in range(5)]
        assert tool.most <= parallel
        state = first.ledger.saves[dies_after][1]
        done = {p["call"]["id"] for p in state["pendingToolCalls"] if "commit" in p}
        second, again = world()
        resumed = await second.run(resume=state)
        assert set(again.ids) == {f"c{n}" for n in range(5)} - done
        assert resumed.messages == result.messages

    asyncio.run(scenario())


# -- stops ------------------------------------------------------------------------------------


async def test_suspend_finishes_running_tools_commits_them_and_starts_no_new_one():
    world = World(say("", *TWO, ("c3", "look", {})), say("never"))
    tool = Probe(on_call=lambda _c: world.token.stop(StopReason.SUSPEND))
    world = World(say("", *TWO, ("c3", "look", {})), say("never"), tools=[tool.spec()], parallel=1)
    result = await world.run()
    assert (result.suspended, result.status.code) == (True, "suspended")
    assert tool.ids == ["c1"]
    assert world.ledger.trace() == ["B1", "B2", "B4"]
    state = world.ledger.last()
    assert ["commit" in p for p in state["pendingToolCalls"]] == [True, False, False]
    assert result.entry == state
    again = Probe()
    end = World(say(""), say("done"), tools=[again.spec()])
    assert (await end.run(resume=state)).output == "done"
    assert again.ids == ["c2", "c3"]


async def test_suspend_lets_a_running_tool_come_to_its_end():
    async def long(_input, _context):
        world.token.stop(StopReason.SUSPEND)
        await world.clock.sleep(60)
        return ToolOutput("at last")

    spec = replace(Probe().spec(), run=long)
    world = World(say("", TWO[0]), say("never"), tools=[spec])
    result = await world.run()
    assert world.clock.time == 60
    assert results_of(result.entry["conversationMessages"][-1]) == [("c1", "at last", False)]


async def test_suspend_after_the_last_tool_saves_the_closed_round_and_asks_nothing_more():
    world = World(*ROUND)
    tool = Probe(on_call=lambda c: world.token.stop(StopReason.SUSPEND))
    world = World(*ROUND, tools=[tool.spec()])
    result = await world.run()
    assert world.ledger.trace() == ["B1", "B2", "B2", "B5"]
    assert (result.suspended, len(world.model.requests)) == (True, 1)
    assert result.entry["phase"] == "awaiting_model"


async def test_suspend_during_a_model_call_keeps_the_answer():
    async def answer(_request, _token):
        world.token.stop(StopReason.SUSPEND)
        return say("", TWO[0])

    tool = Probe()
    world = World(answer, tools=[tool.spec()])
    result = await world.run()
    assert (result.suspended, tool.calls) == (True, [])
    assert result.entry["phase"] == "executing_tools"


async def test_suspend_does_not_spoil_a_final_answer():
    async def answer(_request, _token):
        world.token.stop(StopReason.SUSPEND)
        return say("done")

    world = World(answer)
    result = await world.run()
    assert (result.success, result.output, result.suspended) == (True, "done", False)


async def test_suspend_while_a_gate_is_open_leaves_the_call_undecided():
    async def gate(_call):
        world.token.stop(StopReason.SUSPEND)
        await world.clock.sleep(3600)
        return ALLOW

    tool = Probe()
    world = World(*ROUND, tools=[tool.spec()], gate=gate)
    result = await world.run()
    assert (result.suspended, tool.calls) == (True, [])
    assert world.clock.time == 0
    assert result.pending_approvals == ()


async def test_an_operators_suspend_asks_nobody_so_a_full_disk_fails_no_task():
    tool = Probe(on_call=lambda _c: world.token.stop(StopReason.SUSPEND))
    world = World(*ROUND, tools=[tool.spec()], parallel=1)
    world.ledger.fail_strict = True
    result = await world.run()
    assert (result.suspended, result.error_info) == (True, None)


async def test_a_request_that_cannot_be_saved_is_no_suspension():
    async def gate(_call):
        return suspend("look at it")

    world = World(*ROUND, tools=[Probe().spec()], gate=gate)
    world.ledger.fail_strict = True
    result = await world.run()
    assert (result.suspended, result.status.code) == (False, "error")
    assert (result.error_info.kind, result.error_info.retryable) == ("store", False)


async def test_an_error_seen_while_aborting_is_not_committed_and_runs_again():
    world = World(*ROUND)

    def abort(context):
        if context.tool_call_id == "c2":
            world.token.stop(StopReason.CANCEL)
            raise RuntimeError("interrupted")

    tool = Probe(on_call=abort)
    world = World(*ROUND, tools=[tool.spec()])
    result = await world.run()
    assert (result.aborted, result.status.code) == (True, "cancelled")
    state = world.ledger.last()
    assert state["phase"] == "executing_tools"
    assert ["commit" in p for p in state["pendingToolCalls"]] == [True, False]
    again = Probe()
    await World(*ROUND, tools=[again.spec()]).run(resume=state)
    assert again.ids == ["c2"]


async def test_a_success_that_arrives_while_aborting_is_still_committed():
    world = World(*ROUND)
    tool = Probe(on_call=lambda _c: world.token.stop(StopReason.CANCEL))
    world = World(say("", TWO[0]), tools=[tool.spec()])
    result = await world.run()
    assert result.aborted
    assert "commit" in world.ledger.saves[1][1]["pendingToolCalls"][0]


async def test_a_tool_that_ignores_the_stop_is_given_up_after_a_grace():
    ended = []

    async def stubborn(_input, _context):
        world.token.stop(StopReason.CANCEL)
        try:
            await world.clock.sleep(3600)
        finally:
            ended.append("cancelled")

    world = World(say("", TWO[0]), tools=[replace(Probe().spec(), run=stubborn)])
    result = await world.run(then=lambda: ended.append("runner returned"))
    assert result.aborted
    assert ended == ["cancelled", "runner returned"], "nothing given up goes on behind our back"
    assert world.clock.time == pytest.approx(2.0)
    assert world.ledger.trace() == ["B1"]


# -- decisions --------------------------------------------------------------------------------


async def ask(call):
    return suspend("please look") if call.tool == "send" else ALLOW


DEPLOY = (("c1", "look", {}), ("c2", "send", {"to": "x"}))
DEFAULTS = {
    "type": "object",
    "properties": {"to": {"type": "string"}, "copies": {"type": "integer", "default": 3}},
}


async def suspended_state(**facts):
    look, send = Probe(), Probe("send")
    world = World(
        say("go", *DEPLOY),
        say("done"),
        tools=[look.spec(), send.spec(DEFAULTS, consequential=True)],
        gate=ask,
        **facts,
    )
    result = await world.run()
    assert send.calls == []
    return world, result


async def test_a_suspended_call_holds_the_round_while_its_sibling_commits():
    world, result = await suspended_state()
    assert (result.suspended, result.status.code, result.output) == (True, "suspended", "go")
    assert sorted(world.ledger.trace()) == ["B1", "B2", "B3", "B4"]
    assert world.ledger.trace()[-1] == "B4"
    assert [r["id"] for r in result.pending_approvals] == [r["id"] for r in world.ledger.requests]
    content = result.pending_approvals[0]["content"]
    assert list(content) == [
        "kind",
        "toolName",
        "rawInput",
        "input",
        "agentName",
        "taskId",
        "toolCallId",
        "consequential",
    ]
    assert (content["rawInput"], content["input"]) == ({"to": "x"}, {"to": "x", "copies": 3})
    state = world.ledger.last()
    assert ["commit" in p for p in state["pendingToolCalls"]] == [True, False]
    assert state["messages"][-1]["role"] == "assistant"


async def test_no_save_after_the_request_forgets_the_request():
    """A sibling that commits while the request is being written must not write it away."""
    world = World(say("go", ("c1", "send", {}), ("c2", "look", {})), say("done"))
    look = Probe(clock=world.clock, delays={"c2": 1})
    world = World(
        say("go", ("c1", "send", {}), ("c2", "look", {})),
        say("done"),
        tools=[look.spec(), Probe("send").spec()],
        gate=ask,
    )
    look.clock = world.clock

    async def slow():
        await world.clock.sleep(5)

    world.ledger.slow = slow
    await world.run()
    known = [
        {(p["call"]["id"], key) for p in entry["pendingToolCalls"] for key in p if key != "call"}
        for _, entry in world.ledger.saves
    ]
    assert all(before <= after for before, after in itertools.pairwise(known))
    assert known[-1] == {("c1", "approvalRequest"), ("c2", "commit")}


async def test_idea_39_approved_runs_once_with_the_coerced_input_and_no_gate():
    world, _ = await suspended_state()
    state = decide(world.ledger.last(), "c2", "approved")

    async def never(_call):
        raise AssertionError("the gate must not be asked again")

    look, send = Probe(), Probe("send")
    again = World(
        say("x"),
        say("done"),
        gate=never,
        tools=[look.spec(), send.spec(DEFAULTS, consequential=True)],
    )
    result = await again.run(resume=state)
    assert look.calls == []
    assert send.calls == [("c2", {"to": "x", "copies": 3})]
    assert result.output == "done"
    committed = again.ledger.saves[0][1]["pendingToolCalls"][1]
    assert set(committed) == {"call", "commit"}


async def test_rejected_never_runs_and_the_model_goes_on():
    world, _ = await suspended_state()
    state = decide(world.ledger.last(), "c2", "rejected")
    send = Probe("send")
    again = World(say("x"), say("done"), tools=[Probe().spec(), send.spec(DEFAULTS)])
    result = await again.run(resume=state)
    assert send.calls == []
    (_, _, first), (call_id, text, is_error) = results_of(result.messages[1])
    assert (call_id, first, is_error) == ("c2", False, True)
    assert "rejected" in text
    assert result.success


async def test_p_14_an_undecided_call_stays_suspended_and_its_sibling_is_not_run_again():
    world, _ = await suspended_state()
    look, send = Probe(), Probe("send")
    again = World(say("x"), tools=[look.spec(), send.spec()], gate=ask)
    result = await again.run(resume=world.ledger.last())
    assert (result.suspended, look.calls, send.calls) == (True, [], [])
    assert again.ledger.trace() == ["B4"]


CHANGED = {"type": "object", "properties": {"copies": {"default": 4}}}
REFUSING = {"type": "object", "required": ["from"]}


@pytest.mark.parametrize(
    "tools",
    [
        pytest.param(lambda s: [s.spec(CHANGED, consequential=True)], id="default-changed"),
        pytest.param(lambda s: [s.spec(REFUSING, consequential=True)], id="schema-refuses"),
        pytest.param(lambda s: [s.spec(DEFAULTS)], id="no-longer-consequential"),
        pytest.param(lambda _s: [], id="tool-removed"),
    ],
)
async def test_idea_40_a_decision_about_something_else_runs_nothing(tools):
    world, _ = await suspended_state()
    state = decide(world.ledger.last(), "c2", "approved")
    send = Probe("send")
    again = World(say("x"), say("done"), tools=[Probe().spec(), *tools(send)])
    result = await again.run(resume=state)
    assert send.calls == []
    assert results_of(result.messages[1])[1][2] is True
    assert result.success, "one stale approval does not end the run"
    (code,) = result.warnings  # nor is it silent
    assert code == ("APPROVAL_STALE_DECISION" if tools(send) else "APPROVED_TOOL_GONE")
    assert {"code": code, "tool": "send", "toolCallId": "c2"} in again.of("warning")


@pytest.mark.parametrize("tamper", ["input", "request_hash", "decision_id", "run"])
async def test_idea_36_tampered_state_is_refused(tamper):
    world, _ = await suspended_state()
    state = decide(world.ledger.last(), "c2", "approved")
    pending = state["pendingToolCalls"][1]
    if tamper == "input":
        pending["call"]["input"] = {"to": "somebody else"}
    elif tamper == "request_hash":
        pending["approvalRequest"]["requestHash"] = "0" * 64
    elif tamper == "decision_id":
        pending["approvalDecision"]["requestId"] = "apr_" + "0" * 32
    else:
        pending["approvalDecision"]["runId"] = "other"
    send = Probe("send")
    again = World(
        say("x"), say("done"), tools=[Probe().spec(), send.spec(DEFAULTS, consequential=True)]
    )
    result = await again.run(resume=state)
    assert send.calls == []
    told = {"code": "APPROVAL_STALE_DECISION", "tool": "send", "toolCallId": "c2"}
    assert told in again.of("warning")
    assert result.warnings == ("APPROVAL_STALE_DECISION",)


async def test_dev_30_a_failed_request_fails_the_task_after_the_sibling_committed():
    world = World(say("go", *DEPLOY), tools=[Probe().spec(), Probe("send").spec()], gate=ask)
    world.ledger.fail_strict = True
    result = await world.run()
    assert (result.suspended, result.success) == (False, False)
    assert result.error_info.retryable is False
    assert "B2" in world.ledger.trace()
    assert all("approvalRequest" not in p for p in result.entry["pendingToolCalls"])


ANSWERS = st.sampled_from(["allow", "suspend", "deny", "raise"])


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_mix_of_gates_delays_crashes_and_verdicts_keeps_the_promises(data):
    """No committed call runs twice, nothing undecided or rejected runs, one result per call."""
    import asyncio

    answers = data.draw(st.lists(ANSWERS, min_size=1, max_size=5))
    delays = data.draw(st.lists(st.integers(0, 4), min_size=5, max_size=5))
    ids = [f"c{n}" for n in range(len(answers))]
    turns = (say("", *((i, "look", {"n": i}) for i in ids)), say("done"))

    async def gate(call):
        answer = answers[ids.index(call.tool_call_id)]
        if answer == "raise":
            raise RuntimeError("gate")
        return {"action": answer}

    def world():
        tool = Probe(delays=dict(zip(ids, delays, strict=False)))
        made = World(*turns, tools=[tool.spec()], gate=gate)
        tool.clock = made.clock
        return made, tool

    async def scenario():
        state, committed = None, set()
        for _ in range(20):
            here, tool = world()
            result = await here.run(resume=state)
            assert not committed & set(tool.ids)
            assert len(tool.ids) == len(set(tool.ids))
            if result.success:
                break
            state = here.ledger.saves[data.draw(st.integers(0, len(here.ledger.saves) - 1))][1]
            for pending in state.get("pendingToolCalls", []):
                if "approvalRequest" in pending and data.draw(st.booleans()):
                    verdict = data.draw(st.sampled_from(["approved", "rejected"]))
                    verdicts.setdefault(pending["call"]["id"], verdict)
                    decide(state, pending["call"]["id"], verdicts[pending["call"]["id"]])
            committed = {p["call"]["id"] for p in state["pendingToolCalls"] if "commit" in p}
        else:
            for pending in state["pendingToolCalls"]:
                if "approvalRequest" in pending:
                    verdicts.setdefault(pending["call"]["id"], "approved")
                    decide(state, pending["call"]["id"], verdicts[pending["call"]["id"]])
            here, tool = world()
            result = await here.run(resume=state)
        assert result.success
        final = results_of(result.messages[1])
        assert [i for i, _, _ in final] == ids
        for call_id, _, is_error in final:
            answer = answers[ids.index(call_id)]
            allowed = answer == "allow" or verdicts.get(call_id) == "approved"
            assert is_error != allowed

    verdicts = {}
    asyncio.run(scenario())


# -- cases ------------------------------------------------------------------------------------


def case(name, file):
    return parse((CASES / name / file).read_bytes())


async def test_s01_a_continued_history_answers_every_open_call_and_runs_none():
    given_ = case("s01-orphan-tool-use", "conversation.json")
    tool = Probe("lookup")
    prompt = [*given_["messages"], {"role": "user", "content": [{"type": "text", "text": "go on"}]}]
    world = World(say("never"), say("done"), tools=[tool.spec()])
    await world.run(prompt=prompt)
    sent = world.model.requests[0].messages
    assert [m["role"] for m in sent] == ["user", "assistant", "user"]
    assert sent[1]["content"][0]["text"] == "checking"
    assert [(i, e) for i, _, e in results_of(sent[2])] == [("call_a", True), ("call_b", True)]
    assert tool.calls == []


async def test_s01_an_interrupted_task_stopped_by_its_budget_stays_stopped():
    given_ = case("s01-orphan-tool-use", "conversation.json")
    entry = {
        "taskId": given_["taskId"], "assignee": "w", "phase": "awaiting_model",
        "conversationMessages": given_["messages"], "messages": given_["messages"][1:],
        "tokenUsage": {"input_tokens": 600, "output_tokens": 0}, "toolCalls": [], "turns": 1,
        "budgetExceeded": True,
    }  # fmt: skip
    tool = Probe("lookup")
    world = World(say("never"), tools=[tool.spec()], maxTokenBudget=500)
    result = await world.run(resume=entry)
    assert result.status.code == "budget_exhausted"
    assert (tool.calls, world.model.requests) == ([], [])
    assert len(results_of(world.ledger.last()["conversationMessages"][-1])) == 2


async def test_s01_no_state_that_waits_for_the_model_has_open_calls():
    worlds = [
        World(say("x", *TWO, usage=(900, 0)), tools=[Probe().spec()], maxTokenBudget=500),
        World(say("x", *TWO), say("x", *TWO), tools=[Probe().spec()],
              loopDetection={"maxRepetitions": 2, "onLoopDetected": "terminate"}),
        World(say("x", *TWO), say("y", *TWO), tools=[Probe().spec()], maxTurns=1),
        World(*ROUND, tools=[]),
    ]  # fmt: skip
    for world in worlds:
        await world.run()
        states = [entry for _, entry in world.ledger.saves if entry["phase"] != "executing_tools"]
        assert states
        for entry in states:
            assert answered(entry["conversationMessages"]) == entry["conversationMessages"]
        for request in world.model.requests:
            assert answered(request.messages) == request.messages


def entry_of_case(name):
    store = case(name, "store.json")
    row = next(e for e in store["entries"] if e["key"].startswith("__oma_checkpoint__/"))
    snapshot = parse(row["value"])
    return snapshot, snapshot["inFlightTasks"][0]


async def test_s03_decisions_bind_by_id_and_content_not_by_position():
    snapshot, entry = entry_of_case("s03-removed-tool-misbinding")
    decisions = {d["requestId"]: d for d in snapshot["approvalDecisions"]}
    rows = [parse(e["value"]) for e in case("s03-removed-tool-misbinding", "store.json")["entries"]
            if e["key"].startswith("__oma_approval__/")]  # fmt: skip
    decisions.update({r["request"]["id"]: r["decision"] for r in rows if "decision" in r})
    for pending in entry["pendingToolCalls"]:
        request = pending.get("approvalRequest")
        if request is not None:
            pending["approvalDecision"] = decisions[request["id"]]
    probes = {n: Probe(n) for n in case("s03-removed-tool-misbinding", "tools.json")}
    asked = [p["approvalRequest"]["content"] for p in entry["pendingToolCalls"]
             if "approvalRequest" in p]  # fmt: skip
    consequential = {content["toolName"]: content["consequential"] for content in asked}
    world = World(
        say("x"), say("done"),
        tools=[p.spec(consequential=consequential.get(n, False)) for n, p in probes.items()],
    )  # fmt: skip
    run_id = snapshot["identity"]["runId"]
    result = await run_as(world, entry, run_id)
    assert len(probes["send_mail"].calls) == 1
    assert probes["delete_branch"].calls == []
    answers = results_of(result.messages[-2])
    assert [i for i, _, _ in answers] == ["call_1", "call_2", "call_3"]
    assert [e for _, _, e in answers] == [True, True, False]
    assert "not available" in answers[0][1]
    assert result.success


async def run_as(world, entry, run_id):
    """Resume a case's own task of its own run."""
    from oma_desktop.base.supervisor import Supervisor
    from tests.core.engine.runner_world import drive

    supervisor = Supervisor()
    world.agent = world.agent.model_copy(update={"name": entry["assignee"]})
    runner = world.runner(supervisor, resume=entry)
    job = replace(runner._job, run_id=run_id, task_id=entry["taskId"])
    fresh = type(runner)(
        job,
        agent=world.agent,
        team=world.team,
        clock=world.clock,
        bus=world.bus,
        supervisor=supervisor,
    )
    task = supervisor.spawn(fresh.run(), name="runner")
    await drive(task, world.clock)
    await supervisor.close()
    return task.result()


def s04_turns():
    turns = case("s04-turn-scoped-call-ids", "turns.json")["turns"]
    calls = [(t["call"]["id"], t["call"]["name"], t["call"]["input"]) for t in turns]
    would = {2: turns[1]["toolWouldReturn"], 3: turns[2]["toolWouldReturn"]}
    return calls, would, turns[0]["committedResult"]


async def test_s04_an_id_repeated_in_a_later_turn_is_a_new_call():
    calls, would, committed = s04_turns()
    script = [say("", c) for c in calls] + [say("end")]
    first = World(*script, tools=[Probe("read_file", answer=committed).spec()])
    await first.run()
    state = first.ledger.saves[1][1]
    number = itertools.count(2)
    tool = Probe("read_file", answer=lambda _i, _c: would[next(number)])
    world = World(*script, tools=[tool.spec()])
    result = await world.run(resume=state)
    contents = [results_of(m)[0] for m in result.messages if m["role"] == "user"]
    assert [c for _, c, _ in contents] == ["AAA", "BBB", "AAA-changed"]
    assert {i for i, _, _ in contents} == {"read_file:0"}, "the provider's id is echoed"
    assert len(tool.calls) == 2


async def test_s04_an_approval_counts_for_its_own_turn_only():
    calls, _, _ = s04_turns()
    script = [say("", c) for c in calls] + [say("end")]

    async def gate(_call):
        return suspend()

    def world():
        return World(*script, tools=[Probe("read_file", answer="AAA").spec()], gate=gate)

    seen, state = [], None
    for _ in range(3):
        here = world()
        result = await here.run(resume=state)
        assert result.suspended
        request = result.pending_approvals[0]
        assert request["id"] not in seen
        seen.append(request["id"])
        state = decide(here.ledger.last(), "read_file:0", "approved")
    end = await world().run(resume=state)
    assert end.output == "end"


@pytest.mark.parametrize("order", case("s39-parallel-approvals", "orders.json"))
async def test_s39_each_call_follows_its_own_verdict_in_any_order(order):
    snapshot, entry = entry_of_case("s39-parallel-approvals")
    run_id = snapshot["identity"]["runId"]
    verdicts = dict(step for step in order if step != "restart")
    ran, left = [], []
    for step in order:
        if step == "restart":
            entry = json.loads(json.dumps(entry))
            continue
        decide(entry, step[0], "approved" if step[1] == "approve" else "rejected")
        shell = Probe("shell", answer=lambda i, _c: f"ran {i['command']}")
        world = World(say("x"), say("done"), tools=[shell.spec(consequential=True)])
        result = await run_as(world, entry, run_id)
        ran += shell.ids
        left.append(len(result.pending_approvals))
        entry = world.ledger.last()
    assert left == [2, 1, 0]
    assert sorted(ran) == sorted(i for i, v in verdicts.items() if v == "approve")
    answers = results_of(result.messages[-2])
    assert [i for i, _, _ in answers] == ["call_p1", "call_p2", "call_p3"]
    assert [not e for _, _, e in answers] == [verdicts[i] == "approve" for i, _, _ in answers]


def test_boundary_names_are_those_of_the_contract():
    assert [b.value for b in Boundary] == [f"B{n}" for n in range(1, 9)]
    assert isinstance(Ledger().trace(), list)


# -- inputs that were masked on disk ----------------------------------------------------------

MASKED = (
    say("looking", ("c1", "look", {"q": "token [redacted]"}), ("c2", "look", {"q": "b"})),
    say("again", ("c3", "look", {"q": "[redacted]"})),
    say("done"),
)


async def hold_first(call):
    return suspend() if call.tool_call_id == "c1" else ALLOW


async def masked_state():
    world = World(*MASKED, tools=[Probe().spec()])
    await world.run()
    return world.ledger.saves[0][1]


async def test_a_masked_input_is_not_used_without_a_person():
    tool = Probe()
    world = World(*MASKED, tools=[tool.spec()])
    result = await world.run(resume=await masked_state())
    assert result.output == "done"
    assert [c[0] for c in tool.calls] == ["c2", "c3"]
    assert [e["toolCallId"] for e in world.of("warning")] == ["c1"]
    (first, second), *later = (
        results_of(m) for m in result.messages if m["role"] == "user" and results_of(m)
    )
    assert first[0] == "c1"
    assert "masked on disk" in first[1]
    assert first[2] is True
    assert second[2] is False
    assert later[0][0][:1] == ("c3",), "a new call of the model is its own wish and runs"
    assert later[0][0][2] is False


@pytest.mark.parametrize("accepted", [frozenset({"c1"}), None])
async def test_a_masked_input_runs_when_a_person_or_the_run_file_says_so(accepted):
    tool = Probe()
    world = World(*MASKED, tools=[tool.spec()])
    await world.run(resume=await masked_state(), run_masked=accepted)
    assert "c1" in {c[0] for c in tool.calls}
    assert world.of("warning") == []


async def test_an_approved_input_runs_whatever_it_says():
    """The reviewer saw these very bytes; the hash binds the decision to them."""
    world = World(*MASKED, tools=[Probe().spec()], gate=hold_first)
    await world.run()
    state = decide(world.ledger.last(), "c1", "approved")
    tool = Probe()
    world = World(*MASKED, tools=[tool.spec()])
    await world.run(resume=state)
    assert "c1" in {c[0] for c in tool.calls}
