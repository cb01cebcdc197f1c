"""A model looks at a simple goal before anybody works on it (engine.md 4.1 row 4)."""

import asyncio
import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oma_desktop.engine.agents.structured_output import judge
from oma_desktop.engine.cancel import StopReason
from oma_desktop.engine.coordination.profiling import (
    DeclarationRequired,
    RoutingProfilerFailed,
    RoutingTimedOut,
    profiler_agent,
)
from oma_desktop.engine.coordination.route_profile import (
    Profile,
    judge_profile,
    profile_prompt,
    profile_schema,
)
from oma_desktop.engine.llm.base import ModelAdapter
from oma_desktop.engine.tools.registry import ToolRegistry
from oma_desktop.model.egress import OfflinePolicy
from oma_desktop.model.governance import Governance
from oma_desktop.model.runfile import Coordinator
from oma_desktop.model.team import AgentConfig, OrchestratorOptions
from tests.core.engine.coordination.team_scripts import GOAL, script, turn
from tests.core.engine.run_world import RunWorld, statuses
from tests.core.engine.test_spans import is_child, one, spans

__all__ = ["spans"]  # a fixture

SIMPLE = "Which venue is the biggest?"
CALM = {
    "agents": ["scout"],
    "divisible": False,
    "independentLook": False,
    "changesWorld": "no",
    "confidence": 0.9,
    "reasons": ["One question."],
}


def world(*profiles, routing=None, replies=None, agents=None, **extra):
    """A team whose goals are looked at; each profile is one reply, texts and errors as they are."""
    said = [
        p if "text" in p or "error" in p else turn(json.dumps({**CALM, **p}), 30) for p in profiles
    ]
    document = script(
        replies={"@route": said, "@other": [turn("Hall A", 7)], **(replies or {})},
        orchestrator={"executionRouting": {"strategy": "hybrid", **(routing or {})}},
        **extra,
    )
    if agents is not None:
        document["agents"] = agents
    return RunWorld(script=document)


def calls(result):
    return result.log["modelCalls"]


PAY = {"pay": {"consequential": True, "results": {"*": {"data": "paid"}}}}
PAYING = [{"name": "scout"}, {"name": "clerk", "tools": ["pay"]}]
OTHER_PAYS = [{"name": "clerk"}, {"name": "scout", "tools": ["pay"]}]
BOUND = [
    {"name": "scout", "permissionBoundary": "public"},
    {"name": "clerk", "permissionBoundary": "books"},
]
BOTH = {"agents": ["scout", "clerk"]}


async def test_a_goal_that_one_agent_can_reach_stays_with_it():
    here = world({})
    result = await here.run_team(SIMPLE)
    assert result.success
    assert statuses(result) == {"short-circuit": "completed"}
    assert calls(result) == ["router | @route | turn 0", "scout | @other | turn 0"]
    assert result.routing == {"mode": "single", "source": "hybrid", "reason": "one_agent_is_enough"}
    assert result.final_answer == "Hall A"
    assert here.store.list() == []
    assert not result.saved


async def test_what_the_question_used_counts_for_the_run_and_no_task():
    result = await world({}).run_team(SIMPLE)
    assert result.total_usage == {"input_tokens": 37, "output_tokens": 2}
    assert result.metrics.total_tokens == {"input_tokens": 7, "output_tokens": 1}


@pytest.mark.parametrize(
    ("profile", "reason"),
    [
        (BOTH, "several_agents"),
        ({"divisible": True}, "divisible"),
        ({"independentLook": True}, "independent_look"),
    ],
)
async def test_a_goal_that_needs_more_goes_to_the_team(profile, reason):
    here = world(profile)
    result = await here.run_team(SIMPLE)
    assert result.success
    assert set(statuses(result)) == {"Venues", "Budget", "Agenda"}
    assert result.routing == {"mode": "team", "source": "hybrid", "reason": reason}
    assert result.assessment == {
        "recommendation": "team",
        "reasons": [reason],
        "confidence": 0.9,
        "threshold": 0.7,
        "profile": {**CALM, **profile},
        "tokenUsage": {"input_tokens": 30, "output_tokens": 1},
    }
    assert here.snapshot()["mode"] == "runTeam"


@pytest.mark.parametrize(("confidence", "mode"), [(0.69, "single"), (0.7, "team")])
async def test_low_confidence_keeps_the_goal_with_one_agent(confidence, mode):
    result = await world({**BOTH, "confidence": confidence}).run_team(SIMPLE)
    assert result.routing["mode"] == mode


async def test_doubt_is_stronger_than_a_risk():
    result = await world({**BOTH, "confidence": 0.2}, agents=BOUND).run_team(SIMPLE)
    assert result.routing["reason"] == "low_confidence"
    assert result.assessment["recommendation"] == "single"


@pytest.mark.parametrize("options", [{}, {"mode": "single"}, {"plan_only": True}])
async def test_the_model_is_asked_only_where_the_wording_sends_a_goal_to_one_agent(options):
    goal = GOAL if not options else SIMPLE
    result = await world({}).run_team(goal, **options)
    assert "router | @route | turn 0" not in calls(result)
    assert result.assessment is None


