"""`check`: run files, the sample, stores, plans, damaged files; `check --schema`."""

import json
from importlib import resources

import pytest
import yaml
from jsonschema import Draft202012Validator

from tests.cli.conftest import GOLDEN
from tests.cli.files import script, tasks, write

SAMPLE = resources.files("resources") / "sample" / "run.yaml"
OURS = json.loads((GOLDEN / "n_corrupt" / "ours.json").read_text("utf-8"))


@pytest.mark.parametrize("case", ["a_midrun_dag6", "m_multi_run_store", "k1_v1_without_runid"])
def test_a_sound_store_is_ok(cli, case):
    done = cli("check", GOLDEN / case / "checkpoint.json", "--json")
    assert done.code == 0
    assert done.json["ok"] is True
    assert done.json["kind"] == "store"


@pytest.mark.parametrize("name", sorted(OURS))
def test_check_agrees_with_inspect_about_every_damaged_file(cli, name):
    file = GOLDEN / "n_corrupt" / name
    done = cli("check", file, "--json")
    assert done.code == (1 if OURS[name]["exit"] else 0)
    assert done.json["ok"] is (done.code == 0)
    for problem in done.json["problems"]:
        assert problem["path"]
        assert problem["message"]
        assert "{" not in problem["message"]
    assert done.err == ""


def test_every_problem_is_named_with_its_place(cli, tmp_path):
    document = {
        "team": {"name": "t", "agents": [{"name": "a", "modle": "x"}, {"name": "a"}]},
        "tasks": [{"title": "A", "description": "d", "assignee": "zz", "dependsOn": ["A"]}],
        "orchestrator": {"maxConcurency": 2},
    }
    write(tmp_path, bad=document)
    done = cli("check", tmp_path / "bad.json", "--json")
    assert done.code == 1
    places = " ".join(p["path"] for p in done.json["problems"])
    assert "$.team.agents[0].modle" in places
    assert "$.orchestrator.maxConcurency" in places
    hints = " ".join(p.get("hint", "") for p in done.json["problems"])
    assert "model" in hints
    assert "maxConcurrency" in hints
    plain = cli("check", tmp_path / "bad.json")
    assert len(plain.out.splitlines()) == len(done.json["problems"]) + 1
    assert plain.out.splitlines()[0].startswith(str(tmp_path / "bad.json"))


def test_the_kinds_are_told_apart(cli, tmp_path):
    agents = [{"name": "worker"}]
    work = tasks("A")
    write(
        tmp_path,
        run={"team": {"name": "t", "agents": agents}, "tasks": work},
        team={"name": "t", "agents": agents},
        tasks=work,
        other={"colour": "red"},
        script=script("A"),
    )
    kinds = {
        p.stem: cli("check", p, "--json").json["kind"] for p in sorted(tmp_path.glob("*.json"))
    }
    assert kinds | {"script": ""} == {
        "run": "run", "team": "team", "tasks": "tasks", "other": "unknown", "script": "",
    }  # fmt: skip
    assert cli("check", GOLDEN / "p_plan_artifact" / "plan.json", "--json").json["kind"] == "plan"
    bad_plan = cli("check", GOLDEN / "p_plan_artifact" / "edit_cycle.json", "--json")
    assert (bad_plan.code, bad_plan.json["kind"]) == (1, "plan")


@pytest.mark.parametrize("name", ["missing.yaml", "."])
def test_what_cannot_be_read_is_an_error_not_a_report(cli, tmp_path, name):
    done = cli("check", tmp_path / name, "--json")
    assert done.code == 2
    assert set(done.json) == {"error"}


def test_the_schema_is_a_schema_and_fits_the_sample(cli):
    done = cli("check", "--schema")
    assert done.code == 0
    schema = done.json
    Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    validator = Draft202012Validator(schema)
    sample = yaml.safe_load(SAMPLE.read_text("utf-8"))
    assert list(validator.iter_errors(sample)) == []
    assert list(validator.iter_errors({**sample, "tasks": "all"})) != []
    assert cli("check", "--schema", "--json").json == schema


def test_the_bundled_sample_is_ok(cli):
    done = cli("check", SAMPLE, "--json")
    assert (done.code, done.json["kind"], done.json["problems"]) == (0, "run", [])


@pytest.mark.parametrize(
    ("name", "text"), [("run.json", '{"tasks": ['), ("run.yaml", "tasks: ["), ("empty.json", "")]
)
def test_a_broken_document_is_named(cli, tmp_path, name, text):
    file = tmp_path / name
    file.write_text(text, "utf-8")
    done = cli("check", file)
    assert done.code == 1
    first = done.out.splitlines()[0]
    assert first.startswith(str(file))
    assert first.count(str(file)) == 1
    assert "$:" not in first


