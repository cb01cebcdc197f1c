"""A run file with a goal, from the command line: plan, gate, answer, kills (engine.md 4, 5)."""

import json
import signal

import pytest

from tests.cli.conftest import finish
from tests.cli.files import write
from tests.cli.test_processes import until

GOAL = "First look at the market, then write the text"
PLAN = [
    {"title": "Look", "description": "Look at the market.", "assignee": "analyst"},
    {"title": "Write", "description": "Write it.", "assignee": "writer", "dependsOn": ["Look"]},
]
AGENTS = [{"name": "analyst"}, {"name": "writer"}]


def replies(plan=PLAN, *, plan_ms=0, answer_ms=0, **other):
    """Scripted replies; the delays hold the coordinator up."""
    return {
        "@decompose": [{"text": json.dumps(plan), "delayMs": plan_ms}],
        "@synthesis": [{"text": "Line one.\nLine two.", "delayMs": answer_ms}],
        "Look": [{"text": "A market."}],
        "Write": [{"text": "A text."}],
        "@other": [{"text": "Just so."}],
        **other,
    }


@pytest.fixture
def goal_run(tmp_path):
    """Write a run file whose agents play a script; returns the arguments of `run`."""

    def made(goal=GOAL, *, said=None, **more):
        document = {
            "goal": goal,
            "team": {"name": "desk", "agents": [{**a, "provider": "play"} for a in AGENTS]},
            "providers": {"play": {"type": "scripted", "script": "script.json"}},
            **more,
        }
        write(tmp_path, goal=document, script={"agents": AGENTS, "replies": said or replies()})
        return (tmp_path / "goal.json", "--store", tmp_path / "store.json", "--run-id", "r")

    return made


def calls(document):
    return document["log"]["modelCalls"]


def test_a_goal_is_reached(cli, goal_run):
    done = cli("run", *goal_run())
    assert done.code == 0
    assert done.out.endswith("finished\n\nLine one.\nLine two.\n")
    said = done.err.splitlines()
    assert "plan    the coordinator divides the goal" in said
    assert said[-1] == "answer  the coordinator sums up"


def test_the_document_holds_the_answer(cli, goal_run, tmp_path):
    document = cli("run", *goal_run(), "--json").json
    assert document["finalAnswer"] == "Line one.\nLine two."
    assert document["goal"] == GOAL
    assert document["routingDecision"]["mode"] == "team"
    assert document["coordinatorOutput"].startswith(json.dumps(PLAN))
    assert calls(document) == [
        "coordinator | @decompose | turn 0",
        "analyst | Look | turn 0",
        "writer | Write | turn 0",
        "coordinator | @synthesis | turn 0",
    ]
    again = cli("restore", "--store", tmp_path / "store.json", "--json").json
    assert again["finalAnswer"] == "Line one.\nLine two."
    assert calls(again) == []


def test_a_script_takes_the_place_of_every_model(cli, goal_run, tmp_path):
    arguments = goal_run(providers={})
    done = cli("run", *arguments, "--script", tmp_path / "script.json", "--json")
    assert done.json["finalAnswer"] == "Line one.\nLine two."


def test_a_plan_waits_for_a_person_and_runs_when_it_is_approved(cli, goal_run, tmp_path):
    arguments = goal_run(approvals={"plan": True})
    store = tmp_path / "store.json"
    waiting = cli("run", *arguments, "--json")
    assert waiting.code == 3
    (request,) = waiting.json["pendingApprovals"]
    assert request["scope"] == "plan"
    assert cli("restore", "--store", store).code == 3
    hash_ = request["requestHash"]
    approved = cli("approve", store, request["id"], "--hash", hash_, "--reviewer", "ann")
    assert approved.code == 0
    done = cli("restore", "--store", store, "--json")
    assert done.code == 0
    assert done.json["finalAnswer"] == "Line one.\nLine two."
    assert done.json["identity"]["attempt"] == 2
    assert "coordinator | @decompose | turn 0" not in calls(done.json)


def test_a_rejected_plan_never_runs(cli, goal_run, tmp_path):
    store = tmp_path / "store.json"
    (request,) = cli("run", *goal_run(approvals={"plan": True}), "--json").json["pendingApprovals"]
    cli("reject", store, request["id"], "--hash", request["requestHash"], "--reviewer", "ann")
    for _ in range(2):
        done = cli("restore", "--store", store, "--json")
        assert done.code == 1
        assert done.json["status"]["code"] == "rejected"
        assert {t["status"] for t in done.json["tasks"]} == {"skipped"}
        assert calls(done.json) == []


