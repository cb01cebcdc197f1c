"""A goal from its plan to its answer, by scripted models (engine.md 4)."""

import json

import pytest

from oma_desktop.engine.cancel import StopReason
from oma_desktop.engine.memory.shared_memory import SharedMemory
from oma_desktop.model.errors import InvalidInput, PlanRejected, Unreachable
from oma_desktop.model.model_routing import ModelRouting
from oma_desktop.model.result_document import result_document
from oma_desktop.model.run_facts import gather
from oma_desktop.model.run_states import run_state
from oma_desktop.model.runfile import Coordinator
from oma_desktop.model.view import OwnerKind, RunState
from tests.core.engine.coordination.team_scripts import GOAL, PLAN, plan, script, turn
from tests.core.engine.run_world import RunWorld, statuses


async def test_a_goal_is_planned_done_and_summed_up():
    world = RunWorld(script=script())
    result = await world.run_team(GOAL)
    assert result.success
    assert statuses(result) == {"Venues": "completed", "Budget": "completed", "Agenda": "completed"}
    assert result.final_answer == "All set."
    assert result.goal == GOAL
    assert result.routing == {"mode": "team", "source": "deterministic", "reason": "sequence"}
    assert world.snapshot()["mode"] == "runTeam"
    assert world.snapshot()["goal"] == GOAL
    assert result.log["modelCalls"][0] == "coordinator | @decompose | turn 0"
    assert result.log["modelCalls"][-1] == "coordinator | @synthesis | turn 0"


async def test_a_coordinator_starts_once_and_completes_once():
    world = RunWorld(script=script())
    await world.run_team(GOAL)
    starts = [e for e in world.of("agent_start") if e.agent == "coordinator"]
    ends = [e for e in world.of("agent_complete") if e.agent == "coordinator"]
    assert [e.data for e in starts] == [{"phase": "decomposition", "goal": GOAL}]
    assert [e.data["output"] for e in ends] == ["All set."]


async def test_dev_13_the_answer_is_kept_apart_from_the_plan():
    world = RunWorld(script=script())
    result = await world.run_team(GOAL)
    document = result_document(result)
    assert document["finalAnswer"] == "All set."
    assert document["coordinatorOutput"] == json.dumps(PLAN) + "\n\n---\n\n" + "All set."


async def test_dev_14_results_are_found_under_the_whole_name_of_an_agent():
    document = script()
    document["agents"].append({"name": "scout:2"})
    document["agents"].append({"name": "coordinator"})
    document["replies"]["@decompose"] = [
        plan(
            [
                {"title": "A", "description": "a", "assignee": "scout:2"},
                {"title": "B", "description": "b", "assignee": "scout"},
                {"title": "C", "description": "c", "assignee": "scout:2"},
                {"title": "D", "description": "d", "assignee": "coordinator"},
            ]
        )
    ]
    result = await RunWorld(script=document).run_team(GOAL)
    merged = result.agent_results
    assert list(merged) == [
        ("agent", "scout:2"),
        ("agent", "scout"),
        ("agent", "coordinator"),
        ("coordinator", "coordinator"),
    ]
    assert merged["agent", "scout:2"]["output"] == "done\n\n---\n\ndone"
    assert merged["agent", "scout:2"]["tokenUsage"] == {"input_tokens": 20, "output_tokens": 2}
    assert merged["agent", "coordinator"]["output"] == "done"


async def test_p_12_the_coordinators_tokens_are_counted_and_kept():
    world = RunWorld(script=script())
    result = await world.run_team(GOAL)
    assert result.total_usage == {"input_tokens": 50 + 3 * 10 + 100, "output_tokens": 5}
    assert result.metrics.total_tokens == {"input_tokens": 30, "output_tokens": 3}
    assert world.snapshot()["omaDesktop"]["usage"] == result.total_usage
    again = await world.restore(real_runner=True, coordinator=Coordinator())
    assert again.total_usage == result.total_usage


async def test_p_13_a_finished_run_is_not_summed_up_again():
    world = RunWorld(script=script())
    await world.run_team(GOAL)
    for _ in range(2):
        again = await world.restore(real_runner=True, coordinator=Coordinator())
        assert again.success
        assert again.final_answer == "All set."
        assert again.log["modelCalls"] == []
        assert result_document(again)["coordinatorOutput"] == "All set."


