"""Redaction of 20 MB: what a save costs with it, and how long other threads wait meanwhile.

    python -m tests.bench.bench_redaction

Saves are measured against the same save without redaction, in one run; the rest against reading
the text once (`str.lower`). The pause is the longest time between two turns of a thread that only
wants to look at the clock, beyond what such a thread waits when nothing else runs
(product.md 3.3: at most 8 ms a call, no callback of the loop above 50 ms).
"""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from statistics import median

from oma_desktop.app.interpreter import favour_loop
from oma_desktop.engine.saving.encoding import SnapshotEncoder
from oma_desktop.engine.saving.queue_pages import QueuePages
from oma_desktop.engine.saving.snapshotting import capture
from oma_desktop.model.redaction import TextRules
from oma_desktop.model.redaction_shapes import CHECKPOINT
from oma_desktop.model.redaction_values import ValueRedactor
from tests.bench import big_run
from tests.bench.big_run import AT

MB = 1 << 20
SIZE = 20 * MB
WORDS = ["the", "agent", "wrote", "sources:", "results,", "its", "token", "=", "3;", "中文"]


def prose(rng: random.Random, size: int) -> str:
    line = " ".join(rng.choice(WORDS) for _ in range(4000))
    return (line + " password=hunter2, done\n") * (size // (len(line) + 25) + 1)


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


def watched(work: Callable[[], object]) -> tuple[float, float]:
    """Return seconds taken and the longest pause of another thread."""
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
        watching = pool.submit(watch)
        started = time.perf_counter()
        try:
            work()
        finally:
            took = time.perf_counter() - started
            stop.set()
        watching.result()
    return took, longest


def saves(megabytes: int, *, results: int, nested: bool = False) -> None:
    """First and next saves of a run, with and without redaction, in turns."""
    run = big_run.big_run(tasks=results + 10, done=results, megabytes=megabytes)
    if nested:  # one tool result of that size
        text = prose(random.Random(5), megabytes * MB)
        run.state.completed["t0"] = {**run.state.completed["t0"], "result": text}
        run.state.queue.load([])
    first: dict[bool, list[float]] = {False: [], True: []}
    later: dict[bool, list[float]] = {False: [], True: []}
    pause: dict[bool, float] = {False: 0.0, True: 0.0}
    for turn in range(3):
        for masked in (False, True):
            mask = ValueRedactor().part_by_part() if masked else None
            encoder, pages = SnapshotEncoder(mask=mask), QueuePages()
            for n in range(6):
                run.change(100 * turn + n)
                moment = capture(run.state, now=AT, memory=None, pages=pages)
                took, longest = watched(lambda e=encoder, m=moment: e.encode(m))  # type: ignore[misc]
                (later if n else first)[masked].append(took)
                pause[masked] = max(pause[masked], longest)
    name = f"{megabytes} MB" + (", one text" if nested else f", {results} results")
    for label, times in (("first", first), ("next", later)):
        with_it, without = median(times[True]), median(times[False])
        print(
            f"save {name:22} {label:6} {with_it * 1000:9.1f} ms  without redaction "
            f"{without * 1000:8.1f} ms  ratio {with_it / without:5.2f}"
        )
    print(
        f"     {'':22} longest pause {pause[True] * 1000:.1f} ms, without {pause[False] * 1000:.1f}"
    )


def measure(name: str, work: Callable[[str], str], text: str) -> None:
    reading = min(watched(text.lower)[0] for _ in range(3))
    took, longest = watched(lambda: work(text))
    print(
        f"{name:32} {len(text) / MB:6.1f} MB {took:7.2f} s  {took / reading:6.1f} x reading it"
        f"   longest pause {longest * 1000:7.1f} ms"
    )


def main() -> None:
    favour_loop()
    _, idle = watched(lambda: time.sleep(0.3))
    print(f"pause of an idle machine {idle * 1000:.1f} ms")
    for megabytes, results in ((5, 100), (20, 400), (20, 5000)):
        saves(megabytes, results=results)
    saves(20, results=10, nested=True)
    rng = random.Random(7)
    strict, mask = TextRules(strict=True), ValueRedactor()
    text, document = prose(rng, SIZE), checkpoint(rng)
    measure("prose, as the peer", TextRules(), text)
    measure("prose, strict", strict, text)
    measure("prose, store value", mask, text)
    measure("whole checkpoint as a text", lambda t: mask(t, shape=CHECKPOINT), document)
    measure("JSON in a string", mask, json.dumps({"value": document}))
    measure("hex, one word", strict, "a1" * (SIZE // 2))
    measure("one word and a sign", strict, "a" * SIZE + "token=x")
    measure("unclosed quotes", strict, 'password="' * (SIZE // 10))
    measure("pairs", strict, "a=1," * (SIZE // 4) + "token=x")
    measure("JSON, one string", mask, json.dumps({"a": "x y, " * (SIZE // 5)}))


if __name__ == "__main__":
    main()