def test_a_plan_nobody_may_carry_out_is_not_saved(cli, goal_run, tmp_path):
    done = cli("run", *goal_run(approvals={"plan": "deny"}))
    assert done.code == 1
    assert "rejected" in done.out
    assert not (tmp_path / "store.json").exists()


def test_a_simple_goal_is_answered_by_one_agent(cli, goal_run, tmp_path):
    done = cli("run", *goal_run("What is a market?"))
    assert done.code == 0
    assert done.out.endswith("\n\nJust so.\n")
    assert "One agent took the goal as it is; nothing was saved." in done.err
    assert list(tmp_path.glob("store*")) == []


def test_whoever_wants_to_see_the_plan_gets_one_for_a_simple_goal_too(cli, goal_run):
    done = cli("run", *goal_run("What is a market?", approvals={"plan": True}))
    assert done.code == 3


def test_a_plan_that_is_no_good_is_told_with_its_faults(cli, goal_run, tmp_path):
    plan = [{"title": "X", "description": "y", "assignee": "nobody"}]
    done = cli("run", *goal_run(said=replies(plan)))
    assert done.code == 1
    assert 'there is no agent "nobody"' in done.out
    assert not (tmp_path / "store.json").exists()


def test_settings_of_the_coordinator_count(cli, goal_run):
    coordinator = {"provider": "other", "instructions": "Be brief."}
    providers = {
        "play": {"type": "scripted", "script": "script.json"},
        "other": {"type": "scripted", "script": "other.json"},
    }
    arguments = goal_run(coordinator=coordinator, providers=providers)
    folder = arguments[0].parent
    other = replies(**{"@synthesis": [{"text": "From the other one."}]})
    write(folder, other={"agents": AGENTS, "replies": other})
    done = cli("run", *arguments, "--json")
    assert done.json["finalAnswer"] == "From the other one."


