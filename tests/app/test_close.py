"""Closing while busy, in a real process (case s26): gone within 5 s, exit 0, nothing lost."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from oma_desktop.model.checkpoint_loader import load_snapshot_text
from oma_desktop.model.container import parse_container

ROOT = Path(__file__).parents[2]
FORBIDDEN = (
    "Event loop is closed",
    "Task was destroyed but it is pending",
    "QThread: Destroyed",
    "Traceback",
    "Cannot enter into task",
    "never retrieved",
)


class Program:
    """One real window process, offscreen, playing the sample in `folder`."""

    def __init__(self, folder, home, *, speed=None, arguments=()):
        env = {
            **os.environ,
            "QT_QPA_PLATFORM": "offscreen",
            "OMA_DESKTOP_HOME": str(home),
            "PYTHONPATH": str(ROOT),
            "PYTHONWARNINGS": "default",
        }
        if speed is not None:
            env["OMA_DESKTOP_SAMPLE_SPEED"] = str(speed)
        command = [sys.executable, "-X", "dev", "-m", "oma_desktop", "demo", "--store", str(folder)]
        self.folder = folder
        self.process = subprocess.Popen(
            [*command, *arguments],
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def wait_for(self, holds, patience_s=40.0):
        end = time.monotonic() + patience_s
        while time.monotonic() < end:
            if self.process.poll() is not None:
                pytest.fail(f"ended early: {self.process.communicate()}")
            if holds(self.snapshot()):
                return
            time.sleep(0.02)
        pytest.fail("the state never came")

    def snapshot(self):
        try:
            data = (self.folder / "checkpoint.json").read_bytes()
        except FileNotFoundError:
            return None
        return load_snapshot_text(
            parse_container(data, path="x").entries[0].value, where="x"
        ).snapshot

    def close(self, *, times=1):
        """Ask to leave as a window manager or a terminal would; return seconds and output."""
        begun = time.monotonic()
        for _ in range(times):
            self.process.send_signal(signal.SIGTERM)
        _out, err = self.process.communicate(timeout=30)
        return time.monotonic() - begun, err


def assert_clean(program, took, err):
    assert program.process.returncode == 0, err
    assert took < 6.0
    assert not [line for line in FORBIDDEN if line in err], err
    assert not (program.folder / "checkpoint.json.lock").exists()


def n_done(snapshot):
    return sum(t["status"] == "completed" for t in snapshot["queue"]["tasks"]) if snapshot else 0


@pytest.mark.slow
@pytest.mark.parametrize("times", [1, 2])
def test_closing_during_streams_and_saves_suspends_the_run(tmp_path, times):
    program = Program(tmp_path / "run", tmp_path / "home", speed=0.1)
    program.wait_for(lambda s: n_done(s) >= 2)
    took, err = program.close(times=times)
    assert_clean(program, took, err)
    snapshot = program.snapshot()
    assert snapshot["omaDesktop"]["end"]["status"] == "suspended"
    assert n_done(snapshot) >= 2
    started = [
        json.loads(line)
        for line in (tmp_path / "run" / "effects.jsonl").read_text("utf-8").splitlines()
    ]
    begun = {e["toolCallId"] for e in started if e["event"] == "started"}
    ended = {e["toolCallId"] for e in started if e["event"] == "finished"}
    assert begun == ended, "a safe point leaves no tool half done"


@pytest.mark.slow
def test_closing_with_an_open_approval_decides_nothing(tmp_path):
    program = Program(tmp_path / "run", tmp_path / "home", arguments=["--fast"])
    program.wait_for(lambda s: bool(s and s["pendingApprovals"]) and n_done(s) == 10)
    took, err = program.close()
    assert_clean(program, took, err)
    rows = [
        json.loads(e.value)
        for e in parse_container(
            (tmp_path / "run" / "checkpoint.json").read_bytes(), path="x"
        ).entries
        if e.key.startswith("__oma_approval__/")
    ]
    assert len(rows) == 1
    assert "decision" not in rows[0]


@pytest.mark.slow
def test_quit_after_leaves_by_itself_with_a_picture(tmp_path):
    picture = tmp_path / "window.png"
    program = Program(
        tmp_path / "run",
        tmp_path / "home",
        arguments=["--fast", "--quit-after", "2", "--screenshot", str(picture)],
    )
    _out, err = program.process.communicate(timeout=40)
    assert program.process.returncode == 0, err
    assert picture.stat().st_size > 10_000


BLOCKED = """
import sys, time
from pathlib import Path
from oma_desktop.app import main

class Blocked(main.Workbench):
    def __init__(self, *, lanes, **more):
        super().__init__(lanes=lanes, **more)
        self.hung = more["supervisor"].spawn(lanes.{lane}(time.sleep, 30), name="hung")

main.Workbench = Blocked
sys.exit(main.start(main.Start(quit_after_s=0.5)))
"""


@pytest.mark.slow
@pytest.mark.parametrize("lane", ["work", "store"])
def test_a_blocked_worker_is_abandoned_with_a_note(tmp_path, lane):
    env = {
        **os.environ,
        "QT_QPA_PLATFORM": "offscreen",
        "OMA_DESKTOP_HOME": str(tmp_path),
        "PYTHONPATH": str(ROOT),
    }
    code = BLOCKED.replace("{lane}", lane)
    begun = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=env,
        capture_output=True,
        text=True,
        timeout=29,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert time.monotonic() - begun < 12
    assert "abandoned" in (tmp_path / "logs" / "oma-desktop.log").read_text("utf-8")