async def test_an_answer_of_before_is_not_given_for_tasks_that_run_again():
    document = script(
        replies={
            "Agenda": {"attempts": [[{"error": {"message": "no", "status": 400}}]]},
        }
    )
    world = RunWorld(script=document)
    first = await world.run_team(GOAL)
    assert first.status.code == "error"
    assert first.final_answer == "All set."
    again = await world.restore(real_runner=True, retry_failed=True, coordinator=Coordinator())
    assert "coordinator | @synthesis | turn 0" in again.log["modelCalls"]


async def test_the_answer_is_written_although_a_task_failed_and_is_told_so():
    document = script(replies={"Budget": [{"error": {"message": "no money", "status": 400}}]})
    world = RunWorld(script=document)
    asked = []
    adapter = world.team.adapter_for(world.team.config.agents[0])
    plain = adapter.stream

    def spy(request, token):
        asked.append(request)
        return plain(request, token)

    adapter.stream = spy
    result = await world.run_team(GOAL)
    assert result.status.code == "error"
    assert result.final_answer == "All set."
    prompt = asked[-1].messages[0]["content"][0]["text"]
    assert GOAL in prompt
    assert "## Done\n\n### Venues (by scout)\n\ndone" in prompt
    assert "## Failed\n\n### Budget (by clerk)\n\nno money" in prompt
    assert "### Agenda" in prompt


async def test_plan_only_gives_the_plan_and_runs_nothing():
    world = RunWorld(script=script())
    result = await world.run_team("hi", plan_only=True)
    assert result.success
    assert result.plan_only
    assert set(statuses(result).values()) == {"pending"}
    assert all("assignee" in t for t in result.tasks)
    assert result.metrics is None
    assert result.total_usage == {"input_tokens": 50, "output_tokens": 1}
    assert result.log["modelCalls"] == ["coordinator | @decompose | turn 0"]
    assert world.store.list() == [], "a restore must not run what was only to be planned"


async def test_one_agent_alone_makes_no_plan():
    world = RunWorld(script=script())
    with pytest.raises(InvalidInput) as refused:
        await world.run_team(GOAL, mode="single", plan_only=True)
    assert refused.value.code == "RUN_MODE_CONFLICT"


async def test_an_empty_goal_is_refused():
    with pytest.raises(InvalidInput) as refused:
        await RunWorld(script=script()).run_team(" \n")
    assert refused.value.code == "GOAL_EMPTY"


# ---------------------------------------------------------------------- plans that are no good


async def test_idea_54_a_plan_is_repaired_once():
    broken = [*PLAN, {"title": "X", "description": "y", "assignee": "nobody"}]
    world = RunWorld(script=script(broken, PLAN))
    result = await world.run_team(GOAL)
    assert result.success
    assert len(result.tasks) == 3
    calls = [c for c in result.log["modelCalls"] if "@decompose" in c]
    assert calls == ["coordinator | @decompose | turn 0", "coordinator | @decompose | turn 1"]
    assert result.coordinator[0]["tokenUsage"] == {"input_tokens": 100, "output_tokens": 2}


@pytest.mark.parametrize(
    ("broken", "code"),
    [
        ("no plan at all", "COORDINATOR_PLAN_INVALID"),
        ([], "COORDINATOR_PLAN_INVALID"),
        ([*PLAN, {"title": "X"}], "COORDINATOR_PLAN_INVALID"),
        ([*PLAN, {"title": "X", "description": " "}], "COORDINATOR_PLAN_INVALID"),
        ([*PLAN, {"title": "X", "description": "y", "colour": 1}], "COORDINATOR_PLAN_INVALID"),
        ([*PLAN, {"title": "venues", "description": "y"}], "COORDINATOR_PLAN_INVALID"),
        ([*PLAN, {"title": "X", "description": "y", "assignee": "n"}], "INVALID_ASSIGNEE"),
        (
            [*PLAN, {"title": "X", "description": "y", "dependsOn": ["Z"]}],
            "INVALID_TASK_DEPENDENCIES",
        ),
        (
            [*PLAN, {"title": "X", "description": "y", "dependsOn": ["X"]}],
            "INVALID_TASK_DEPENDENCIES",
        ),
        (
            [*PLAN, {"title": "X", "description": "y", "requires": {"requiredTools": ["hammer"]}}],
            "INVALID_TASK_REQUIREMENTS",
        ),
    ],
)
async def test_idea_54_nothing_of_a_malformed_plan_is_executed(broken, code):
    world = RunWorld(script=script(broken))
    result = await world.run_team(GOAL)
    assert (result.status.code, result.error_info.code) == ("error", code)
    assert result.tasks == ()
    assert {c.split(" | ")[0] for c in result.log["modelCalls"]} == {"coordinator"}
    assert result.total_usage["input_tokens"] in {50, 100}, "what the coordinator used is counted"
    assert world.store.list() == []
    assert [e.data["code"] for e in world.of("error")] == [code]
    assert [e.agent for e in world.of("agent_complete")] == ["coordinator"]


