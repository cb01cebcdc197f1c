"""Real processes on one store: the lock, signals, streams (formats.md 1.7, product.md 5)."""

import json
import os
import signal
import subprocess
import sys

import pytest

from tests.cli.conftest import GOLDEN, ROOT, environment, finish
from tests.cli.files import tasks, trial, write

SLOW = {"delay_ms": 0, "tool_ms": 60_000}
"""Tools that take a minute: the test decides when they end."""


def until(process, text):
    """Read stderr up to a line that holds `text`; the process says where it is."""
    seen = []
    for line in process.stderr:
        seen.append(line)
        if text in line:
            return seen
    raise AssertionError(f"never said {text!r}: {seen}")


def snapshot(store):
    entries = json.loads(store.read_text("utf-8"))["entries"]
    value = next(e["value"] for e in entries if e["key"].startswith("__oma_checkpoint__/"))
    return json.loads(value)


def statuses(document):
    return {t["title"]: t["status"] for t in document["tasks"]}


@pytest.fixture
def busy(processes, tmp_path):
    """A process in the middle of a slow tool; `store` and `arguments` name its run."""

    def begin(**options):
        arguments = trial(tmp_path, "A", "B", chain=True, **(SLOW | options))
        store = tmp_path / "s" / "checkpoint.json"
        process = processes("run", *arguments, "--store", store, "--run-id", "r", "--json")
        until(process, "tool    A: act")
        return process, store, arguments

    return begin


def test_a_second_writer_is_told_who_writes_and_readers_are_not_disturbed(cli, busy):
    owner, store, arguments = busy()
    second = cli("restore", "--store", store, "--json")
    assert (second.code, second.error["code"]) == (4, "LOCK_HELD")
    assert str(owner.pid) in second.error["message"]
    assert "oma-desktop run" in second.error["message"]
    assert len(second.err.splitlines()) == 1
    fresh = cli("run", *arguments, "--store", store, "--run-id", "other", "--json")
    assert (fresh.code, fresh.error["code"]) == (4, "LOCK_HELD")
    forced = cli("restore", "--store", store, "--force-lock", "--json")
    assert forced.code == 4  # a living owner is never robbed
    decided = cli("approve", store, "apr_x", "--hash", "0", "--reviewer", "r", "--json")
    assert (decided.code, decided.error["code"]) == (4, "LOCK_HELD")
    (run,) = cli("inspect", store, "--json").json["checkpoints"]
    assert run["statusCounts"]["in_progress"] == 1
    assert cli("approvals", store, "--json").json == {"approvals": []}
    plan = cli("restore", "--store", store, "--plan-only", "--json")
    assert [c["toolCallId"] for c in plan.json["mayRunTwice"]] == ["call_A"]
    assert owner.poll() is None


def test_after_the_owner_is_killed_the_next_one_takes_over_without_help(cli, busy, monkeypatch):
    owner, store, _ = busy()
    owner.kill()
    owner.wait()
    assert store.with_name("checkpoint.json.lock").exists()
    monkeypatch.setenv("OMA_DESKTOP_SAMPLE_SPEED", "0")
    done = cli("restore", "--store", store, "--json")
    assert done.code == 0
    assert done.json["identity"]["attempt"] == 2
    assert not store.with_name("checkpoint.json.lock").exists()


