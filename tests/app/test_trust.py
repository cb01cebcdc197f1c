"""A run file that brings code: the window asks first, and runs it on its own loop."""

import json
import sys
from pathlib import Path

import psutil
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel

from oma_desktop.app.embedded import EmbeddedRuns
from oma_desktop.base.clock import SystemClock
from oma_desktop.base.lanes import Lanes
from oma_desktop.base.supervisor import Supervisor
from oma_desktop.engine.bus import EventBus
from oma_desktop.engine.launching.launch import Launcher
from oma_desktop.model.trust import TrustQuestion
from oma_desktop.model.view import RunState
from oma_desktop.store.origin import Origin
from oma_desktop.store.trust import TrustedFolders
from oma_desktop.ui.trust_dialog import TrustDialog
from oma_desktop.viewmodel.feed import Feed
from tests.app.support import until

SERVER = Path(__file__).parents[1] / "core" / "engine" / "outside" / "servers.py"
TOOLS = """
from pathlib import Path
Path(__file__).with_name("imported").write_text("yes")
def double(n: int) -> int:
    return 2 * n
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A folder with a run file that names a function and a server."""
    monkeypatch.setenv("OMA_DESKTOP_HOME", str(tmp_path / "home"))
    folder = tmp_path / "project"
    folder.mkdir()
    calls = [
        {"id": "c1", "name": "double", "input": {"n": 4}},
        {"id": "c2", "name": "w_weather", "input": {"city": "Rome"}},
    ]
    script = {
        "team": {"name": "trial"},
        "agents": [{"name": "worker"}],
        "replies": {"A": [{"text": "", "tools": calls}, {"text": "done"}]},
    }
    run = {
        "team": {
            "name": "trial",
            "agents": [{"name": "worker", "tools": ["double", "w_weather"]}],
        },
        "orchestrator": {"defaultProvider": "local", "defaultModel": "m"},
        "providers": {"local": {"type": "scripted", "script": "script.json"}},
        "tasks": [{"title": "A", "description": "d", "assignee": "worker"}],
        "tools": {
            "python": ["mine:double"],
            "mcp": {"w": {"command": sys.executable, "args": [str(SERVER), "plain"]}},
        },
    }
    (folder / "run.json").write_text(json.dumps(run), "utf-8")
    (folder / "script.json").write_text(json.dumps(script), "utf-8")
    (folder / "mine.py").write_text(TOOLS, "utf-8")
    return folder


def dialog_of(bench):
    return next((d for d in bench.window.findChildren(TrustDialog) if d.isVisible()), None)


async def asked(bench, folder):
    bench.session.start_run(str(folder / "run.json"))
    await until(lambda: dialog_of(bench) is not None)
    return dialog_of(bench)


def texts(dialog):
    return "\n".join(label.text() for label in dialog.findChildren(QLabel))


async def test_a_yes_runs_both_kinds_and_is_remembered(bench, project):
    dialog = await asked(bench, project)
    said = texts(dialog)
    for part in (str(project), "mine:double", "servers.py plain", "run.json"):
        assert part in said
    assert not (project / "imported").exists()
    dialog.trust.click()
    await until(lambda: bench.feed.stores() and bench.feed.stores()[0].runs)
    await until(lambda: bench.feed.stores()[0].runs[0].state is RunState.OK)
    (task,) = bench.feed.stores()[0].runs[0].tasks
    assert {c.tool: c.state.value for c in task.calls} == {
        "double": "saved",
        "w_weather": "saved",
    }
    assert TrustedFolders().trusts(project)


async def test_escape_is_no_and_nothing_was_imported(bench, project):
    dialog = await asked(bench, project)
    for key in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Escape):
        QTest.keyClick(dialog, key)
    await until(lambda: [n.code for n in bench.notices] == ["FOLDER_REFUSED"])
    assert not (project / "imported").exists()
    assert not TrustedFolders().trusts(project)
    assert not (project / ".oma").exists()


async def test_a_trusted_folder_is_not_asked_about(bench, project):
    TrustedFolders().trust(project)
    bench.session.start_run(str(project / "run.json"))
    await until(lambda: bench.feed.stores() and bench.feed.stores()[0].runs)
    await until(lambda: bench.feed.stores()[0].runs[0].state is RunState.OK)
    assert dialog_of(bench) is None


async def test_a_program_that_ends_while_a_server_works_leaves_no_process(project, tmp_path):
    TrustedFolders().trust(project)
    pids, document = tmp_path / "pids", json.loads((project / "run.json").read_text("utf-8"))
    document["tools"]["mcp"]["w"]["args"] = [str(SERVER), "child", str(pids)]
    document["tools"]["mcp"]["w"]["effects"] = {"hang": "repeatable"}
    document["team"]["agents"][0]["tools"] = ["w_hang"]
    (project / "run.json").write_text(json.dumps(document), "utf-8")
    calls = [{"id": "c1", "name": "w_hang", "input": {}}]
    script = json.loads((project / "script.json").read_text("utf-8"))
    script["replies"]["A"][0]["tools"] = calls
    (project / "script.json").write_text(json.dumps(script), "utf-8")
    lanes, supervisor = Lanes(), Supervisor()
    runs = EmbeddedRuns(Feed(), lambda _store: None, now=SystemClock().now)
    launcher = Launcher(clock=SystemClock(), supervisor=supervisor, lanes=lanes, app="test")
    bus, begun = EventBus(), []
    bus.subscribe(lambda event: begun.append(event.type))
    prepared = await launcher.new_run(Origin(run_file=project / "run.json"), bus=bus)
    supervisor.spawn(runs.play(prepared, bus), name="run")
    await until(lambda: "tool_start" in begun)
    started = [int(pid) for pid in pids.read_text("utf-8").split()]
    assert all(psutil.pid_exists(pid) for pid in started)
    assert await runs.suspend_all(0.1) == 1
    assert await supervisor.close(20.0) == []
    assert lanes.close()
    assert not any(lives(pid) for pid in started)


def lives(pid):
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_hidden_characters_of_a_command_are_spelled_out():
    question = TrustQuestion(Path("/p"), None, (), ("w: run \u202eexe.txt",))
    dialog = TrustDialog(question)
    said = texts(dialog)
    dialog.deleteLater()
    assert "\u202e" not in said
    assert "202E" in said.upper()