async def test_a_coordinator_that_cannot_be_asked_is_a_result():
    document = script()
    document["replies"]["@decompose"] = [{"error": {"message": "who are you?", "status": 401}}]
    result = await RunWorld(script=document).run_team(GOAL)
    assert result.status.code == "error"
    assert result.error_info.code == "COORDINATOR_DECOMPOSITION_FAILED"
    assert result.error_info.message == "who are you?"
    assert result.error_info.http_status == 401


async def test_a_name_outside_the_team_is_replaced_where_strict_names_are_off():
    odd = [{"title": "X", "description": "y", "assignee": "nobody"}]
    world = RunWorld(script=script(odd, orchestrator={"strictAssignees": False}))
    result = await world.run_team(GOAL)
    assert result.success
    (said,) = world.of("warning")
    assert said.data == {
        "code": "INVALID_ASSIGNEE",
        "assignee": "nobody",
        "taskTitle": "X",
        "fallback": "scout",
    }
    assert result.tasks[0]["assignee"] == "scout"


async def test_a_plan_over_the_budget_is_not_carried_out():
    world = RunWorld(script=script())
    result = await world.run_team(GOAL, max_token_budget=50)
    assert result.status.code == "budget_exhausted"
    assert result.tasks == ()
    assert [e.agent for e in world.of("budget_exceeded")] == ["coordinator"]


async def test_a_budget_crossed_by_the_tasks_leaves_no_answer():
    world = RunWorld(script=script())
    result = await world.run_team(GOAL, max_token_budget=75)
    assert result.status.code == "budget_exhausted"
    assert result.final_answer is None
    assert not any("@synthesis" in c for c in result.log["modelCalls"])


async def test_a_budget_crossed_by_the_answer_is_told_and_the_text_is_no_answer():
    world = RunWorld(script=script())
    result = await world.run_team(GOAL, max_token_budget=100)
    assert result.status.code == "budget_exhausted"
    assert result.final_answer is None
    assert result.coordinator[1]["success"] is False
    assert len(world.of("budget_exceeded")) == 1


# ---------------------------------------------------------------------- stops


def stopping(world, title, reason):
    """Stop the run, once, while the model works on `title`."""
    left = [reason]
    adapter = world.team.adapter_for(world.team.config.agents[0])
    plain = adapter.stream

    def spy(request, token):
        if request.task_title == title and left:
            world.token.stop(left.pop())
        return plain(request, token)

    adapter.stream = spy


async def test_a_suspend_while_planning_keeps_the_plan_and_goes_on_from_it():
    world = RunWorld(script=script())
    stopping(world, "@decompose", StopReason.SUSPEND)
    result = await world.run_team(GOAL)
    assert result.status.code == "suspended"
    assert world.statuses()["Venues"] == "pending"
    again = await world.restore(real_runner=True, coordinator=Coordinator())
    assert again.success
    assert again.final_answer == "All set."


async def test_a_cancel_while_planning_leaves_nothing():
    world = RunWorld(script=script())
    stopping(world, "@decompose", StopReason.CANCEL)
    result = await world.run_team(GOAL)
    assert result.status.code == "cancelled"
    assert world.of("error") == []
    assert world.store.list() == []


