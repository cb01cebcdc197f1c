"""Whole runs whose scripted models use the built-in tools (engine.md 3.3, 5.7; issue: once)."""

from __future__ import annotations

import json

import pytest

from oma_desktop.base.clock import SystemClock
from oma_desktop.base.lanes import Lanes
from oma_desktop.base.supervisor import Supervisor
from oma_desktop.engine.bus import EventBus
from oma_desktop.engine.cancel import CancelToken, StopReason
from oma_desktop.engine.launching.launch import Launcher
from oma_desktop.engine.launching.wiring import World, wire
from oma_desktop.model.errors import InvalidInput
from oma_desktop.model.runfile_reading import read_run_file
from oma_desktop.store.address import parse_address
from oma_desktop.store.filestore import FileStore
from oma_desktop.store.ledger import ApprovalLedger
from oma_desktop.store.origin import Origin

CLOCK = SystemClock()


def outputs(result):
    """What the tools of the one task answered, in the order of the calls."""
    (task,) = result.task_results.values()
    return [record["output"] for record in task["toolCalls"]]


def call(id_, name, **arguments):
    return {"id": id_, "name": name, "input": arguments}


class Runs:
    """One run file in a folder, run and restored like the command line does."""

    def __init__(self, folder, turns, *, agent=None, **top):
        self.folder = folder
        self.token = CancelToken()
        self.events = []
        self.store = folder / "run" / "checkpoint.json"
        script = {"agents": [{"name": "w"}], "team": {"name": "t"}, "replies": {"Do": turns}}
        (folder / "script.json").write_text(json.dumps(script), "utf-8")
        worker = {"name": "w", "provider": "play", "model": "m", **(agent or {})}
        document = {
            "team": {"name": "t", "agents": [worker]},
            "tasks": [{"title": "Do", "description": "it", "assignee": "w"}],
            "providers": {"play": {"type": "scripted", "script": "script.json"}},
            "checkpoint": {"path": "run/checkpoint.json"},
            **top,
        }
        (folder / "run.json").write_text(json.dumps(document), "utf-8")

    async def _with(self, act):
        lanes, supervisor, bus = Lanes(), Supervisor(), EventBus()
        bus.subscribe(self.events.append)
        launcher = Launcher(clock=CLOCK, supervisor=supervisor, lanes=lanes, app="test", speed=0.0)
        try:
            prepared = await act(launcher, bus)
            try:
                return await prepared.go(self.token)
            finally:
                await prepared.close()
        finally:
            await supervisor.close()
            lanes.close()

    async def run(self, store=None):
        origin = Origin(run_file=self.folder / "run.json")
        return await self._with(
            lambda launcher, bus: launcher.new_run(origin, bus=bus, store=store)
        )

    async def restore(self):
        return await self._with(
            lambda launcher, bus: launcher.saved_run(Origin(), bus=bus, store=self.store)
        )

    def decide(self, **verdicts):
        """Decide each open request by its call id."""
        ledger = ApprovalLedger(FileStore(self.store, clock=CLOCK), clock=CLOCK)
        for row in ledger.list():
            verdict = verdicts.get(row["request"]["content"].get("toolCallId"))
            if verdict and "decision" not in row:
                request = row["request"]
                ledger.decide(request["id"], request["requestHash"], verdict, {"id": "ann"})

    def started(self):
        return [e.data["tool"] for e in self.events if e.type == "tool_start"]


async def test_bash_suspends_is_approved_and_runs_exactly_once(tmp_path):
    turns = [
        {"text": "", "tools": [call("c1", "bash", command="echo ran >> log; cat log")]},
        {"text": "finished"},
    ]
    runs = Runs(tmp_path, turns, agent={"toolPreset": "full"})
    result = await runs.run()
    assert result.status.code == "suspended"
    (request,) = result.pending_approvals
    assert request["content"]["toolName"] == "bash"
    assert request["content"]["consequential"] is True
    assert request["content"]["input"]["timeout"] == 30_000, "what is reviewed is what will run"
    log = tmp_path / "run" / "log"
    assert not log.exists()

    result = await runs.restore()
    assert result.status.code == "suspended", "no decision, no run"
    assert not log.exists()

    runs.decide(c1="approve")
    result = await runs.restore()
    assert result.status.code == "ok"
    assert outputs(result) == ["ran\n[exit code: 0]"]
    assert log.read_text("utf-8") == "ran\n"

    result = await runs.restore()
    assert result.status.code == "ok"
    assert log.read_text("utf-8") == "ran\n", "a restore of what is done runs nothing"
    assert runs.started() == ["bash"]


async def test_a_rejected_command_never_runs_and_the_model_is_told(tmp_path):
    turns = [
        {"text": "", "tools": [call("c1", "bash", command="touch ran")]},
        {"text": "understood"},
    ]
    runs = Runs(tmp_path, turns, agent={"tools": ["bash"]})
    await runs.run()
    runs.decide(c1="reject")
    result = await runs.restore()
    assert outputs(result) == ['A reviewer rejected this call of "bash".']
    assert not (tmp_path / "run" / "ran").exists()
    assert runs.started() == []


