"""Work sent to other models than the agents' own (engine.md 1.6, 2.5, 2.6, 2.7; DEV-16)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from oma_desktop.engine.model_routes import every_way, routed
from oma_desktop.engine.tools.gate import Gates
from oma_desktop.model.context_options import Summarize
from oma_desktop.model.errors import PlanRejected
from oma_desktop.model.model_routing import ModelRouting, RouteFacts, RouteTarget
from oma_desktop.model.team import AgentConfig, OrchestratorOptions, TaskRequires
from tests.core.engine.run_world import RunWorld, bad, ok, spec, statuses
from tests.core.engine.test_delegation import team, turn


def policy(*rules):
    rules = [{"match": match, "route": route} for match, route in rules]
    return ModelRouting.model_validate({"rules": rules})


def to(model, *fallback, **more):
    return {"model": model, "fallback": [{"model": m} for m in fallback], **more}


def world_of(work, *rules, agents=("a", "b"), **options):
    return RunWorld(agents=agents, work=work, model_routing=policy(*rules), **options)


class Seen:
    """A stand-in for the runner that notes who worked on which model; `answers` by model."""

    def __init__(self, **answers):
        self.answers = answers
        self.models = []

    async def __call__(self, world, agent, job):
        self.models.append((job.task_title, agent.model))
        answer = self.answers.get(agent.model or "own")
        if callable(answer):
            answer = answer()
        return answer or ok()


def busy(**facts):
    return bad("busy", retryable=True, **facts)


# --- which rule ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("match", "fits"),
    [
        ({}, True),
        ({"phase": "worker"}, True),
        ({"phase": "synthesis"}, False),
        ({"phase": "coordinator"}, False),
        ({"agent": "a"}, True),
        ({"agent": "b"}, False),
        ({"taskRole": "review"}, True),
        ({"taskRole": "write"}, False),
        ({"taskPriority": "high"}, True),
        ({"taskPriority": "low"}, False),
        ({"leaf": True}, True),
        ({"leaf": False}, False),
        ({"hasDependencies": False}, True),
        ({"hasDependencies": True}, False),
        ({"agent": "a", "leaf": False}, False),
    ],
)
def test_every_key_of_a_rule_must_hold(match, fits):
    facts = RouteFacts(
        "worker", "a", task_role="review", task_priority="high", leaf=True, has_dependencies=False
    )
    assert (policy((match, to("m"))).route(facts) is not None) is fits


@pytest.mark.parametrize("phase", ["decomposition", "synthesis"])
def test_the_coordinator_is_two_phases_and_has_no_task(phase):
    facts = RouteFacts(phase, "coordinator")
    assert policy(({"phase": "coordinator"}, to("m"))).route(facts)
    assert policy(({"leaf": False}, to("m"))).route(facts) is None


async def test_the_first_rule_that_fits_decides():
    work = Seen()
    world = world_of(
        work,
        ({"hasDependencies": True, "leaf": True}, to("last")),
        ({"taskPriority": "critical"}, to("big")),
        ({"agent": "b"}, to("small")),
    )
    await world.run(
        spec("one", assignee="a"),
        spec("two", "one", assignee="b", priority="critical"),
        spec("three", "two", assignee="b"),
        spec("four", assignee="b"),
    )
    assert dict(work.models) == {"one": None, "two": "big", "three": "last", "four": "small"}


async def test_the_policy_of_a_run_replaces_that_of_the_orchestrator():
    work = Seen()
    world = world_of(work, ({}, to("theirs")))
    await world.run(spec("one", assignee="a"), model_routing=policy(({}, to("mine"))))
    assert work.models == [("one", "mine")]


# --- which endpoint ------------------------------------------------------------------------------

AGENT = AgentConfig(
    name="a", provider="x", model="m", base_url="http://x/v1", region="r", thinking={
        "enabled": True, "effort": "low"}, extra_body={"reasoning_effort": "low", "seed": 1}
)  # fmt: skip
OPTIONS = OrchestratorOptions(default_provider="std", default_base_url="http://std/v1")


def test_an_address_belongs_to_its_provider():
    same = routed(AGENT, RouteTarget(model="n"), OPTIONS)
    assert (same.provider, same.base_url, same.region) == ("x", "http://x/v1", "r")
    other = routed(AGENT, RouteTarget(model="n", provider="y"), OPTIONS)
    assert (other.provider, other.base_url, other.region) == ("y", None, None)
    standard = routed(AGENT, RouteTarget(model="n", provider="std"), OPTIONS)
    assert standard.base_url == "http://std/v1"
    given = routed(AGENT, RouteTarget(model="n", provider="y", base_url="http://y"), OPTIONS)
    assert given.base_url == "http://y"
    assert {same.name, other.name} == {"a"}


def test_what_thinking_is_called_depends_on_the_provider():
    other = routed(AGENT, RouteTarget(model="n", provider="deepseek"), OPTIONS)
    assert other.extra_body == {
        "seed": 1,
        "reasoning_effort": "low",
        "thinking": {"type": "enabled"},
    }


def test_a_summary_model_stays_with_its_provider():
    strategy = Summarize(type="summarize", max_tokens=9000, summary_model="s")
    agent = AGENT.model_copy(update={"context_strategy": strategy})
    same = routed(agent, RouteTarget(model="n"), OPTIONS)
    other = routed(agent, RouteTarget(model="n", provider="y"), OPTIONS)
    assert same.context_strategy.summary_model == "s"
    assert other.context_strategy.summary_model is None


def test_every_model_an_agent_may_be_sent_to_is_known_before():
    rules = policy(
        ({"agent": "b"}, to("no")), ({}, to("n", "o")), ({"phase": "synthesis"}, to("s"))
    )
    options = OPTIONS.model_copy(update={"model_routing": rules})
    assert [w.model for w in every_way(AGENT, options, of={None, "worker"})] == ["n", "o"]


# --- requirements --------------------------------------------------------------------------------


async def test_requirements_look_at_the_model_an_agent_is_routed_to():
    needs = TaskRequires(requiredProvider="y")
    agents = [AgentConfig(name="a", provider="x", model="m")]
    work = Seen()
    world = world_of(work, ({"taskRole": "r"}, to("n", provider="y")), agents=agents)
    result = await world.run(spec("one", role="r", requires=needs))
    assert result.success
    assert work.models == [("one", "n")]
    world = world_of(work, ({"taskRole": "r"}, to("n", provider="y")), agents=agents)
    with pytest.raises(PlanRejected, match="INVALID_TASK_REQUIREMENTS"):
        await world.run(spec("one", requires=needs))


async def test_fallbacks_that_do_not_meet_the_requirements_are_left_out():
    agents = [AgentConfig(name="a", provider="x", model="m")]
    route = {
        "model": "n",
        "fallback": [{"model": "wrong", "provider": "y"}, {"model": "right"}],
    }
    work = Seen(n=busy())
    world = world_of(work, ({}, route), agents=agents)
    result = await world.run(spec("one", requires=TaskRequires(requiredProvider="x")))
    assert result.success
    assert [m for _, m in work.models] == ["n", "right"]


# --- fallbacks -----------------------------------------------------------------------------------


async def test_a_failing_endpoint_gives_way_to_the_next_without_any_retries_asked_for():
    work = Seen(n=busy(), o=busy())
    world = world_of(work, ({}, to("n", "o", "p")))
    result = await world.run(spec("one", assignee="a"))
    assert result.success
    assert [m for _, m in work.models] == ["n", "o", "p"]
    assert [e.data["nextModel"] for e in world.of("task_retry")] == ["o", "p"]
    assert [e.data["maxAttempts"] for e in world.of("task_retry")] == [2, 3]
    assert result.total_usage == {"input_tokens": 20, "output_tokens": 4}


async def test_what_is_no_failure_of_the_endpoint_is_tried_again_the_same_way():
    from oma_desktop.model.result import ErrorInfo

    tool = replace(bad("tool"), error_info=ErrorInfo("tool", code="X", retryable=True))
    work = Seen(n=tool)
    world = world_of(work, ({}, to("n", "o")))
    result = await world.run(spec("one", assignee="a", max_retries=2, retry_delay_ms=1))
    assert [m for _, m in work.models] == ["n", "n", "n"]
    assert statuses(result) == {"one": "failed"}


async def test_a_refusal_is_final_whatever_the_route_offers():
    work = Seen(n=bad("no", retryable=False))
    world = world_of(work, ({}, to("n", "o")))
    await world.run(spec("one", assignee="a", max_retries=2))
    assert [m for _, m in work.models] == ["n"]


async def test_after_the_last_fallback_the_retries_go_on_there():
    work = Seen(n=busy(), o=busy())
    world = world_of(work, ({}, to("n", "o")))
    await world.run(spec("one", assignee="a", max_retries=3, retry_delay_ms=1))
    assert [m for _, m in work.models] == ["n", "o", "o", "o"]


@pytest.mark.parametrize(("elsewhere", "waited"), [(False, 60.0), (True, 0.5)])
async def test_a_wish_to_wait_binds_the_endpoint_that_said_so(elsewhere, waited):
    from oma_desktop.model.result import ErrorInfo

    info = ErrorInfo("provider", code="LLM_RATE_LIMITED", retryable=True, retry_after_s=60)
    work = Seen(n=replace(bad("later"), error_info=info))
    fallback = {"model": "o", **({"provider": "y"} if elsewhere else {})}
    world = world_of(work, ({}, {"model": "n", "fallback": [fallback]}))
    assert (await world.run(spec("one", assignee="a"))).success
    assert world.clock.monotonic() == waited


async def test_a_stop_between_two_ways_leaves_the_task_for_a_restore():
    from oma_desktop.engine.cancel import StopReason

    def stop():
        world.token.stop(StopReason.SUSPEND)
        return busy()

    work = Seen(n=stop)
    world = world_of(work, ({}, to("n", "o")))
    result = await world.run(spec("one", assignee="a"))
    assert result.status.code == "suspended"
    assert world.statuses() == {"one": "in_progress"}
    work.answers = {}
    assert (await world.restore()).success


# --- who works -----------------------------------------------------------------------------------


async def test_routed_work_does_not_wait_for_the_agent():
    """engine.md 2.5: a routed worker takes a slot only; others of the same agent queue up."""
    at_work, most = 0, 0

    async def work(world, _agent, _job):
        nonlocal at_work, most
        at_work += 1
        most = max(most, at_work)
        await world.clock.sleep(1)
        at_work -= 1
        return ok()

    tasks = [spec(f"t{i}", assignee="a") for i in range(3)]
    await world_of(work, ({}, to("n"))).run(*tasks)
    assert most == 3
    at_work = most = 0
    await world_of(work, ({"agent": "b"}, to("n"))).run(*tasks)
    assert most == 1


PUBLISH = {"publish": {"schema": {}, "consequential": True, "results": {"*": {"data": "out"}}}}


@pytest.mark.parametrize("gates", [{"tool": {"publish": "deny"}}, None])
async def test_dev_16_routed_workers_pass_the_same_guards(gates):
    replies = {"Story": [turn("", ("p1", "publish", {})), turn("end")]}
    world = team(replies, {"name": "a", "tools": ["publish"]}, tools=PUBLISH, gates=gates)
    world.options = world.options.model_copy(update={"model_routing": policy(({}, to("n")))})
    if gates is None:
        world.team = replace(world.team, gates=Gates(confirm_consequential=True))
    result = await world.run(spec("Story", assignee="a"), real_runner=True)
    assert result.log["toolCallsExecuted"] == []
    assert result.confirmation_required is (gates is None)


async def test_judges_and_agents_that_work_for_others_keep_their_models():
    """engine.md 1.6: rules go by phase and task, and neither of them is a phase."""
    order = {"target_agent": "b", "prompt": "look"}
    replies = {
        "a::Story": [turn("", ("d1", "delegate_to_agent", order)), turn("end")],
        "b::@other": [turn("seen")],
        "j::Story": [turn('{"accept": true}')],
    }
    agents = ({"name": "a", "delegate": True}, {"name": "b", "model": "b1"})
    world = team(replies, *agents, {"name": "j", "model": "j1"})
    world.options = world.options.model_copy(update={"model_routing": policy(({}, to("n")))})
    asked = {}
    inner = world.team.adapter_for

    def adapter_for(agent):
        asked[agent.name] = agent.model
        return inner(agent)

    world.team = replace(world.team, adapter_for=adapter_for)
    result = await world.run(spec("Story", assignee="a", verify="j"), real_runner=True)
    assert result.success
    assert asked == {"a": "n", "b": "b1", "j": "j1"}