async def test_a_cancel_during_the_answer_leaves_it_to_a_restore():
    world = RunWorld(script=script())
    stopping(world, "@synthesis", StopReason.CANCEL)
    result = await world.run_team(GOAL)
    assert result.status.code == "cancelled"
    assert [e.data for e in world.of("error")] == []
    assert set(world.statuses().values()) == {"completed"}
    again = await world.restore(real_runner=True, coordinator=Coordinator())
    assert again.success
    assert again.log["modelCalls"] == ["coordinator | @synthesis | turn 0"]


async def test_a_suspend_during_the_answer_lets_it_end():
    world = RunWorld(script=script())
    stopping(world, "@synthesis", StopReason.SUSPEND)
    result = await world.run_team(GOAL)
    assert result.success
    assert result.final_answer == "All set."


async def test_a_suspend_right_before_the_answer_is_asked_for_is_no_failure():
    world = RunWorld(script=script())
    plain = SharedMemory.summary

    async def summary(memory):
        world.token.stop(StopReason.SUSPEND)
        return await plain(memory)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SharedMemory, "summary", summary)
        result = await world.run_team(GOAL)
    assert result.status.code == "suspended"
    assert world.of("error") == []
    assert (await world.restore(real_runner=True, coordinator=Coordinator())).success


async def test_a_suspend_before_the_answer_is_no_finished_run():
    world = RunWorld(script=script())
    stopping(world, "Agenda", StopReason.SUSPEND)
    result = await world.run_team(GOAL)
    assert result.status.code == "suspended"
    assert result.final_answer is None
    assert (await world.restore(real_runner=True, coordinator=Coordinator())).success


# ---------------------------------------------------------------------- restoring


async def test_idea_12_a_restored_goal_is_summed_up_once_and_not_planned_again():
    world = RunWorld(script=script())
    await world.run_team(GOAL)
    before_answer = len(world.store.saved) - 2
    died = world.crashed(at=before_answer)
    assert "end" not in died.snapshot()["omaDesktop"]
    result = await died.restore(real_runner=True, coordinator=Coordinator())
    assert result.success
    assert result.final_answer == "All set."
    assert result.log["modelCalls"] == ["coordinator | @synthesis | turn 0"]


@pytest.mark.parametrize("at", [0, 1, 2])
async def test_a_goal_survives_a_kill_at_every_save(at):
    world = RunWorld(script=script())
    await world.run_team(GOAL)
    result = await world.crashed(at=at).restore(real_runner=True, coordinator=Coordinator())
    assert result.success
    assert result.final_answer == "All set."
    assert not any("@decompose" in c for c in result.log["modelCalls"])


@pytest.mark.parametrize("why", ["missing", "failing"])
async def test_idea_13_a_failed_answer_keeps_the_results_of_the_tasks(why):
    world = RunWorld(script=script())
    await world.run_team(GOAL)
    died = world.crashed(at=len(world.store.saved) - 2)
    settings = Coordinator()
    if why == "missing":
        settings = None
    else:
        document = script(replies={"@synthesis": [{"error": {"message": "down", "status": 400}}]})
        died.team = RunWorld(script=document).team
    died.forget_events()
    result = await died.restore(real_runner=True, coordinator=settings)
    assert result.status.code == "error"
    assert result.final_answer is None
    assert ("coordinator", "coordinator") not in result.agent_results
    assert len(result.task_results) == 3
    (told,) = died.of("error")
    assert told.data["kind"] == "synthesis_failed"
    assert told.data["error"] == {"missing": "COORDINATOR_MISSING", "failing": "down"}[why]


async def test_the_message_of_a_failed_answer_is_that_of_its_cause():
    document = script(replies={"@synthesis": [turn("", 1)]})
    document["replies"]["@synthesis"] = [{"error": {"message": "down", "status": 400}}]
    result = await RunWorld(script=document).run_team(GOAL)
    assert result.status.code == "error"
    assert result.error_info.message == "down"


# --- judges and what workers are told -----------------------------------------------------------

JUDGED = [
    {"title": "Venues", "description": "Find.", "assignee": "scout", "verify": True},
    {"title": "Budget", "description": "Draft.", "verify": {"quorum": 5, "onDissent": "keep"}},
    {"title": "Agenda", "description": "Build it."},
]


