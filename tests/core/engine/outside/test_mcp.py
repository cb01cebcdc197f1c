"""MCP servers: found, called, refused, ended; each one a real process (engine.md 10.1)."""

import asyncio
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import psutil
import pytest

from oma_desktop.base.clock import SystemClock
from oma_desktop.base.lanes import Lanes
from oma_desktop.base.sentences import one_line
from oma_desktop.base.supervisor import Supervisor
from oma_desktop.engine.cancel import CancelToken, StopReason
from oma_desktop.engine.error_output import LOOK_S
from oma_desktop.engine.tools.outside.mcp_server import TIMEOUT_S
from oma_desktop.engine.tools.outside.mcp_tools import (
    McpServers,
    declared_mcp_effects,
    mcp_name,
)
from oma_desktop.engine.tools.registry import ToolContext
from oma_desktop.model.errors import InvalidInput, OmaError, ToolFailed, ToolTimedOut
from oma_desktop.model.runfile import McpServer
from oma_desktop.model.view import Effect
from tests.core.engine.outside.servers import PNG, SCHEMA

SCRIPT = Path(__file__).with_name("servers.py")
ENVIRON = {"PATH": "/usr/bin:/bin", "HOME": "/tmp", "ANTHROPIC_API_KEY": "secret", "TOKEN": "t"}


def entry(kind, *args, **more):
    return McpServer(command=sys.executable, args=[str(SCRIPT), kind, *map(str, args)], **more)


@asynccontextmanager
async def servers(folder, clock=None, **entries):
    """Servers that are not started yet, and the supervisor they live under."""
    lanes, failures = Lanes(), []
    supervisor = Supervisor(lambda name, error: failures.append((name, error)))
    made = McpServers(
        entries,
        base_dir=folder,
        environ=ENVIRON,
        passed={"PATH": ENVIRON["PATH"]},
        clock=clock or SystemClock(),
        supervisor=supervisor,
        lanes=lanes,
    )
    made.supervisor = supervisor
    try:
        yield made
    finally:
        await made.close()
        assert supervisor.names == []
        await supervisor.close()
        lanes.close()
        assert not failures, failures


class HeldClock(SystemClock):
    """Time that passes when the test says so."""

    def __init__(self):
        self.over = asyncio.Event()

    async def sleep(self, delay_s):
        if delay_s == LOOK_S:
            await asyncio.Event().wait()  # nobody writes that much here
        assert delay_s == TIMEOUT_S
        await self.over.wait()


def context(token=None):
    return ToolContext("r", "t", "c", "a", None, token or CancelToken())


async def called(specs, name, token=None, **input_):
    spec = next(s for s in specs if s.name == name)
    return await spec.run(input_, context(token))


async def refused(made):
    with pytest.raises(OmaError) as caught:
        await made.start()
    assert "{" not in one_line(caught.value.code, caught.value.facts)
    return caught.value


def lives(pid):
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


async def until(holds, patience_s=20.0):
    async with asyncio.timeout(patience_s):
        while not holds():  # noqa: ASYNC110 - another process is waited for
            await asyncio.sleep(0.01)


async def test_tools_are_named_described_and_called(tmp_path):
    async with servers(tmp_path, w=entry("plain")) as made:
        specs = await made.start()
        assert [s.name for s in specs] == ["w_weather", "w_hang", "w_crash", "w_refuse"]
        assert specs[0].input_schema == SCHEMA
        assert specs[0].description == "does weather"
        output = await called(specs, "w_weather", city="Rome")
        assert (output.data, output.is_error) == ("sunny in Rome", None)


async def test_idea_61_every_page_of_tools_is_listed(tmp_path):
    async with servers(tmp_path, p=entry("pages")) as made:
        assert [s.name for s in await made.start()] == ["p_t0", "p_t1", "p_t2"]


async def test_idea_61_duplicate_names_are_refused(tmp_path):
    async with servers(tmp_path, s=entry("twins")) as made:
        error = await refused(made)
        assert (error.code, error.facts["tool"]) == ("MCP_DUPLICATE_TOOL", "s_a_b")


