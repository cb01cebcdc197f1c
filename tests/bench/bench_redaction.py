"""Redaction of 20 MB: time, and how long other threads wait meanwhile (formats.md 1.5).

    python -m tests.bench.bench_redaction

The pause is the longest time between two turns of a thread that only wants to look at the clock.
"""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from oma_desktop.model.redaction import TextRules
from oma_desktop.model.redaction_shapes import CHECKPOINT
from oma_desktop.model.redaction_values import ValueRedactor

MB = 1 << 20
SIZE = 20 * MB
WORDS = ["the", "agent", "wrote", "sources:", "results,", "its", "token", "=", "3;", "中文"]


def prose(rng: random.Random) -> str:
    line = " ".join(rng.choice(WORDS) for _ in range(4000))
    return (line + " password=hunter2, done\n") * (SIZE // (len(line) + 25))


def checkpoint(rng: random.Random) -> str:
    text = " ".join(rng.choice(WORDS) for _ in range(300))
    call = {"type": "tool_use", "id": "c", "name": "act", "input": {"q": text[:80], "apiKey": "x"}}
    message = {"role": "assistant", "content": [{"type": "text", "text": text}, call]}
    result = {"messages": [message] * 4, "toolCalls": [], "output": text}
    n = SIZE // len(json.dumps(result, ensure_ascii=False).encode())
    rows = [
        {"taskId": f"t{i}", "agentResult": {**result, "output": f"{i} {text}"}} for i in range(n)
    ]
    return json.dumps({"version": 4, "completedTaskResults": rows}, ensure_ascii=False)


def measure(name: str, work: Callable[[str], str], text: str) -> None:
    stop = threading.Event()
    longest = 0.0

    def watch() -> None:
        nonlocal longest
        before = time.perf_counter()
        while not stop.is_set():
            stop.wait(0.001)
            now = time.perf_counter()
            longest = max(longest, now - before)
            before = now

    with ThreadPoolExecutor(1) as pool:
        pool.submit(watch)
        started = time.perf_counter()
        work(text)
        took = time.perf_counter() - started
        stop.set()
    size = len(text) / MB
    print(f"{name:32} {size:6.1f} MB {took:7.2f} s   longest pause {longest * 1000:7.1f} ms")


def main() -> None:
    rng = random.Random(7)
    peer, strict, mask = TextRules(), TextRules(strict=True), ValueRedactor()
    prose_text, document = prose(rng), checkpoint(rng)
    measure("prose, as the peer", peer, prose_text)
    measure("prose, strict", strict, prose_text)
    measure("prose, store value", mask, prose_text)
    measure("checkpoint", lambda t: mask(t, shape=CHECKPOINT), document)
    again = ValueRedactor()
    again(document, shape=CHECKPOINT, recall=True)
    measure("checkpoint, next save", lambda t: again(t, shape=CHECKPOINT, recall=True), document)
    measure("JSON in a string", mask, json.dumps({"value": document}))
    measure("hex, one word", strict, "a1" * (SIZE // 2))
    measure("one word and a sign", strict, "a" * SIZE + "token=x")
    measure("unclosed quotes", strict, 'password="' * (SIZE // 10))
    measure("pairs", strict, "a=1," * (SIZE // 4) + "token=x")
    measure("JSON, one string", mask, json.dumps({"a": "x y, " * (SIZE // 5)}))


if __name__ == "__main__":
    main()
