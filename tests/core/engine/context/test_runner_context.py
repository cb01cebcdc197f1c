"""Context strategies inside a run: what is sent, saved, counted, resumed (engine.md 3.9, 3.13)."""

import asyncio
import copy
import itertools
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oma_desktop.engine.agents.hooks import AgentHooks
from oma_desktop.engine.agents.pairing import pairing_problem
from oma_desktop.engine.cancel import StopReason
from oma_desktop.engine.tools.gate import ALLOW, suspend
from tests.core.engine.runner_world import Probe, World, problem, say, until_stopped

WINDOW = {"type": "sliding-window", "maxTurns": 1}
SUMMARY = {"type": "summarize", "maxTokens": 300, "summaryModel": "small"}
COMPACT = {"type": "compact", "maxTokens": 300, "preserveRecentTurns": 1}


def drop_the_middle(messages, _tokens):
    return [messages[0], *messages[-2:]] if len(messages) > 3 else messages


STRATEGIES = {
    "sliding-window": {"contextStrategy": WINDOW},
    "summarize": {"contextStrategy": SUMMARY},
    "compact": {"contextStrategy": COMPACT},
    "custom": {},
    "results": {"compressToolResults": True},
    "all": {"contextStrategy": SUMMARY, "compressToolResults": {"minChars": 300}},
}


def world(n=4, *, hooks=None, size=900, answer="done", **agent):
    """A run of n tool turns with long results, then an answer."""
    turns = [say("looking", (f"c{i}", "look", {"q": i})) for i in range(n)]
    tool = Probe(answer="r" * size)
    made = World(*turns, say(answer), tools=[tool.spec()], hooks=hooks, maxTurns=20, **agent)
    made.tool = tool
    return made


def custom(strategy):
    return AgentHooks(compress=drop_the_middle) if strategy == "custom" else None


@pytest.mark.parametrize("name", STRATEGIES)
async def test_a_crash_after_any_save_ends_as_without_it(name):
    whole = world(hooks=custom(name), **STRATEGIES[name])
    expected = await whole.run()
    assert expected.output == "done"
    shorter = whole.ledger.last()["conversationMessages"]
    assert len(str(shorter)) < len(str([whole.model.requests[0].messages, expected.messages]))
    for number, (_, state) in enumerate(whole.ledger.saves):
        again = world(hooks=custom(name), **STRATEGIES[name])
        result = await again.run(resume=copy.deepcopy(state))
        assert result.output == expected.output, number
        assert result.messages == expected.messages
        assert result.entry == expected.entry
        assert result.token_usage == expected.token_usage
        assert [r["toolName"] for r in result.tool_calls] == ["look"] * 4


@pytest.mark.parametrize("name", STRATEGIES)
async def test_every_request_is_sound_and_what_was_produced_is_kept_whole(name):
    run = world(hooks=custom(name), **STRATEGIES[name])
    result = await run.run()
    for request in run.model.requests:
        assert pairing_problem(request.messages) is None
        if request.phase == "turn":
            assert request.messages[0] == run.model.requests[0].messages[0]
    plain = await world().run()
    assert result.messages == plain.messages


async def test_the_shortened_conversation_is_what_the_next_boundary_saves():
    run = world(contextStrategy=WINDOW)
    await run.run()
    last = run.ledger.last()
    assert len(last["conversationMessages"]) == 4
    assert len(last["messages"]) == 9


async def test_a_window_keeps_what_did_not_change_as_the_same_objects():
    """Saves join ready pieces by identity: unchanged messages must not be written again."""
    saved = []
    run = world(contextStrategy=COMPACT)

    class Keeping(type(run.ledger)):
        async def save(self, entry, boundary):
            saved.append(entry)

    run.ledger = Keeping()
    await run.run()
    for before, after in itertools.pairwise(saved):
        old = {id(m) for m in before["conversationMessages"]}
        fresh = [m for m in after["conversationMessages"] if id(m) not in old]
        assert len(fresh) <= 3


