"""Draws the map and the outline with hand-made runs: `python -m tests.ui.map_shots DIR`.

For a person to look at beside the mock-ups; never compared byte for byte (house.md 2.8).
"""

import os
import sys
from datetime import timedelta
from importlib import resources
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QEvent
from PySide6.QtWidgets import QApplication

from oma_desktop.base.text import set_language
from oma_desktop.ui import theme as themes
from oma_desktop.ui.map_view import MapView
from oma_desktop.ui.outline_view import OutlineView
from oma_desktop.viewmodel.feed import LiveActivity, LiveRun
from tests.viewmodel import graph_world as w

HAS_CHINESE = (resources.files("resources") / "i18n").is_dir()


class Clock:
    """Stands unless moved."""

    def __init__(self):
        self.at = w.NOW

    def __call__(self):
        return self.at


def map_view(tasks, *, selected=None, size=(832, 504), live=True, approvals=None):
    clock = Clock()
    approvals = (w.approval(),) if approvals is None else approvals
    feed, selection = w.world(tasks, approvals=approvals)
    view = MapView(feed, selection, now=clock)
    view.kept = (feed, selection, clock)
    view.resize(*size)
    if live:
        feed.set_live((LiveRun(w.REF),))
        clock.at = w.NOW - timedelta(seconds=363)
        feed.activity.emit(LiveActivity(w.REF, "t13", "tool", "http_get"))
        clock.at = w.NOW
        feed.activity.emit(LiveActivity(w.REF, "t8", "model", "", {"turn": 7}))
    view.show()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest)
    view.grab()
    view.canvas.fit()
    if selected:
        selection.select_task(selected)
    return view


def outline(*, call=None):
    feed, selection = w.world(w.plan(), approvals=(w.approval(),))
    view = OutlineView(feed, selection)
    view.kept = (feed, selection)
    view.resize(832, 504)
    view.show()
    selection.select_task("t10")
    view._expand_below()
    if call:
        selection.select_call(call)
    return view


def shoot(view, path):
    view.grab().save(str(path))
    view.hide()
    view.deleteLater()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    app = QApplication.instance() or QApplication([])
    host = themes.install(app, "light")
    for name, scheme, language in (
        ("map-light", "light", "en"),
        ("map-dark", "dark", "en"),
        ("map-contrast", "contrast", "en"),
        ("map-zh", "light", "zh_CN"),
    ):
        host.set_scheme(scheme)
        if HAS_CHINESE:
            set_language(language)
        shoot(map_view(w.plan(language == "zh_CN"), selected="t10"), folder / f"{name}.png")
        set_language("en")
    for scheme in ("light", "dark"):
        host.set_scheme(scheme)
        shoot(outline(call="c4"), folder / f"outline-{scheme}.png")
        shoot(map_view(w.stack_plan(), live=False), folder / f"stack-{scheme}.png")
        view = map_view(w.plan(), selected="t10")
        view.canvas._zoom_to(0.6)
        shoot(view, folder / f"middle-{scheme}.png")
        view = map_view(w.plan(), selected="t10")
        view.canvas._zoom_to(0.3)
        shoot(view, folder / f"far-{scheme}.png")
        shoot(map_view(w.big_plan(300), live=False), folder / f"300-{scheme}.png")
    host.set_scheme("light")
    shoot(map_view(w.big_plan(1000), live=False), folder / "1000-light.png")
    view = map_view(w.big_plan(300), live=False)
    view.canvas._zoom_to(1.0)
    shoot(view, folder / "300-near.png")
    view = map_view(w.big_plan(300), live=False)
    view.canvas._zoom_to(0.5)
    shoot(view, folder / "300-middle.png")
    view = map_view(w.stack_plan(), live=False)
    view.model.toggle_stack("s0")
    shoot(view, folder / "stack-open.png")
    shoot(map_view((), live=False), folder / "no-tasks.png")
    broken = (w.task("a", "Alpha", needs=["b"]), w.task("b", "Beta", needs=["a", "ghost"]))
    shoot(map_view(broken, live=False), folder / "broken.png")
    host.set_scale(2.0)
    shoot(map_view(w.plan(), selected="t10"), folder / "map-200.png")
    host.set_scale(1.0)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