async def test_a_router_of_the_host_is_not_second_guessed():
    async def router(_goal, _roster):
        return "single"

    result = await world(BOTH).run_team(SIMPLE, router=router)
    assert result.routing["source"] == "router"


# ---------------------------------------------------------------------- risk


@pytest.mark.parametrize(
    ("profile", "agents", "tools", "reason"),
    [
        (BOTH, BOUND, {}, "permission_boundaries"),
        ({**BOTH, "changesWorld": "maybe"}, OTHER_PAYS, PAY, "consequential_tools_of_others"),
    ],
)
async def test_a_risky_combination_is_for_a_person_to_declare(profile, agents, tools, reason):
    here = world(profile, agents=agents, tools=tools)
    with pytest.raises(DeclarationRequired) as raised:
        await here.run_team(SIMPLE)
    assert raised.value.code == "ROUTING_DECLARATION_REQUIRED"
    assert raised.value.facts["reasons"] == [reason]
    assert raised.value.facts["usage"] == {"input_tokens": 30, "output_tokens": 1}
    assert not raised.value.retryable
    assert here.of("run_end")[0].data["status"] == "error"
    assert here.store.list() == []


async def test_what_somebody_declared_needs_no_further_declaration():
    result = await world(BOTH, agents=BOUND).run_team(SIMPLE, governance=Governance())
    assert result.routing["mode"] == "team"


async def test_acting_with_own_tools_crosses_nothing():
    agents = [{"name": "scout", "tools": ["pay"]}, {"name": "zoe"}]
    result = await world({"changesWorld": "yes"}, agents=agents, tools=PAY).run_team(SIMPLE)
    assert result.routing["mode"] == "single"
    assert result.flags == ("consequential-no-independence",)


async def test_flags_follow_the_route_that_was_taken():
    clerk = {"agents": ["clerk"]}  # of equals the first by name
    acting = await world(clerk, agents=PAYING, tools=PAY).run_team(SIMPLE)
    free = await world(clerk, agents=OTHER_PAYS, tools=PAY).run_team(SIMPLE)
    assert acting.routing["mode"] == free.routing["mode"] == "single"
    assert acting.flags == ("consequential-no-independence",)
    assert free.flags == ()
    team = await world({"divisible": True}, agents=OTHER_PAYS, tools=PAY).run_team(SIMPLE)
    assert team.flags == ("consequential-no-independence",)


# ---------------------------------------------------------------------- failures

SLOW = {"text": json.dumps(CALM), "delayMs": 20_000}
BAD = [turn("no idea"), turn("still none")]


@pytest.mark.parametrize(
    ("said", "routing", "code"),
    [
        ([SLOW], {}, "ROUTING_TIMEOUT"),
        ([SLOW], {"timeoutMs": 19_999}, "ROUTING_TIMEOUT"),
        (BAD, {}, "ROUTING_PROFILER_FAILED"),
        ([{"error": {"message": "down", "status": 400}}], {}, "ROUTING_PROFILER_FAILED"),
    ],
)
async def test_a_model_that_fails_is_replaced_by_the_wording(said, routing, code):
    here = world(*said, routing=routing)
    result = await here.run_team(SIMPLE)
    assert result.success
    assert (result.routing["mode"], result.routing["source"]) == ("single", "deterministic")
    assert [e.data["code"] for e in here.of("warning")] == [code]
    assert result.assessment["reasons"] == [code]


async def test_a_model_may_take_the_time_it_was_given():
    result = await world(SLOW, routing={"timeoutMs": 20_001}).run_team(SIMPLE)
    assert result.routing["source"] == "hybrid"


async def test_an_unusable_answer_is_repaired_once_and_both_count():
    result = await world(BAD[0], BOTH).run_team(SIMPLE)
    assert result.routing["mode"] == "team"
    assert result.assessment["tokenUsage"] == {"input_tokens": 40, "output_tokens": 2}


@pytest.mark.parametrize(
    ("said", "kind", "retryable"),
    [([SLOW], RoutingTimedOut, True), (BAD, RoutingProfilerFailed, False)],
)
async def test_a_model_that_fails_ends_the_call_where_nothing_may_replace_it(said, kind, retryable):
    here = world(*said, routing={"failurePolicy": "fail"})
    with pytest.raises(kind) as raised:
        await here.run_team(SIMPLE)
    assert raised.value.retryable is retryable
    assert set(raised.value.facts["usage"]) == {"input_tokens", "output_tokens"}
    assert here.store.list() == []


async def test_the_question_counts_for_the_ceiling_of_the_run():
    here = world(BOTH)
    result = await here.run_team(SIMPLE, max_token_budget=20)
    assert result.status.code == "budget_exhausted"
    assert calls(result) == ["router | @route | turn 0"]
    assert result.total_usage == {"input_tokens": 30, "output_tokens": 1}


