"""Frozen plans from the command line: `run PLAN.json --team RUNFILE`, the key `plan`, `check`."""

import json
import os

import pytest

from oma_desktop.cli import attempt
from oma_desktop.engine.cancel import StopReason
from oma_desktop.engine.launching.wiring import Wiring
from tests.cli.conftest import GOLDEN
from tests.cli.files import script, write

PLAN = GOLDEN / "p_plan_artifact" / "plan.json"
SCRIPT = GOLDEN / "p2_runfromplan_midrun" / "peer_script.json"
IDS = [task["id"] for task in json.loads(PLAN.read_text("utf-8"))["tasks"]]
LITTLE = {
    "version": 1,
    "goal": "g",
    "tasks": [
        {"id": "one", "title": "A", "description": "do A", "assignee": "worker"},
        {"id": "two", "title": "B", "description": "do B", "dependsOn": ["one"]},
    ],
}


def team_file(**more):
    return {
        "team": {"name": "trial", "agents": [{"name": "worker", "model": "m", "tools": ["act"]}]},
        "orchestrator": {"defaultProvider": "local"},
        "providers": {"local": {"type": "scripted", "script": "s.json"}},
        **more,
    }


@pytest.fixture
def folder(tmp_path):
    """A plan in one folder, a run file with its script in another."""
    write(tmp_path / "plans", plan=LITTLE)
    return write(tmp_path / "runs", s=script("A", "B"), runfile=team_file(goal="never decomposed"))


def saved(store):
    entries = json.loads(store.read_text("utf-8"))["entries"]
    return json.loads(next(e["value"] for e in entries if "checkpoint" in e["key"]))


def test_a_plan_of_the_peer_is_replayed_with_a_script(cli, tmp_path):
    store = tmp_path / "c.json"
    done = cli("run", PLAN, "--script", SCRIPT, "--store", store, "--json")
    assert done.code == 0, done.err
    assert [t["id"] for t in done.json["tasks"]] == IDS
    assert done.json["goal"] == saved(store)["goal"]
    assert saved(store)["mode"] == "runFromPlan"


def test_a_plan_runs_with_the_settings_of_a_run_file(cli, folder, tmp_path):
    plan = tmp_path / "plans" / "plan.json"
    done = cli("run", plan, "--team", folder / "runfile.json", "--run-id", "r", "--json")
    assert done.code == 0, done.err
    assert [(t["id"], t["status"]) for t in done.json["tasks"]] == [
        ("one", "completed"),
        ("two", "completed"),
    ]
    store = folder / ".oma" / "trial" / "r" / "checkpoint.json"  # beside the file that says where
    assert saved(store)["mode"] == "runFromPlan"
    again = cli("restore", "--store", store, "--json")
    assert again.code == 0
    assert again.json["log"]["modelCalls"] == []


def test_a_suspended_replay_goes_on_without_naming_files_again(cli, folder, tmp_path):
    settings = team_file(approvals={"rounds": True})
    write(folder, runfile=settings)
    store = tmp_path / "c.json"
    plan = tmp_path / "plans" / "plan.json"
    done = cli("run", plan, "--team", folder / "runfile.json", "--store", store, "--json")
    assert done.code == 3
    (request,) = done.json["pendingApprovals"]
    assert request["scope"] == "task_round"
    bound = ("--hash", request["requestHash"], "--reviewer", "ann")
    assert cli("approve", store, request["id"], *bound).code == 0
    done = cli("restore", "--store", store, "--json")
    assert done.code == 0, done.err
    assert [t["status"] for t in done.json["tasks"]] == ["completed", "completed"]
    assert saved(store)["mode"] == "runFromPlan"


def test_a_restore_does_not_need_the_plan_file_any_more(cli, folder):
    rounds = {"approvals": {"rounds": "suspend"}}
    write(folder, runfile=team_file(plan="p.json", **rounds), p=LITTLE)
    store = folder / "c.json"
    assert cli("run", folder / "runfile.json", "--store", store).code == 3
    (folder / "p.json").unlink()
    assert cli("restore", "--store", store, "--plan-only", "--json").code == 0
    done = cli("restore", "--store", store, "--json")
    assert (done.code, done.json["status"]["code"]) == (3, "suspended")


@pytest.mark.parametrize("plan", ["../plans/plan.json", LITTLE], ids=["path", "inline"])
def test_a_run_file_holds_or_names_a_plan(cli, folder, plan):
    write(folder, runfile=team_file(plan=plan))
    done = cli("run", folder / "runfile.json", "--run-id", "r", "--json")
    assert done.code == 0, done.err
    assert [t["id"] for t in done.json["tasks"]] == ["one", "two"]


