"""Pictures of every view, drawn offscreen from real runs: `bootstrap.py shots [folder]`.

    python -m oma_desktop.app.shots FOLDER

Each view in light, dark, high contrast and Chinese; for a person to look at, never compared byte
for byte (house.md 2.8).
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtWidgets import QApplication, QWidget

from oma_desktop.app.arrivals import offer_of
from oma_desktop.app.loop import loop_factory
from oma_desktop.app.main import make_application
from oma_desktop.app.scenes import SceneMaker, Scenes
from oma_desktop.app.workbench import Workbench
from oma_desktop.base.clock import SystemClock
from oma_desktop.base.lanes import Lanes
from oma_desktop.base.supervisor import Supervisor
from oma_desktop.model.trust import TrustQuestion
from oma_desktop.model.view import RunRef, TaskState
from oma_desktop.ui.language import switch_language
from oma_desktop.ui.start_dialog import StartDialog
from oma_desktop.ui.theme import SchemeChoice, theme_host
from oma_desktop.ui.trust_dialog import TrustDialog
from oma_desktop.viewmodel.approvals import RequestKey
from oma_desktop.viewmodel.verbs import open_requests

LOOKS: Final[tuple[tuple[str, SchemeChoice, str], ...]] = (
    ("light", "light", "en"),
    ("dark", "dark", "en"),
    ("contrast", "contrast", "en"),
    ("zh-light", "light", "zh_CN"),
    ("zh-dark", "dark", "zh_CN"),
)
N_STORES: Final = 6
QUESTION: Final = TrustQuestion(
    Path("/home/maria/projects/port-report"),
    Path("/home/maria/projects/port-report/ports.yaml"),
    ("tools.prices:price_of", "hooks:before_every_run"),
    (
        "search: npx -y @modelcontextprotocol/server-brave-search",
        "coder: /usr/local/bin/gemini --experimental-acp",
    ),
)
PATIENCE_S: Final = 30.0
SETTLE_S: Final = 0.35
"""Views merge changes for up to a tenth of a second and fold in 120 ms."""


def main(arguments: list[str]) -> int:
    """Draw everything into the named folder; returns the exit code."""
    folder = Path(arguments[0] if arguments else "shots").resolve()
    folder.mkdir(parents=True, exist_ok=True)
    app = make_application()
    with asyncio.Runner(loop_factory=loop_factory(app)) as runner:
        n = runner.run(_draw_all(app, folder))
    sys.stderr.write(f"{n} pictures in {folder}\n")
    return 0


def draw_store(store: Path, picture: Path) -> bool:
    """Draw the main window on one store; False when it could not be saved."""
    app = make_application()
    with asyncio.Runner(loop_factory=loop_factory(app)) as runner:
        return runner.run(_draw_one(store, picture))


async def _draw_one(store: Path, picture: Path) -> bool:
    clock, lanes, supervisor = SystemClock(), Lanes(), Supervisor()
    bench = Workbench(clock=clock, lanes=lanes, supervisor=supervisor)
    try:
        bench.window.show()
        bench.session.open_paths([str(store)])
        await _until(lambda: bool(bench.feed.stores()))
        await clock.sleep(SETTLE_S)
        return bench.window.grab().save(str(picture))
    finally:
        await bench.close()
        await supervisor.close()
        lanes.close()


async def _draw_all(app: QApplication, folder: Path) -> int:
    clock, lanes, supervisor = SystemClock(), Lanes(), Supervisor()
    n = 0
    with tempfile.TemporaryDirectory(prefix="oma-shots-") as place:
        maker = SceneMaker(Path(place) / "runs", clock=clock, supervisor=supervisor, lanes=lanes)
        scenes = await maker.make()
        try:
            for name, scheme, language in LOOKS:
                theme_host().set_scheme(scheme)
                switch_language(app, language)
                drawer = _Drawer(folder, name, scenes, clock)
                n += await drawer.draw(lanes, supervisor)
        finally:
            switch_language(app, "en")
            await supervisor.close()
            lanes.close()
    return n


class _Drawer:
    """Draws all views in one look."""

    def __init__(self, folder: Path, look: str, scenes: Scenes, clock: SystemClock) -> None:
        self._folder = folder
        self._look = look
        self._scenes = scenes
        self._clock = clock
        self._n = 0

    async def draw(self, lanes: Lanes, supervisor: Supervisor) -> int:
        """Return the number of pictures."""
        bench = Workbench(clock=self._clock, lanes=lanes, supervisor=supervisor)
        window = bench.window
        try:
            window.show()
            await self._shoot(window, "first-start")
            bench.session.open_paths([str(self._scenes.folder)])
            await _until(lambda: len(bench.feed.stores()) >= N_STORES)
            suspended = _ref(bench, self._scenes.suspended)
            for view in window.views:
                self._select(bench, suspended)
                window.tabs.setCurrentWidget(window.views[view])
                await self._shoot(window, view)
            window.tabs.setCurrentIndex(0)
            bench.selection.select_run(_ref(bench, self._scenes.interrupted))
            await self._shoot(window, "interrupted")
            if "inbox" in window.docks:
                window.docks["inbox"].raise_()
                await self._shoot(window, "inbox")
            await self._review(bench, suspended, "review")
            await self._review(bench, _ref(bench, self._scenes.planned), "review-plan")
            await self._resume(bench, _ref(bench, self._scenes.interrupted))
            window.docks["runs"].raise_()
            bench.selection.select_run(_ref(bench, self._scenes.planned))
            await self._shoot(window, "planned")
            bench.selection.select_run(_ref(bench, self._scenes.repaired))
            await self._shoot(window, "repaired")
            await self._ask(bench)
            await self._live(bench)
        finally:
            await bench.close()
        return self._n

    def _select(self, bench: Workbench, ref: RunRef) -> None:
        """Select the task that needs somebody: its inspector shows most."""
        bench.selection.select_run(ref)
        run = bench.feed.run(ref)
        waiting = [t for t in run.tasks if t.state is TaskState.NEEDS_YOU] if run else []
        if waiting:
            bench.selection.select_task(waiting[0].id)

    async def _ask(self, bench: Workbench) -> None:
        """The questions that come before a run."""
        start = StartDialog(await asyncio.to_thread(offer_of, self._scenes.live), bench.window)
        for dialog, name in ((TrustDialog(QUESTION, bench.window), "trust"), (start, "start")):
            dialog.show()
            await self._shoot(dialog, name)
            dialog.close()
            dialog.deleteLater()

    async def _live(self, bench: Workbench) -> None:
        """A run of this process: its plan, a helper and a judge, the closing answer."""
        run_file = await asyncio.to_thread(self._own_copy)
        known = {store.path for store in bench.feed.stores()}
        bench.session.start_run(str(run_file))
        await _until(lambda: any(s.path not in known and s.runs for s in bench.feed.stores()))
        store = next(s for s in bench.feed.stores() if s.path not in known)
        ref = RunRef(store.path, store.runs[0].key)
        bench.selection.select_run(ref)
        hears = bench.map.model
        await _until(lambda: hears.plan_text.count("title") > 2)
        await self._shoot(bench.window, "planning")
        for judging, name in ((False, "delegating"), (True, "judging")):
            await _until(partial(_works_inside, bench, ref, judging=judging))
            bench.selection.select_task(_inside(bench, ref, judging=judging))
            await self._shoot(bench.window, name)
            if not judging:
                bench.window.tabs.setCurrentWidget(bench.window.views["conversation"])
                await self._shoot(bench.window, "delegating-conversation")
                bench.window.tabs.setCurrentIndex(0)
        bench.selection.select_task(None)
        await _until(lambda: _is_answering(bench, ref))
        await self._shoot(bench.window, "answering")
        await _until(lambda: bench.feed.live(ref) is None)
        await self._shoot(bench.window, "answered")

    def _own_copy(self) -> Path:
        place = self._scenes.folder.parent / f"live-{self._look}"
        shutil.copytree(self._scenes.live.parent, place)
        return place / self._scenes.live.name

    async def _review(self, bench: Workbench, ref: RunRef, name: str) -> None:
        store = bench.feed.store(ref.store)
        run = bench.feed.run(ref)
        opened = open_requests(store, run) if store and run else ()
        if not opened:
            return
        bench.desk.review(RequestKey(ref.store, opened[0].id))
        await self._shoot(bench.desk.reviews()[0], name)
        bench.desk.close()

    async def _resume(self, bench: Workbench, ref: RunRef) -> None:
        bench.desk.resume(ref)
        dialog = bench.desk.resume_dialog(ref)
        if dialog is not None:
            await _until(lambda: dialog.model.plan is not None)
            await self._shoot(dialog, "resume")
        bench.desk.close()

    async def _shoot(self, widget: QWidget, name: str) -> None:
        await self._clock.sleep(SETTLE_S)
        if widget.grab().save(str(self._folder / f"{name}-{self._look}.png")):
            self._n += 1


def _ref(bench: Workbench, store: Path) -> RunRef:
    view = next(s for s in bench.feed.stores() if Path(s.path) == store.resolve())
    return RunRef(view.path, view.runs[0].key)


def _inside(bench: Workbench, ref: RunRef, *, judging: bool) -> str | None:
    """The task inside which somebody else than its own agent works now."""
    run = bench.feed.run(ref)
    for task in run.tasks if run else ():
        heard = bench.map.model.heard(task.id)
        if heard is not None and heard.agent is not None and heard.judging is judging:
            return task.id
    return None


def _works_inside(bench: Workbench, ref: RunRef, *, judging: bool) -> bool:
    return _inside(bench, ref, judging=judging) is not None


def _is_answering(bench: Workbench, ref: RunRef) -> bool:
    live = bench.feed.live(ref)
    return live is None or live.answering_since is not None


async def _until(holds: Callable[[], bool]) -> None:
    """Wait until `holds`, looking often; TimeoutError after `PATIENCE_S`."""
    async with asyncio.timeout(PATIENCE_S):
        while not holds():  # noqa: ASYNC110 - several sources, none of them one event
            await asyncio.sleep(0.02)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