async def test_a_stop_during_the_question_ends_the_run():
    here = world(SLOW)
    here.bus.subscribe(
        lambda e: (
            e.type == "run_start"
            and asyncio.get_running_loop().call_soon(here.token.stop, StopReason.CANCEL)
        )
    )
    result = await here.run_team(SIMPLE)
    assert result.status.code == "cancelled"
    assert here.store.list() == []


async def test_what_the_question_cost_is_part_of_the_cost_of_the_run():
    here = world({})
    seen = []

    def estimate(use):
        seen.append(use.agent)
        return 0.5

    here.estimate = estimate
    result = await here.run_team(SIMPLE)
    assert seen == ["router", "scout"]
    assert result.total_cost == 1.0


async def test_a_cost_ceiling_ends_the_run_after_the_question():
    here = world({})
    here.estimate = lambda _use: 2.0
    result = await here.run_team(SIMPLE, max_cost_budget=1.0)
    assert result.status.code == "budget_exhausted"
    assert calls(result) == ["router | @route | turn 0"]


async def test_a_restore_never_asks_the_question_again():
    here = world(BOTH)
    whole = await here.run_team(SIMPLE)
    for at in range(len(here.store.saved)):
        again = await here.crashed(at).restore(real_runner=True, coordinator=Coordinator())
        assert again.success
        assert not any("@route" in call or "@decompose" in call for call in calls(again))
        assert again.total_usage == whole.total_usage


class Far(ModelAdapter):
    """A model on another machine, which must not be asked."""

    name = "far"
    goes_to = "https://far.example"

    async def stream(self, _request, _token):
        raise AssertionError("a call left")
        yield


async def test_where_a_policy_forbids_the_address_nothing_is_asked():
    here = world({})
    near = here.team.adapter_for
    here.team = replace(
        here.team, adapter_for=lambda agent: Far() if agent.name == "router" else near(agent)
    )
    result = await here.run_team(SIMPLE, egress_policy=OfflinePolicy(mode="offline"))
    assert "ROUTING_PROFILER_FAILED" in [e.data["code"] for e in here.of("warning")]
    assert result.routing["source"] == "deterministic"


# ---------------------------------------------------------------------- what is asked


def test_who_is_asked_can_be_named_and_keeps_no_address_of_another_provider():
    settings = Coordinator(provider="openai", model="big", base_url="http://one")
    roster = [AgentConfig(name="a", provider="openai", model="small")]

    def asked(**routing):
        options = OrchestratorOptions.model_validate(
            {"executionRouting": {"strategy": "hybrid", **routing}}
        )
        agent = profiler_agent(settings, options=options, roster=roster)
        return agent.provider, agent.model, agent.base_url

    assert asked() == ("openai", "big", "http://one")
    assert asked(model="tiny") == ("openai", "tiny", "http://one")
    assert asked(provider="anthropic", model="m") == ("anthropic", "m", None)


def test_dev_19_classes_and_boundaries_are_told_to_whoever_routes():
    agent = AgentConfig(
        name="a", cost_tier="low", latency_class="high", permission_boundary="books"
    )
    prompt = profile_prompt("g", [agent], ToolRegistry())
    for fact in ('"costTier":"low"', '"latencyClass":"high"', '"permissionBoundary":"books"'):
        assert fact in prompt


def test_an_agent_nobody_has_is_no_profile():
    text = json.dumps({**CALM, "agents": ["ghost"]})
    assert judge(text, profile_schema([AgentConfig(name="scout")])).problem is not None


ROSTER = [AgentConfig(name=n, permission_boundary=b) for n, b in (("a", "x"), ("b", "y"))]


@given(
    agents=st.lists(st.sampled_from(["a", "b"]), min_size=1),
    divisible=st.booleans(),
    look=st.booleans(),
    world_=st.sampled_from(["no", "maybe", "yes"]),
    confidence=st.floats(0, 1),
    declared=st.booleans(),
)
def test_only_confidence_moves_a_goal_and_a_declaration_ends_every_demand(
    agents, divisible, look, world_, confidence, declared
):
    profile = Profile(tuple(agents), divisible, look, world_, confidence, ("r",))
    verdict = judge_profile(
        profile,
        taker=ROSTER[0],
        roster=ROSTER,
        tools=ToolRegistry(),
        threshold=0.7,
        declared=declared,
    )
    assert verdict.reasons
    if confidence < 0.7:
        assert verdict.recommendation == "single"
    if declared:
        assert verdict.recommendation != "needs-declaration"
    elif confidence >= 0.7 and "b" in agents:
        assert verdict.recommendation == "needs-declaration"


async def test_the_question_and_the_decision_are_spans_below_the_run(spans):
    await world(BOTH).run_team(SIMPLE)
    run = one(spans(), "oma.run")
    asked = one(spans(), "profile_execution_route")
    decided = one(spans(), "decide_execution_route")
    assert is_child(asked, run)
    assert is_child(decided, run)
    assert asked.attributes["oma.routing.recommendation"] == "team"
    assert asked.attributes["oma.usage.input"] == 30
    assert decided.attributes["oma.routing.source"] == "hybrid"
    assert SIMPLE not in str([dict(s.attributes) for s in spans()])
