"""The product's loop under every async test here; loop errors and stalls fail the test."""

import asyncio

import pytest
from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QApplication

from oma_desktop.app.loop import OmaLoop, StallGuard
from oma_desktop.app.main import make_application
from oma_desktop.app.workbench import Workbench
from oma_desktop.base.clock import SystemClock
from oma_desktop.base.lanes import Lanes
from oma_desktop.base.settings import Settings
from oma_desktop.base.supervisor import Supervisor

# The tests share two cores with whatever else runs: only CPU time of the loop's own thread counts,
# and painting a whole window for the first time is allowed to take longer.
GUARD = StallGuard(wall_s=5.0, cpu_s=0.4)


def _loop():
    app = QApplication.instance() or make_application()
    app.setQuitOnLastWindowClosed(False)
    return OmaLoop(app, guard=GUARD)


def pytest_asyncio_loop_factories(config, item):
    return {"qt": _loop}


@pytest.fixture(autouse=True)
async def _loop_errors():
    bad = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: bad.append(context))
    GUARD.stalls.clear()
    yield
    assert not bad, bad
    assert not GUARD.stalls, GUARD.stalls


@pytest.fixture
async def bench():
    """A whole program without its process: feed, session, window, desk."""
    make_application()
    clock, lanes, failures = SystemClock(), Lanes(), []
    supervisor = Supervisor(lambda name, error: failures.append((name, error)))
    made = Workbench(
        clock=clock,
        lanes=lanes,
        supervisor=supervisor,
        settings=Settings(reviewer_id="operator-1", undo_s=0.0),
        speed=0.0,
    )
    made.notices = []
    made.feed.notice.connect(made.notices.append)
    yield made
    await made.close()
    late = await supervisor.close()
    lanes.close()
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
    assert not late
    assert not failures, failures
