"""An agent that repairs the plan (engine.md 6.8): bounded question, counted tokens, one repair."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from oma_desktop.engine.cancel import StopReason
from oma_desktop.engine.recovery_options import RecoveryOptions
from oma_desktop.engine.tasks.agent_replanner import REPLAN, TASK_LIMIT, TEXT_LIMIT
from oma_desktop.engine.tasks.recovery_policies import recovery_of_file
from oma_desktop.model.errors import InvalidInput
from oma_desktop.model.recovery_rules import Recovery
from tests.core.engine.run_world import RunWorld, bad, ok, spec, statuses


def asking(name="b", **facts):
    return RecoveryOptions(mode="repairable", replanner_agent=name, **facts)


def parts(prompt):
    """The marked parts of the question, as JSON."""
    found = re.findall(r"<<<(\w+)\n(.*?)\n\1>>>", prompt, re.DOTALL)
    return {name: json.loads(text) for name, text in found}


def says(value, usage=(100, 20)):
    return replace(ok(json.dumps(value), usage), structured=value, has_structured=True)


def repairs(outcome_parts):
    """A good repair, from what the question says."""
    waiting = [t["id"] for t in outcome_parts["PLAN"]["tasks"] if t["status"] == "blocked"]
    return {
        "repair": True,
        "reason": "try another way",
        "addTasks": [{"key": "n", "title": "Other way", "description": "d"}],
        "supersedePending": waiting,
    }


class Bench:
    """Search fails; the replanner answers with `answer(parts of its question)`."""

    def __init__(self, answer, fails=("Search",)):
        self.answer = answer
        self.fails = fails
        self.asked = []

    async def __call__(self, world, agent, job):
        if job.task_title != REPLAN:
            return bad(retryable=False) if job.task_title in self.fails else ok()
        self.asked.append((agent, job))
        found = self.answer(parts(job.prompt))
        return found if not isinstance(found, dict) else says(found)


SEARCH = (spec("Search", assignee="a"), spec("Use", "Search", assignee="a"))


async def test_an_agent_repairs_the_plan_and_its_tokens_count():
    bench = Bench(repairs)
    world = RunWorld(work=bench)
    result = await world.run(*SEARCH, recovery=asking())
    assert result.success
    assert statuses(result) == {"Search": "failed", "Use": "skipped", "Other way": "completed"}
    assert result.plan_revisions[0]["reason"] == "try another way"
    # 5 + 1 for the failure, 10 + 2 for the new task, 100 + 20 for the question
    assert result.total_usage == {"input_tokens": 115, "output_tokens": 23}
    (agent, job) = bench.asked[0]
    assert len(bench.asked) == 1, "only failures are asked about unless the file says otherwise"
    assert (agent.name, agent.tools, agent.delegate) == ("b", [], False)
    assert job.boundaries is None
    phases = [(e.type, e.data["phase"]) for e in world.events if "phase" in e.data]
    assert phases == [("agent_start", "replan"), ("agent_complete", "replan")]


async def test_the_question_holds_outcome_plan_team_and_limits():
    seen = []
    world = RunWorld(work=Bench(lambda found: seen.append(found) or {"repair": False}))
    result = await world.run(*SEARCH, recovery=asking(max_added_tasks=7))
    assert not result.success
    (found,) = seen
    assert found["OUTCOME"]["title"] == "Search"
    assert found["OUTCOME"]["error"] == "boom"
    assert [t["title"] for t in found["PLAN"]["tasks"]] == ["Search", "Use"]
    assert [a["name"] for a in found["TEAM"]] == ["a", "b"]
    assert found["LIMITS"] == {"revisionsLeft": 3, "tasksLeft": 7}
    assert [e.data["decision"] for e in world.of("recovery_decision")] == ["no_patch"]


async def test_the_question_is_bounded_however_large_the_run_is():
    seen = []

    async def work(_world, _agent, job):
        if job.task_title == REPLAN:
            seen.append(job.prompt)
            return says({"repair": False})
        return bad("x" * 50_000, retryable=False) if job.task_title == "Search" else ok()

    many = [spec(f"T{n}", "Search", assignee="a") for n in range(TASK_LIMIT + 50)]
    world = RunWorld(work=work)
    await world.run(spec("Search", assignee="a"), *many, recovery=asking())
    (prompt,) = seen
    found = parts(prompt)
    assert len(found["PLAN"]["tasks"]) == TASK_LIMIT
    assert found["PLAN"]["notShown"] == 51
    assert len(found["OUTCOME"]["error"]) <= TEXT_LIMIT


async def test_success_is_asked_about_where_the_file_says_so():
    bench = Bench(lambda _found: {"repair": False}, fails=())
    options = recovery_of_file(Recovery(mode="repairable", replanner="b", on=["success"]))
    world = RunWorld(work=bench)
    assert (await world.run(*SEARCH, recovery=options)).success
    assert len(bench.asked) == 2


@pytest.mark.parametrize("answer", [lambda _f: bad("no idea"), lambda _f: says("no patch")])
async def test_an_agent_that_fails_or_says_nothing_leaves_the_original_path(answer):
    world = RunWorld(work=Bench(answer))
    result = await world.run(*SEARCH, recovery=asking())
    assert statuses(result) == {"Search": "failed", "Use": "failed"}
    assert result.plan_revisions == ()


async def test_an_agent_that_only_writes_text_is_read_too():
    def answer(found):
        return ok("Here you are:\n```json\n" + json.dumps(repairs(found)) + "\n```")

    world = RunWorld(work=Bench(answer))
    assert (await world.run(*SEARCH, recovery=asking())).success


async def test_text_without_a_patch_is_told_as_a_failure():
    world = RunWorld(work=Bench(lambda _f: ok("I would try again.")))
    assert not (await world.run(*SEARCH, recovery=asking())).success
    (event,) = [e for e in world.of("error") if e.data.get("kind") == "recovery_policy_failed"]
    assert "No JSON was found" in event.data["error"]


async def test_a_failing_question_is_told():
    world = RunWorld(work=Bench(lambda _f: bad("no idea")))
    await world.run(*SEARCH, recovery=asking())
    (event,) = [e for e in world.of("error") if e.data.get("kind") == "recovery_policy_failed"]
    assert event.data["error"] == "no idea"


async def test_the_ceiling_counts_the_question_and_nothing_is_changed_beyond_it():
    world = RunWorld(work=Bench(repairs))
    result = await world.run(*SEARCH, recovery=asking(), max_token_budget=50)
    assert result.status.code == "budget_exhausted"
    assert result.plan_revisions == ()


async def test_a_suspend_while_the_agent_thinks_leaves_the_outcome_open():
    async def work(world, _agent, job):
        if job.task_title == REPLAN:
            world.token.stop(StopReason.SUSPEND)
            return says({"repair": False})
        return bad(retryable=False) if job.task_title == "Search" else ok()

    world = RunWorld(work=work)
    result = await world.run(*SEARCH, recovery=asking())
    assert result.status.code == "suspended"
    world.work = Bench(repairs)
    assert (await world.restore(recovery=asking())).success


async def test_an_agent_outside_the_team_is_refused():
    world = RunWorld()
    with pytest.raises(InvalidInput, match="RECOVERY_AGENT_UNKNOWN"):
        await world.run(*SEARCH, recovery=asking("ghost"))


async def test_a_patch_that_breaks_a_rule_is_shown_to_the_agent_once():
    """With the real runner: the first answer strands a task, the second one is good."""
    strands = {"repair": True, "reason": "r", "supersedePending": ["id-2"]}
    strands["addTasks"] = [{"key": "n", "title": "New", "description": "d"}]
    good = {**strands, "supersedePending": ["id-2", "id-3"]}
    script = {
        "team": {"name": "t"},
        "agents": [{"name": "a"}, {"name": "b"}],
        "replies": {
            "Search": [{"error": {"message": "gone", "status": 404}}],
            "New": [{"text": "fine"}],
            "@replan": [{"text": json.dumps(strands)}, {"text": json.dumps(good)}],
        },
    }
    world = RunWorld(script=script)
    result = await world.run(
        spec("Search", assignee="a"), spec("Use", "Search"), spec("Last", "Use"),
        recovery=asking(), real_runner=True,
    )  # fmt: skip
    asked = [e for e in world.of("model_call") if e.agent == "b" and e.task.endswith(":replan")]
    assert len(asked) == 2
    assert result.success
    assert statuses(result)["Last"] == "skipped"
    assert len(result.plan_revisions) == 1
