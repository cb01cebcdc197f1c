"""Frozen plans from the command line: `run PLAN.json --team RUNFILE`, the key `plan`, `check`."""

import json
import os

import pytest

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


def test_a_replay_is_never_repaired(cli, folder):
    write(folder, runfile=team_file(recovery={"mode": "adaptive"}))
    done = cli("run", folder.parent / "plans" / "plan.json", "--team", folder / "runfile.json")
    assert done.code == 2
    assert "replayed exactly" in done.err
    write(folder, runfile=team_file(recovery={"mode": "adaptive"}, plan="p.json"))
    checked = cli("check", folder / "runfile.json", "--json")
    assert [p["code"] for p in checked.json["problems"]] == ["PLAN_NEEDS_FIXED_RECOVERY"]


def test_rounds_and_dispatch_exclude_each_other(cli, folder):
    both = {"rounds": True, "dispatch": True}
    write(folder, runfile=team_file(approvals=both, plan="../plans/plan.json"))
    checked = cli("check", folder / "runfile.json", "--json")
    assert [p["code"] for p in checked.json["problems"]] == ["RUNFILE_ROUNDS_AND_DISPATCH"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
@pytest.mark.parametrize("command", ["run", "check"])
def test_a_pipe_is_refused_and_not_waited_for(cli, tmp_path, command):
    os.mkfifo(tmp_path / "pipe")
    done = cli(command, tmp_path / "pipe", "--json")
    assert (done.code, done.error["code"]) == (2, "FILE_NOT_REGULAR")


@pytest.mark.parametrize(
    "document", [{"team": None, "tasks": None}, {"goal": None}, {"plan": None}]
)
def test_a_file_of_nothing_is_no_run_file(cli, tmp_path, document):
    write(tmp_path, f=document)
    checked = cli("check", tmp_path / "f.json", "--json")
    assert checked.code == 1
    assert [p["code"] for p in checked.json["problems"]] == ["RUNFILE_NOT_A_RUN_FILE"]