async def test_a_summary_is_a_call_of_its_own_and_is_counted():
    run = world(contextStrategy=SUMMARY, systemPrompt="Be brief.")
    result = await run.run()
    asked = [r for r in run.model.requests if r.phase == "summary"]
    assert asked
    assert all((r.model, r.tools) == ("small", []) for r in asked)
    assert all(r.system_prompt != "Be brief." for r in asked)
    assert result.token_usage == {
        "input_tokens": 5 * 10 + len(asked) * 7,
        "output_tokens": 5 + len(asked) * 3,
    }
    told = [e for e in run.of("model_call") if e.get("phase") == "summary"]
    assert len(told) == len(asked)
    assert "in short" not in [e["text"] for e in run.of("text_delta")]
    assert "in short" in str(run.ledger.last()["conversationMessages"])


@pytest.mark.parametrize(("named", "goes"), [("small", False), ("big", True), (None, True)])
async def test_wire_fields_of_the_agents_model_do_not_go_to_another_one(named, goes):
    strategy = {"type": "summarize", "maxTokens": 300}
    if named is not None:
        strategy["summaryModel"] = named
    run = world(contextStrategy=strategy, model="big", extraBody={"reasoning_effort": "high"})
    await run.run()
    asked = next(r for r in run.model.requests if r.phase == "summary")
    assert asked.model == (named or "big")
    assert (asked.extra_body is not None) == goes


async def test_a_summary_has_its_own_call_limit():
    run = world(contextStrategy=SUMMARY, callTimeoutMs=5000)

    async def slow(_request, token):
        return await until_stopped(_request, token)

    run.model.summary = slow
    result = await run.run()
    assert (result.status.code, result.error_info.code) == ("timeout", "LLM_CALL_TIMEOUT")
    assert len(result.tool_calls) == 2
    assert result.token_usage["input_tokens"] == 20


async def test_a_summary_that_fails_fails_the_run_with_its_reason():
    run = world(contextStrategy=SUMMARY)
    run.model.summary = problem("no such model", 404)
    result = await run.run()
    assert (result.success, result.output) == (False, "no such model")
    assert result.entry["phase"] == "awaiting_model"


async def test_a_budget_used_up_by_a_summary_ends_before_the_next_call():
    run = world(contextStrategy=SUMMARY, maxTokenBudget=25)
    result = await run.run()
    assert result.budget_exceeded
    assert run.model.requests[-1].phase == "summary"
    assert result.token_usage == {"input_tokens": 27, "output_tokens": 5}
    assert run.ledger.trace()[-1] == "B7"


async def test_a_stop_during_a_summary_stops():
    run = world(contextStrategy=SUMMARY)

    async def cancel(_request, token):
        run.token.stop(StopReason.CANCEL)
        return await until_stopped(_request, token)

    run.model.summary = cancel
    result = await run.run()
    assert result.status.code == "cancelled"
    assert run.ledger.last()["phase"] == "awaiting_model"


async def test_the_memory_of_repetitions_survives_a_short_window_and_a_resume():
    same = say("", ("x", "look", {"q": 1}))
    options = {"contextStrategy": WINDOW, "loopDetection": {"onLoopDetected": "terminate"}}
    whole = World(same, tools=[Probe().spec()], **options)
    expected = await whole.run()
    assert (expected.loop_detected, len(whole.model.requests)) == (True, 3)
    for _, state in whole.ledger.saves:
        again = World(same, tools=[Probe().spec()], **options)
        result = await again.run(resume=state)
        assert result.loop_detected
        assert result.messages == expected.messages


async def test_an_id_used_again_stays_another_call_when_the_window_forgot_the_first():
    """The boundary of a request counts uses of an id; a window must not start the count anew."""
    seen = []

    async def gate(call):
        seen.append(call.tool_call_id)
        return suspend() if len(seen) == 4 else ALLOW

    run = World(
        say("", ("call_1", "look", {})), tools=[Probe().spec()], gate=gate, contextStrategy=WINDOW
    )
    result = await run.run()
    plain = World(say("", ("call_1", "look", {})), tools=[Probe().spec()], gate=None)
    seen.clear()
    plain.team = replace(plain.team, gates=run.team.gates)
    other = await plain.run()
    assert result.suspended
    assert other.suspended
    assert run.ledger.requests[0]["content"] == plain.ledger.requests[0]["content"]


# -- a strategy of one's own ------------------------------------------------------------------