async def test_all_six_in_one_run(tmp_path):
    ws = tmp_path / "ws"
    path = str(ws / "src" / "a.txt")
    turns = [
        {"text": "", "tools": [call("1", "file_write", path=path, content="one\r\ntwo\r\n")]},
        {
            "text": "",
            "tools": [call("2", "file_edit", path=path, old_string="one\ntwo", new_string="$&")],
        },
        {
            "text": "",
            "tools": [
                call("3", "file_read", path=path),
                call("4", "glob", pattern="*.txt"),
                call("5", "grep", pattern=r"^\$&$"),
                call("6", "bash", command="cat src/a.txt; exit 4"),
                call("7", "file_read", path="/etc/passwd"),
            ],
        },
        {"text": "finished"},
    ]
    runs = Runs(
        tmp_path, turns, agent={"toolPreset": "full"}, cwd="ws", approvals={"tools": "allow"}
    )
    result = await runs.run()
    assert result.status.code == "ok"
    assert (ws / "src" / "a.txt").read_bytes() == b"$&\r\n"
    assert sorted(runs.started()[2:]) == ["bash", "file_read", "file_read", "glob", "grep"]
    assert outputs(result) == [
        f'Created "{path}": 2 lines, 10 bytes.',
        f'Edited "{path}" in 1 place.',
        "1\t$&",
        "src/a.txt",
        "src/a.txt:1:$&",
        "$&\r\n[exit code: 4]",
        f'"/etc/passwd" lies outside the workspace "{ws}".',
    ]
    ends = {e.data["toolCallId"]: e.data["isError"] for e in runs.events if e.type == "tool_end"}
    assert [id_ for id_, is_error in sorted(ends.items()) if is_error] == ["6", "7"]


async def test_idea_46_what_is_not_granted_is_an_error_and_not_a_run(tmp_path):
    turns = [
        {
            "text": "",
            "tools": [
                call("1", "bash", command="touch ran"),
                call("2", "file_write", path=str(tmp_path / "run" / "ran"), content="x"),
                call("3", "glob", pattern="*"),
            ],
        },
        {"text": "finished"},
    ]
    for agent in (
        {"disallowedTools": ["grep"]},
        {"toolPreset": "readonly", "disallowedTools": ["glob"]},
        {"toolPreset": "full", "tools": ["grep"]},
    ):
        runs = Runs(tmp_path, turns, agent=agent, approvals={"tools": "allow"})
        result = await runs.run(store=tmp_path / "run" / f"{len(agent)}{'tools' in agent}.json")
        assert result.status.code == "ok"
        assert outputs(result) == [
            f'The tool "{name}" is not available.' for name in ("bash", "file_write", "glob")
        ]
        assert runs.started() == []
        assert not (tmp_path / "run" / "ran").exists()


async def test_parallel_commands_wait_for_their_own_verdicts(tmp_path):
    """Case s39 with the real shell: each call follows its own decision, whatever the order."""
    names = ("a", "b", "c")
    calls = [call(name, "bash", command=f"echo {name} >> log") for name in names]
    runs = Runs(
        tmp_path, [{"text": "", "tools": calls}, {"text": "finished"}], agent={"tools": ["bash"]}
    )
    assert len((await runs.run()).pending_approvals) == 3
    runs.decide(c="approve")
    await runs.restore()
    log = tmp_path / "run" / "log"
    runs.decide(a="reject")
    await runs.restore()
    runs.decide(b="approve")
    result = await runs.restore()
    assert result.status.code == "ok"
    assert sorted(log.read_text("utf-8").split()) == ["b", "c"]
    assert [text.partition(" ")[0] for text in outputs(result)] == ["A", "[exit", "[exit"]


async def test_an_abort_ends_a_running_command(tmp_path):
    turns = [{"text": "", "tools": [call("1", "bash", command="echo $$ > pid; sleep 300")]}]
    runs = Runs(tmp_path, turns, agent={"tools": ["bash"]}, approvals={"tools": "allow"})
    started = CLOCK.monotonic()

    class Stopping(list):
        def append(self, event):
            super().append(event)
            if event.type == "tool_start":
                runs.token.stop(StopReason.CANCEL)

    runs.events = Stopping()
    result = await runs.run()
    assert not result.success
    assert CLOCK.monotonic() - started < 30


async def test_the_agent_s_own_limit_cuts_what_it_reads(tmp_path):
    turns = [
        {"text": "", "tools": [call("1", "bash", command="yes | head -c 50000; echo the end")]},
        {"text": "finished"},
    ]
    agent = {"tools": ["bash"], "maxToolOutputChars": 500}
    runs = Runs(tmp_path, turns, agent=agent, approvals={"tools": "allow"})
    result = await runs.run()
    (text,) = outputs(result)
    assert len(text) == 500
    assert text.endswith("the end\n[exit code: 0]")


