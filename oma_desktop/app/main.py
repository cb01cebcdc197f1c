"""Starting and ending the window: one loop, one session, one order of the end (house.md 4.3)."""

from __future__ import annotations

import asyncio
import locale
import logging
import os
import signal
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication

from oma_desktop import __version__
from oma_desktop.app.failure import Failure, FailureHooks
from oma_desktop.app.interpreter import favour_loop
from oma_desktop.app.logs import start_logs
from oma_desktop.app.loop import StallGuard, loop_factory
from oma_desktop.app.session import Session
from oma_desktop.app.workbench import Workbench
from oma_desktop.base.clock import SystemClock
from oma_desktop.base.lanes import Lanes
from oma_desktop.base.places import home
from oma_desktop.base.settings import load_settings
from oma_desktop.base.supervisor import Supervisor
from oma_desktop.ui.icons import app_icon
from oma_desktop.ui.language import switch_language
from oma_desktop.ui.main_window import MainWindow
from oma_desktop.ui.theme import install
from oma_desktop.viewmodel.feed import Notice

log = logging.getLogger(__name__)

TASKS_END_S: Final = 2.0
LANES_END_S: Final = 1.5
HEARTBEAT_MS: Final = 200
"""On Windows a signal is noticed only when some Python runs (house.md 4.1 #12)."""


@dataclass(frozen=True, slots=True)
class Start:
    """What to do at the start: `paths` to watch, or the sample in `sample_folder`."""

    paths: list[str] = field(default_factory=list)
    sample_folder: Path | None = None
    speed: float = 1.0
    screenshot: Path | None = None
    quit_after_s: float | None = None


def run(paths: list[str]) -> int:
    """Open the window on files or folders; returns the exit code."""
    return start(Start(paths=paths))


def run_demo(
    folder: Path,
    *,
    speed: float = 1.0,
    screenshot: Path | None = None,
    quit_after_s: float | None = None,
) -> int:
    """Open the window on the live sample."""
    return start(
        Start(sample_folder=folder, speed=speed, screenshot=screenshot, quit_after_s=quit_after_s)
    )


def start(what: Start, *, guard: StallGuard | None = None) -> int:
    """Make the application, run until the window is closed, end everything in order."""
    app = make_application()
    failures: list[Failure] = []
    hooks = FailureHooks(failures.append)
    hooks.install()
    start_logs(home("logs"), debug=bool(os.environ.get("OMA_DESKTOP_DEBUG")))
    try:
        with asyncio.Runner(loop_factory=loop_factory(app, guard)) as runner:
            return runner.run(_Program(app, what, hooks).main())
    finally:
        hooks.uninstall()


def make_application() -> QApplication:
    """Return the one QApplication, themed and named."""
    existing = QApplication.instance()
    app = existing if isinstance(existing, QApplication) else QApplication(sys.argv[:1])
    app.setApplicationName("oma-desktop")
    app.setApplicationDisplayName("OMA Desktop")
    app.setApplicationVersion(__version__)
    app.setDesktopFileName("oma-desktop")
    install(app)
    app.setWindowIcon(app_icon())
    return app


def system_language() -> str:
    """Return `zh_CN` or `en` as the system or `OMA_DESKTOP_LANG` says."""
    wanted = os.environ.get("OMA_DESKTOP_LANG") or locale.getlocale()[0] or ""
    return "zh_CN" if wanted.lower().startswith(("zh", "chinese")) else "en"


class _Program:
    """One life of the program, from the first window to the exit status."""

    def __init__(self, app: QApplication, what: Start, hooks: FailureHooks) -> None:
        self._app = app
        self._what = what
        self._hooks = hooks
        self._leave = asyncio.Event()

    async def main(self) -> int:
        loop = asyncio.get_running_loop()
        self._hooks.install_on(loop)
        clock = SystemClock()
        lanes = Lanes()
        loop.set_default_executor(lanes.work_executor)
        supervisor = Supervisor(self._hooks.report)
        settings = load_settings(home("settings"))
        switch_language(self._app, system_language())
        bench = Workbench(
            clock=clock,
            lanes=lanes,
            supervisor=supervisor,
            settings=settings,
            layout_path=home("layout") / "layout.json",
            notes_path=home("settings") / "notes.json",
            speed=self._what.speed,
        )
        window = bench.window
        window.close_requested.connect(self._leave.set)
        window.language_changed.connect(self._on_language)
        self._handle_signals(loop, window)
        if QApplication.platformName() != "offscreen":  # a picture has no frame around it
            window.fit_screen()
        window.show()
        favour_loop()
        self._begin(bench.session, settings.watch)
        timer = self._quit_later(window)
        await self._leave.wait()
        if timer is not None:
            timer.stop()
        if self._what.screenshot is not None:
            save_picture(window, self._what.screenshot)
        return await self._end(bench, supervisor, lanes)

    # ------------------------------------------------------------------ beginning

    def _begin(self, session: Session, watch: tuple[str, ...]) -> None:
        if self._what.sample_folder is not None:
            session.play_sample_in(self._what.sample_folder)
            return
        if watch:
            session.watch_paths(list(watch))
        session.open_paths(self._what.paths)

    def _quit_later(self, window: MainWindow) -> QTimer | None:
        if self._what.quit_after_s is None:
            return None
        timer = QTimer(window)
        timer.setSingleShot(True)
        timer.timeout.connect(self._leave.set)
        timer.start(round(self._what.quit_after_s * 1000))
        return timer

    def _handle_signals(self, loop: asyncio.AbstractEventLoop, window: MainWindow) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            try:
                loop.add_signal_handler(number, self._leave.set)
            except NotImplementedError:
                signal.signal(number, self._on_signal)
        if sys.platform == "win32":
            beat = QTimer(window)
            beat.setInterval(HEARTBEAT_MS)
            beat.timeout.connect(_nothing)
            beat.start()

    def _on_signal(self, _number: int, _frame: object) -> None:
        self._leave.set()

    def _on_language(self, language: str) -> None:
        switch_language(self._app, language)

    # ------------------------------------------------------------------ the end

    async def _end(self, bench: Workbench, supervisor: Supervisor, lanes: Lanes) -> int:
        """Refuse commands, suspend runs, stop watching, end tasks, close the window (4.3 #42)."""
        late = await bench.close()
        if late:
            log.warning("%d run(s) did not reach a safe point in time and were left", late)
        for name in await supervisor.close(TASKS_END_S):
            log.warning("task %s did not end and was left", name)
        await asyncio.sleep(0)
        if not lanes.close(LANES_END_S):
            # A thread that hangs would hold the interpreter for ever; what it had to save is lost
            # either way, and everything else is on disk.
            log.warning("a worker did not end in time and was abandoned")
            logging.shutdown()
            os._exit(0)
        return 0


def save_picture(window: MainWindow, path: Path) -> None:
    """Save what the window shows as a PNG."""
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
    if not window.grab().save(str(path)):
        log.warning("picture could not be saved")
        window.feed.notice.emit(Notice("warning", "PICTURE_NOT_SAVED", {"path": str(path)}))


def _nothing() -> None:
    """Wake the interpreter so that signals are noticed."""
