"""Run files with a goal, started in the window (engine.md 4)."""

import json

from oma_desktop.model.conversation import ANSWER
from oma_desktop.model.view import RunState
from oma_desktop.viewmodel.commands import DecisionIntent, ResumeIntent
from tests.app.support import until
from tests.app.test_session import only_run, ref_of, state_is
from tests.core.engine.llm.loopback import Answer, Loopback

GOAL = "First look at the market, then write the text"
PLAN = [
    {"title": "Look", "description": "Look at the market.", "assignee": "analyst"},
    {"title": "Write", "description": "Write it.", "assignee": "analyst", "dependsOn": ["Look"]},
]


def goal_file(folder, goal=GOAL, *, plan=PLAN, **more):
    """A run file whose only agent plays a script."""
    agents = [{"name": "analyst", "provider": "play"}]
    script = {
        "agents": [{"name": "analyst"}],
        "replies": {
            "@decompose": [{"text": json.dumps(plan)}],
            "@synthesis": [{"text": "The answer."}],
            "@default": [{"text": "done"}],
        },
    }
    run_file = {
        "goal": goal,
        "team": {"name": "desk", "agents": agents},
        "providers": {"play": {"type": "scripted", "script": "script.json"}},
        "checkpoint": {"path": "store.json"},
        **more,
    }
    (folder / "script.json").write_text(json.dumps(script), "utf-8")
    (folder / "goal.json").write_text(json.dumps(run_file), "utf-8")
    return str(folder / "goal.json")


def codes(bench):
    return [n.code for n in bench.notices]


async def test_a_goal_is_planned_reviewed_done_and_answered(bench, tmp_path):
    bench.session.start_run(goal_file(tmp_path, approvals={"plan": True}))
    await until(lambda: state_is(bench, RunState.SUSPENDED))
    store = bench.feed.stores()[0]
    (request,) = store.approvals
    assert request.scope == "plan"
    bench.session.decide(
        DecisionIntent(store.path, request.id, request.request_hash, "approve", "operator-1")
    )
    await until(lambda: bench.feed.stores()[0].approvals[0].state == "approved")
    bench.session.resume(ResumeIntent(ref_of(bench)))
    await until(lambda: state_is(bench, RunState.OK))
    assert only_run(bench).answer == "The answer."
    read = []
    bench.feed.conversation_loaded.connect(read.append)
    bench.session.load_conversation(ref_of(bench), ANSWER)
    await until(lambda: bool(read))
    assert [m.blocks[0].text for m in read[0][1].messages] == [GOAL, "The answer."]
    assert codes(bench) == ["DECISION_RECORDED_RESUME"]


async def test_the_answer_of_one_agent_is_told_since_no_store_holds_it(bench, tmp_path):
    bench.session.start_run(goal_file(tmp_path, "What is a market?"))
    await until(lambda: "GOAL_ANSWERED" in codes(bench))
    assert bench.notices[-1].facts == {"answer": "done"}
    assert not (tmp_path / "store.json").exists()
    await until(lambda: bench.feed.stores() == ())


async def test_a_run_is_there_while_its_plan_is_made_and_can_be_stopped(bench, tmp_path):
    async with Loopback([Answer(hang=True)]) as server:
        net = {"type": "openai", "baseURL": server.base_url}
        agents = [{"name": "analyst", "provider": "net", "model": "m"}]
        team = {"name": "desk", "agents": agents}
        bench.session.start_run(goal_file(tmp_path, team=team, providers={"net": net}))
        await until(lambda: only_run(bench) is not None)
        run = only_run(bench)
        assert (run.state, run.goal, run.tasks) == (RunState.RUNNING, GOAL, ())
        assert bench.feed.stores()[0].problems == ()
        bench.session.cancel(ref_of(bench))
        await until(lambda: bench.feed.stores() == ())
    assert [(n.level, n.code) for n in bench.notices] == [("info", "STOPPED_BEFORE_PLAN")]
    assert not (tmp_path / "store.json").exists()


async def test_a_run_is_there_while_a_model_looks_at_its_goal(bench, tmp_path):
    async with Loopback([Answer(hang=True)]) as server:
        net = {"type": "openai", "baseURL": server.base_url}
        agents = [{"name": "analyst", "provider": "net", "model": "m"}]
        more = {
            "team": {"name": "desk", "agents": agents},
            "providers": {"net": net},
            "orchestrator": {"executionRouting": {"strategy": "hybrid"}},
        }
        bench.session.start_run(goal_file(tmp_path, "What is a market?", **more))
        await until(lambda: only_run(bench) is not None)
        run = only_run(bench)
        assert (run.state, run.goal, run.tasks) == (RunState.RUNNING, "What is a market?", ())
        bench.session.cancel(ref_of(bench))
        await until(lambda: bench.feed.stores() == ())
    assert codes(bench) == ["STOPPED_BEFORE_PLAN"]
    assert not (tmp_path / "store.json").exists()


async def test_a_goal_that_needs_a_declaration_is_told_in_the_window(bench, tmp_path):
    agents = [
        {"name": "analyst", "provider": "play", "permissionBoundary": "inside"},
        {"name": "envoy", "provider": "play", "permissionBoundary": "outside"},
    ]
    file = goal_file(
        tmp_path,
        "What is a market?",
        team={"name": "desk", "agents": agents},
        orchestrator={"executionRouting": {"strategy": "hybrid"}},
    )
    profile = {
        "agents": ["analyst", "envoy"],
        "divisible": False,
        "independentLook": False,
        "changesWorld": "no",
        "confidence": 1,
        "reasons": ["both"],
    }
    script = json.loads((tmp_path / "script.json").read_text("utf-8"))
    script["replies"]["@route"] = [{"text": json.dumps(profile)}]
    (tmp_path / "script.json").write_text(json.dumps(script), "utf-8")
    bench.session.start_run(file)
    await until(lambda: "ROUTING_DECLARATION_REQUIRED" in codes(bench))
    assert bench.notices[-1].facts["reasons"] == ["permission_boundaries"]


async def test_a_plan_that_is_no_good_is_told_with_its_faults(bench, tmp_path):
    plan = [{"title": "X", "description": "y", "assignee": "nobody"}]
    bench.session.start_run(goal_file(tmp_path, plan=plan))
    await until(lambda: "INVALID_ASSIGNEE" in codes(bench))
    assert 'there is no agent "nobody"' in bench.notices[-1].facts["error"]
    assert bench.notices[-1].level == "error"