def test_a_problem_of_a_store_names_file_and_place(cli):
    file = GOLDEN / "n_corrupt" / "entry-no-key.json"
    first = cli("check", file).out.splitlines()[0]
    assert first.startswith(f"{file}: ")


FUNCTION = "as module:function"


@pytest.mark.parametrize(
    ("agent", "more", "place", "said"),
    [
        ({}, {"tools": {"python": ["helpers.look"]}}, "$.tools.python[0]", FUNCTION),
        ({}, {"tools": {"python": [{"use": "a:b:c"}]}}, "$.tools.python[0].use", FUNCTION),
        ({"beforeRun": "hooks"}, {}, "$.team.agents[0].beforeRun", FUNCTION),
        (
            {"contextStrategy": {"type": "custom", "compress": "x y"}},
            {},
            "$.team.agents[0].contextStrategy.compress",
            FUNCTION,
        ),
        (
            {"loopDetection": {"onLoopDetected": "wran"}},
            {},
            "$.team.agents[0].loopDetection.onLoopDetected",
            "'continue', module:function",
        ),
        (
            {},
            {"tools": {"python": [{"use": "a:b", "name": "no blanks"}]}},
            "$.tools.python[0].name",
            "plain letters",
        ),
        ({}, {"goal": " "}, "$.goal", "must not be empty"),
    ],
)
def test_bad_names_are_explained_in_words(cli, tmp_path, agent, more, place, said):
    team = {"name": "t", "agents": [{"name": "a", **agent}]}
    write(tmp_path, run={"team": team, "goal": "g", **more})
    done = cli("check", tmp_path / "run.json")
    assert done.code == 1
    (line, _count) = done.out.splitlines()
    assert f"{place}: " in line
    assert said in line
    assert "^" not in line
    assert "pattern" not in line


WANTS = {"requiredTools": ["bash", "grep"], "requiredCapabilities": ["coding"]}


def needing(folder, **task):
    agents = [
        {"name": "reader", "capabilities": ["reading"]},
        {"name": "coder", "toolPreset": "readonly", "capabilities": ["coding"]},
    ]
    build = {"title": "Build", "description": "d", "requires": WANTS, **task}
    work = [{"title": "Look", "description": "d"}, build]
    replies = {"Look": [{"text": "x"}], "Build": [{"text": "x"}]}
    names = [{"name": "reader"}, {"name": "coder"}]
    write(
        folder,
        run={"team": {"name": "t", "agents": agents}, "tasks": work},
        script={"team": {"name": "t"}, "agents": names, "replies": replies},
    )
    return folder / "run.json"


def test_a_task_nobody_can_do_is_found_before_a_run(cli, tmp_path):
    file = needing(tmp_path)
    done = cli("check", file, "--json")
    (found,) = done.json["problems"]
    assert (done.code, found["path"]) == (1, "$.tasks[1].requires")
    assert "“Build”" in found["message"]
    assert "coder is nearest and lacks: requiredTools bash." in found["message"]
    (line, _count) = cli("check", file).out.splitlines()
    assert line.count(str(file)) == 1
    told = cli("run", file, "--script", tmp_path / "script.json", "--json")
    assert (told.code, told.error["code"]) == (2, "INVALID_TASK_REQUIREMENTS")
    assert "Build: coder (requiredTools bash" in told.error["message"]
    assert "NO_ELIGIBLE_AGENT" not in told.err


def test_an_agent_that_does_not_fit_its_task_is_found_before_a_run(cli, tmp_path):
    (found,) = cli("check", needing(tmp_path, assignee="reader"), "--json").json["problems"]
    assert "reader does not fit what “Build” requires" in found["message"]
    assert "requiredTools bash, grep; requiredCapabilities coding." in found["message"]


@pytest.mark.parametrize(
    "requires",
    [
        {"requiredTools": ["grep"], "requiredCapabilities": ["coding"]},
        {"requiredBackend": "llm", "requiredProvider": "anthropic"},
        {},
    ],
)
def test_tasks_somebody_can_do_are_no_problem(cli, tmp_path, requires):
    assert cli("check", needing(tmp_path, requires=requires), "--json").code == 0


def test_a_goal_of_blanks_and_a_schema_that_is_none_are_found_before_a_run(cli, tmp_path):
    agents = [{"name": "a", "outputSchema": {"type": "nonsense"}}]
    file = tmp_path / "run.json"
    file.write_text(json.dumps({"team": {"name": "t", "agents": agents}, "goal": "  \n"}))
    done = cli("check", file, "--json")
    assert done.code == 1
    assert {p["path"].partition("$")[2] for p in done.json["problems"]} == {
        ".goal",
        ".team.agents[0].outputSchema",
    }
