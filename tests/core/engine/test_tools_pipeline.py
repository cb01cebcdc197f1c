"""Every tool call goes one way, and every doubt ends in "not run" (engine.md 3.3-3.5; case s40)."""

import asyncio
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oma_desktop.engine.cancel import StopReason
from oma_desktop.engine.llm.base import InvalidArguments
from oma_desktop.engine.tools.gate import (
    ALLOW,
    GateDecision,
    GateFailed,
    deny,
    read_answer,
    suspend,
)
from oma_desktop.engine.tools.grants import granted, is_granted
from oma_desktop.engine.tools.ids import normalise
from oma_desktop.engine.tools.registry import ToolOutput, ToolRegistry
from oma_desktop.engine.tools.results import judge, parts_problem, truncate
from oma_desktop.engine.tools.schema import ArgumentSchema, copy_json
from oma_desktop.model.errors import InvalidInput, WriteFailed
from oma_desktop.model.json_text import utf16_length
from oma_desktop.model.team import AgentConfig
from oma_desktop.model.view import Effect
from tests.core.engine.runner_world import Probe, World, results_of, say

CASES = Path(__file__).parents[2] / "cases"
CALL = ("c1", "look", {"q": "a"})


async def one_call(tool, *, gate=None, call=CALL, **world):
    """The result block of one call, the tool's log and the world."""
    schema = world.pop("schema", None)
    here = World(say("", call), say("done"), tools=[tool.spec(schema)], gate=gate, **world)
    result = await here.run()
    return results_of(result.messages[1])[0], here, result


# -- grants -----------------------------------------------------------------------------------


def agent(**facts):
    return AgentConfig.model_validate({"name": "a", **facts})


@pytest.mark.parametrize(
    ("facts", "allowed"),
    [
        ({}, set()),
        ({"disallowedTools": ["bash"]}, set()),
        ({"toolPreset": "readonly"}, {"file_read", "grep", "glob"}),
        ({"toolPreset": "readwrite", "tools": ["file_write", "bash"]}, {"file_write"}),
        ({"toolPreset": "full", "disallowedTools": ["bash", "grep"]},
         {"file_read", "glob", "file_write", "file_edit"}),
        ({"tools": ["bash", "lookup"]}, {"bash", "lookup"}),
        ({"toolPreset": "readonly", "tools": ["file_read", "lookup"]}, {"file_read", "lookup"}),
        ({"tools": ["lookup"], "disallowedTools": ["lookup"]}, set()),
        ({"delegate": True}, {"delegate_to_agent"}),
    ],
)  # fmt: skip
def test_idea_46_grants_are_default_deny(facts, allowed):
    names = ["bash", "file_read", "file_write", "file_edit", "grep", "glob", "lookup",
             "delegate_to_agent"]  # fmt: skip
    assert {n for n in names if is_granted(agent(**facts), n)} == allowed


def test_only_granted_tools_are_told_to_the_model():
    tools = ToolRegistry([Probe("a").spec(), Probe("b").spec()])
    assert [t.name for t in granted(agent(tools=["b", "missing"]), tools)] == ["b"]


async def test_idea_46_an_ungranted_or_unknown_tool_is_an_error_result_never_a_run():
    hidden = Probe("hidden")
    world = World(say("", ("c1", "hidden", {}), ("c2", "no_such", {})), say("done"),
                  tools=[hidden.spec()])  # fmt: skip
    world.agent = world.agent.model_copy(update={"tools": None})
    result = await world.run()
    assert hidden.calls == []
    assert [e for _, _, e in results_of(result.messages[1])] == [True, True]
    assert world.model.requests[0].tools == []
    assert result.success


def test_two_tools_of_one_name_are_refused():
    with pytest.raises(InvalidInput) as caught:
        ToolRegistry([Probe("a").spec(), Probe("a").spec()])
    assert caught.value.code == "TOOL_NAME_TAKEN"


# -- ids --------------------------------------------------------------------------------------


def calls(*ids):
    return [{"type": "tool_use", "id": i, "name": "t", "input": {}} for i in ids]


def new_ids():
    numbers = iter(range(100))
    return lambda: f"new{next(numbers)}"


def test_dev_02_empty_ids_are_made_up_and_repeats_get_a_suffix():
    blocks, _ = normalise(calls("", "x", "x", "x_2", "", "x"), [], new_id=new_ids())
    assert [b["id"] for b in blocks] == ["call_new0", "x", "x_3", "x_2", "call_new1", "x_4"]


