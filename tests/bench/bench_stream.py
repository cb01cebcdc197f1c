"""Tokens per second of the stream path, against a bare httpx line loop over the same bytes.

    python tests/bench/bench_stream.py [--tokens 20000] [--rounds 5] [--json]

Ratios are ours divided by bare on the same loop; 1.0 would be free. "adapter" is framing, turn
machine and drafts; "runner" is a whole run of one task, drafts told to the bus. Then, on the
window's loop: twenty streams at once, with the longest callback, and how long a stop takes until
the call has ended here and until the server sees the closed connection. Last, memory and time of
one call after a thousand. The server runs in a process of its own, so that it does not compete for
this interpreter.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import multiprocessing
import os
import random
import statistics
import sys
import time
from collections.abc import Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
sys.path.insert(0, str(Path(__file__).parents[2]))

import httpx
import psutil

from oma_desktop.base.clock import SystemClock
from oma_desktop.base.lanes import Lanes
from oma_desktop.base.supervisor import Supervisor
from oma_desktop.engine.agents.team import Team
from oma_desktop.engine.bus import EventBus, ProgressEvent
from oma_desktop.engine.cancel import CancelToken, StopReason
from oma_desktop.engine.llm.anthropic import AnthropicAdapter
from oma_desktop.engine.llm.base import ModelReply, ModelRequest, TextDelta
from oma_desktop.engine.llm.openai import OpenAIChatAdapter
from oma_desktop.engine.llm.streamed import StreamedAdapter
from oma_desktop.engine.options import RunOptions
from oma_desktop.engine.orchestrator import OpenMultiAgent
from oma_desktop.engine.tools.registry import ToolRegistry
from oma_desktop.model.errors import ProviderError
from oma_desktop.model.team import AgentConfig, OrchestratorOptions, TaskSpec, TeamConfig
from tests.core.engine.llm.loopback import Answer, Loopback, Received, sse

STALL_S = 0.05
N_STREAMS = 20
N_STOPS = 30
N_CALLS = 1000
WORDS = ("token ", "北京 ", "of ", "text, ", "and ")


def request(model: str = "m") -> ModelRequest:
    """One short question."""
    return ModelRequest(model, [{"role": "user", "content": [{"type": "text", "text": "hi"}]}])


# ---------------------------------------------------------------- the server


def chat_body(n_tokens: int) -> bytes:
    """Return a recorded-looking answer of `n_tokens` small deltas."""
    pick = random.Random(1)
    chunks = [_chunk({"content": pick.choice(WORDS)}) for _ in range(n_tokens)]
    return sse(*chunks, _chunk({}, "stop"))


def _chunk(delta: dict[str, str], finish: str | None = None) -> dict[str, object]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "cmpl-demo", "model": "demo-model", "choices": [choice]}


def messages_body(n_tokens: int) -> bytes:
    """The same in the other protocol."""
    pick = random.Random(1)
    block = {"type": "text", "text": ""}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {"id": "m", "usage": {"input_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": block},
    ]
    for _ in range(n_tokens):
        delta = {"type": "text_delta", "text": pick.choice(WORDS)}
        events.append({"type": "content_block_delta", "index": 0, "delta": delta})
    events.append({"type": "message_delta", "delta": {"stop_reason": "end_turn"}})
    events.append({"type": "message_stop"})
    lines = [f"event: {e['type']}\ndata: {json.dumps(e, ensure_ascii=False)}\n\n" for e in events]
    return "".join(lines).encode()


class Server(Loopback):
    """Answers by path and model: `hang` begins and never ends, `short` is over at once."""

    def __init__(self, n_tokens: int) -> None:
        super().__init__(self._choose)
        self._bodies = {
            name: {"m": make(n_tokens), "short": make(3)}
            for name, make in (("chat", chat_body), ("messages", messages_body))
        }

    def _choose(self, received: Received) -> Answer:
        self.requests.clear()
        bodies = self._bodies["messages" if received.path.endswith("/messages") else "chat"]
        if received.body.get("model") == "hang":
            self.client_gone.clear()
            return Answer(bodies["m"][:300], hang=True)
        return Answer(bodies[str(received.body.get("model", "m"))], sizes=[1400])


async def serve(n_tokens: int, tell: Any) -> None:
    """Say the port, then the time of each connection that a client closed in the middle."""
    async with Server(n_tokens) as server:
        tell.put(server.port)
        while True:
            await server.client_gone.wait()
            tell.put(time.monotonic())
            server.client_gone.clear()


def serve_here(n_tokens: int, tell: Any) -> None:
    """Entry point of the server process."""
    asyncio.run(serve(n_tokens, tell))


# ---------------------------------------------------------------- what is measured


async def bare(client: httpx.AsyncClient, url: str) -> int:
    """The least anybody can do: lines, JSON, one lookup."""
    n_tokens = 0
    async with client.stream("POST", url, json={"messages": [{"role": "user"}]}) as response:
        async for line in response.aiter_lines():
            if line.startswith("data: {"):
                found = json.loads(line[6:])
                if "choices" in found:
                    n_tokens += "content" in found["choices"][0]["delta"]
                else:
                    n_tokens += found["type"] == "content_block_delta"
    return n_tokens


async def through_adapter(adapter: StreamedAdapter) -> int:
    """Framing, the turn machine, deltas, one reply."""
    n_tokens = 0
    async for event in adapter.stream(request(), CancelToken()):
        n_tokens += isinstance(event, TextDelta)
        assert isinstance(event, TextDelta | ModelReply)
    return n_tokens


async def through_runner(adapter: StreamedAdapter, n_tasks: int = 1) -> int:
    """A whole run, without a store; every draft is told to a listener."""
    n_tokens = 0

    def heard(event: ProgressEvent) -> None:
        nonlocal n_tokens
        n_tokens += event.type == "text_delta"

    bus, lanes, supervisor = EventBus(), Lanes(), Supervisor()
    bus.subscribe(heard)
    agents = [AgentConfig(name=f"a{n}", model="m") for n in range(n_tasks)]
    team = Team(
        TeamConfig(name="bench", agents=agents), ToolRegistry(), adapter_for=lambda _agent: adapter
    )
    specs = [TaskSpec(title=f"t{n}", description="x", assignee=f"a{n}") for n in range(n_tasks)]
    oma = OpenMultiAgent(
        OrchestratorOptions(max_concurrency=n_tasks),
        clock=SystemClock(),
        supervisor=supervisor,
        lanes=lanes,
        bus=bus,
    )
    result = await oma.run_tasks(team, specs, RunOptions())
    assert result.success, result.status
    await supervisor.close()
    lanes.close()
    return n_tokens


async def rates(port: int, *, n_tokens: int, rounds: int) -> dict[str, float]:
    """Return median rates, the ways alternating so that the machine's mood hits all."""
    base = f"http://127.0.0.1:{port}/v1"
    found: dict[str, list[float]] = {}
    chat, messages = adapters(base)
    async with httpx.AsyncClient(trust_env=False) as client:
        for turn in range(rounds + 1):
            ways: list[tuple[str, Coroutine[Any, Any, int]]] = [
                ("bare chat", bare(client, f"{base}/chat/completions")),
                ("adapter chat", through_adapter(chat)),
                ("runner chat", through_runner(chat)),
                ("bare messages", bare(client, f"{base}/messages")),
                ("adapter messages", through_adapter(messages)),
                ("runner messages", through_runner(messages)),
            ]
            for name, work in ways:
                start = time.perf_counter()
                counted = await work
                took = time.perf_counter() - start
                assert counted == n_tokens, (name, counted)
                if turn:
                    found.setdefault(name, []).append(n_tokens / took)
    await chat.close()
    await messages.close()
    medians = {name: statistics.median(values) for name, values in found.items()}
    ratios = {
        f"{way} {wire} / bare": medians[f"{way} {wire}"] / medians[f"bare {wire}"]
        for wire in ("chat", "messages")
        for way in ("adapter", "runner")
    }
    return {**medians, **ratios}


