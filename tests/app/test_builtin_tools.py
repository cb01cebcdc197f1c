"""The built-in tools on the window's own loop do what they do on the standard one."""

import multiprocessing
import os

import pytest

from oma_desktop.base.clock import SystemClock
from oma_desktop.base.lanes import Lanes
from oma_desktop.base.supervisor import Supervisor
from oma_desktop.engine.cancel import CancelToken, StopReason
from oma_desktop.engine.tools.builtin.shell import find_bash
from oma_desktop.engine.tools.builtin.toolbox import builtin_tools
from oma_desktop.engine.tools.registry import ToolContext

pytestmark = pytest.mark.skipif(find_bash(os.environ.get("PATH")) is None, reason="no bash here")


@pytest.fixture
def call(tmp_path):
    lanes, token = Lanes(), CancelToken()
    environ = {"PATH": os.environ["PATH"]}
    box = {
        t.name: t for t in builtin_tools(clock=SystemClock(), lanes=lanes, shell_environ=environ)
    }

    async def call(name, **arguments):
        context = ToolContext("r", "t", "c", "a", str(tmp_path), token)
        return (await box[name].run(arguments, context)).data

    call.token = token
    yield call
    lanes.close()


async def test_files_search_and_commands(call, tmp_path):
    path = str(tmp_path / "a.txt")
    assert (await call("file_write", path=path, content="one\ntwo\n")).startswith("Created")
    assert await call("grep", pattern="w") == "a.txt:2:two"
    assert await call("bash", command="cat a.txt; sleep 300 & exit 0") == "one\ntwo\n[exit code: 0]"
    timed_out = await call("bash", command="sleep 300", timeout=100)
    assert timed_out == "[exit code: 124, stopped after 100 ms]"
    assert multiprocessing.active_children() == []


async def test_an_abort_ends_a_command(call, tmp_path):
    supervisor = Supervisor()
    task = supervisor.spawn(call("bash", command="touch up; sleep 300"), name="bash")
    clock = SystemClock()
    while not (tmp_path / "up").exists():
        await clock.sleep(0.01)
    call.token.stop(StopReason.CANCEL)
    assert await task == "[exit code: 130, the run was stopped]"
    await supervisor.close()
