"""Tokens per second of the stream path, against a bare httpx line loop over the same bytes.

    python tests/bench/bench_stream.py [--tokens 20000] [--rounds 5] [--json]

Prints both rates and their ratio (ours divided by bare, 1.0 would be free). The server runs in a
process of its own, so that it does not compete for this interpreter.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import random
import statistics
import sys
import time
from pathlib import Path

import httpx

sys.path.insert(0, str(Path(__file__).parents[2]))

from oma_desktop.base.clock import SystemClock
from oma_desktop.engine.cancel import CancelToken
from oma_desktop.engine.llm.base import ModelReply, ModelRequest, TextDelta
from oma_desktop.engine.llm.openai import OpenAIChatAdapter
from tests.core.engine.llm.loopback import Answer, Loopback, sse

HELLO = ModelRequest("m", [{"role": "user", "content": [{"type": "text", "text": "hi"}]}])


def body_of(n_tokens: int) -> bytes:
    """Return a recorded-looking answer of `n_tokens` small deltas."""
    words = ["token ", "北京 ", "of ", "text, ", "and "]
    pick = random.Random(1)
    chunks = [_chunk({"content": pick.choice(words)}) for _ in range(n_tokens)]
    return sse(*chunks, _chunk({}, "stop"))


def _chunk(delta: dict[str, str], finish: str | None = None) -> dict[str, object]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "cmpl-demo", "model": "demo-model", "choices": [choice]}


async def serve(n_tokens: int, tell: multiprocessing.Queue[int]) -> None:
    """Serve the answer in network-sized pieces until the process is ended."""
    answer = Answer(body_of(n_tokens), sizes=[1400])
    async with Loopback(lambda _request: answer) as server:
        tell.put(server.port)
        await asyncio.Event().wait()


def server(n_tokens: int, tell: multiprocessing.Queue[int]) -> None:
    """Entry point of the server process."""
    asyncio.run(serve(n_tokens, tell))


async def bare(client: httpx.AsyncClient, url: str) -> int:
    """The least anybody can do: lines, JSON, one lookup."""
    n_tokens = 0
    async with client.stream("POST", url, json={"messages": [{"role": "user"}]}) as response:
        async for line in response.aiter_lines():
            if line.startswith("data: {"):
                choice = json.loads(line[6:])["choices"][0]
                n_tokens += "content" in choice["delta"]
    return n_tokens


async def ours(adapter: OpenAIChatAdapter) -> int:
    """The whole path: framing, the turn machine, deltas, one reply."""
    n_tokens = 0
    async for event in adapter.stream(HELLO, CancelToken()):
        n_tokens += isinstance(event, TextDelta)
        assert isinstance(event, TextDelta | ModelReply)
    return n_tokens


async def measure(port: int, *, n_tokens: int, rounds: int) -> dict[str, float]:
    """Return median rates, the two alternating so that the machine's mood hits both."""
    base_url = f"http://127.0.0.1:{port}/v1"
    adapter = OpenAIChatAdapter(provider="bench", base_url=base_url, key=None, clock=SystemClock())
    rates: dict[str, list[float]] = {"ours": [], "bare": []}
    async with httpx.AsyncClient(trust_env=False) as client:
        for _ in range(rounds + 1):
            for name, work in (
                ("ours", ours(adapter)),
                ("bare", bare(client, f"{base_url}/chat/completions")),
            ):
                start = time.perf_counter()
                counted = await work
                rates[name].append(n_tokens / (time.perf_counter() - start))
                assert counted == n_tokens, (name, counted)
    await adapter.close()
    found = {name: statistics.median(values[1:]) for name, values in rates.items()}
    return {**found, "ratio": found["ours"] / found["bare"]}


def main() -> None:
    """Run the benchmark and print one result."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--tokens", type=int, default=20_000)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--json", action="store_true")
    given = options.parse_args()
    context = multiprocessing.get_context("spawn")
    tell: multiprocessing.Queue[int] = context.Queue()
    process = context.Process(target=server, args=(given.tokens, tell), daemon=True)
    process.start()
    try:
        result = asyncio.run(measure(tell.get(), n_tokens=given.tokens, rounds=given.rounds))
    finally:
        process.terminate()
        process.join()
    if given.json:
        print(json.dumps(result))
    else:
        print(f"stream path      {result['ours']:>10,.0f} tokens/s")
        print(f"bare httpx lines {result['bare']:>10,.0f} tokens/s")
        print(f"ratio            {result['ratio']:>10.2f}")


if __name__ == "__main__":
    main()