@given(st.lists(st.sampled_from(["", "a", "a_2", "b", "b_2", "b_3"]), max_size=12))
def test_dev_02_ids_of_one_turn_are_never_empty_and_never_equal(ids):
    blocks, _ = normalise(calls(*ids), [], new_id=new_ids())
    stored = [b["id"] for b in blocks]
    assert all(stored)
    assert len(set(stored)) == len(stored)
    firsts = {i for i in ids if i}
    assert firsts <= set(stored), "the first use of a provider's id keeps it"


def test_unusable_arguments_follow_their_call_to_its_stored_id():
    invalid = [InvalidArguments("", "{", "cut"), InvalidArguments("x", "[1]", "a list")]
    _, unusable = normalise(calls("", "x", "x"), invalid, new_id=new_ids())
    assert {k: v.problem for k, v in unusable.items()} == {"call_new0": "cut", "x": "a list"}


async def test_dev_27_unusable_arguments_never_execute_also_not_after_a_restore():
    tool = Probe()
    turn = say("", ("c1", "look", {}), ("c2", "look", {}), invalid=[("c1", '{"q": ', "cut off")])
    world = World(turn, say("done"), tools=[tool.spec()])
    result = await world.run()
    assert tool.ids == ["c2"]
    first, second = results_of(result.messages[1])
    assert first[2]
    assert "cut off" in first[1]
    assert not second[2]
    again = Probe()
    await World(turn, say("done"), tools=[again.spec()]).run(resume=world.ledger.saves[0][1])
    assert again.ids == ["c2"]


# -- arguments --------------------------------------------------------------------------------

SCHEMA = {
    "type": "object",
    "properties": {
        "q": {"type": "string"},
        "limit": {"type": "integer", "default": 5},
        "deep": {"type": "object", "properties": {"on": {"type": "boolean", "default": True}}},
        "rows": {"type": "array", "items": {"properties": {"n": {"default": 0}}}},
    },
    "required": ["q"],
}


async def test_the_tool_receives_the_validated_value_in_schema_order():
    tool = Probe()
    call = ("c1", "look", {"extra": 1, "deep": {}, "rows": [{}], "q": "x"})
    await one_call(tool, call=call, schema=SCHEMA)
    value = tool.calls[0][1]
    assert value == {"q": "x", "limit": 5, "deep": {"on": True}, "rows": [{"n": 0}], "extra": 1}
    assert list(value) == ["q", "limit", "deep", "rows", "extra"]


async def test_the_record_and_the_conversation_keep_what_the_model_sent():
    tool = Probe()
    _, world, result = await one_call(tool, schema=SCHEMA)
    assert result.tool_calls[0]["input"] == {"q": "a"}
    assert world.of("tool_start")[0]["input"] == {"q": "a", "limit": 5}


async def test_idea_47_refused_arguments_list_their_issues_and_do_not_reach_the_gate():
    asked = []

    async def gate(call):
        asked.append(call)
        return ALLOW

    tool = Probe()
    call = ("c1", "look", {"limit": "many"})
    (_, text, is_error), _, _ = await one_call(tool, call=call, schema=SCHEMA, gate=gate)
    assert is_error
    assert "limit" in text
    assert "'q' is a required property" in text
    assert (tool.calls, asked) == ([], [])


@pytest.mark.parametrize("answer", [("q: must be even",), LookupError("no check")])
async def test_idea_47_what_a_schema_cannot_say_does_not_reach_the_gate_either(answer):
    asked, seen = [], []

    async def gate(call):
        asked.append(call)
        return ALLOW

    def problems(input_):
        seen.append(input_)
        if isinstance(answer, Exception):
            raise answer
        return answer

    tool = Probe()
    spec = tool.spec(SCHEMA, problems=problems)
    here = World(say("", CALL), say("done"), tools=[spec], gate=gate)
    result = await here.run()
    _, text, is_error = results_of(result.messages[1])[0]
    assert is_error
    assert "must be even" in text or "no check" in text
    assert seen == [{"q": "a", "limit": 5}], "the input with its defaults"
    assert (tool.calls, asked) == ([], [])


async def test_what_others_check_reaches_them_as_the_model_sent_it():
    tool = Probe()
    call = ("c1", "look", {"limit": "many"})
    here = World(say("", call), say("done"), tools=[tool.spec(SCHEMA, validated=False)])
    await here.run()
    assert tool.calls == [("c1", {"limit": "many"})]


def test_texts_never_become_numbers_but_whole_numbers_may_lose_their_point():
    schema = ArgumentSchema({"properties": {"n": {"type": "integer"}}})
    assert schema.check({"n": "1"}).issues
    checked = schema.check({"n": 2.0})
    assert repr(checked.value) == "{'n': 2}"