def adapters(base: str) -> tuple[OpenAIChatAdapter, AnthropicAdapter]:
    """One per protocol."""
    more: dict[str, Any] = {
        "provider": "bench",
        "base_url": base,
        "key": None,
        "clock": SystemClock(),
    }
    return OpenAIChatAdapter(**more), AnthropicAdapter(**more)


async def parallel(port: int, *, n_tokens: int) -> float:
    """Return tokens per second of many streams at once."""
    chat, messages = adapters(f"http://127.0.0.1:{port}/v1")
    start = time.perf_counter()
    half = N_STREAMS // 2
    counted = await asyncio.gather(through_runner(chat, half), through_runner(messages, half))
    took = time.perf_counter() - start
    assert sum(counted) == n_tokens * N_STREAMS, counted
    await chat.close()
    await messages.close()
    return sum(counted) / took


async def stops(port: int, told: Any) -> dict[str, float]:
    """Return milliseconds from a stop to the end of the call, and to the server's knowing."""
    chat, _ = adapters(f"http://127.0.0.1:{port}/v1")
    here: list[float] = []
    there: list[float] = []
    for _ in range(N_STOPS):
        token = CancelToken()
        events = chat.stream(request("hang"), token)
        await anext(events)
        asked = time.monotonic()
        token.stop(StopReason.CANCEL)
        with suppress(ProviderError):
            async for _event in events:
                pass
        here.append(time.monotonic() - asked)
        seen = await asyncio.to_thread(told.get)
        there.append(seen - asked)
    await chat.close()
    return {
        "stop ends the call, worst ms": max(here) * 1e3,
        "stop reaches the server, median ms": statistics.median(there) * 1e3,
        "stop reaches the server, worst ms": max(there) * 1e3,
    }


