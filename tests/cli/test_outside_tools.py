"""Python functions and MCP servers of a run file, and the consent before anything is imported."""

import io
import json
import signal
import subprocess
import sys
import time

import psutil
import pytest

from tests.cli.conftest import ROOT, environment, finish
from tests.cli.files import write

SERVER = ROOT / "tests" / "core" / "engine" / "outside" / "servers.py"
TOOLS = """
from pathlib import Path
Path(__file__).with_name("imported").write_text("yes")

def double(n: int) -> int:
    "Twice as much."
    return 2 * n
"""


@pytest.fixture(autouse=True)
def _own_home(tmp_path, monkeypatch):
    monkeypatch.setenv("OMA_DESKTOP_HOME", str(tmp_path / "home"))


def project(folder, *, gate=False, mcp=True, **more):
    """A run file whose agent calls a function and a server."""
    turns = [
        {
            "text": "both",
            "tools": [
                {"id": "c1", "name": "double", "input": {"n": 21}},
                {"id": "c2", "name": "w_weather", "input": {"city": "Rome"}},
            ][: 2 if mcp else 1],
        },
        {"text": "done"},
    ]
    play = {
        "team": {"name": "trial"},
        "agents": [{"name": "worker"}],
        "replies": {"A": turns},
    }
    tools = {"python": [{"use": "mine:double", "effect": "read_only"}]}
    if mcp:
        server = {"command": sys.executable, "args": [str(SERVER), "plain"]}
        tools["mcp"] = {"w": {**server, "effects": {"weather": "repeatable"}}}
    run = {
        "team": {
            "name": "trial",
            "agents": [
                {"name": "worker", "tools": ["double", "w_weather"][: 2 if mcp else 1]},
            ],
        },
        "orchestrator": {"defaultProvider": "local", "defaultModel": "m"},
        "providers": {"local": {"type": "scripted", "script": "play.json"}},
        "tasks": [{"title": "A", "description": "do A", "assignee": "worker"}],
        "tools": tools,
        **more,
    }
    if gate:
        run["approvals"] = {"tools": {"double": "suspend"}}
    write(folder, run=run, play=play)
    (folder / "mine.py").write_text(TOOLS, "utf-8")
    return folder / "run.json"


def imported(folder):
    return (folder / "imported").exists()


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def answers(monkeypatch):
    """Be a terminal on which a person types."""

    def answers(text):
        monkeypatch.setattr(sys, "stdin", Terminal(text))
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)

    return answers


def test_dev_16_a_run_calls_functions_and_servers(cli, tmp_path):
    file = project(tmp_path / "p")
    done = cli("run", file, "--trust-folder", "--json")
    assert done.code == 0, done.err
    assert [c["name"] for c in done.json["log"]["toolCallsExecuted"]] == ["double", "w_weather"]
    store = next((tmp_path / "p" / ".oma").rglob("checkpoint.json"))
    text = store.read_text("utf-8")
    assert "sunny in Rome" in text
    assert "42" in text


def test_without_consent_nothing_is_imported_and_the_way_is_named(cli, tmp_path):
    folder = tmp_path / "p"
    done = cli("run", project(folder), "--json")
    assert done.code == 2
    assert done.error["code"] == "FOLDER_NOT_TRUSTED"
    (line,) = done.errors
    for part in (str(folder), "--trust-folder", "mine:double", "w: "):
        assert part in line
    assert not imported(folder)
    assert not (folder / ".oma").exists()


def test_consent_is_remembered_for_this_folder_only(cli, tmp_path):
    file, other = project(tmp_path / "p", mcp=False), project(tmp_path / "q", mcp=False)
    assert cli("run", file, "--trust-folder").code == 0
    kept = json.loads((tmp_path / "home" / "settings" / "trusted-folders.json").read_text())
    assert kept == {"version": 1, "folders": [str((tmp_path / "p").resolve())]}
    (tmp_path / "p" / "imported").unlink()
    assert cli("run", file).code == 0
    assert imported(tmp_path / "p")
    assert cli("run", other).code == 2
    below = project(tmp_path / "p" / "below", mcp=False)
    assert cli("run", below).code == 2
    assert not imported(tmp_path / "q")
    assert not imported(tmp_path / "p" / "below")