def judged_script():
    document = script(JUDGED)
    document["agents"].append({"name": "critic"})
    yes = turn(json.dumps({"accept": True}))
    document["replies"] |= {f"critic::{t['title']}": [yes] for t in JUDGED}
    return document


async def test_the_judges_of_the_caller_judge_what_the_coordinator_wants_judged():
    world = RunWorld(script=judged_script())
    result = await world.run_team(GOAL, coordinator=Coordinator(verify_judges=["critic"]))
    assert result.success
    judged = {e.task for e in world.of("consensus_verdict")}
    titles = {t["title"] for t in result.tasks if t["id"] in judged}
    assert titles == {"Venues", "Budget"}


async def test_without_judges_a_wish_to_verify_is_dropped():
    world = RunWorld(script=judged_script())
    result = await world.run_team(GOAL)
    assert result.success
    assert world.of("consensus_verdict") == []


async def test_judges_outside_the_team_are_refused_before_the_coordinator_is_asked():
    world = RunWorld(script=judged_script())
    with pytest.raises(PlanRejected, match="UNKNOWN_JUDGE"):
        await world.run_team(GOAL, coordinator=Coordinator(verify_judges=["stranger"]))
    assert world.of("model_call") == []


@pytest.mark.parametrize("reveal", [True, False])
async def test_workers_are_told_of_goal_and_team_only_when_asked_for(reveal):
    world = RunWorld(script=script())
    coordinator = Coordinator(reveal_coordinator=reveal)
    await world.run_team(GOAL, coordinator=coordinator)
    at = next(i for i, d in enumerate(world.store.saved) if "Venues" in str(d["queue"]))
    crashed = world.crashed(at)
    for one in (world, crashed):
        if one is crashed:
            await one.restore(real_runner=True, coordinator=coordinator)
        entries = [e for d in one.store.saved for e in d["inFlightTasks"]]
        first = [e["conversationMessages"][0]["content"][0]["text"] for e in entries]
        assert first
        assert all((GOAL in text and "- clerk: Counts money." in text) == reveal for text in first)


async def test_a_run_that_died_before_its_answer_reads_interrupted():
    world = RunWorld(script=script())
    await world.run_team(GOAL)
    seen = [state_of(s) for s in world.store.saved[-2:]]
    assert seen == [RunState.INTERRUPTED, RunState.OK]


def state_of(snapshot):
    return run_state(gather(snapshot, {}, live=False), OwnerKind.NO_WRITER)


def routed(*rules):
    rules = [{"match": match, "route": route} for match, route in rules]
    return ModelRouting.model_validate({"rules": rules})


def asked_models(world):
    """(agent, title, model) of every model call, in order."""
    seen = []
    adapter = world.team.adapter_for(None)
    real = adapter.stream

    def listen(request, token):
        seen.append((request.agent, request.task_title, request.model))
        return real(request, token)

    adapter.stream = listen
    return seen


async def test_the_phases_of_a_goal_are_routed_and_failing_endpoints_give_way():
    world = RunWorld(script=script())
    policy = routed(
        ({"phase": "decomposition"}, {"model": "planner", "fallback": [{"model": "second"}]}),
        ({"phase": "coordinator"}, {"model": "writer"}),
        ({"phase": "worker", "leaf": True}, {"model": "worker"}),
    )
    world.options = world.options.model_copy(update={"model_routing": policy})
    seen = asked_models(world)
    adapter = world.team.adapter_for(None)
    listening = adapter.stream

    def busy(request, token):
        if request.model == "planner":
            seen.append((request.agent, request.task_title, request.model))
            raise Unreachable("LLM_SERVER_ERROR", provider="x", status=503, retryable=True)
        return listening(request, token)

    adapter.stream = busy
    result = await world.run_team(GOAL)
    assert result.success
    coordinating = [(title, model) for agent, title, model in seen if agent == "coordinator"]
    assert coordinating == [
        ("@decompose", "planner"),
        ("@decompose", "second"),
        ("@synthesis", "writer"),
    ]
    workers = {title: model for agent, title, model in seen if agent != "coordinator"}
    assert sorted(workers) == ["Agenda", "Budget", "Venues"]
    assert set(workers.values()) == {"", "worker"}
