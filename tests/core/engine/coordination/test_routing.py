"""Who takes a goal, and roles that must take part (engine.md 4.1 rows 2-5)."""

import pytest

from oma_desktop.engine.coordination.routing import RoutingFailed, best_agent, deterministic
from oma_desktop.model.errors import InvalidInput
from oma_desktop.model.governance import Governance
from oma_desktop.model.team import AgentConfig
from tests.core.engine.coordination.team_scripts import GOAL, script, turn
from tests.core.engine.run_world import RunWorld, statuses

SIMPLE = "Which venue is the biggest?"


def answering(answer):
    """A router that gives `answer`."""

    async def router(_goal, _roster):
        if isinstance(answer, Exception):
            raise answer
        return answer

    return router


async def test_a_simple_goal_goes_to_one_agent_and_saves_nothing():
    document = script(replies={"@other": [turn("Hall A", 7)]})
    world = RunWorld(script=document)
    result = await world.run_team(SIMPLE)
    assert result.success
    assert [(t["id"], t["status"], t["assignee"]) for t in result.tasks] == [
        ("short-circuit", "completed", "scout")
    ]
    assert result.final_answer == "Hall A"
    assert result.task_results["short-circuit"]["output"] == "Hall A"
    assert result.total_usage == {"input_tokens": 7, "output_tokens": 1}
    assert result.log["modelCalls"] == ["scout | @other | turn 0"]
    assert world.store.list() == []
    start, end = world.of("agent_start") + world.of("agent_complete")
    assert start.data == {"phase": "short-circuit", "goal": SIMPLE}
    assert end.data["phase"] == "short-circuit"
    assert end.data["result"]["output"] == "Hall A"


async def test_a_failing_agent_alone_fails_the_run():
    document = script(replies={"@other": [{"error": {"message": "down", "status": 400}}]})
    result = await RunWorld(script=document).run_team(SIMPLE)
    assert result.status.code == "error"
    assert result.error_info.message == "down"
    assert statuses(result) == {"short-circuit": "failed"}
    assert result.final_answer is None


async def test_nothing_can_wait_for_a_person_where_one_agent_works_alone():
    call = {"tools": [{"id": "c1", "name": "pay", "input": {}}]}
    document = script(
        replies={"@other": [call, turn("Not paid.")]},
        tools={"pay": {"results": {"*": {"data": "paid"}}}},
        gates={"tool": {"pay": "suspend"}},
    )
    document["agents"] = [{"name": "scout", "tools": ["pay"]}]
    result = await RunWorld(script=document).run_team(SIMPLE)
    assert result.success
    assert result.log["toolCallsExecuted"] == []
    assert result.pending_approvals == ()


def test_of_equals_the_first_by_name_takes_the_goal():
    roster = [AgentConfig(name=n) for n in ("zoe", "ann", "bob")]
    assert best_agent("water", roster).name == "ann"
    roster.append(AgentConfig(name="yak", description="water and rivers"))
    assert best_agent("Where is water?", roster).name == "yak"


def test_nobody_at_all_is_a_case_for_the_team():
    assert deterministic("hi", []).mode == "team"


@pytest.mark.parametrize("mode", ["single", "team"])
async def test_an_explicit_mode_wins_over_every_router(mode):
    world = RunWorld(script=script())
    other = answering("team" if mode == "single" else "single")
    result = await world.run_team(GOAL, mode=mode, router=other)
    assert result.routing["mode"] == mode
    assert result.routing["source"] == "mode"


@pytest.mark.parametrize("mode", ["single", "team"])
async def test_a_router_wins_over_the_wording(mode):
    goal = GOAL if mode == "single" else SIMPLE
    result = await RunWorld(script=script()).run_team(goal, router=answering(mode))
    assert (result.routing["mode"], result.routing["source"]) == (mode, "router")


@pytest.mark.parametrize("answer", [RuntimeError("x"), "both", None])
async def test_a_failing_router_is_replaced_by_the_wording(answer):
    world = RunWorld(script=script())
    result = await world.run_team(SIMPLE, router=answering(answer))
    assert (result.routing["mode"], result.routing["source"]) == ("single", "deterministic")
    assert [e.data["code"] for e in world.of("warning")] == ["ROUTING_FAILED"]


async def test_a_failing_router_ends_the_call_where_nothing_may_replace_it():
    options = {"executionRouting": {"failurePolicy": "fail"}}
    world = RunWorld(script=script(orchestrator=options))
    with pytest.raises(RoutingFailed):
        await world.run_team(SIMPLE, router=answering(RuntimeError("x")))


# ---------------------------------------------------------------------- roles


async def test_required_roles_are_done_in_their_order_without_a_coordinator():
    world = RunWorld(script=script())
    roles = Governance("required", roles=("scout", "clerk"), order=("clerk", "scout"))
    result = await world.run_team(SIMPLE, governance=roles)
    assert result.success
    first, second = result.tasks
    assert [(t["title"], t["assignee"], t["role"]) for t in result.tasks] == [
        ("clerk", "clerk", "clerk"),
        ("scout", "scout", "scout"),
    ]
    assert second["dependsOn"] == [first["id"]]
    assert first["description"] == second["description"] == SIMPLE
    assert result.routing["source"] == "governance"
    assert not any("@decompose" in c for c in result.log["modelCalls"])
    assert result.final_answer == "All set."