async def thousand(port: int) -> dict[str, float]:
    """Return what a thousand calls left behind: connections, tasks, bytes."""
    chat, _ = adapters(f"http://127.0.0.1:{port}/v1")
    me = psutil.Process()

    async def calls(n: int) -> float:
        start = time.perf_counter()
        for _ in range(n):
            async for _event in chat.stream(request("short"), CancelToken()):
                pass
        gc.collect()
        return (time.perf_counter() - start) / n * 1e3

    await calls(100)
    tasks, memory, sockets = len(asyncio.all_tasks()), me.memory_info().rss, _sockets(me)
    per_call = await calls(N_CALLS)
    left = {
        f"{N_CALLS} calls, ms each": per_call,
        "tasks left": len(asyncio.all_tasks()) - tasks,
        "connections left": _sockets(me) - sockets,
        "memory grown, KiB": (me.memory_info().rss - memory) / 1024,
    }
    await chat.close()
    return left


def _sockets(me: psutil.Process) -> int:
    return len(me.net_connections("tcp"))


# ---------------------------------------------------------------- the loops


async def on_standard_loop(port: int, given: argparse.Namespace) -> dict[str, float]:
    """The rates only."""
    return await rates(port, n_tokens=given.tokens, rounds=given.rounds)


def on_window_loop(port: int, told: Any, given: argparse.Namespace) -> dict[str, float]:
    """Everything, on the loop that also draws the window."""
    from oma_desktop.app.interpreter import favour_loop
    from oma_desktop.app.loop import StallGuard, loop_factory
    from oma_desktop.app.main import make_application

    class Guard(StallGuard):
        """Also knows the longest by CPU: on a busy machine the wall clock tells of others."""

        worst_cpu_s = 0.0

        def note(self, handle: asyncio.Handle, wall_s: float, cpu_s: float) -> None:
            self.worst_cpu_s = max(self.worst_cpu_s, cpu_s)
            super().note(handle, wall_s, cpu_s)

    guard = Guard(wall_s=STALL_S, cpu_s=1e9)

    async def work() -> dict[str, float]:
        favour_loop()
        found = await rates(port, n_tokens=given.tokens, rounds=given.rounds)
        guard.stalls.clear()
        guard.worst_wall_s = guard.worst_cpu_s = 0.0
        rate = await parallel(port, n_tokens=given.tokens)
        found |= {
            f"{N_STREAMS} streams, tokens/s": rate,
            "longest callback, ms wall": guard.worst_wall_s * 1e3,
            "longest callback, ms CPU": guard.worst_cpu_s * 1e3,
            "callbacks above 50 ms": len(guard.stalls),
        }
        for stall in guard.stalls[:5]:
            cpu = stall.cpu_s * 1e3
            print(f"stall: {stall.what}, {stall.wall_s * 1e3:.0f} ms wall, {cpu:.0f} ms CPU")
        return {**found, **await stops(port, told), **await thousand(port)}

    app = make_application()
    with asyncio.Runner(loop_factory=loop_factory(app, guard)) as runner:
        return runner.run(work())


def main() -> None:
    """Run the benchmark and print the results of both loops."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--tokens", type=int, default=20_000)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--json", action="store_true")
    given = options.parse_args()
    context = multiprocessing.get_context("spawn")
    told = context.Queue()
    process = context.Process(target=serve_here, args=(given.tokens, told), daemon=True)
    process.start()
    try:
        port = told.get()
        found = {
            "asyncio": asyncio.run(on_standard_loop(port, given)),
            "window": on_window_loop(port, told, given),
        }
    finally:
        process.terminate()
        process.join()
    if given.json:
        print(json.dumps(found))
        return
    for loop, figures in found.items():
        print(f"{loop} loop")
        for name, value in figures.items():
            print(f"  {name:<36} {value:>12,.2f}")


if __name__ == "__main__":
    main()