def test_a_broken_schema_or_a_foreign_reference_refuses_instead_of_letting_pass():
    assert ArgumentSchema({"type": "nonsense"}).check({}).issues
    assert ArgumentSchema({"$ref": "http://127.0.0.1:9/x"}).check({}).issues


def test_defaults_are_fresh_for_every_call():
    schema = ArgumentSchema({"properties": {"list": {"default": []}}})
    schema.check({}).value["list"].append(1)
    assert schema.check({}).value == {"list": []}


def test_json_of_any_depth_is_copied():
    deep = leaf = {}
    for _ in range(5000):
        leaf["x"] = [{}]
        leaf = leaf["x"][0]
    copied = copy_json(deep)
    assert copied is not deep
    assert copied["x"][0] is not deep["x"][0]


async def test_a_tool_that_changes_its_input_changes_nothing_else():
    def spoil(input_, _context):
        input_["q"] = "spoiled"
        return "ok"

    _, world, result = await one_call(Probe(answer=spoil))
    assert result.messages[0]["content"][0]["input"] == {"q": "a"}
    assert world.of("tool_start")[0]["input"] == {"q": "a"}


# -- gates ------------------------------------------------------------------------------------


def gates_of_s40(world):
    """The eleven gate behaviours of the case, by their description."""

    def returns(value):
        async def gate(_call):
            return value

        return gate

    async def raises(_call):
        raise RuntimeError("gate broke")

    async def cancelled(_call):
        raise asyncio.CancelledError

    async def sleeps(_call):
        await world[0].clock.sleep(60)
        return ALLOW

    async def missing(_call):
        raise ModuleNotFoundError("no module named my_gate")

    return {
        "raise RuntimeError": raises,
        "raise CancelledError": cancelled,
        "sleep 60 with limit 1 s": sleeps,
        "return None": returns(None),
        "return 'allow'": returns("allow"),
        "return {}": returns({}),
        "return {'action':'ALLOW'}": returns({"action": "ALLOW"}),
        "return {'action':'allow'}": returns({"action": "allow"}),
        "return {'action':'deny','reason':''}": returns({"action": "deny", "reason": ""}),
        "return {'action':'suspend'} on a store without compare-and-set": returns(
            {"action": "suspend"}
        ),
        "configured gate cannot be imported": missing,
    }


@pytest.mark.parametrize(
    "row",
    json.loads((CASES / "s40-gate-fails-open" / "gates.json").read_text()),
    ids=lambda row: row["gate"],
)
async def test_s40_only_the_documented_form_lets_a_tool_run(row):
    holder = []
    gate = gates_of_s40(holder)[row["gate"]]
    tool = Probe()
    world = World(say("", CALL), say("done"), gate=gate, gate_limit_s=1,
                  tools=[tool.spec(consequential=True)])  # fmt: skip
    holder.append(world)
    world.ledger.atomic = False
    result = await world.run()
    assert (len(tool.calls) == 1) == row["run"]
    assert result.success, "the run continues"
    answers = results_of(result.messages[1])
    assert len(answers) == 1
    assert answers[0][2] != row["run"]
    if not row["run"]:
        assert "gate" in answers[0][1] or "denied" in answers[0][1] or "decision" in answers[0][1]


@pytest.mark.parametrize("answer", [True, False, 1, "deny", [], {"action": "allow", "reason": 3},
                                    {"action": "allow", "reason": ["x"]}, object()])  # fmt: skip
async def test_s40_garbage_never_allows(answer):
    async def gate(_call):
        return answer

    tool = Probe()
    (_, text, is_error), world, _ = await one_call(tool, gate=gate)
    assert (tool.calls, is_error) == ([], True)
    assert "failed" in text
    assert world.of("warning")[0]["code"] == "GATE_FAILED"


async def test_s40_a_gate_that_is_no_coroutine_allows_nothing():
    tool = Probe()
    (_, _, is_error), _, _ = await one_call(tool, gate=lambda _call: ALLOW)
    assert (tool.calls, is_error) == ([], True)


VALUES = st.sampled_from([None, True, False, 0, 1, "", "allow", "deny", "suspend", "ALLOW", "ok"])
ANSWERS = st.dictionaries(
    st.sampled_from(["action", "reason", "x"]),
    VALUES | st.dictionaries(st.sampled_from(["action", "reason"]), VALUES, max_size=2),
    max_size=3,
)


