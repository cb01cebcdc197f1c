"""No window where there is none: one line and exit 2 instead of Qt's abort."""

import ctypes

import pytest

from oma_desktop.cli import screen
from oma_desktop.model.errors import InvalidInput


@pytest.fixture
def linux(monkeypatch):
    monkeypatch.setattr(screen.sys, "platform", "linux")
    for name in ("QT_QPA_PLATFORM", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


def test_no_display_is_an_error_with_a_way_out(linux):
    with pytest.raises(InvalidInput) as refused:
        screen.require_display()
    assert refused.value.code == "NO_DISPLAY"


def test_a_missing_library_is_named_before_qt_aborts(linux):
    linux.setenv("DISPLAY", ":7")
    linux.setattr(ctypes, "CDLL", _missing)
    with pytest.raises(InvalidInput) as refused:
        screen.require_display()
    assert refused.value.code == "SYSTEM_LIBRARY_MISSING"


def test_a_dead_display_is_named_before_qt_aborts(linux):
    linux.setenv("DISPLAY", ":7")
    linux.setattr(screen, "_x_server_answers", lambda: False)
    linux.setattr(screen, "_XCB_CURSOR", "libc.so.6")
    with pytest.raises(InvalidInput) as refused:
        screen.require_display()
    assert refused.value.code == "DISPLAY_NOT_REACHED"


def _missing(name):
    raise OSError(name)


def test_a_named_platform_is_believed(linux):
    linux.setenv("QT_QPA_PLATFORM", "offscreen")
    screen.require_display()


def test_wayland_needs_no_x_library(linux):
    linux.setenv("WAYLAND_DISPLAY", "wayland-0")
    linux.setattr(ctypes, "CDLL", _missing)
    screen.require_display()