async def test_a_custom_strategy_works_on_copies_every_turn():
    seen = []

    def spoil(messages, tokens):
        seen.append((len(messages), tokens))
        kept = [messages[0], *messages[-2:]] if len(messages) > 3 else list(messages)
        messages[-1]["content"].append({"type": "text", "text": "spoilt"})
        messages.clear()
        return kept

    run = world(2, hooks=AgentHooks(compress=spoil))
    result = await run.run()
    assert [n for n, _ in seen] == [1, 3, 5]
    assert seen[2][1] > seen[0][1]
    assert "spoilt" not in str(result.messages)


@pytest.mark.parametrize(
    "answer",
    [None, [], "text", [{"role": "system", "content": []}], RuntimeError("no"), "half", "own last"],
)
async def test_a_custom_strategy_that_fails_ends_as_a_callback_failure(answer):
    async def compress(messages, _tokens):
        if isinstance(answer, Exception):
            raise answer
        if answer == "half":
            return messages[:1] + messages[2:] if len(messages) > 1 else messages
        if answer == "own last":
            return [*messages, {"role": "assistant", "content": []}]
        return answer

    run = world(1, hooks=AgentHooks(compress=compress))
    result = await run.run()
    assert (result.success, result.error_info.kind, result.error_info.code) == (
        False,
        "callback",
        "HOOK_FAILED",
    )


async def test_a_suspend_during_a_summary_keeps_the_turn_it_was_made_for():
    run = world(contextStrategy=SUMMARY)

    async def asked(_request, _token):
        run.token.stop(StopReason.SUSPEND)
        return say("in short", usage=(7, 3))

    run.model.summary = asked
    result = await run.run()
    assert result.suspended
    saved = run.ledger.last()
    assert "in short" in str(saved["conversationMessages"])
    assert saved["tokenUsage"] == result.token_usage == {"input_tokens": 37, "output_tokens": 6}
    again = world(contextStrategy=SUMMARY)
    assert (await again.run(resume=saved)).output == "done"


# -- any run ----------------------------------------------------------------------------------

ANY = [*STRATEGIES, "window 2", "compact hard", "summary often"]
MORE = {
    "window 2": {"contextStrategy": {"type": "sliding-window", "maxTurns": 2}},
    "compact hard": {
        "contextStrategy": {"type": "compact", "maxTokens": 1, "preserveRecentTurns": 0}
    },
    "summary often": {"contextStrategy": {"type": "summarize", "maxTokens": 1}},
}


def worth(entry):
    return {key: value for key, value in entry.items() if key != "tokenUsage"}


def total(usage):
    return usage["input_tokens"] + usage["output_tokens"]


@given(st.data())
@settings(deadline=None, max_examples=60)
def test_any_run_any_strategy_any_crash_ends_as_without_it(data):
    name = data.draw(st.sampled_from(ANY))
    wish = {**STRATEGIES, **MORE}[name]
    shapes = data.draw(st.lists(st.sampled_from(["one", "two", "same", "text"]), max_size=6))
    size = data.draw(st.sampled_from([5, 300, 900]))
    asks = {
        "one": lambda n: say("looking", (f"c{n}", "look", {"q": n})),
        "two": lambda n: say("", (f"c{n}", "look", {"q": n}), (f"d{n}", "look", {"q": -n})),
        "same": lambda _n: say("again", ("same", "look", {})),
        "text": lambda n: say("thinking " * 300, (f"e{n}", "look", {"q": n})),
    }

    def made():
        turns = [asks[shape](n) for n, shape in enumerate(shapes)]
        tool = Probe(answer="r" * size)
        return World(
            *turns, say("done"), tools=[tool.spec()], hooks=custom(name), maxTurns=20, **wish
        )

    async def check():
        whole = made()
        expected = await whole.run()
        assert expected.output == "done"
        for request in whole.model.requests:
            assert pairing_problem(request.messages) is None
            roles = [message["role"] for message in request.messages]
            assert all(a != b for a, b in itertools.pairwise(roles))
            if request.phase == "turn":
                assert request.messages[0] == whole.model.requests[0].messages[0]
        at = data.draw(st.integers(0, len(whole.ledger.saves) - 1))
        result = await made().run(resume=copy.deepcopy(whole.ledger.saves[at][1]))
        assert worth(result.entry) == worth(expected.entry)
        more = total(result.token_usage) - total(expected.token_usage)
        # a summary of the same text again is remembered by a run, not over a crash
        assert more == 0 or (more > 0 and "summar" in str(wish))
        assert (result.output, result.messages) == (expected.output, expected.messages)

    asyncio.run(check())