async def test_idea_61_names_of_two_servers_may_not_meet(tmp_path):
    first = entry("plain", tools=["hang"])
    async with servers(tmp_path, s=first, **{"s/": entry("plain")}) as made:
        specs = await made.start()  # "s_hang" and "s__hang": not the same
        assert len({s.name for s in specs}) == len(specs)
    async with servers(tmp_path, **{"s/x": first, "s_x": first}) as made:
        assert (await refused(made)).code == "MCP_DUPLICATE_TOOL"


async def test_idea_61_errors_are_text_only(tmp_path):
    async with servers(tmp_path, a=entry("answers")) as made:
        output = await called(await made.start(), "a_failed")
        assert output.is_error is True
        assert output.model_output is None
        assert output.data == "hello\n[image: image/png; inline data]"


async def test_idea_61_a_failed_discovery_leaves_no_process(tmp_path):
    pids = tmp_path / "pids"
    async with servers(tmp_path, b=entry("bad_list", pids), fine=entry("plain")) as made:
        error = await refused(made)
        assert (error.code, error.facts["server"]) == ("MCP_FAILED", "b")
        assert made.supervisor.names == []
        assert not any(lives(int(pid)) for pid in pids.read_text("utf-8").split())


async def test_rich_answers_stay_rich_and_the_rest_is_text(tmp_path):
    async with servers(tmp_path, a=entry("answers")) as made:
        specs = await made.start()
        assert (await called(specs, "a_text")).data == "hello"
        assert (await called(specs, "a_structured")).data == '{"n":1}'
        picture = (await called(specs, "a_picture")).model_output
        assert picture == [
            {"type": "text", "text": "hello"},
            {
                "type": "image",
                "source": {"type": "base64", "media_type": "image/png", "data": PNG},
            },
        ]
        (blob,) = (await called(specs, "a_blob")).model_output
        assert (blob["type"], blob["filename"]) == ("file", "report 1.pdf")
        link, local = (await called(specs, "a_link")).model_output
        assert link["source"]["url"] == "https://x.test/d.pdf"
        assert local == {"type": "text", "text": "[link: local; file:///etc/passwd]"}


async def test_a_server_sees_only_listed_variables(tmp_path):
    wanted = entry("answers", env={"MINE": "1", "KEY": "a-${TOKEN}"})
    async with servers(tmp_path, a=wanted) as made:
        names = (await called(await made.start(), "a_environment")).data.split()
        assert {"PATH", "MINE", "KEY"} <= set(names)
        assert "ANTHROPIC_API_KEY" not in names
        assert "TOKEN" not in names
    with pytest.raises(InvalidInput, match="MCP_VARIABLE_MISSING"):
        async with servers(tmp_path, a=entry("answers", env={"KEY": "${ABSENT}"})):
            pass


async def test_a_filter_leaves_only_named_tools(tmp_path):
    async with servers(tmp_path, w=entry("plain", tools=["weather"])) as made:
        assert [s.name for s in await made.start()] == ["w_weather"]


@pytest.mark.parametrize("more", [{"tools": ["wether"]}, {"effects": {"wether": "read_only"}}])
async def test_a_tool_the_server_does_not_have_is_named(tmp_path, more):
    async with servers(tmp_path, w=entry("plain", **more)) as made:
        error = await refused(made)
        assert (error.code, error.facts["nearest"]) == ("MCP_TOOL_UNKNOWN", "weather")


async def test_dev_16_tools_nobody_calls_harmless_ask_a_person(tmp_path):
    effects = {"crash": "repeatable", "refuse": "consequential"}
    async with servers(tmp_path, w=entry("plain", effects=effects)) as made:
        found = {s.name: (s.effect, s.consequential) for s in await made.start()}
    assert found == {
        "w_weather": (Effect.READ_ONLY, False),  # the server says so
        "w_hang": (Effect.UNKNOWN, True),
        "w_crash": (Effect.REPEATABLE, False),
        "w_refuse": (Effect.CONSEQUENTIAL, True),
    }


def test_effects_are_known_without_a_server():
    found = declared_mcp_effects({"w": entry("plain", effects={"a/b": "repeatable"})})
    assert found == {"w_a_b": Effect.REPEATABLE}
    assert mcp_name("w", "x/y") == "w_x_y"