def test_an_unreadable_lock_needs_a_persons_word(cli, tmp_path):
    store = tmp_path / "checkpoint.json"
    case = GOLDEN / "a_midrun_dag6"
    store.write_bytes((case / "checkpoint.json").read_bytes())
    (tmp_path / "checkpoint.json.lock").write_bytes(b"")
    arguments = ("restore", "--store", store, "--script", case / "peer_script.json", "--json")
    done = cli(*arguments)
    assert (done.code, done.error["code"]) == (4, "LOCK_UNREADABLE")
    assert "--force-lock" in done.error["hint"]
    assert cli(*arguments, "--force-lock").code == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_suspends_at_the_next_safe_point(cli, processes, tmp_path, number, monkeypatch):
    # B waits for A, whose answer takes a second: the signal comes while the model is asked.
    store = tmp_path / "checkpoint.json"
    arguments = trial(tmp_path, "A", "B", chain=True, delay_ms=700)
    process = processes("run", *arguments, "--store", store, "--json")
    until(process, "start   A")
    process.send_signal(number)
    done = finish(process)
    assert done.code == 3
    assert "safe point" in done.err
    assert done.json["status"]["code"] == "suspended"
    assert done.json["log"]["toolCallsExecuted"] == []
    end = snapshot(store)["omaDesktop"]["end"]
    assert (end["status"], end["by"]) == ("suspended", "operator")
    monkeypatch.setenv("OMA_DESKTOP_SAMPLE_SPEED", "0")
    restored = cli("restore", "--store", store, "--json")
    assert restored.code == 0
    assert set(statuses(restored.json).values()) == {"completed"}
    assert [c["id"] for c in restored.json["log"]["toolCallsExecuted"]] == ["call_A", "call_B"]


def test_a_second_signal_stops_at_once_and_nothing_is_lost(cli, busy, monkeypatch):
    process, store, _ = busy()
    process.send_signal(signal.SIGINT)
    until(process, "safe point")
    process.send_signal(signal.SIGINT)
    until(process, "Stopping now")
    done = finish(process)
    assert done.code == 130
    assert not store.with_name("checkpoint.json.lock").exists()
    plan = cli("restore", "--store", store, "--plan-only", "--json").json
    named = {c["toolCallId"] for c in [*plan["mayRunTwice"], *plan["willRun"]] if "toolCallId" in c}
    assert named == {"call_A"}
    monkeypatch.setenv("OMA_DESKTOP_SAMPLE_SPEED", "0")
    restored = cli("restore", "--store", store, "--json")
    assert restored.code == 0
    assert set(statuses(restored.json).values()) == {"completed"}


def test_a_reader_that_goes_away_is_no_error():
    store = GOLDEN / "j2_unicode_long_end" / "checkpoint.json"
    process = subprocess.Popen(
        [sys.executable, "-m", "oma_desktop", "inspect", str(store), "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
        cwd=ROOT,
    )
    process.stdout.close()
    err = process.stderr.read()
    process.stderr.close()
    assert process.wait(30) == 0
    assert err == b""


def test_the_entry_point_gives_its_exit_code_and_one_document(processes):
    done = finish(processes("inspect", "/nowhere/at/all", "--json"))
    assert done.code == 2
    assert done.error["code"] == "PATH_NOT_FOUND"
    assert os.path.sep in done.error["where"]


LATE = """
import atexit, os, signal, sys
from oma_desktop import __main__ as program
from oma_desktop.base.supervisor import Supervisor
from oma_desktop.cli import main as commands

number = signal.Signals(int(sys.argv.pop(1)))
moment = sys.argv.pop(1)

def now(when):
    if when == moment:
        os.kill(os.getpid(), number)

def late(work, when):
    def then(*arguments):
        code = work(*arguments)
        now(when)
        return code
    return then

commands._dispatch = late(commands._dispatch, "after the command")
Supervisor.close = late(Supervisor.close, "while closing")
atexit.register(now, "at the end")
sys.exit(program.main())
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("moment", ["while closing", "after the command", "at the end"])
def test_a_signal_after_the_work_does_not_change_how_the_command_ended(tmp_path, number, moment):
    team = {"name": "t", "agents": [{"name": "worker", "model": "m"}]}
    write(tmp_path, run={"team": team, "tasks": tasks("A")})
    plan = tmp_path / "plan.json"
    command = ["plan", str(tmp_path / "run.json"), "-o", str(plan)]
    done = subprocess.run(
        [sys.executable, "-c", LATE, str(int(number)), moment, *command],
        capture_output=True,
        text=True,
        env=environment(),
        timeout=60,
        check=False,
    )
    assert plan.exists()
    assert done.returncode == 0
    assert "Traceback" not in done.stderr
    assert "safe point" not in done.stderr, "nothing is left to be suspended"