@given(VALUES | ANSWERS)
def test_s40_no_answer_but_the_documented_ones_is_read(answer):
    try:
        decision = read_answer(answer, gate="tool")
    except GateFailed:
        return
    assert answer["action"] == decision.action
    assert decision.action in {"allow", "deny", "suspend"}


def test_bools_are_answers_only_for_plan_round_and_dispatch():
    assert read_answer(True, gate="plan", accepts_bool=True) == ALLOW
    assert read_answer(False, gate="plan", accepts_bool=True) == deny()
    with pytest.raises(Exception, match="GATE_FAILED"):
        read_answer(True, gate="tool")


async def test_idea_47_the_gate_sees_the_validated_input_and_the_static_facts():
    asked = []

    async def gate(call):
        asked.append(call)
        return GateDecision("deny", "not today")

    tool = Probe()
    here = World(
        say("", CALL),
        say("done"),
        gate=gate,
        tools=[tool.spec(SCHEMA, consequential=True, effect=Effect.CONSEQUENTIAL)],
    )
    result = await here.run()
    (call,) = asked
    assert (call.input, call.raw_input) == ({"q": "a", "limit": 5}, {"q": "a"})
    assert (call.consequential, call.effect, call.agent) == (True, Effect.CONSEQUENTIAL, "w")
    assert (call.run_id, call.task_id, call.tool_call_id) == ("run-1", "t1", "c1")
    assert "not today" in results_of(result.messages[1])[0][1]
    assert here.of("gate_call") == [{"gate": "tool", "toolName": "look", "toolCallId": "c1"}]


async def test_idea_47_a_stop_while_the_gate_is_open_prevents_the_run():
    holder = []

    async def gate(_call):
        holder[0].token.stop(StopReason.CANCEL)
        return ALLOW

    tool = Probe()
    world = World(say("", CALL), tools=[tool.spec()], gate=gate)
    holder.append(world)
    result = await world.run()
    assert (tool.calls, result.aborted) == ([], True)
    assert world.ledger.trace() == ["B1"]


async def test_an_open_gate_holds_no_place_of_another_tool():
    holder = []

    async def gate(call):
        if call.tool_call_id == "c1":
            await holder[0].clock.sleep(10)
        return ALLOW

    world = World(say("", CALL, ("c2", "look", {})), say("done"), gate=gate, parallel=1)
    tool = Probe()
    world = World(say("", CALL, ("c2", "look", {})), say("done"), gate=gate, parallel=1,
                  tools=[tool.spec()])  # fmt: skip
    holder.append(world)
    await world.run()
    assert tool.ids == ["c2", "c1"]


async def test_suspend_without_a_checkpoint_is_an_error_result():
    async def gate(_call):
        return suspend()

    tool = Probe()
    world = World(say("", CALL), say("done"), tools=[tool.spec()], gate=gate)
    result = await world.run(boundaries=False)
    assert (result.success, result.suspended, tool.calls) == (True, False, [])
    assert "no decision can be recorded" in results_of(result.messages[1])[0][1]


@pytest.mark.parametrize(("consequential", "gate", "runs"),
                         [(True, False, 0), (True, True, 1), (False, False, 1)])  # fmt: skip
async def test_dev_16_consequential_calls_need_a_confirmation_at_the_executor(
    consequential, gate, runs
):
    async def yes(_call):
        return ALLOW

    tool = Probe()
    world = World(say("", CALL), say("done"), gate=yes if gate else None, confirm=True,
                  tools=[tool.spec(consequential=consequential)])  # fmt: skip
    assert (await world.run()).success
    assert len(tool.calls) == runs


# -- running ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("parallel", "most"), [(4, 4), (1, 1), (0, 1), (20, 10)])
async def test_dev_21_parallel_calls_are_bounded(parallel, most):
    calls_ = [(f"c{n}", "look", {}) for n in range(10)]
    holder = World(say(""))
    tool = Probe(clock=holder.clock, delays={f"c{n}": 1 for n in range(10)})
    world = World(say("", *calls_), say("done"), tools=[tool.spec()], parallel=parallel)
    tool.clock = world.clock
    result = await world.run()
    assert tool.most == most
    assert [i for i, _, _ in results_of(result.messages[1])] == [f"c{n}" for n in range(10)]


async def test_tool_start_is_told_and_awaited_before_the_tool_runs():
    order = []
    tool = Probe(on_call=lambda _c: order.append("ran"))

    async def before(call):
        await asyncio.sleep(0)
        order.append(f"recorded {call.tool_call_id}")

    world = World(say("", CALL), say("done"), tools=[tool.spec()])
    world.bus.subscribe(lambda e: order.append(e.type) if e.type.startswith("tool_") else None)
    await world.run(before_tool=before)
    assert order == ["recorded c1", "tool_start", "ran", "tool_end", "tool_result"]