async def test_roles_only_planned_are_returned_pending():
    roles = Governance("preferred", roles=("scout",))
    result = await RunWorld(script=script()).run_team(SIMPLE, governance=roles, plan_only=True)
    assert result.plan_only
    assert statuses(result) == {"scout": "pending"}
    assert result.log["modelCalls"] == []


async def test_an_explicit_mode_wins_over_roles():
    roles = Governance("required", roles=("scout",))
    result = await RunWorld(script=script()).run_team(SIMPLE, governance=roles, mode="single")
    assert statuses(result) == {"short-circuit": "completed"}


@pytest.mark.parametrize(("budget", "mode"), [(None, "team"), (1000, "single")])
async def test_preferred_roles_may_give_way_to_a_ceiling(budget, mode):
    roles = Governance("preferred", roles=("scout",), under_budget="degrade")
    world = RunWorld(script=script())
    result = await world.run_team(GOAL, governance=roles, max_token_budget=budget)
    assert (result.routing["mode"], result.routing["source"]) == (mode, "governance")
    assert result.flags == (("review-skipped-due-to-budget",) if budget else ())


async def test_roles_that_would_give_way_are_planned_all_the_same():
    roles = Governance("preferred", roles=("scout",), under_budget="degrade")
    world = RunWorld(script=script())
    plan = await world.run_team(SIMPLE, governance=roles, max_token_budget=9, plan_only=True)
    assert statuses(plan) == {"scout": "pending"}


async def test_a_cost_ceiling_is_one_too():
    roles = Governance("preferred", roles=("scout",), under_budget="degrade")
    world = RunWorld(script=script())
    world.estimate = lambda _use: 0.0
    result = await world.run_team(GOAL, governance=roles, max_cost_budget=1.0)
    assert result.routing["reason"] == "budget"


@pytest.mark.parametrize(
    "roles",
    [
        Governance("required"),
        Governance("required", roles=("scout", "scout")),
        Governance("required", roles=("scout",), order=("clerk",)),
        Governance("required", roles=("judge",)),
    ],
)
@pytest.mark.parametrize("mode", [None, "single"])
async def test_a_declaration_that_contradicts_itself_is_refused_whatever_wins(roles, mode):
    with pytest.raises(InvalidInput) as refused:
        await RunWorld(script=script()).run_team(SIMPLE, governance=roles, mode=mode)
    assert refused.value.code == "GOVERNANCE_INVALID"


async def test_a_role_is_held_by_whoever_is_able():
    document = script()
    document["agents"][1]["capabilities"] = ["judge"]
    roles = Governance("required", roles=("judge",))
    result = await RunWorld(script=document).run_team(SIMPLE, governance=roles)
    assert result.tasks[0]["assignee"] == "clerk"


async def test_roles_go_through_the_plan_gate_too():
    world = RunWorld(script=script(gates={"plan": "suspend"}))
    roles = Governance("required", roles=("scout",))
    result = await world.run_team(SIMPLE, governance=roles)
    assert result.status.code == "suspended"


@pytest.mark.parametrize(
    ("roles", "options", "conclusion"),
    [
        (Governance(), {}, ("not-applicable", None)),
        (Governance("required", roles=("scout", "clerk")), {}, ("satisfied", None)),
        (
            Governance("required", roles=("scout",)),
            {"mode": "single"},
            ("unsatisfied", "overridden"),
        ),
        (
            Governance("preferred", roles=("scout",), under_budget="degrade"),
            {"max_token_budget": 10_000},
            ("not-applicable", None),
        ),
        (None, {}, None),
        (Governance("required", roles=("scout",)), {"plan_only": True}, None),
    ],
)
async def test_the_result_says_what_came_of_a_declaration(roles, options, conclusion):
    result = await RunWorld(script=script()).run_team(SIMPLE, governance=roles, **options)
    assert result.governance == conclusion
    overridden = conclusion is not None and conclusion[1] == "overridden"
    assert ("governance-overridden" in result.flags) is overridden


async def test_a_run_that_ends_at_its_ceiling_did_not_keep_the_declaration():
    roles = Governance("required", roles=("scout", "clerk"))
    world = RunWorld(script=script())
    result = await world.run_team(SIMPLE, governance=roles, max_token_budget=10)
    assert result.governance == ("unsatisfied", "budget")


async def test_a_role_that_failed_did_not_take_part():
    down = [{"error": {"message": "down", "status": 400}}]
    world = RunWorld(script=script(replies={"clerk": down}))
    roles = Governance("required", roles=("scout", "clerk"))
    result = await world.run_team(SIMPLE, governance=roles)
    assert result.governance == ("unsatisfied", "missing_roles")