async def test_without_a_cwd_the_run_s_folder_is_the_workspace_but_not_its_records(tmp_path):
    run = tmp_path / "run"
    turns = [
        {
            "text": "",
            "tools": [
                call("1", "file_write", path=str(run / "notes.txt"), content="mine"),
                call("2", "file_write", path=str(run / "checkpoint.json"), content="{}"),
                call("3", "file_write", path=str(tmp_path / "run.json"), content="{}"),
            ],
        },
        {"text": "finished"},
    ]
    runs = Runs(tmp_path, turns, agent={"toolPreset": "readwrite"}, approvals={"tools": "allow"})
    before = (tmp_path / "run.json").read_bytes()
    result = await runs.run()
    assert result.status.code == "ok"
    made, record, outside = outputs(result)
    assert made.startswith("Created")
    assert record.endswith("belongs to the run and is not written.")
    assert "lies outside the workspace" in outside
    assert (run / "notes.txt").read_text("utf-8") == "mine"
    assert (tmp_path / "run.json").read_bytes() == before
    assert json.loads(runs.store.read_text("utf-8")) != {}


async def test_a_run_in_a_database_must_name_its_folder(tmp_path):
    runs = Runs(tmp_path, [{"text": "x"}], agent={"toolPreset": "readonly"})
    with pytest.raises(InvalidInput) as caught:
        await runs.run(store=parse_address("redis://127.0.0.1:1/0"))
    assert caught.value.code == "RUNFILE_NO_WORKSPACE"


async def test_a_run_file_cannot_show_commands_a_secret(tmp_path):
    runs = Runs(tmp_path, [{"text": "x"}], tools={"bash": {"env": ["CI", "GROQ_API_KEY"]}})
    with pytest.raises(InvalidInput) as caught:
        await runs.run()
    assert caught.value.code == "RUNFILE_SHELL_SECRET"


async def test_a_tool_of_the_script_takes_the_place_of_a_built_in_one(tmp_path):
    runs = Runs(
        tmp_path,
        [{"text": "", "tools": [call("1", "bash", command="touch ran")]}, {"text": "finished"}],
        agent={"tools": ["bash"]},
        approvals={"tools": "allow"},
    )
    script = json.loads((tmp_path / "script.json").read_text("utf-8"))
    script["tools"] = {"bash": {"schema": {"command": "string"}, "results": {"*": {"data": "no"}}}}
    (tmp_path / "script.json").write_text(json.dumps(script), "utf-8")
    assert (await runs.run()).status.code == "ok"
    assert runs.started() == ["bash"]
    assert not (tmp_path / "run" / "ran").exists()


async def test_an_agent_cannot_rewrite_what_it_was_started_from(tmp_path):
    turns = [
        {
            "text": "",
            "tools": [
                call("1", "file_write", path=str(tmp_path / "run.json"), content="{}"),
                call("2", "file_write", path=str(tmp_path / "run" / "checkpoint.json"), content=""),
                call("3", "file_write", path=str(tmp_path / ".oma" / "x"), content=""),
                call("4", "file_write", path=str(tmp_path / "fine"), content=""),
            ],
        },
        {"text": "finished"},
    ]
    runs = Runs(
        tmp_path, turns, agent={"tools": ["file_write"]}, cwd=".", approvals={"tools": "allow"}
    )
    result = await runs.run()
    told = [text.endswith("belongs to the run and is not written.") for text in outputs(result)]
    assert told == [True, True, True, False]


async def test_models_are_told_the_workspace_where_all_share_it(tmp_path):
    run_file = read_run_file(
        json.dumps(
            {
                "team": {
                    "name": "t",
                    "agents": [
                        {"name": n, "model": "m", "provider": "ollama", "toolPreset": "full"}
                        for n in "ab"
                    ],
                },
                "cwd": "ws",
            }
        ).encode(),
        name="r",
    )
    for agents, told in ((run_file.team.agents, True), (None, False)):
        team = run_file.team
        if agents is None:
            first, second = team.agents
            elsewhere = second.model_copy(update={"cwd": "other"})
            team = team.model_copy(update={"agents": [first, elsewhere]})
        wiring = wire(
            run_file.model_copy(update={"team": team}),
            base_dir=tmp_path,
            world=World(CLOCK, environ={}, stored_key=lambda _: None),
            needs_work=False,
        )
        assert wiring.team.tools.names == [
            "file_read", "file_write", "file_edit", "glob", "grep", "bash",
        ]  # fmt: skip
        where = f'The workspace is "{tmp_path / "ws"}".'
        assert all((where in tool.description) is told for tool in wiring.team.tools)
        await wiring.close()
