"""Screens without a screen: the platform is chosen before the first Qt import."""

import gc
import os

os.environ["QT_QPA_PLATFORM"] = "offscreen"
os.environ.setdefault("QT_API", "pyside6")

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QTimer
from PySide6.QtWidgets import QApplication

from oma_desktop.base.text import set_language
from oma_desktop.ui import theme as themes


@pytest.fixture
def host(qapp):
    """The theme host, light at scale 1, normal density; put back after the test."""
    host = themes.install(qapp, "light")
    yield host
    host.set_scheme("light")
    host.set_scale(1.0)
    host.set_density("normal")
    set_language("en")


def _flush() -> None:
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


def _timers(app: QApplication) -> list[QTimer]:
    roots = [app, *app.topLevelWidgets()]
    return [t for root in roots for t in root.findChildren(QTimer) if t.isActive()]


@pytest.fixture(autouse=True)
def no_leaks(request):
    """No top-level widget and no running timer outlives a test (house.md 2.8)."""
    yield
    app = QApplication.instance()
    if app is None:
        return
    _flush()
    gc.collect()
    _flush()
    left = [w for w in app.topLevelWidgets() if not w.inherits("QDesktopScreenWidget")]
    assert not left, f"widgets left: {left}"
    assert not _timers(app)