def test_a_terminal_asks_once_and_says_what_for(cli, tmp_path, answers):
    file = project(tmp_path / "p", mcp=False)
    answers("n\n")
    done = cli("run", file)
    assert done.code == 2
    assert f"its folder is {tmp_path / 'p'}" in done.err
    assert "imports mine:double" in done.err
    assert not imported(tmp_path / "p")
    answers("\n")  # silence is no yes
    assert cli("run", file).code == 2
    answers("y\n")
    assert cli("run", file).code == 0
    answers("")
    done = cli("run", file)
    assert done.code == 0
    assert "imports" not in done.err


def test_looking_never_imports_or_starts(cli, tmp_path):
    folder = tmp_path / "p"
    file = project(folder, gate=True)
    suspended = cli("run", file, "--trust-folder", "--json")
    assert suspended.code == 3, suspended.err
    store = next((folder / ".oma").rglob("checkpoint.json"))
    (folder / "imported").unlink()
    (folder / "mine.py").write_text("raise SystemError('imported')\n" + TOOLS, "utf-8")
    assert cli("check", file).code == 0
    assert cli("inspect", store).code == 0
    assert cli("approvals", store).code == 0
    plan = cli("restore", "--store", store, "--plan-only", "--json")
    assert plan.code == 0
    assert [(c["tool"], c["effect"]) for c in plan.json["replayed"]] == [
        ("w_weather", "repeatable")
    ]
    assert not imported(folder)


def test_a_restore_asks_again_where_the_folder_is_not_trusted(cli, tmp_path):
    folder = tmp_path / "p"
    assert cli("run", project(folder, gate=True, mcp=False), "--trust-folder").code == 3
    store = next((folder / ".oma").rglob("checkpoint.json"))
    (tmp_path / "home" / "settings" / "trusted-folders.json").unlink()
    (folder / "imported").unlink()
    done = cli("restore", "--store", store, "--json")
    assert (done.code, done.error["code"]) == (2, "FOLDER_NOT_TRUSTED")
    assert not imported(folder)
    request = cli("approvals", store, "--json").json["approvals"][0]
    hash_ = request["requestHash"]
    assert cli("approve", store, request["id"], "--hash", hash_, "--reviewer", "ann").code == 0
    done = cli("restore", "--store", store, "--trust-folder", "--json")
    assert done.code == 0
    assert [c["name"] for c in done.json["log"]["toolCallsExecuted"]] == ["double"]


def test_a_script_stands_in_for_everything_so_nothing_is_asked(cli, tmp_path):
    folder = tmp_path / "p"
    file = project(folder)
    play = json.loads((folder / "play.json").read_text("utf-8"))
    play["tools"] = {n: {"results": {"*": {"data": "x"}}} for n in ("double", "w_weather")}
    write(folder, script=play)
    assert cli("run", file, "--script", folder / "script.json").code == 0
    assert not imported(folder)


def test_a_yes_that_cannot_be_kept_counts_once_and_is_said(cli, tmp_path):
    (tmp_path / "home").write_text("a file", "utf-8")
    done = cli("run", project(tmp_path / "p", mcp=False), "--trust-folder")
    assert done.code == 0
    assert "could not be kept" in done.err


@pytest.mark.parametrize(
    ("tools", "code"),
    [
        ([{"use": "mine:double", "name": "bash"}], "TOOL_NAME_BUILTIN"),
        (["mine:double", {"use": "mine:other", "name": "double"}], "TOOL_NAME_TAKEN"),
        (["mine:no_such"], "PYTHON_TOOL_NO_FUNCTION"),
        ({"mcp": {"w": {"command": "oma-no-such-program"}}}, "MCP_NOT_STARTED"),
    ],
)
def test_tools_that_cannot_be_used_stop_the_run_before_it_begins(cli, tmp_path, tools, code):
    file = project(tmp_path / "p", mcp=False)
    document = json.loads(file.read_text("utf-8"))
    document["tools"] = tools
    document["team"]["agents"][0]["tools"] = []
    file.write_text(json.dumps(document), "utf-8")
    done = cli("run", file, "--trust-folder", "--json")
    assert (done.code, done.error["code"]) == (2, code)
    assert not list((tmp_path / "p").rglob("checkpoint.json"))
    assert not list((tmp_path / "p").rglob("*.origin.json"))