def test_a_missing_key_of_the_coordinator_is_found_before_anything_runs(cli, goal_run, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    done = cli("run", *goal_run(coordinator={"provider": "openai", "model": "m"}), "--json")
    assert done.code == 2
    assert done.error["code"] == "LLM_KEY_MISSING"
    assert "coordinator" in done.error["message"]


def test_a_restore_that_cannot_sum_up_keeps_the_results(cli, goal_run, tmp_path):
    said = replies(**{"@synthesis": [{"error": {"message": "down", "status": 400}}]})
    failed = cli("run", *goal_run(said=said), "--json")
    assert failed.code == 1
    assert failed.json["finalAnswer"] is None
    goal_run()
    done = cli("restore", "--store", tmp_path / "store.json", "--json")
    assert done.code == 0
    assert done.json["finalAnswer"] == "Line one.\nLine two."
    assert calls(done.json) == ["coordinator | @synthesis | turn 0"]


def hybrid(profile, **options):
    """A run whose simple goal a model looks at first; `profile` is what it says of it."""
    said = {
        "agents": ["analyst"],
        "divisible": False,
        "independentLook": False,
        "changesWorld": "no",
        "confidence": 0.9,
        "reasons": ["As it reads."],
        **profile,
    }
    routing = {"strategy": "hybrid", **options}
    return {
        "said": replies(**{"@route": [{"text": json.dumps(said)}]}),
        "orchestrator": {"executionRouting": routing},
    }


def test_a_model_may_send_a_simple_goal_to_the_team(cli, goal_run):
    arguments = goal_run("What is a market?", **hybrid({"agents": ["analyst", "writer"]}))
    done = cli("run", *arguments, "--json")
    assert done.code == 0
    assert calls(done.json)[:2] == ["router | @route | turn 0", "coordinator | @decompose | turn 0"]
    assert done.json["routingDecision"] == {
        "mode": "team",
        "source": "hybrid",
        "reason": "several_agents",
    }
    assert done.json["semanticRoutingAssessment"]["profile"]["agents"] == ["analyst", "writer"]


def test_a_goal_that_stays_with_one_agent_saves_nothing(cli, goal_run, tmp_path):
    done = cli("run", *goal_run("What is a market?", **hybrid({})))
    assert done.code == 0
    assert done.out.endswith("\n\nJust so.\n")
    assert "One agent took the goal as it is; nothing was saved." in done.err
    assert list(tmp_path.glob("store*")) == []


def test_a_risky_goal_waits_for_a_declaration(cli, goal_run, tmp_path):
    agents = [
        {"name": "analyst", "permissionBoundary": "inside", "provider": "play"},
        {"name": "writer", "permissionBoundary": "outside", "provider": "play"},
    ]
    team = {"name": "desk", "agents": agents}
    wish = hybrid({"agents": ["analyst", "writer"]})
    done = cli("run", *goal_run("What is a market?", team=team, **wish), "--json")
    assert (done.code, done.error["code"]) == (1, "ROUTING_DECLARATION_REQUIRED")
    assert "needs analyst, writer" in done.error["message"]
    assert "permission boundaries" in done.error["message"]
    assert "governanceIntent" in done.error["hint"]
    assert list(tmp_path.glob("store*")) == []


def test_a_model_that_fails_is_told_and_the_wording_decides(cli, goal_run):
    wish = hybrid({})
    wish["said"]["@route"] = [{"text": "no idea"}]
    done = cli("run", *goal_run("What is a market?", **wish))
    assert done.code == 0
    assert "look    a model looks at the goal" in done.err
    assert "so the wording of the goal decided" in done.err
    assert "Nothing was run" not in done.err


def test_the_model_that_looks_at_goals_is_found_before_anything_runs(cli, goal_run, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    wish = hybrid({}, provider="openai", model="m")
    done = cli("run", *goal_run("What is a market?", **wish), "--json")
    assert (done.code, done.error["code"]) == (2, "LLM_KEY_MISSING")


def test_dev_19_keys_of_the_question_need_the_question(cli, goal_run):
    path = goal_run(orchestrator={"executionRouting": {"threshold": 0.5}})[0]
    done = cli("check", path, "--json")
    (found,) = done.json["problems"]
    assert found["path"].startswith("$.orchestrator.executionRouting")
    assert "hybrid" in found["message"]


# ---------------------------------------------------------------------- who reaches it

ROLES = {"governanceIntent": "required", "requiredRoles": ["writer", "analyst"]}


def test_roles_of_the_file_take_part_in_their_order(cli, goal_run):
    said = replies(analyst=[{"text": "Found."}], writer=[{"text": "Written."}])
    order = ["analyst", "writer"]
    arguments = goal_run("What is a market?", said=said, **ROLES, requiredOrder=order)
    done = cli("run", *arguments, "--json")
    assert done.code == 0
    assert [t["title"] for t in done.json["tasks"]] == ["analyst", "writer"]
    assert calls(done.json) == [
        "analyst | analyst | turn 0",
        "writer | writer | turn 0",
        "coordinator | @synthesis | turn 0",
    ]
    assert done.json["routingDecision"]["source"] == "governance"
    assert done.json["governanceConclusion"] == "satisfied"


def test_roles_are_a_plan_that_can_be_approved(cli, goal_run, tmp_path):
    waiting = cli("run", *goal_run(**ROLES, approvals={"plan": True}), "--json")
    assert waiting.code == 3
    assert [t["title"] for t in waiting.json["tasks"]] == ["writer", "analyst"]


def test_roles_can_be_frozen_without_a_model(cli, goal_run, tmp_path):
    path = goal_run(**ROLES)[0]
    out = tmp_path / "plan.json"
    assert cli("plan", path, "-o", out).code == 0
    assert [t["title"] for t in json.loads(out.read_text())["tasks"]] == ["writer", "analyst"]


@pytest.mark.parametrize("scripted", [False, True])
def test_a_mode_of_the_file_decides(cli, goal_run, tmp_path, scripted):
    more = ("--script", tmp_path / "script.json") if scripted else ()
    alone = cli("run", *goal_run(mode="single"), *more, "--json")
    assert [t["id"] for t in alone.json["tasks"]] == ["short-circuit"]
    team = cli("run", *goal_run("What is a market?", mode="team"), *more, "--json")
    assert team.json["routingDecision"]["source"] == "mode"
    assert "coordinator | @decompose | turn 0" in calls(team.json)


TASKS = [{"title": "T", "description": "d"}]


@pytest.mark.parametrize(
    ("change", "code", "place"),
    [
        ({"governanceIntent": "required"}, "RUNFILE_NO_ROLES", "governanceIntent"),
        ({**ROLES, "requiredRoles": ["writer", "writer"]}, "RUNFILE_ROLE_TWICE", "requiredRoles"),
        ({**ROLES, "requiredRoles": ["judge"]}, "RUNFILE_ROLE_OF_NOBODY", "requiredRoles"),
        (
            {**ROLES, "requiredRoles": ["writer"], "requiredOrder": ["analyst"]},
            "RUNFILE_ROLE_UNKNOWN",
            "requiredOrder",
        ),
        ({"requiredRoles": ["writer"]}, "RUNFILE_NEEDS_INTENT", "requiredRoles"),
        ({**ROLES, "mode": "team"}, "RUNFILE_MODE_BEATS_ROLES", "mode"),
        (
            {**ROLES, "preferredUnderBudget": "degrade"},
            "RUNFILE_NEEDS_PREFERRED",
            "preferredUnderBudget",
        ),
        ({"mode": "single", "approvals": {"plan": True}}, "RUNFILE_SINGLE_HAS_NO_PLAN", "mode"),
        ({"goal": None, "tasks": TASKS, "mode": "team"}, "RUNFILE_NEEDS_GOAL", "mode"),
    ],
)
def test_dev_19_a_key_about_the_goal_that_can_do_nothing_is_refused(
    cli, goal_run, tmp_path, change, code, place
):
    path = goal_run(**change)[0]
    document = {k: v for k, v in json.loads(path.read_text()).items() if v is not None}
    write(tmp_path, goal=document)
    (found,) = cli("check", path, "--json").json["problems"]
    assert found["code"] == code
    assert found["path"] == f"$.{place}"
    assert cli("run", path).code == 2


def test_one_agent_alone_has_no_plan_to_freeze(cli, goal_run, tmp_path):
    done = cli("plan", goal_run(mode="single")[0], "-o", tmp_path / "plan.json", "--json")
    assert (done.code, done.error["code"]) == (2, "RUN_MODE_CONFLICT")
    assert not (tmp_path / "plan.json").exists()


def test_the_schema_knows_who_may_reach_a_goal(cli):
    schema = cli("check", "--schema").json
    properties = schema["properties"]
    routing = schema["$defs"]["ExecutionRouting"]
    assert "risky" in routing["description"]
    assert set(routing["properties"]) == {
        "strategy",
        "threshold",
        "failurePolicy",
        "timeoutMs",
        "model",
        "provider",
        "baseURL",
    }
    for key in ("mode", "governanceIntent", "requiredRoles", "requiredOrder"):
        assert key in properties
    assert "preferredUnderBudget" in properties


# ---------------------------------------------------------------------- real processes


def test_a_kill_while_the_plan_is_made_leaves_nothing_and_the_run_starts_again(
    processes, cli, goal_run, tmp_path
):
    arguments = goal_run(said=replies(plan_ms=60_000))
    process = processes("run", *arguments)
    until(process, "divides the goal")
    process.kill()
    process.wait()
    assert not (tmp_path / "store.json").exists()
    goal_run()
    done = cli("run", *arguments, "--json")
    assert done.code == 0
    assert done.json["finalAnswer"] == "Line one.\nLine two."


def test_a_kill_during_the_answer_costs_the_answer_only(processes, cli, goal_run, tmp_path):
    arguments = goal_run(said=replies(answer_ms=60_000))
    process = processes("run", *arguments)
    until(process, "sums up")
    process.kill()
    process.wait()
    goal_run()
    done = cli("restore", "--store", tmp_path / "store.json", "--json")
    assert done.code == 0
    assert calls(done.json) == ["coordinator | @synthesis | turn 0"]
    assert done.json["finalAnswer"] == "Line one.\nLine two."


def test_a_second_signal_while_planning_stops_and_says_that_nothing_is_saved(
    processes, goal_run, tmp_path
):
    process = processes("run", *goal_run(said=replies(plan_ms=60_000)))
    until(process, "divides the goal")
    process.send_signal(signal.SIGINT)
    until(process, "Suspending")
    process.send_signal(signal.SIGINT)
    done = finish(process)
    assert done.code == 130
    assert not (tmp_path / "store.json").exists()