def test_a_named_plan_that_is_missing_or_bad_is_named(cli, folder):
    write(folder, runfile=team_file(plan="gone.json"))
    done = cli("run", folder / "runfile.json", "--json")
    assert done.code == 2
    assert "gone.json" in done.err
    write(folder, gone={**LITTLE, "version": 3})
    done = cli("run", folder / "runfile.json", "--json")
    assert done.error["code"] == "PLAN_VERSION"
    assert "gone.json" in done.err


@pytest.mark.parametrize(
    ("edit", "code"),
    [
        ("cycle", "RUNFILE_TASK_CYCLE"),
        ("self_dependency", "RUNFILE_TASK_NEEDS_ITSELF"),
        ("unknown_id", "RUNFILE_UNKNOWN_TASK_NEAR"),
        ("remove_middle", "RUNFILE_UNKNOWN_TASK_NEAR"),
        ("dependency_by_title", "RUNFILE_UNKNOWN_TASK"),
        ("duplicate_id", "RUNFILE_TASK_ID_TWICE"),
        ("version_2", "PLAN_VERSION"),
        ("tasks_not_array", "RUNFILE_WRONG_TYPE"),
        ("bad_metadata_key", "RUNFILE_TASK_METADATA"),
        ("ineligible_assignee", "INVALID_TASK_REQUIREMENTS"),
    ],
)
def test_a_plan_that_cannot_be_replayed_starts_nothing(cli, tmp_path, edit, code):
    store = tmp_path / "c.json"
    plan = PLAN.with_name(f"edit_{edit}.json")
    done = cli("run", plan, "--script", SCRIPT, "--store", store, "--json")
    assert done.code == 2
    assert done.error["code"].removesuffix("_NEAR") == code.removesuffix("_NEAR")
    assert not store.exists()
    checked = cli("check", plan, "--json")
    if edit != "ineligible_assignee":  # that depends on the team
        assert checked.code == 1
        assert done.error["code"] in {p["code"] for p in checked.json["problems"]}


def test_keys_of_others_are_left_out_and_told(cli, tmp_path):
    plan = PLAN.with_name("edit_extra_fields_ok.json")
    checked = cli("check", plan, "--json")
    assert checked.code == 0
    assert {p["code"] for p in checked.json["problems"]} == {"PLAN_KEY_IGNORED"}
    done = cli("run", plan, "--script", SCRIPT, "--store", tmp_path / "c.json", "--json")
    assert done.code == 0


def test_agents_the_team_lacks_are_told_before_their_task_fails(cli, tmp_path):
    plan = PLAN.with_name("edit_unknown_assignee.json")
    done = cli("run", plan, "--script", SCRIPT, "--store", tmp_path / "c.json", "--json")
    assert done.code == 1
    assert "The plan names agents the team does not have: nobody." in done.err.splitlines()[1]
    assert done.json["tasks"][-1]["status"] == "failed"


RULE = {"addTasks": [{"key": "k", "title": "Again", "description": "d"}], "supersede": ["B"]}
REPAIRS = {"mode": "repairable", "rules": [RULE]}


def test_a_replay_is_never_repaired(cli, folder):
    write(folder, runfile=team_file(recovery=REPAIRS))
    done = cli("run", folder.parent / "plans" / "plan.json", "--team", folder / "runfile.json")
    assert done.code == 2
    assert "replayed exactly" in done.err
    write(folder, runfile=team_file(recovery=REPAIRS, plan=LITTLE))
    checked = cli("check", folder / "runfile.json", "--json")
    assert [p["code"] for p in checked.json["problems"]] == ["PLAN_NEEDS_FIXED_RECOVERY"]


