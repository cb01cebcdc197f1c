"""How long the map takes: `python -m tests.bench.bench_map`. Prints times and shares of budgets.

Budgets (ux.md D2, D3): a layout of 5,000 tasks 1 s on a lane; a paint 16 ms (limit 33) up to 1,000
tasks and 33 ms at 5,000; 100 changed states in one picture well under the loop's 50 ms.
"""

import os
import time
from dataclasses import replace

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtGui import QPixmap
from PySide6.QtWidgets import QApplication

from oma_desktop.model.view import TaskState
from oma_desktop.ui import theme as themes
from oma_desktop.ui.map_canvas import MapCanvas
from oma_desktop.viewmodel.graph import GraphModel
from oma_desktop.viewmodel.graph_picture import place
from tests.viewmodel import graph_world as w

SIZES = (300, 1000, 5000)
ROUNDS = 9


def median_ms(work, rounds=ROUNDS):
    """Return the median CPU time of `work` in milliseconds, after one warm-up.

    CPU time, not wall time: other work on the machine must not count.
    """
    work()
    times = []
    for _ in range(rounds):
        start = time.process_time()
        work()
        times.append((time.process_time() - start) * 1000)
    return sorted(times)[len(times) // 2]


def line(what, ms, budget_ms):
    print(f"{what:<44} {ms:9.1f} ms   {ms / budget_ms:5.2f} of {budget_ms} ms")


def bench_layout():
    base = None
    for n in SIZES:
        feed, selection = w.world(w.big_plan(n))
        picture = GraphModel(feed, selection, now=w.now).picture
        ms = median_ms(lambda p=picture: place(p.nodes, p.edges, None), rounds=3)
        base = base or ms / n
        line(f"layout and routes, {n} tasks, {len(picture.edges)} links", ms, 1000)
        print(f"{'':<44} {ms / n / base:9.2f} times the cost per task of {SIZES[0]}")


def bench_update():
    for n in SIZES:
        tasks = w.big_plan(n)
        feed, selection = w.world(tasks)
        model = GraphModel(feed, selection, now=w.now)
        changed = tuple(
            replace(t, state=TaskState.RUNNING) if i % (n // 100) == 0 else t
            for i, t in enumerate(tasks)
        )
        stores = [w.store(changed), w.store(tasks)]

        def update(feed=feed, stores=stores):
            stores.reverse()
            feed.put(stores[0])

        line(f"100 changed states, {n} tasks", median_ms(update), 50)
        assert model.picture.placed is not None


def bench_paint():
    for n in SIZES:
        feed, selection = w.world(w.big_plan(n))
        model = GraphModel(feed, selection, now=w.now)
        canvas = MapCanvas(model, selection, now=w.now)
        canvas.resize(1280, 800)
        target = QPixmap(canvas.size())
        canvas.fit()
        for zoom, name in ((None, "all in view"), (0.4, "40 %"), (0.8, "80 %"), (1.0, "100 %")):
            if zoom is not None:
                canvas._zoom_to(zoom)

            def paint(canvas=canvas, target=target):
                canvas._is_stale = True
                canvas.render(target)

            def pan(canvas=canvas, target=target):
                canvas._look_with(canvas.camera.moved(24, 10))
                canvas.render(target)

            budget = 33 if n > 1000 else 16
            for verb, work in (("paint", paint), ("pan", pan)):
                ms = median_ms(work)
                line(f"{verb} {n} tasks, {name} ({canvas.camera.zoom:.2f})", ms, budget)
                print(f"{'':<44} {1000 / ms:9.0f} pictures per second")
        canvas.deleteLater()


if __name__ == "__main__":
    app = QApplication([])
    themes.install(app, "light")
    bench_layout()
    bench_update()
    bench_paint()
