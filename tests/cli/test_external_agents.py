"""Runs whose agents are programs, by run file (engine.md 10.2-10.4)."""

import json
import sys

import pytest

from tests.cli.conftest import ROOT, finish
from tests.cli.files import write

PROGRAM = ROOT / "tests" / "core" / "engine" / "backends" / "acp_program.py"
SHOUT = "import sys; print(sys.stdin.read().upper())"


@pytest.fixture(autouse=True)
def _home(tmp_path, monkeypatch):
    monkeypatch.setenv("OMA_DESKTOP_HOME", str(tmp_path / "home"))


def run_file(*agents, tasks):
    return {
        "team": {"name": "mixed", "agents": list(agents)},
        "tasks": tasks,
        "checkpoint": {"path": "store/c.json", "runId": "r"},
    }


def task(title, agent, *deps):
    return {"title": title, "description": title, "assignee": agent, "dependsOn": list(deps)}


def test_a_process_and_an_acp_agent_work_in_one_graph(cli, tmp_path):
    shout = {"kind": "process", "command": sys.executable, "args": ["-c", SHOUT]}
    acp = {"kind": "acp", "command": sys.executable, "args": [str(PROGRAM)]}
    write(
        tmp_path,
        run=run_file(
            {"name": "loud", "backend": shout},
            {"name": "acp", "backend": acp},
            tasks=[task("first", "loud"), task("second", "acp", "first")],
        ),
    )
    done = cli("run", tmp_path / "run.json", "--trust-folder", "--json")
    assert done.code == 0, done.err
    first, second = (r["output"] for r in done.json["taskResults"])
    assert "FIRST" in first
    assert "FIRST" in json.loads(second)["prompts"][0]
    # an agent's own folder is the run's, beside the checkpoint
    assert json.loads(second)["cwd"] == str(tmp_path / "store")
    assert done.json["totalTokenUsage"] == {"input_tokens": 100, "output_tokens": 0}


def test_a_failed_program_fails_its_task_and_a_restore_runs_it_again_from_the_start(cli, tmp_path):
    code = "import os, sys; sys.exit(0 if os.path.exists('mended') else 'not yet')"
    broken = {"kind": "process", "command": sys.executable, "args": ["-c", code]}
    write(tmp_path, run=run_file({"name": "p", "backend": broken}, tasks=[task("only", "p")]))
    done = cli("run", tmp_path / "run.json", "--trust-folder", "--json")
    assert done.code == 1
    assert "ended with status 1: not yet" in json.dumps(done.json["tasks"])
    (tmp_path / "store" / "mended").touch()
    again = cli("restore", "--store", tmp_path / "store" / "c.json", "--retry-failed", "--json")
    assert again.code == 0, again.err
    assert again.json["identity"]["attempt"] == 2


def test_a_program_that_is_not_there_is_found_before_anything_runs(cli, tmp_path):
    missing = {"kind": "process", "command": "no-such-program-here"}
    write(tmp_path, run=run_file({"name": "p", "backend": missing}, tasks=[task("only", "p")]))
    done = cli("run", tmp_path / "run.json", "--trust-folder", "--json")
    assert done.code == 2
    assert "no-such-program-here" in done.error["message"]
    assert not (tmp_path / "store").exists()


def test_nothing_is_started_before_the_folder_is_trusted(cli, tmp_path):
    code = "open('started', 'w').close()"
    program = {"kind": "process", "command": sys.executable, "args": ["-c", code]}
    write(tmp_path, run=run_file({"name": "p", "backend": program}, tasks=[task("only", "p")]))
    done = cli("run", tmp_path / "run.json", "--json")
    assert (done.code, done.error["code"]) == (2, "FOLDER_NOT_TRUSTED")
    assert f"p: {sys.executable} -c" in done.error["message"]
    assert not list(tmp_path.rglob("started"))
    assert not (tmp_path / "store").exists()


def test_a_script_plays_agents_that_are_programs_too(cli, tmp_path):
    program = {"kind": "process", "command": "no-such-program-here"}
    script = {"agents": [{"name": "p"}], "replies": {"only": [{"text": "played"}]}}
    write(
        tmp_path,
        run=run_file({"name": "p", "backend": program}, tasks=[task("only", "p")]),
        script=script,
    )
    done = cli("run", tmp_path / "run.json", "--script", tmp_path / "script.json", "--json")
    assert done.code == 0, done.err
    assert done.json["taskResults"][0]["output"] == "played"


def test_a_program_that_ends_at_once_fails_its_task_without_a_traceback(processes, tmp_path):
    gone = {"name": "gone", "backend": {"kind": "acp", "command": "true"}}
    write(tmp_path, run=run_file(gone, tasks=[task("A", "gone")]))
    done = finish(processes("run", tmp_path / "run.json", "--trust-folder", "--json"), 60)
    assert done.code == 1, done.err
    assert done.json["tasks"][0]["status"] == "failed"
