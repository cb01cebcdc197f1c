"""Every command on runs that live in a database; servers that die under a run (issue 3)."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from oma_desktop.base.clock import SystemClock
from oma_desktop.base.lanes import Lanes
from oma_desktop.base.supervisor import Supervisor
from oma_desktop.engine.bus import EventBus
from oma_desktop.engine.cancel import CancelToken
from oma_desktop.engine.launching.launch import Launcher
from oma_desktop.model.errors import OmaError
from oma_desktop.store.address import parse_address
from oma_desktop.store.lease import Lease
from oma_desktop.store.origin import Origin
from oma_desktop.store.ready_text import ReadyText
from tests.cli.files import script, tasks
from tests.databases import KINDS, fresh_url, opened, server_of
from tests.servers import PostgresServer, RedisServer, server_folder

KEY = "__oma_checkpoint__/r1/latest"


@pytest.fixture(autouse=True)
def _home(tmp_path, monkeypatch):
    monkeypatch.setenv("OMA_DESKTOP_HOME", str(tmp_path / "home"))


@pytest.fixture(params=KINDS)
def url(request):
    return fresh_url(request.param, server_of(request, request.param).url)


def files(folder: Path, *titles: str, **options: Any) -> tuple[Path, Path]:
    run_file, replies = folder / "tasks.json", folder / "script.json"
    run_file.write_text(json.dumps({"tasks": tasks(*titles, chain=True)}), "utf-8")
    replies.write_text(json.dumps(script(*titles, **options)), "utf-8")
    return run_file, replies


class TestCommands:
    def test_run_decide_and_restore(self, cli, tmp_path, url):
        run_file, replies = files(tmp_path, "one", "two", gate="two")
        known = ("--script", replies)
        done = cli("run", run_file, *known, "--store", url, "--run-id", "r1", "--json")
        assert (done.code, done.json["status"]["code"]) == (3, "suspended")
        (run,) = cli("inspect", url, "--json").json["checkpoints"]
        assert (run["key"], run["attempt"], run["statusCounts"]["completed"]) == (KEY, 1, 1)
        (asked,) = cli("approvals", url, "--json").json["approvals"]
        assert (asked["state"], asked["hashMatches"]) == ("pending", True)
        decision = (url, asked["id"], "--hash", asked["requestHash"])
        assert cli("approve", *decision, "--reviewer", "me").code == 0
        late = cli("reject", *decision, "--reviewer", "you", "--json")
        assert (late.code, late.error["code"]) == (1, "APPROVAL_CONFLICT")
        plan = cli("restore", "--store", url, "--plan-only", "--json").json
        assert (plan["attempt"], plan["nextAttempt"]) == (1, 2)
        again = cli("restore", "--store", url, "--json")
        assert (again.code, again.json["status"]["code"]) == (0, "ok")
        assert [c["id"] for c in again.json["log"]["toolCallsExecuted"]] == ["call_two"]
        taken = cli("run", run_file, *known, "--store", url, "--run-id", "r1", "--json")
        assert (taken.code, taken.error["code"]) == (2, "CHECKPOINT_EXISTS")
        assert opened(url).lease(KEY) is None

    def test_a_run_somebody_runs_is_busy_but_can_be_decided(self, cli, tmp_path, url):
        run_file, replies = files(tmp_path, "one", gate="one")
        cli("run", run_file, "--script", replies, "--store", url, "--run-id", "r1")
        lease = Lease(opened(url), KEY, app="another desktop")
        lease.acquire()
        busy = cli("restore", "--store", url, "--json")
        assert (busy.code, busy.error["code"]) == (4, "LEASE_HELD")
        assert "another desktop" in busy.error["message"]
        (asked,) = cli("approvals", url, "--json").json["approvals"]
        decision = (url, asked["id"], "--hash", asked["requestHash"], "--reviewer", "me")
        assert cli("approve", *decision).code == 0
        lease.release()
        assert cli("restore", "--store", url).code == 0

    def test_several_runs_in_one_store(self, cli, tmp_path, url):
        run_file, replies = files(tmp_path, "one")
        for run_id in ("r1", "r2"):
            command = ("run", run_file, "--script", replies, "--store", url, "--run-id", run_id)
            assert cli(*command).code == 0
        assert len(cli("inspect", url, "--json").json["checkpoints"]) == 2
        unclear = cli("restore", "--store", url, "--json")
        assert (unclear.code, unclear.error["code"]) == (2, "CHECKPOINT_AMBIGUOUS")
        assert cli("restore", "--store", url, "--run-id", "r2").code == 0

    def test_the_address_may_stand_in_the_run_file(self, cli, tmp_path, url):
        run_file, replies = files(tmp_path, "one")
        document = json.loads(run_file.read_text("utf-8"))
        document["checkpoint"] = {"path": url, "runId": "r1"}
        run_file.write_text(json.dumps(document), "utf-8")
        assert cli("run", run_file, "--script", replies).code == 0
        assert opened(url).get(KEY) is not None
        assert not (tmp_path / ".oma").exists()


class TestRedacted:
    """A run in a database behind `checkpoint.redact`: masked there too, and no decision."""

    SECRET = "sk-FAKE0123456789fakeABCD"

    @pytest.fixture
    def run_file(self, tmp_path, url):
        path, _ = files(tmp_path, "one", "two", gate="two")
        document = json.loads(path.read_text("utf-8"))
        document["checkpoint"] = {"path": url, "runId": "r1", "redact": True}
        document["tasks"][0]["description"] += f" with {self.SECRET}"
        path.write_text(json.dumps(document), "utf-8")
        return path

    def test_nothing_secret_reaches_the_server_and_a_gate_fails_closed(
        self, cli, tmp_path, url, run_file
    ):
        known = ("--script", tmp_path / "script.json")
        done = cli("run", run_file, *known, "--json")
        assert done.code == 0, done.err
        ran = [call["id"] for call in done.json["log"]["toolCallsExecuted"]]
        assert ran == ["call_one"], "what needs a decision does not run"
        rows = opened(url).list()
        assert [row.key for row in rows] == [KEY], "no request was written"
        assert self.SECRET not in rows[0].value
        assert "[redacted]" in rows[0].value
        again = cli("restore", "--store", url, "--json")
        assert again.code == 0, again.err

    def test_a_dispatch_gate_says_why(self, cli, tmp_path, url, run_file):
        replies = tmp_path / "script.json"
        document = json.loads(replies.read_text("utf-8"))
        document["gates"] = {"dispatch": {"one": "suspend"}}
        replies.write_text(json.dumps(document), "utf-8")
        done = cli("run", run_file, "--script", replies)
        assert done.code == 1
        assert "without checkpoint.redact" in done.out + done.err
        assert not [row for row in opened(url).list() if row.key.startswith("__oma_approval__/")]


@pytest.mark.parametrize("place", ["redis://127.0.0.1:1/0", "postgresql://u:pw-x@127.0.0.1:1/d"])
@pytest.mark.parametrize("command", ["inspect", "approvals"])
def test_no_server(cli, command, place):
    done = cli(command, place, "--json")
    assert (done.code, done.error["code"]) == (2, "DB_UNREACHABLE")
    assert len(done.errors) == 1
    assert "pw-x" not in done.out + done.err


class Play:
    """One attempt in this process, with every acknowledged save remembered."""

    def __init__(self) -> None:
        self.acknowledged: list[str] = []
        self.refused: list[str] = []
        self.events: list[Any] = []

    async def run(self, start: Any, *, at_save: int = 0, disturb: Any = None) -> Any:
        lanes, failures = Lanes(), []
        supervisor = Supervisor(lambda _name, error: failures.append(error))
        launcher = Launcher(clock=SystemClock(), supervisor=supervisor, lanes=lanes, app="test")
        bus = EventBus()
        bus.subscribe(self.events.append)
        try:
            prepared = await start(launcher, bus)
            self._remember(prepared._opened.store, at_save, disturb)
            try:
                return await prepared.go(CancelToken())
            finally:
                await prepared.close()
        finally:
            await supervisor.close()
            lanes.close()
            assert not failures

    def _remember(self, store: Any, at_save: int, disturb: Any) -> None:
        plain_set = store.set_buffer

        def remembering(key: str, text: ReadyText, metadata: Any = None) -> None:
            value = text.text
            try:
                plain_set(key, text, metadata)
            except OmaError as error:
                self.refused.append(error.code)
                raise
            self.acknowledged.append(value)
            if disturb is not None and len(self.acknowledged) == at_save:
                disturb()

        store.set_buffer = remembering


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
async def test_a_server_killed_under_a_run_loses_nothing_acknowledged(kind, tmp_path):
    folder = server_folder(f"run-{kind}")
    server: Any = (
        RedisServer(folder, append_only=True)
        if kind == "redis"
        else PostgresServer(folder, durable=True)
    )
    run_file, replies = files(tmp_path, "one", "two", "three")
    origin = Origin(run_file=run_file, script=replies)
    address = parse_address(server.url)
    try:
        first = Play()
        await first.run(
            lambda launcher, bus: launcher.new_run(origin, bus=bus, store=address, run_id="r1"),
            at_save=5,
            disturb=server.kill,
        )
        assert len(first.acknowledged) == 5
        assert set(first.refused) <= {"DB_UNREACHABLE", "DB_LOST", "DB_OUTCOME_UNKNOWN"}
        assert first.refused
        told = [e.data["code"] for e in first.events if e.data.get("code") in first.refused]
        assert told, "a save that failed is announced"
        await asyncio.to_thread(server.start)
        found = opened(server.url).get(KEY)
        assert found is not None
        assert found.value == first.acknowledged[-1]
        second = Play()
        result = await second.run(
            lambda launcher, bus: launcher.saved_run(origin, bus=bus, store=address)
        )
        assert result.status.code == "ok"
        assert opened(server.url).lease(KEY) is None
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)
