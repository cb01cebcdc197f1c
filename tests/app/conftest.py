"""The product's loop under every async test of this folder; loop errors fail the test."""

import asyncio

import pytest
from PySide6.QtWidgets import QApplication

from oma_desktop.app.loop import OmaLoop, StallGuard

GUARD = StallGuard()


def _loop():
    app = QApplication.instance() or QApplication([])
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
