"""Tools that print, break or carry foreign names, and errors told in the words of others."""

import json
import sys

import pytest

from oma_desktop.base.text import paragraph
from tests.cli.conftest import finish
from tests.cli.files import write

TOOLS = """
import os, subprocess, sys

def 问候(name: str) -> str:
    "Says hello."
    print("printed by the tool")
    os.write(1, b"written to the number\\n")
    subprocess.run([sys.executable, "-c", "print('printed by a child')"], check=True)
    return "你好 " + name

def interrupts() -> str:
    raise KeyboardInterrupt

def useless() -> bytes:
    return b"\\xff\\x00"
"""


@pytest.fixture(autouse=True)
def _own_home(tmp_path, monkeypatch):
    monkeypatch.setenv("OMA_DESKTOP_HOME", str(tmp_path / "home"))


def project(folder, *entries, calls, **orchestrator):
    """A run file whose one agent makes the calls, one a turn."""
    turns = [
        {"tools": [{"id": f"c{n}", "name": name, "input": given}]}
        for n, (name, given) in enumerate(calls)
    ]
    play = {"agents": [], "replies": {"@default": [*turns, {"text": "done"}]}}
    agent = {"name": "worker", "tools": sorted({name for name, _ in calls})}
    run = {
        "providers": {"local": {"type": "scripted", "script": "play.json"}},
        "orchestrator": {"defaultProvider": "local", "defaultModel": "m", **orchestrator},
        "team": {"name": "trial", "agents": [agent]},
        "tasks": [{"title": t, "description": t, "assignee": "worker"} for t in "AB"],
        "approvals": {"tools": "allow"},
        "tools": {"python": list(entries)},
    }
    write(folder, run=run, play=play)
    (folder / "工具.py").write_text(TOOLS, "utf-8")
    return folder / "run.json"


def saved(folder):
    return next((folder / ".oma").rglob("checkpoint.json")).read_text("utf-8")


def test_what_tools_print_never_spoils_the_document(processes, tmp_path):
    entry = {"use": "工具:问候", "name": "greet", "effect": "read_only"}
    file = project(tmp_path / "p", entry, calls=[("greet", {"name": "Ada"})])
    done = finish(processes("run", file, "--trust-folder", "--json"), 60)
    assert done.code == 0, done.err
    assert done.json["status"] == {"code": "ok"}  # one document, nothing before or after it
    for words in ("printed by the tool", "written to the number", "printed by a child"):
        assert words in done.err


def test_a_tool_of_a_foreign_name_needs_one_models_can_say(cli, tmp_path):
    file = project(tmp_path / "p", {"use": "工具:问候"}, calls=[])
    done = cli("check", file, "--json")
    assert done.code == 1
    (problem,) = done.json["problems"]
    assert "add a name" in problem["message"]


def test_broken_tools_are_told_in_sentences_and_the_run_goes_on(cli, tmp_path):
    entries = [{"use": f"工具:{name}", "effect": "read_only"} for name in ("interrupts", "useless")]
    calls = [("interrupts", {}), ("useless", {})]
    done = cli("run", project(tmp_path / "p", *entries, calls=calls), "--trust-folder", "--json")
    assert done.code == 0, done.err
    said = saved(tmp_path / "p")
    assert "The function 工具:interrupts tried to end the program." in said
    assert "A tool returned bytes, which is neither text nor JSON." in said
    assert "PYTHON_TOOL_" not in said


def test_a_run_over_its_tokens_is_told_without_open_places(cli, tmp_path):
    done = cli("run", project(tmp_path / "p", calls=[], maxTokenBudget=1, maxConcurrency=1))
    assert done.code == 1
    assert "The run has used more tokens than its ceiling allows." in done.out
    assert "{" not in done.out


def test_a_run_out_of_time_says_what_to_do(cli, tmp_path):
    file = project(tmp_path / "p", calls=[])
    run = json.loads(file.read_text("utf-8"))
    run["team"]["agents"][0]["timeoutMs"] = 100
    file.write_text(json.dumps(run), "utf-8")
    replies = {"@default": [{"text": "late", "delayMs": 30_000}]}
    write(file.parent, play={"agents": [], "replies": replies})
    done = cli("run", file, "--json")
    assert done.code == 1
    assert done.json["status"]["code"] == "timeout"
    assert "Raise its timeoutMs" in done.json["status"]["message"]


def test_a_plan_in_a_circle_is_told_whole_and_with_one_full_stop(cli, tmp_path):
    file = project(tmp_path / "p", calls=[])
    run = json.loads(file.read_text("utf-8"))
    del run["tasks"]
    run["goal"] = (
        "First collect the prices, then compare them, and finally write a report together."
    )
    file.write_text(json.dumps(run), "utf-8")
    circle = [
        {"title": "A", "description": "a", "dependsOn": ["B"]},
        {"title": "B", "description": "b", "dependsOn": ["A"]},
    ]
    replies = {"@decompose": [{"text": json.dumps(circle)}]}
    write(file.parent, play={"agents": [], "replies": replies})
    done = cli("run", file)
    assert done.code == 1
    for said in (done.out, done.err):
        assert "in a circle: a -> b -> a. Nothing was run" in said


def test_our_own_validators_speak_for_themselves(cli, tmp_path):
    file = project(tmp_path / "p", calls=[])
    run = json.loads(file.read_text("utf-8"))
    run["tasks"][0]["verify"] = {"judges": ["worker"], "quorum": 5}
    file.write_text(json.dumps(run), "utf-8")
    (problem,) = cli("check", file, "--json").json["problems"]
    assert "(needs more votes than there are judges)" in problem["message"]


def test_words_of_others_get_the_mark_they_lack():
    assert paragraph(["It broke: disk full", "Try again."]) == "It broke: disk full. Try again."
    assert paragraph(["它坏了：disk full", "请重试。"]) == "它坏了：disk full。请重试。"
    assert paragraph(["Busy. (a.lock)", "Wait."]) == "Busy. (a.lock) Wait."
    assert paragraph(["He said “no.”", "So."]) == "He said “no.” So."


def test_a_script_error_is_two_sentences(cli, tmp_path):
    (tmp_path / "s.json").write_text(json.dumps({"replies": {}}), "utf-8")
    done = cli("run", tmp_path / "run.json", "--script", tmp_path / "s.json", "--json")
    assert "Field required Nothing" not in done.err


@pytest.mark.skipif(sys.platform == "win32", reason="a folder in use cannot be removed there")
def test_a_folder_that_is_gone_is_wrong_usage(cli, tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    done = cli("run", "run.yaml", "--json")
    assert (done.code, done.error["code"]) == (2, "WORKING_FOLDER_GONE")