def test_a_grant_for_a_tool_the_server_lacks_is_refused(cli, tmp_path):
    file = project(tmp_path / "p")
    document = json.loads(file.read_text("utf-8"))
    document["team"]["agents"][0]["tools"] = ["w_wether"]
    file.write_text(json.dumps(document), "utf-8")
    done = cli("run", file, "--trust-folder", "--json")
    assert (done.code, done.error["code"]) == (2, "RUNFILE_UNKNOWN_TOOL_NEAR")
    assert "w_weather" in done.error["hint"]


def test_dev_16_an_unmarked_tool_of_a_server_waits_for_a_person(cli, tmp_path):
    file = project(tmp_path / "p")
    document = json.loads(file.read_text("utf-8"))
    document["tools"]["mcp"]["w"]["effects"] = {"weather": "unknown"}
    file.write_text(json.dumps(document), "utf-8")
    done = cli("run", file, "--trust-folder", "--json")
    assert done.code == 3
    assert [c["name"] for c in done.json["log"]["toolCallsExecuted"]] == ["double"]


def test_hooks_are_imported_after_consent_only_and_run(cli, tmp_path):
    file = project(tmp_path / "p", mcp=False)
    document = json.loads(file.read_text("utf-8"))
    document["tools"] = {}
    agent = document["team"]["agents"][0]
    agent.update({"tools": [], "afterRun": "mine:finish"})
    file.write_text(json.dumps(document), "utf-8")
    source = (
        "import dataclasses\ndef finish(result): return dataclasses.replace(result, output='!')\n"
    )
    (tmp_path / "p" / "mine.py").write_text(TOOLS + source, "utf-8")
    done = cli("run", file, "--json")
    assert (done.code, done.error["code"]) == (2, "FOLDER_NOT_TRUSTED")
    assert "mine:finish" in done.error["message"]
    assert not imported(tmp_path / "p")
    done = cli("run", file, "--trust-folder", "--json")
    assert done.code == 0, done.err
    assert [r["output"] for r in done.json["taskResults"]] == ["!"]


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_a_function_that_hangs_does_not_keep_the_program(processes, tmp_path):
    file = project(tmp_path / "p", mcp=False)
    hanging = "import threading\ndef double(n: int): threading.Event().wait()\n"
    (tmp_path / "p" / "mine.py").write_text(hanging, "utf-8")
    process = processes("run", file, "--trust-folder", "--json")
    said(process, "tool    A: double")
    process.send_signal(signal.SIGINT)
    said(process, "Suspending")
    process.send_signal(signal.SIGINT)
    assert finish(process, 60).code == 130


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_a_signal_ends_the_wait_for_a_server_that_says_nothing(processes, tmp_path):
    file, pid = project(tmp_path / "p"), tmp_path / "pid"
    document = json.loads(file.read_text("utf-8"))
    document["tools"]["mcp"]["w"]["args"] = [str(SERVER), "silent", str(pid)]
    file.write_text(json.dumps(document), "utf-8")
    process = processes("run", file, "--trust-folder", "--json")
    deadline = time.monotonic() + 30
    while not pid.exists() or not pid.read_text("utf-8"):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    done = finish(process, 30)
    assert done.code == 3, done.err
    assert done.json["log"]["modelCalls"] == []
    assert process_of(int(pid.read_text("utf-8"))) is None


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_what_a_killed_program_left_of_a_server_ends_before_the_next_start(processes, tmp_path):
    file, pids = project(tmp_path / "p"), tmp_path / "pids"
    document = json.loads(file.read_text("utf-8"))
    server = document["tools"]["mcp"]["w"]
    server.update(args=[str(SERVER), "child", str(pids)], effects={"hang": "repeatable"})
    document["team"]["agents"][0]["tools"] = ["w_hang"]
    file.write_text(json.dumps(document), "utf-8")
    play = json.loads((tmp_path / "p" / "play.json").read_text("utf-8"))
    play["replies"]["A"][0]["tools"] = [{"id": "c1", "name": "w_hang", "input": {}}]
    write(tmp_path / "p", play=play)
    process = processes("run", file, "--trust-folder", "--json")
    said(process, "tool    A: w_hang")
    server_pid, child = map(int, pids.read_text("utf-8").split())
    process.kill()
    process.communicate()
    psutil.wait_procs([p for p in (process_of(server_pid),) if p], timeout=30)
    assert process_of(child) is not None, "the child made a session of its own"
    document["tools"]["mcp"]["w"]["args"] = [str(SERVER), "plain"]
    document["team"]["agents"][0]["tools"] = []
    play["replies"]["A"] = [{"text": "done"}]
    write(tmp_path / "p", play=play, run=document)
    assert finish(processes("run", file, "--json"), 60).code == 0
    assert process_of(child) is None


