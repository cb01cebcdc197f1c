"""Streams that are closed, full or left by their reader: no traceback, no false exit code."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import GOLDEN, ROOT, environment
from tests.cli.files import trial

pytestmark = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")

STORE = GOLDEN / "b_completed_dag6" / "checkpoint.json"


def shell(command, *arguments, **extra):
    """Run a line of bash in which `"$@"` stands for `oma-desktop ARGUMENTS`."""
    words = [sys.executable, "-m", "oma_desktop", *map(str, arguments)]
    return subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command}", "bash", *words],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env=environment(**extra),
        cwd=ROOT,
        timeout=60,
        check=False,
    )


def statuses(store):
    entries = json.loads(store.read_text("utf-8"))["entries"]
    (value,) = [e["value"] for e in entries if e["key"].startswith("__oma_checkpoint__/")]
    return {t["title"]: t["status"] for t in json.loads(value)["queue"]["tasks"]}


@pytest.fixture
def run(tmp_path):
    store = tmp_path / "s" / "checkpoint.json"
    return ("run", *trial(tmp_path, "A", "B", chain=True), "--store", store), store


@pytest.mark.parametrize(
    "streams", ["2>&-", ">&- 2>&-", "<&- >&- 2>&-", "2>/dev/full", "2> >(exec 0<&-; sleep 0.1)"]
)
def test_a_run_that_nobody_listens_to_finishes(run, streams):
    arguments, store = run
    done = shell(f'exec "$@" {streams}', *arguments)
    assert done.returncode == 0, done
    assert statuses(store) == {"A": "completed", "B": "completed"}


def test_the_exit_code_of_a_run_does_not_depend_on_its_readers(tmp_path):
    store = tmp_path / "s" / "checkpoint.json"
    arguments = ("run", *trial(tmp_path, "A", "B", chain=True, gate="A"), "--store", store)
    done = shell('"$@" 2>&1 | head -1', *arguments)
    assert done.returncode == 3, done
    assert statuses(store) == {"A": "in_progress", "B": "blocked"}


@pytest.mark.parametrize("as_json", [(), ("--json",)])
def test_output_that_cannot_be_written_is_one_clear_line_and_exit_1(as_json):
    done = shell('"$@" >/dev/full', "inspect", STORE, *as_json)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("oma-desktop: The output could not be written: ")


def test_a_closed_stdout_is_no_error():
    done = shell('"$@" >&-', "inspect", STORE)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("word", ["--help", "--version"])
def test_help_into_a_closed_pipe_is_no_error(word):
    done = shell('"$@" > >(exec 0<&-)', word)
    assert (done.returncode, done.stderr) == (0, "")


def test_an_error_nobody_can_read_keeps_its_exit_code():
    assert shell('"$@" 2>/dev/full >/dev/full', "inspect", "/nowhere", "--json").returncode == 2


def test_closed_streams_are_never_the_numbers_of_the_store():
    """What a library writes to descriptor 2 must not land in the lock or the store."""
    code = (
        "import os, sys\n"
        "from oma_desktop.__main__ import _open_closed_streams as fill\n"
        "os.close(0); os.close(1); os.close(2); sys.stdout = sys.stderr = None\n"
        "fill()\n"
        "sys.exit(0 if os.open(os.devnull, os.O_RDONLY) == 3 and sys.stdout else 9)\n"
    )
    assert (
        subprocess.run([sys.executable, "-c", code], env=environment(), check=False).returncode == 0
    )


def test_ctrl_c_while_the_modules_load_prints_no_traceback():
    code = (
        "import builtins, os, signal, sys\n"
        "real = builtins.__import__\n"
        "def load(name, *rest, **more):\n"
        "    if name == 'oma_desktop.cli.main':\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "    return real(name, *rest, **more)\n"
        "from oma_desktop import __main__ as entry\n"
        "builtins.__import__ = load\n"
        "sys.exit(entry.main())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment(), capture_output=True, check=False
    )
    assert done.returncode in (130, -signal.SIGINT)
    assert done.stderr == b""
