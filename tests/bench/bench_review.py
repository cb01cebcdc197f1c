"""The review window over big requests: the longest turn of the loop (product.md 3.3, ux.md D2).

Run it with `python -m tests.bench.bench_review`. A turn is everything that was due at once: timers,
inserting, layout and painting together. CPU time is of the window's own thread.
"""

from __future__ import annotations

import os
import time
from concurrent.futures import Future, ThreadPoolExecutor

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtCore import QCoreApplication

from oma_desktop.app.interpreter import favour_loop
from oma_desktop.app.loop import StallGuard
from oma_desktop.app.main import make_application
from oma_desktop.model.json_value import JsonValue
from oma_desktop.ui.approval_review import ReviewWindow
from tests.bench.turns import Turns
from tests.viewmodel.review_world import World, request

CONTENTS: dict[str, JsonValue] = {
    "1 KB": {"to": "a@example.com", "body": "word " * 200},
    "64 KB, one line": "word and more " * 4_600,
    "64 KB, short lines": "a line of text\n" * 4_300,
    "64 KB, Chinese": "港口延误周报，" * 3_100,
    "64 KB, hidden characters": "a\u200bb c " * 9_300,
    "200 KB, keys": {f"key{i}": i for i in range(11_000)},
    "1 MB, short lines": "ab\n" * 350_000,
    "1 MB, one line": "word and more " * 75_000,
}


class LaneOffload:
    """Stands for the work lane: one thread, results fetched by the loop."""

    def __init__(self) -> None:
        self._lane = ThreadPoolExecutor(1)
        self._waiting: list[tuple[Future[object], object]] = []

    def __call__(self, work, done) -> None:  # type: ignore[no-untyped-def]
        self._waiting.append((self._lane.submit(work), done))

    def deliver(self) -> None:
        """Hand over what is ready, as the loop would."""
        for item in list(self._waiting):
            future, done = item
            if future.done():
                self._waiting.remove(item)
                done(future.result())  # type: ignore[operator]

    @property
    def idle(self) -> bool:
        """Whether nothing is on its way."""
        return not self._waiting

    def close(self) -> None:
        """End the lane."""
        self._lane.shutdown()


def open_review(value: JsonValue, turns: Turns) -> ReviewWindow:
    """Open a review of a tool call with this input, turn the loop until the page is written."""
    lane = LaneOffload()
    made = request("big", tool_input=value)
    world = World(made)
    model = world.model(made.id)
    windows: list[ReviewWindow] = []
    turns.do("make", lambda: windows.append(ReviewWindow(model, offload=lane)))
    window = windows[0]
    turns.do("show", window.open_by_user)

    def ready() -> bool:
        turns.do("deliver", lane.deliver)
        return lane.idle and window.body.text.is_ready and window.body.text.text.is_filled

    turns.until(ready, "fill")
    turns.some(5, "after")
    turns.do("resize", lambda: window.resize(window.width() - 120, window.height()))
    turns.some(10, "resized")
    lane.close()
    return window


def main() -> None:
    """Measure and print."""
    app = make_application()
    app.setQuitOnLastWindowClosed(False)
    favour_loop()
    for name, value in CONTENTS.items():
        turns = Turns(StallGuard(wall_s=0.05, cpu_s=0.05))
        begun = time.perf_counter()
        window = open_review(value, turns)
        took = time.perf_counter() - begun
        print(
            f"{name}: {turns.n} turns in {took:.2f} s, longest {turns.worst_cpu_s * 1e3:.0f} ms CPU"
            f" ({turns.worst_what}), {turns.guard.worst_wall_s * 1e3:.0f} ms wall;"
            f" above 50 ms CPU: {sum(s.cpu_s > 0.05 for s in turns.guard.stalls)}"
        )
        for stall in turns.guard.stalls[:8]:
            print(f"   {stall.what}: {stall.cpu_s * 1e3:.0f} ms CPU, {stall.wall_s * 1e3:.0f} wall")
        window.close()
        QCoreApplication.processEvents()


if __name__ == "__main__":
    main()