async def test_a_refusal_of_the_server_is_an_error_result(tmp_path):
    async with servers(tmp_path, w=entry("plain")) as made:
        output = await called(await made.start(), "w_refuse")
        assert output.is_error is True
        assert output.data.startswith('The MCP server "w" refused the call')


async def test_a_stop_reaches_the_call_in_the_server(tmp_path):
    marker = tmp_path / "marker"
    async with servers(tmp_path, w=entry("plain", marker)) as made:
        specs = await made.start()
        token = CancelToken()
        call = made.supervisor.spawn(called(specs, "w_hang", token), name="call")
        await until(marker.exists)
        token.stop(StopReason.SUSPEND)
        token.stop(StopReason.CANCEL)
        output = await call
        assert output.is_error is True
        assert "told to stop" in output.data
        await until(lambda: marker.read_text("utf-8") == "cancelled")
        assert (await called(specs, "w_weather", city="Oslo")).data == "sunny in Oslo"


async def test_a_call_without_an_answer_ends_in_time(tmp_path):
    marker, clock = tmp_path / "marker", HeldClock()
    async with servers(tmp_path, clock, w=entry("plain", marker)) as made:
        specs = await made.start()
        call = made.supervisor.spawn(called(specs, "w_hang"), name="call")
        await until(marker.exists)
        clock.over.set()
        output = await call
        assert output.is_error is True
        assert "no answer within 60 s" in output.data
        await until(lambda: marker.read_text("utf-8") == "cancelled")


async def test_a_server_that_dies_says_so_from_then_on(tmp_path):
    async with servers(tmp_path, w=entry("plain")) as made:
        specs = await made.start()
        first = await called(specs, "w_crash")
        again = await called(specs, "w_weather", city="Rome")
        assert first.is_error is again.is_error is True
        assert "has ended" in first.data
        assert "is not running any more" in again.data


async def test_close_ends_the_whole_process_tree_while_a_call_runs(tmp_path):
    pids, marker = tmp_path / "pids", tmp_path / "marker"
    async with servers(tmp_path, c=entry("child", pids), w=entry("plain", marker)) as made:
        specs = await made.start()
        call = made.supervisor.spawn(called(specs, "w_hang"), name="call")
        await until(marker.exists)
        await made.close()
        assert (await call).is_error is True
        assert not any(lives(int(pid)) for pid in pids.read_text("utf-8").split())


async def test_a_program_that_leaves_at_once_leaves_no_process(tmp_path):
    pids = tmp_path / "pids"
    async with servers(tmp_path, c=entry("child", pids)) as made:
        await made.start()
        assert all(lives(int(pid)) for pid in pids.read_text("utf-8").split())
        await made.supervisor.close()
        assert not any(lives(int(pid)) for pid in pids.read_text("utf-8").split())


async def test_a_server_that_says_nothing_is_given_up(tmp_path):
    pid, clock = tmp_path / "pid", HeldClock()
    async with servers(tmp_path, clock, w=entry("silent", pid)) as made:
        start = asyncio.gather(refused(made))
        await until(pid.exists)
        clock.over.set()
        (error,) = await start
        assert isinstance(error, ToolTimedOut)
        assert (error.code, error.facts["request"]) == ("MCP_TIMED_OUT", "initialize")
        await until(lambda: not lives(int(pid.read_text("utf-8"))))


async def test_a_list_without_end_is_given_up(tmp_path):
    async with servers(tmp_path, w=entry("endless")) as made:
        error = await refused(made)
        assert isinstance(error, ToolFailed)
        assert "no end" in error.facts["found"]


async def test_a_server_that_cannot_start_is_named_with_its_last_words(tmp_path):
    async with servers(tmp_path, w=entry("broken")) as made:
        error = await refused(made)
        assert error.code == "MCP_FAILED"
        assert "I cannot start" in error.facts["found"]
    absent = McpServer(command="oma-no-such-program")
    async with servers(tmp_path, w=absent) as made:
        error = await refused(made)
        assert (error.code, error.facts["command"]) == ("MCP_NOT_STARTED", "oma-no-such-program")
