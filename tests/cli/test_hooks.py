"""Functions a run file hangs into its agents' runs, and the consent they need (engine.md 3.11)."""

import pytest

from tests.cli.files import write

TRUSTED = ("--trust-folder", "--json")
HOOKS = """
from dataclasses import replace
from oma_desktop.hooks import BeforeRun

def prepare(before: BeforeRun):
    return replace(before, prompt=before.prompt + " (prepared)")

async def finish(result):
    return replace(result, output=result.output.upper())

def shorten(messages, tokens):
    return [messages[0], *messages[-2:]] if len(messages) > 3 else messages

def decide(info):
    return "terminate" if info.repetitions > 2 else "continue"
"""


@pytest.fixture(autouse=True)
def _own_home(tmp_path, monkeypatch):
    monkeypatch.setenv("OMA_DESKTOP_HOME", str(tmp_path / "home"))


def project(folder, *, hooks=HOOKS, **agent):
    """A run file whose agent looks four times and then answers."""
    looks = [
        {"text": f"look {i}", "tools": [{"id": f"c{i}", "name": "look", "input": {}}]}
        for i in range(4)
    ]
    play = {
        "team": {"name": "trial"},
        "agents": [{"name": "worker"}],
        "tools": {"look": {"effect": "read_only", "results": {"*": {"data": "seen"}}}},
        "replies": {"A": [*looks, {"text": "done"}]},
    }
    worker = {"name": "worker", "tools": ["look"], **agent}
    run = {
        "team": {"name": "trial", "agents": [worker]},
        "orchestrator": {"defaultProvider": "local", "defaultModel": "m"},
        "providers": {"local": {"type": "scripted", "script": "play.json"}},
        "tasks": [{"title": "A", "description": "do A", "assignee": "worker"}],
    }
    write(folder, run=run, play=play)
    (folder / "mine.py").write_text(hooks, "utf-8")
    return folder / "run.json"


def test_hooks_of_a_run_file_work_in_a_run(cli, tmp_path):
    file = project(
        tmp_path / "p",
        beforeRun="mine:prepare",
        afterRun="mine:finish",
        contextStrategy={"type": "custom", "compress": "mine:shorten"},
    )
    done = cli("run", file, "--trust-folder", "--json")
    assert done.code == 0, done.err
    store = next((tmp_path / "p" / ".oma").rglob("checkpoint.json"))
    assert "DONE" in store.read_text("utf-8")


def test_a_loop_hook_of_a_run_file_ends_a_loop(cli, tmp_path):
    file = project(tmp_path / "p", loopDetection={"onLoopDetected": "mine:decide"})
    done = cli("run", file, "--trust-folder", "--json")
    assert done.code == 0, done.err
    assert len(done.json["log"]["toolCallsExecuted"]) == 2


def test_hooks_need_the_consent_of_a_person_like_tools(cli, tmp_path):
    done = cli("run", project(tmp_path / "p", afterRun="mine:finish"), "--json")
    assert done.code == 2
    assert done.error["code"] == "FOLDER_NOT_TRUSTED"
    assert "mine:finish" in done.errors[0]
    assert not (tmp_path / "p" / ".oma").exists()


@pytest.mark.parametrize("use", ["mine:missing", "nowhere:finish", "json:loads"])
def test_a_hook_that_is_not_there_is_named_before_anything_runs(cli, tmp_path, use):
    file = project(tmp_path / "p", afterRun=use)
    done = cli("run", file, "--trust-folder", "--json")
    assert done.code == 2
    assert done.error["code"].startswith("PYTHON_HOOK_")
    assert "team.agents[0].afterRun" in done.error["message"]
    assert "tool" not in done.error["message"]
    assert not (tmp_path / "p" / ".oma").exists()


@pytest.mark.parametrize("hooks", ["raise SystemError('imported')", HOOKS])
def test_a_script_plays_without_hooks_and_says_so(cli, tmp_path, hooks):
    """product.md 6: with a script nothing else asks, so nothing of the folder is imported."""
    strategy = {"type": "custom", "compress": "mine:shorten"}
    file = project(
        tmp_path / "p",
        hooks=hooks,
        beforeRun="mine:prepare",
        afterRun="mine:finish",
        contextStrategy=strategy,
    )
    script = tmp_path / "p" / "play.json"
    done = cli("run", file, "--script", script, "--json")
    assert done.code == 0
    assert "left out: mine:prepare, mine:finish, mine:shorten" in done.err
    (result,) = done.json["taskResults"]
    assert result["output"] == "done"
    store = next((tmp_path / "p" / ".oma").rglob("checkpoint.json"))
    again = cli("restore", file, "--script", script, "--store", store)
    assert "left out: mine:prepare" in again.err


def test_a_script_without_hooks_beside_it_says_nothing(cli, tmp_path):
    file = project(tmp_path / "p")
    assert "left out" not in cli("run", file, "--script", tmp_path / "p" / "play.json").err


def test_a_hook_that_raises_fails_the_task_with_its_reason(cli, tmp_path):
    hooks = "def prepare(before):\n    raise ValueError('not today')\n"
    file = project(tmp_path / "p", hooks=hooks, beforeRun="mine:prepare")
    done = cli("run", file, "--trust-folder", "--json")
    assert done.code == 1
    assert "not today" in done.json["status"]["message"]


def test_check_accepts_hooks_and_imports_nothing(cli, tmp_path):
    file = project(tmp_path / "p", hooks="raise SystemError('imported')", afterRun="mine:finish")
    assert cli("check", file).code == 0


def test_dev_18_a_run_file_may_call_a_limit_a_failure(cli, tmp_path):
    assert cli("run", project(tmp_path / "p", maxTurns=2), "--json").code == 0
    file = project(tmp_path / "q", maxTurns=2, failOn=["MAX_TURNS_REACHED"])
    assert cli("run", file, "--json").code == 1


@pytest.mark.parametrize("act", ["sys.exit(3)", "raise KeyboardInterrupt"])
def test_a_hook_that_wants_to_end_the_program_fails_its_task_only(cli, tmp_path, act):
    hooks = f"import sys\ndef prepare(before):\n    {act}\n"
    done = cli("run", project(tmp_path / "p", hooks=hooks, beforeRun="mine:prepare"), *TRUSTED)
    assert done.code == 1
    assert "tried to end the program" in done.json["status"]["message"]


def test_a_blocking_hook_holds_nobody_up(cli, tmp_path):
    hooks = (
        "import threading\nfrom dataclasses import replace\ndef finish(result):\n"
        "    main = threading.current_thread() is threading.main_thread()\n"
        "    return replace(result, output=f'on the main thread: {main}')\n"
    )
    done = cli("run", project(tmp_path / "p", hooks=hooks, afterRun="mine:finish"), *TRUSTED)
    assert done.json["taskResults"][0]["output"] == "on the main thread: False"
