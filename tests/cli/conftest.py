"""The command line called in this process: fast, with captured streams."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from oma_desktop.cli.main import run

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden"
CASES = ROOT / "tests" / "cases"


@dataclass(frozen=True)
class Done:
    """What one call gave."""

    code: int
    out: str
    err: str

    @property
    def json(self):
        """The one document on stdout."""
        return json.loads(self.out)

    @property
    def error(self):
        return self.json["error"]

    @property
    def errors(self):
        """The lines on stderr that speak of an error of the command."""
        return [line for line in self.err.splitlines() if line.startswith("oma-desktop: ")]


@pytest.fixture(autouse=True)
def _english(monkeypatch):
    monkeypatch.setenv("OMA_DESKTOP_LANG", "en")
    monkeypatch.delenv("OMA_DESKTOP_DEBUG", raising=False)


@pytest.fixture
def cli(capsys):
    """Call the program; no call may ever show a traceback."""

    def call(*arguments):
        capsys.readouterr()
        code = run([str(a) for a in arguments])
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return Done(int(code), out, err)

    return call


@pytest.fixture
def golden(tmp_path):
    """A copy of a golden case; returns its folder."""

    def copied(case):
        folder = tmp_path / case
        folder.mkdir()
        for source in (GOLDEN / case).iterdir():
            (folder / source.name).write_bytes(source.read_bytes())
        return folder

    return copied


def environment(**extra):
    """The environment of a child: English, no colours, our sources first."""
    return {**os.environ, "OMA_DESKTOP_LANG": "en", "PYTHONPATH": str(ROOT), **extra}


def start(*arguments, cwd=None, **extra):
    """Start the program as a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "oma_desktop", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        cwd=cwd,
        env=environment(**extra),
    )


@pytest.fixture
def processes():
    """Start processes that never outlive the test."""
    started = []

    def begin(*arguments, **options):
        process = start(*arguments, **options)
        started.append(process)
        return process

    yield begin
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


def finish(process, timeout=30):
    """Wait for a process; returns what it gave."""
    out, err = process.communicate(timeout=timeout)
    assert "Traceback" not in err
    return Done(process.returncode, out, err)