async def test_a_start_that_cannot_be_recorded_does_not_run():
    async def before(_call):
        raise WriteFailed("STORE_WRITE_FAILED")

    tool = Probe()
    world = World(say("", CALL), say("done"), tools=[tool.spec()])
    result = await world.run(before_tool=before)
    assert tool.calls == []
    assert results_of(result.messages[1])[0][2]


@pytest.mark.parametrize(
    "answer",
    [RuntimeError("broke"), KeyError("k"), ToolOutput(None), ToolOutput({"a": 1}),
     ToolOutput("x", is_error="yes"), ToolOutput("x", model_output=[]), 17,
     ToolOutput("x", model_output=[{"type": "video"}]), ToolOutput("bad", is_error=True)],
    ids=str,
)  # fmt: skip
async def test_whatever_a_tool_does_wrong_is_an_error_result(answer):
    (_, text, is_error), _, result = await one_call(Probe(answer=answer))
    assert is_error
    assert isinstance(text, str)
    assert result.success


def test_is_error_false_is_kept_and_absent_stays_absent():
    plain = judge(ToolOutput("x"), tool="t", call_id="c", limit=None)
    assert "is_error" not in plain
    assert (
        judge(ToolOutput("x", is_error=False), tool="t", call_id="c", limit=None)["is_error"]
        is False
    )
    assert list(judge(ToolOutput("x", is_error=True), tool="t", call_id="c", limit=None)) == [
        "type", "tool_use_id", "content", "is_error"]  # fmt: skip


GOOD = {"type": "base64", "media_type": "image/png", "data": "aGk="}


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image", "source": {**GOOD, "data": "data:image/png;base64,aGk="}},
        {"type": "image", "source": {**GOOD, "data": "aGk"}},
        {"type": "image", "source": {**GOOD, "data": ""}},
        {"type": "image", "source": {**GOOD, "media_type": "image/png; q=1"}},
        {"type": "file", "filename": "  ", "source": GOOD},
        {"type": "image", "source": {"type": "url", "media_type": "image/png", "url": "ftp://x/y"}},
        {"type": "image", "source": {"type": "url", "media_type": "image/png", "url": "/y"}},
        {"type": "text"},
        "text",
    ],
)
def test_bad_rich_parts_are_named(part):
    assert parts_problem([{"type": "text", "text": "ok"}, part]).startswith("part 2")
    assert parts_problem([{"type": "image", "source": GOOD}]) is None


PIECES = st.sampled_from(["", "a", "é", "水", "\U0001f41d", "e\u0301", "\n", "words of a text "])


@given(st.lists(st.tuples(PIECES, st.integers(0, 40)), max_size=6), st.integers(-5, 320))
def test_truncation_keeps_the_limit_and_whole_characters(pieces, limit):
    text = "".join(piece * times for piece, times in pieces)
    cut = truncate(text, limit)
    if limit <= 0 or utf16_length(text) <= limit:
        assert cut == text
        return
    assert utf16_length(cut) <= limit
    cut.encode()


def test_truncation_keeps_head_and_tail_seven_to_three():
    cut = truncate("a" * 500 + "b" * 500, 260)
    head, middle, tail = cut.split("\n")
    assert "1000 characters" in middle
    assert set(head) == {"a"}
    assert set(tail) == {"b"}
    assert len(head) / (len(head) + len(tail)) == pytest.approx(0.7, abs=0.01)


async def test_the_tools_limit_beats_the_agents_and_rich_output_is_never_cut():
    long = "x" * 1000
    (_, text, _), _, _ = await one_call(Probe(answer=long), maxToolOutputChars=200)
    assert len(text) == 200
    rich = ToolOutput(None, model_output=[{"type": "text", "text": long}])
    (_, parts, _), _, _ = await one_call(Probe(answer=rich), maxToolOutputChars=200)
    assert parts[0]["text"] == long
    tool = Probe(answer=long)
    world = World(say("", CALL), say("done"), tools=[tool.spec(max_output_chars=300)],
                  maxToolOutputChars=200)  # fmt: skip
    result = await world.run()
    assert len(results_of(result.messages[1])[0][1]) == 300


async def test_durations_are_never_negative():
    tool = Probe()
    world = World(say("", CALL), say("done"), tools=[tool.spec()])
    tool.on_call = lambda _c: setattr(world.clock, "time", -100.0)
    result = await world.run()
    assert result.tool_calls[0]["duration"] == 0