def test_rounds_and_dispatch_exclude_each_other(cli, folder):
    both = {"rounds": True, "dispatch": True}
    write(folder, runfile=team_file(approvals=both, plan="../plans/plan.json"))
    checked = cli("check", folder / "runfile.json", "--json")
    assert [p["code"] for p in checked.json["problems"]] == ["RUNFILE_ROUNDS_AND_DISPATCH"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
@pytest.mark.parametrize(
    "arguments",
    [("run", "{}"), ("check", "{}"), ("inspect", "{}"), ("plan", "{}", "-o", "{}.json"),
     ("run", PLAN, "--team", "{}"), ("run", PLAN, "--script", "{}")],
    ids=lambda words: " ".join(str(w) for w in words if w is not PLAN),
)  # fmt: skip
def test_a_pipe_is_refused_and_not_waited_for(cli, tmp_path, arguments):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    done = cli(*(str(word).replace("{}", str(pipe)) for word in arguments), "--json")
    assert (done.code, done.error["code"]) == (2, "FILE_NOT_REGULAR")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_the_window_refuses_a_pipe_too(cli, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    done = cli(tmp_path / "pipe")
    assert done.code == 2
    assert "no regular file" in done.err


def test_check_looks_into_the_plan_a_run_file_names(cli, folder):
    def problems():
        checked = cli("check", folder / "runfile.json", "--json")
        assert checked.code == (1 if checked.json["problems"] else 0)
        return [(p["code"], p["path"]) for p in checked.json["problems"]]

    write(folder, runfile=team_file(plan="p.json"), p=LITTLE)
    assert problems() == []
    write(folder, p={**LITTLE, "tasks": [{**LITTLE["tasks"][1]}]})
    assert problems() == [("RUNFILE_UNKNOWN_TASK", "$.tasks[0].dependsOn[0]")]
    write(folder, p={"agents": []})
    assert [code for code, _ in problems()] == ["PLAN_EXPECTED"]
    (folder / "p.json").unlink()
    assert [code for code, _ in problems()] == ["PATH_NOT_FOUND"]
    done = cli("run", folder / "runfile.json", "--json")
    assert (done.code, done.error["code"]) == (2, "RUNFILE_UNREADABLE")


@pytest.mark.parametrize(
    "document", [{"team": None, "tasks": None}, {"goal": None}, {"plan": None}]
)
def test_a_file_of_nothing_is_no_run_file(cli, tmp_path, document):
    write(tmp_path, f=document)
    checked = cli("check", tmp_path / "f.json", "--json")
    assert checked.code == 1
    assert [p["code"] for p in checked.json["problems"]] == ["RUNFILE_NOT_A_RUN_FILE"]


# --- freezing ------------------------------------------------------------------------------------

PEER = json.loads((GOLDEN / "p_plan_artifact" / "plan.json").read_text("utf-8"))


def test_the_plan_of_a_goal_is_frozen_and_replayed(cli, tmp_path):
    agents = json.loads(SCRIPT.read_text("utf-8"))["agents"]
    goal = {"goal": PEER["goal"], "team": {"name": "podcast", "agents": agents}}
    write(tmp_path, runfile=goal)
    plan = tmp_path / "plan.json"
    scripted = ("--script", SCRIPT)
    done = cli("plan", tmp_path / "runfile.json", *scripted, "-o", plan, "--json")
    assert done.code == 0, done.err
    made = json.loads(plan.read_text("utf-8"))
    assert done.json == {"path": str(plan), "plan": made}
    assert [{k: v for k, v in t.items() if k not in {"id", "dependsOn", "assignee"}}
            for t in made["tasks"]] == [
        {k: v for k, v in t.items() if k not in {"id", "dependsOn", "assignee"}}
        for t in PEER["tasks"]
    ]  # fmt: skip
    order = {task["id"]: n for n, task in enumerate(made["tasks"])}
    theirs = {task["id"]: n for n, task in enumerate(PEER["tasks"])}
    assert [[order[d] for d in t.get("dependsOn", [])] for t in made["tasks"]] == [
        [theirs[d] for d in t.get("dependsOn", [])] for t in PEER["tasks"]
    ]
    assert plan.read_text("utf-8").startswith('{\n  "version": 1,\n  "goal": ')
    assert "größer" in plan.read_text("utf-8")
    assert not (tmp_path / ".oma").exists()
    assert cli("check", plan, "--json").json["ok"] is True

    replayed = cli("run", plan, "--team", tmp_path / "runfile.json", *scripted, "--json")
    assert replayed.code == 0, replayed.err
    assert [t["id"] for t in replayed.json["tasks"]] == list(order)
    assert not any("@decompose" in call for call in replayed.json["log"]["modelCalls"])


def test_fixed_tasks_are_frozen_without_a_model(cli, tmp_path):
    judged = {"verify": {"judges": ["worker"]}}
    rows = [
        {"title": "A", "description": "do A", "assignee": "worker", **judged},
        {"title": "B", "description": "do B", "dependsOn": ["a"]},
    ]
    settings = team_file(tasks=rows)
    del settings["providers"], settings["orchestrator"]  # no key, no endpoint
    write(tmp_path, runfile=settings)
    plan = tmp_path / "p.json"
    done = cli("plan", tmp_path / "runfile.json", "-o", plan)
    assert done.code == 0, done.err
    first, second = json.loads(plan.read_text("utf-8"))["tasks"]
    assert second["dependsOn"] == [first["id"]]
    assert "verify" not in first
    assert "left out for: A" in done.err
    assert f"Replay it with: oma-desktop run {plan} --team {tmp_path}/runfile.json" in done.err
    assert done.out.splitlines() == [
        "  A  [worker]",
        "  B  [-]",
        f"{plan}: plan of 2 tasks written.",
    ]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["p.json", "runfile.json"]


def test_a_plan_that_is_there_is_replaced_only_on_request(cli, folder):
    write(folder, runfile=team_file(plan=LITTLE), out={"mine": 1})
    place = folder / "out.json"
    done = cli("plan", folder / "runfile.json", "-o", place, "--json")
    assert (done.code, done.error["code"]) == (2, "PLAN_FILE_EXISTS")
    assert json.loads(place.read_text("utf-8")) == {"mine": 1}
    assert cli("plan", folder / "runfile.json", "-o", place, "--force").code == 0
    assert json.loads(place.read_text("utf-8")) == LITTLE


@pytest.mark.parametrize(
    ("place", "code"), [("gone/p.json", "PATH_NOT_FOUND"), (".", "PATH_IS_FOLDER")]
)
def test_a_place_that_cannot_be_is_refused_before_anything(cli, folder, place, code):
    done = cli("plan", folder / "none.json", "-o", folder / place, "--json")
    assert (done.code, done.error["code"]) == (2, code)


@pytest.mark.parametrize(
    ("gate", "code"), [("allow", 0), ("suspend", 0), ("deny", 1), ({"action": "deny"}, 1)]
)
def test_only_a_refusal_keeps_a_plan_from_becoming_a_file(cli, tmp_path, gate, code):
    document = json.loads(SCRIPT.read_text("utf-8"))
    document["gates"] = {"plan": gate}
    goal = {"goal": PEER["goal"], "team": {"name": "p", "agents": document["agents"]}}
    write(tmp_path, runfile=goal, s=document)
    plan = tmp_path / "plan.json"
    arguments = (tmp_path / "runfile.json", "--script", tmp_path / "s.json", "-o", plan)
    done = cli("plan", *arguments, "--json")
    assert done.code == code, done.err
    assert plan.exists() is (code == 0)
    if code:
        assert done.json["status"]["code"] == "rejected"


@pytest.mark.parametrize(("late", "code"), [(True, 0), (False, 130)])
def test_a_stop_leaves_either_a_plan_and_success_or_no_file(cli, tmp_path, monkeypatch, late, code):
    attempts = []

    def stop():
        attempts[0].stopped_hard = True
        attempts[0].token.stop(StopReason.CANCEL)

    async def close(_wiring):
        stop()

    if late:
        monkeypatch.setattr(Wiring, "close", close)
    monkeypatch.setattr(attempt, "_handle_signals", lambda made, _output: attempts.append(made))
    monkeypatch.setattr("oma_desktop.cli.plan.say_endpoints", lambda *_: None if late else stop())
    document = json.loads(SCRIPT.read_text("utf-8"))
    goal = {"goal": PEER["goal"], "team": {"name": "p", "agents": document["agents"]}}
    write(tmp_path, runfile=goal)
    plan = tmp_path / "plan.json"
    done = cli("plan", tmp_path / "runfile.json", "--script", SCRIPT, "-o", plan, "--json")
    assert attempts[0].token.stopped
    assert (done.code, plan.exists()) == (code, late)
    assert isinstance(done.json, dict), "one document in any case"


def test_a_goal_the_coordinator_cannot_plan_makes_no_file(cli, tmp_path):
    document = json.loads(SCRIPT.read_text("utf-8"))
    document["replies"]["@decompose"] = [{"text": "no plan"}]
    goal = {"goal": "g", "team": {"name": "p", "agents": document["agents"]}}
    write(tmp_path, runfile=goal, s=document)
    plan = tmp_path / "plan.json"
    done = cli("plan", tmp_path / "runfile.json", "--script", tmp_path / "s.json", "-o", plan)
    assert done.code == 1
    assert not plan.exists()
    assert "failed" in done.out


def test_tasks_that_make_no_plan_are_refused(cli, tmp_path):
    rows = [{"title": "A", "description": ""}]
    for work, code in (({"tasks": rows}, "PLAN_NO_DESCRIPTION"), ({}, "RUNFILE_NO_WORK")):
        write(tmp_path, runfile=team_file(**work))
        done = cli("plan", tmp_path / "runfile.json", "-o", tmp_path / "p.json", "--json")
        assert (done.code, done.error["code"]) == (2, code)
        assert not (tmp_path / "p.json").exists()
    write(tmp_path, runfile=[{"title": "A", "description": "d"}])
    done = cli("plan", tmp_path / "runfile.json", "-o", tmp_path / "p.json", "--json")
    assert (done.code, done.error["code"]) == (2, "RUNFILE_NO_TEAM")
