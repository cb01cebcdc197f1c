"""bash: real commands, real children, nothing left behind (engine.md 9.3, idea 60)."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from oma_desktop.base.clock import SystemClock
from oma_desktop.base.lanes import Lanes
from oma_desktop.base.supervisor import Supervisor
from oma_desktop.engine.cancel import CancelToken, StopReason
from oma_desktop.engine.tools.builtin import shell
from oma_desktop.engine.tools.builtin.process_tree import MARK
from oma_desktop.engine.tools.builtin.shell import Shell, find_bash
from oma_desktop.engine.tools.builtin.shell_env import PASSED, shell_environment
from oma_desktop.model.errors import InvalidInput
from tests.core.engine.builtin.tool_world import ToolWorld

pytestmark = pytest.mark.skipif(find_bash(os.environ.get("PATH")) is None, reason="no bash here")

CLOCK = SystemClock()


async def until(check, within_s=10.0):
    end = CLOCK.monotonic() + within_s
    while not (found := check()):
        assert CLOCK.monotonic() < end, "did not happen"
        await CLOCK.sleep(0.01)
    return found


def alive(pid):
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def pids_in(folder: Path, n):
    """The pids that `n` children wrote, once all are there."""
    try:
        found = [int(line) for line in (folder / "pids").read_text("ascii").split()]
    except FileNotFoundError:
        return None
    return found if len(found) == n else None


CHILD = "echo $BASHPID >> pids; exec sleep 300"
# a plain background child, one in a session of its own, one whose parents are gone, one that
# ignores polite requests, one with an emptied environment
FAMILY = f"""
bash -c '{CHILD}' &
setsid bash -c '{CHILD}' &
(setsid bash -c '({CHILD}) & exit 0' &)
(trap '' TERM HUP; echo $BASHPID >> pids; while :; do sleep 0.1; done) &
env -i {os.environ.get("BASH", "/bin/bash")} -c '{CHILD}' &
while [ "$(wc -l < pids 2>/dev/null || echo 0)" -lt 5 ]; do sleep 0.02; done
"""
N_FAMILY = 5


# --- what a command gives ------------------------------------------------------------------------


async def test_output_errors_and_exit_status_are_reported(box):
    assert await box.call("bash", command="echo one; echo two") == (
        "one\ntwo\n[exit code: 0]",
        None,
    )
    assert await box.call("bash", command="echo out; echo bad >&2; exit 3") == (
        "out\n[stderr]\nbad\n[exit code: 3]",
        True,
    )
    assert await box.call("bash", command="true") == ("[exit code: 0]", None)
    assert await box.call("bash", command="kill -KILL $$") == ("[exit code: 137]", True)
    text, is_error = await box.call("bash", command="no-such-command-here")
    assert is_error
    assert text.endswith("[exit code: 127]")


async def test_it_runs_in_the_workspace_and_input_is_closed(box):
    (box.root / "sub").mkdir()
    assert await box.text("bash", command="pwd -P") == f"{box.root.resolve()}\n[exit code: 0]"
    sub = f"{box.root.resolve() / 'sub'}\n[exit code: 0]"
    assert await box.text("bash", command="pwd -P", cwd="sub") == sub
    assert await box.text("bash", command="pwd -P", cwd=box.path("sub")) == sub
    assert await box.text("bash", command="cat; read x || echo closed") == (
        "closed\n[exit code: 0]"
    )


async def test_a_missing_folder_or_shell_is_told_and_nothing_runs(box, tmp_path):
    text, is_error = await box.call("bash", command="echo x", cwd="gone")
    assert is_error
    assert text.endswith("does not exist.\n[exit code: 127]")
    world = ToolWorld(box.root, environ={"PATH": str(tmp_path)})
    text, is_error = await world.call("bash", command="echo x")
    assert (text, is_error) == ("There is no bash on this computer.\n[exit code: 127]", True)
    world.close()
    text, is_error = await box.call("bash", command="echo \0 x")
    assert is_error
    assert text.endswith("[exit code: 127]")


def test_on_windows_only_a_bash_of_its_own_counts(tmp_path, monkeypatch):
    system, git = tmp_path / "Windows" / "System32", tmp_path / "git"
    for folder in (system, git):
        folder.mkdir(parents=True)
        (folder / "bash").write_text("#!/bin/sh\n", encoding="utf-8")
        (folder / "bash").chmod(0o755)
    monkeypatch.setenv("SYSTEMROOT", str(tmp_path / "Windows"))
    both = os.pathsep.join([str(system), str(git)])
    assert find_bash(both, windows=True) == str(git / "bash")
    assert find_bash(str(system), windows=True) is None
    assert find_bash(None, windows=True) is None


async def test_bytes_that_are_no_text_and_secrets_are_not_passed_on(box):
    text = await box.text("bash", command=r"printf 'a\377b\n'; echo 'api_key=sk-abcdefghijklmnop'")
    assert text.startswith("a\ufffdb\n")
    assert "sk-abcdefghijklmnop" not in text


async def test_much_output_is_cut_in_the_middle(box):
    text = await box.text("bash", command="echo first; yes | head -c 3000000; echo last")
    assert len(text) < 101_000
    assert text.startswith("first\n")
    assert text.endswith("last\n[exit code: 0]")
    assert "the middle is left out" in text


async def test_endless_output_ends_the_command(box, tmp_path):
    runner = Shell(clock=CLOCK, lanes=box.lanes, environ=dict(os.environ), max_spool=200_000)
    end = await runner.run("yes", key="k", cwd=tmp_path, timeout_s=60, token=box.token)
    assert end.code == shell.TOO_MUCH
    assert "200000 bytes" in end.why


# --- what a command sees -------------------------------------------------------------------------


async def test_idea_60_no_secret_of_ours_is_in_its_environment(box, monkeypatch):
    ours = {"OPENAI_API_KEY": "sk-1", "DATABASE_URL": "postgres://u:p@h", "BASH_ENV": "/x"}
    for name, value in ours.items():
        monkeypatch.setenv(name, value)
    environ = shell_environment(os.environ)
    assert set(environ) <= set(PASSED)
    world = ToolWorld(box.root, environ=environ)
    names = {
        line.split("=")[0]
        for line in (await world.text("bash", command="env")).splitlines()
        if "=" in line
    }
    assert names - {MARK, "PWD", "SHLVL", "_", "OLDPWD"} == set(environ)
    world.close()


def test_a_run_file_adds_names_but_no_secrets():
    environ = {"CI": "1", "EDITOR": "vi", "PATH": "/bin", "TOKENIZER": "x", "LAB": "k"}
    assert shell_environment(environ, added=["CI", "ABSENT"]) == {"CI": "1", "PATH": "/bin"}
    for name in ("GITHUB_TOKEN", "MY_API_KEY", "LAB"):
        with pytest.raises(InvalidInput) as caught:
            shell_environment(environ, added=[name], key_names={"LAB"})
        assert caught.value.code == "RUNFILE_SHELL_SECRET"
        assert caught.value.facts["name"] == name


def test_windows_names_have_no_case():
    environ = {"Path": r"C:\bin", "SystemRoot": r"C:\Windows", "Secret": "x"}
    assert shell_environment(environ, windows=True) == {
        "Path": r"C:\bin",
        "SystemRoot": r"C:\Windows",
    }


# --- what it leaves behind: nothing --------------------------------------------------------------


@pytest.mark.skipif(sys.platform == "win32", reason="sessions are POSIX")
@pytest.mark.parametrize("how", ["end", "timeout", "abort", "cancel"])
async def test_idea_60_every_child_dies(box, how):
    wait = "" if how == "end" else "wait"
    arguments = {"command": FAMILY + wait, "timeout": 60_000}
    if how == "timeout":
        arguments["timeout"] = 3000
    supervisor = Supervisor()
    call = supervisor.spawn(box.call("bash", **arguments), name="bash")
    pids = await until(lambda: pids_in(box.root, N_FAMILY), within_s=30)
    if how == "abort":
        box.token.stop(StopReason.CANCEL)
    if how == "cancel":
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
    else:
        text, is_error = await call
        expected = {
            "end": ("[exit code: 0]", None),
            "timeout": ("[exit code: 124, stopped after 3000 ms]", True),
            "abort": ("[exit code: 130, the run was stopped]", True),
        }
        assert (text, is_error) == expected[how]
    await until(lambda: not any(alive(pid) for pid in pids), within_s=2)
    await supervisor.close()


async def test_a_child_that_holds_the_output_open_holds_nobody_up(box):
    started = CLOCK.monotonic()
    assert await box.text("bash", command="sleep 300 & echo done") == "done\n[exit code: 0]"
    assert CLOCK.monotonic() - started < 10


async def test_a_polite_request_comes_before_the_kill(box):
    command = "(trap 'echo bye > said; exit' TERM; echo up > up; while :; do sleep 0.05; done) &\n"
    await box.text("bash", command=command + "while [ ! -e up ]; do sleep 0.02; done")
    assert (box.root / "said").read_text("utf-8") == "bye\n"


async def test_a_suspension_lets_it_finish(box):
    box.token.stop(StopReason.SUSPEND)
    assert await box.text("bash", command="sleep 0.1; echo x") == "x\n[exit code: 0]"


async def test_after_an_abort_a_command_is_stopped_at_once(box):
    box.token.stop(StopReason.CANCEL)
    text, is_error = await box.call("bash", command="sleep 300")
    assert (text, is_error) == ("[exit code: 130, the run was stopped]", True)


async def test_many_at_a_time_do_not_mix(box):
    runner = Shell(clock=CLOCK, lanes=Lanes(), environ=dict(os.environ))
    ends = await asyncio.gather(
        *(
            runner.run(
                f"sleep 0.0{n}; echo {n}; exit {n}",
                key="one call",
                cwd=box.root,
                timeout_s=30,
                token=CancelToken(),
            )
            for n in range(8)
        )
    )
    assert [(end.code, end.stdout) for end in ends] == [(n, f"{n}\n") for n in range(8)]


KILLED = """
import asyncio, os, sys
from pathlib import Path
from oma_desktop.base.clock import SystemClock
from oma_desktop.base.lanes import Lanes
from oma_desktop.engine.cancel import CancelToken
from oma_desktop.engine.tools.builtin.shell import Shell
shell = Shell(clock=SystemClock(), lanes=Lanes(), environ=dict(os.environ))
command = "echo $$ > pid.new; mv pid.new pid; exec sleep 300"
facts = {"key": "r:t:c", "cwd": Path(sys.argv[1]), "timeout_s": 300, "token": CancelToken()}
asyncio.run(shell.run(command, **facts))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="a kill there takes the children along")
async def test_what_a_killed_program_left_ends_before_the_same_call_is_made_again(box):
    folder = Path(__file__).parents[4]
    program = await box.lanes.work(
        subprocess.Popen, [sys.executable, "-c", KILLED, str(box.root)], cwd=folder
    )
    try:
        pid = int(
            await until(lambda: (box.root / "pid").exists() and (box.root / "pid").read_text())
        )
        runner = Shell(clock=CLOCK, lanes=box.lanes, environ=dict(os.environ))

        async def again(key):
            await runner.run("true", key=key, cwd=box.root, timeout_s=30, token=CancelToken())

        await again("r:t:c")
        assert alive(pid), "its program lives: it is that program's business"
        program.kill()
        program.wait()
        await again("r:t:other")
        assert alive(pid), "another call"
        await again("r:t:c")
        await until(lambda: not alive(pid), within_s=5)
    finally:
        program.kill()
        program.wait()