def said(process, text):
    """Read stderr up to a line that holds `text`."""
    assert any(text in line for line in process.stderr), text


def process_of(pid):
    try:
        process = psutil.Process(pid)
        return process if process.status() != psutil.STATUS_ZOMBIE else None
    except psutil.NoSuchProcess:
        return None


def test_the_mcp_sdk_is_loaded_only_for_a_server():
    code = (
        "import sys, oma_desktop.cli.run, oma_desktop.engine.launching.launch, oma_desktop.tools;"
        "sys.exit('mcp' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env=environment())


def calling(folder, *names, **input_):
    """Let the scripted agent call these tools in its first turn."""
    play = json.loads((folder / "play.json").read_text("utf-8"))
    calls = [{"id": f"c{i}", "name": n, "input": input_} for i, n in enumerate(names)]
    play["replies"]["A"][0]["tools"] = calls
    write(folder, play=play)


def results(folder):
    """What the model read of its calls."""
    text = next((folder / ".oma").rglob("checkpoint.json")).read_text("utf-8")
    return text.replace("\\", "")


def test_a_server_that_dies_in_a_call_fails_the_call_only(cli, tmp_path):
    folder = tmp_path / "p"
    file = project(folder)
    document = json.loads(file.read_text("utf-8"))
    document["tools"]["mcp"]["w"]["effects"] = {"crash": "repeatable"}
    document["team"]["agents"][0]["tools"] = ["w_crash"]
    file.write_text(json.dumps(document), "utf-8")
    calling(folder, "w_crash")
    done = cli("run", file, "--trust-folder", "--json")
    assert (done.code, done.json["success"]) == (0, True)
    assert "has ended; it is not started again" in results(folder)


def test_idea_46_a_tool_of_a_server_needs_a_grant_by_its_name(cli, tmp_path):
    folder = tmp_path / "p"
    file = project(folder)
    document = json.loads(file.read_text("utf-8"))
    document["team"]["agents"][0].update({"tools": ["double"], "disallowedTools": ["double"]})
    file.write_text(json.dumps(document), "utf-8")
    calling(folder, "w_weather", "double", n=1, city="Rome")
    done = cli("run", file, "--trust-folder", "--json")
    assert (done.code, done.json["log"]["toolCallsExecuted"]) == (0, [])
    for name in ("w_weather", "double"):
        assert f'The tool "{name}" is not available.' in results(folder)


def test_a_real_process_with_both_kinds_ends_cleanly(processes, tmp_path):
    file = project(tmp_path / "p")
    home = {"OMA_DESKTOP_HOME": str(tmp_path / "home")}
    done = finish(
        processes("run", file, "--trust-folder", "--json", cwd=tmp_path / "p", **home), 60
    )
    assert done.code == 0, done.err
    assert json.loads(done.out)["success"] is True
