"""Agents that are programs: real processes, nothing left behind (engine.md 10.2-10.4)."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import psutil
import pytest

from oma_desktop.base.clock import SystemClock
from oma_desktop.base.lanes import Lanes
from oma_desktop.base.supervisor import Supervisor
from oma_desktop.engine.agents.team import AgentJob, Team
from oma_desktop.engine.backends.external import ExternalAgents
from oma_desktop.engine.bus import EventBus
from oma_desktop.engine.cancel import CancelToken, StopReason
from oma_desktop.engine.tools.gate import ALLOW, Gates, deny, suspend
from oma_desktop.engine.tools.registry import ToolRegistry
from oma_desktop.model.team import AgentConfig, TeamConfig

CLOCK = SystemClock()
PROGRAM = Path(__file__).with_name("acp_program.py")


class Box:
    """One team with one external agent, and what was told about it."""

    def __init__(self, folder: Path, **backend: object) -> None:
        self.folder = folder
        self.bus = EventBus()
        self.events = []
        self.bus.subscribe(self.events.append)
        self.supervisor = Supervisor()
        self.external = ExternalAgents(
            clock=CLOCK,
            lanes=Lanes(),
            supervisor=self.supervisor,
            bus=self.bus,
            environ={**os.environ, "OPENAI_API_KEY": "sk-not-for-you", "WANTED_KEY": "given"},
        )
        self.agent = AgentConfig(
            name="a", cwd=str(folder), backend={"command": sys.executable, **backend}
        )
        self.gates = Gates()
        self.token = CancelToken()

    def job(self, prompt="hello", task="t1", token=None):
        return AgentJob("run", task, "Task", prompt, token or self.token)

    async def run(self, prompt="hello", **facts):
        team = Team(
            TeamConfig(name="t", agents=[self.agent]),
            ToolRegistry(),
            adapter_for=lambda _a: None,
            gates=self.gates,
            external=self.external,
        )
        return await self.external.run(team, self.agent, self.job(prompt, **facts))

    def start(self, prompt="hello"):
        return self.supervisor.spawn(self.run(prompt), name="the task")

    def script(self, code: str, **more: object):
        self.agent = self.agent.model_copy(
            update={"backend": self.agent.backend.model_copy(update={"args": ["-c", code], **more})}
        )
        return self

    def said(self):
        return "".join(e.data["text"] for e in self.events if e.type == "text_delta")


@pytest.fixture
async def process(tmp_path):
    box = Box(tmp_path, kind="process")
    yield box
    await box.external.close()
    await box.supervisor.close()


@pytest.fixture
async def acp(tmp_path):
    box = Box(tmp_path, kind="acp", args=[str(PROGRAM)])
    yield box
    await box.external.close()
    assert box.supervisor.names == []
    await box.supervisor.close()


async def until(check, within_s=20.0):
    end = CLOCK.monotonic() + within_s
    while not (found := check()):
        assert CLOCK.monotonic() < end, "did not happen"
        await CLOCK.sleep(0.01)
    return found


def alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


# ------------------------------------------------------------------------------ processes


async def test_what_a_process_prints_is_the_answer_and_is_told_while_it_grows(process) -> None:
    process.script("import sys; print(sys.stdin.read().upper()); print('bye', file=sys.stderr)")
    result = await process.run("中文 prompt")
    assert result.success
    assert result.output == "中文 PROMPT"
    assert result.messages[0]["content"] == [{"type": "text", "text": "中文 PROMPT"}]
    assert result.warnings == ("USAGE_UNKNOWN",)
    assert process.said() == "中文 PROMPT\n"


@pytest.mark.parametrize(
    ("given", "code", "answer"),
    [
        (
            "argument",
            "import sys; print(repr(sys.argv[1:]), sys.stdin.read())",
            "['Be brief.\\n\\nhello'] ",
        ),
        ("none", "import sys; print(len(sys.argv), sys.stdin.read())", "1 "),
    ],
)
async def test_the_prompt_comes_as_the_run_file_says(process, given, code, answer) -> None:
    process.script(code, input=given)
    process.agent = process.agent.model_copy(update={"system_prompt": "Be brief."})
    assert (await process.run()).output == answer


async def test_a_process_sees_few_names_and_what_the_run_file_passes(process) -> None:
    code = "import json, os; print(json.dumps(dict(os.environ)))"
    process.script(code, pass_env=["WANTED_KEY", "ABSENT"], env={"MODE": "x"})
    seen = json.loads((await process.run()).output)
    assert (seen["WANTED_KEY"], seen["MODE"]) == ("given", "x")
    assert "OPENAI_API_KEY" not in seen
    assert "ABSENT" not in seen


async def test_a_failing_process_fails_the_task_without_showing_secrets(process) -> None:
    process.script("import sys; sys.exit('api_key=sk-abcdefghijklmnop1234 is wrong')")
    result = await process.run()
    assert not result.success
    assert result.error_info.code == "BACKEND_EXIT"
    assert result.error_info.retryable
    assert "ended with status 1" in result.error_info.message
    assert "sk-abcdefghijklmnop1234" not in result.error_info.message


async def test_a_process_that_does_not_exist_is_not_tried_again(process) -> None:
    process.agent = process.agent.model_copy(
        update={"backend": process.agent.backend.model_copy(update={"command": "no-such-program"})}
    )
    result = await process.run()
    assert (result.error_info.code, result.error_info.retryable) == ("BACKEND_NOT_STARTED", False)


async def test_messages_and_nothing_are_refused_before_anything_starts(process) -> None:
    process.script("open('started', 'w')")
    listed = await process.run([{"role": "user", "content": []}])
    empty = await process.run("  \n")
    assert listed.error_info.code == "BACKEND_TAKES_TEXT"
    assert empty.error_info.code == "BACKEND_EMPTY_PROMPT"
    assert not (process.folder / "started").exists()


CHILD = """
import subprocess, sys, time
sleep = [sys.executable, "-c", "import time; time.sleep(600)"]
child = subprocess.Popen(sleep, start_new_session=True)
open("pid", "w").write(str(child.pid))
print("begun", flush=True)
time.sleep(600)
"""


async def test_idea_62_an_abort_ends_the_process_and_all_it_started(process) -> None:
    process.script(CHILD)
    running = process.start()
    await until(lambda: "begun" in process.said())
    pid = int((process.folder / "pid").read_text())
    process.token.stop(StopReason.CANCEL)
    result = await running
    assert (result.status.code, result.aborted, result.success) == ("cancelled", True, False)
    assert result.output == "begun"
    await until(lambda: not alive(pid))


async def test_idea_62_what_a_finished_process_left_running_is_ended_too(process) -> None:
    process.script(CHILD.rsplit("time.sleep", 1)[0])
    assert (await process.run()).output == "begun"
    pid = int((process.folder / "pid").read_text())
    await until(lambda: not alive(pid))


async def test_a_time_limit_of_the_agent_ends_it_and_may_be_tried_again(process) -> None:
    process.script(CHILD)
    process.agent = process.agent.model_copy(update={"timeout_ms": 400})
    result = await process.run()
    assert (result.status.code, result.error_info.retryable) == ("timeout", True)


async def test_a_suspend_before_the_start_starts_nothing_and_later_waits_for_the_end(
    process,
) -> None:
    process.script("import time; open('go', 'w'); time.sleep(0.3); print('whole')")
    running = process.start()
    await until((process.folder / "go").exists)
    process.token.stop(StopReason.SUSPEND)
    assert (await running).output == "whole"
    (process.folder / "go").unlink()
    result = await process.run()
    assert (result.suspended, result.success) == (True, False)
    assert not (process.folder / "go").exists()


# ------------------------------------------------------------------------------ ACP


async def test_one_session_serves_all_tasks_and_usage_counts_the_growth(acp) -> None:
    acp.agent = acp.agent.model_copy(update={"system_prompt": "Be brief."})
    first = await acp.run("one", task="t1")
    second = await acp.run("two", task="t2")
    assert json.loads(first.output) == {"prompts": ["Be brief.\n\none"], "cwd": str(acp.folder)}
    assert json.loads(second.output)["prompts"] == ["Be brief.\n\none", "two"]
    assert first.token_usage == {"input_tokens": 100, "output_tokens": 0}
    assert second.token_usage == {"input_tokens": 100, "output_tokens": 0}
    assert acp.said() == first.output + second.output


@pytest.mark.parametrize(
    ("kind", "gate", "chosen"),
    [
        ("edit", ALLOW, "once"),
        ("edit", deny("no"), "no"),
        ("edit", suspend("a person"), "no"),
        ("edit", "nonsense", "no"),
        ("edit", None, "no"),
        ("read", None, "once"),
    ],
)
async def test_permissions_go_to_the_rules_and_only_a_clear_yes_is_one(
    acp, kind, gate, chosen
) -> None:
    asked = []

    async def answer(call):
        asked.append(call)
        return gate

    if gate is not None:
        acp.gates = Gates(tool=answer)
    result = await acp.run(f"ask {kind}")
    assert result.output == chosen
    (record,) = result.tool_calls
    assert (record["toolName"], record["input"], record["output"]) == (
        kind,
        {"path": "a.txt"},
        chosen,
    )
    assert [(c.tool, c.consequential, c.agent) for c in asked] == (
        [(f"acp:{kind}", True, "a")] if gate is not None else []
    )


@pytest.mark.parametrize(("permission", "chosen"), [("auto-approve", "once"), ("reject", "no")])
async def test_permissions_may_be_fixed_by_the_run_file(acp, permission, chosen) -> None:
    acp.agent = acp.agent.model_copy(
        update={"backend": acp.agent.backend.model_copy(update={"permission": permission})}
    )
    assert (await acp.run("ask execute")).output == chosen


async def test_how_a_turn_ends_is_told(acp) -> None:
    refused = await acp.run("refuse")
    assert (refused.success, refused.error_info.code) == (False, "BACKEND_REFUSED")
    early = await acp.run("limit")
    assert (early.success, early.budget_exceeded, early.output) == (True, True, "half")
    assert early.warnings == ("OUTPUT_TRUNCATED",)


async def test_messages_longer_than_a_pipe_come_whole(acp) -> None:
    assert len((await acp.run("big")).output) == 300_000


async def test_an_agent_that_dies_fails_the_task_and_the_next_gets_a_new_one(acp) -> None:
    dead = await acp.run("die")
    assert (dead.success, dead.error_info.code) == (False, "BACKEND_BROKEN")
    assert "disk on fire" in dead.error_info.message
    assert "hunter2" not in dead.error_info.message
    assert json.loads((await acp.run("again")).output)["prompts"] == ["again"]


async def test_an_abort_asks_the_agent_to_stop_and_keeps_what_it_said(acp) -> None:
    running = acp.start("hang")
    await until(lambda: acp.said() == "begun")
    acp.token.stop(StopReason.CANCEL)
    result = await running
    assert (result.status.code, result.output) == ("cancelled", "begun")


async def test_closing_ends_the_agent_and_all_it_started(acp, tmp_path) -> None:
    await acp.run(f"child {tmp_path / 'pid'}")
    pid = int((tmp_path / "pid").read_text())
    assert alive(pid)
    await acp.external.close()
    await until(lambda: not alive(pid))


async def test_a_program_that_speaks_no_acp_fails_with_what_it_said(acp) -> None:
    acp.script("import sys; sys.exit('usage: something else')")
    result = await acp.run()
    assert result.error_info.code == "BACKEND_BROKEN"
    assert "usage: something else" in result.error_info.message


async def test_a_deaf_program_is_given_up_at_the_agents_limit(acp) -> None:
    backend = acp.agent.backend.model_copy(update={"args": [str(PROGRAM), "--deaf"]})
    acp.agent = acp.agent.model_copy(update={"backend": backend, "timeout_ms": 1500})
    result = await acp.run()
    assert (result.status.code, result.error_info.retryable) == ("timeout", True)


async def test_a_program_that_is_gone_at_once_fails_its_task_only(acp) -> None:
    backend = acp.agent.backend.model_copy(update={"command": "true", "args": []})
    acp.agent = acp.agent.model_copy(update={"backend": backend})
    result = await acp.run()
    assert (result.success, result.error_info.code) == (False, "BACKEND_BROKEN")
