"""Whether a window can be shown here, found out before Qt tries and ends the process."""

from __future__ import annotations

import ctypes
import os
import sys

from oma_desktop.model.errors import InvalidInput

# Qt 6.5+ needs it for X11 and aborts the process without; the wheel does not carry it.
_XCB_CURSOR = "libxcb-cursor.so.0"


def has_display() -> bool:
    """True where a window may be opened: another system, a display, or a platform named by hand."""
    if os.environ.get("QT_QPA_PLATFORM") or not sys.platform.startswith("linux"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def require_display() -> None:
    """Raise InvalidInput NO_DISPLAY or SYSTEM_LIBRARY_MISSING instead of letting Qt abort."""
    if not has_display():
        raise InvalidInput("NO_DISPLAY")
    if os.environ.get("QT_QPA_PLATFORM") or not sys.platform.startswith("linux"):
        return
    if os.environ.get("WAYLAND_DISPLAY"):
        return
    try:
        ctypes.CDLL(_XCB_CURSOR)
    except OSError as error:
        raise InvalidInput(
            "SYSTEM_LIBRARY_MISSING", name=_XCB_CURSOR, package="libxcb-cursor0"
        ) from error
    if not _x_server_answers():
        raise InvalidInput("DISPLAY_NOT_REACHED", display=os.environ["DISPLAY"])


def _x_server_answers() -> bool:
    """Connect once as Qt would; True also where that cannot be tried."""
    try:
        xcb = ctypes.CDLL("libxcb.so.1")
    except OSError:
        return True
    xcb.xcb_connect.restype = ctypes.c_void_p
    xcb.xcb_connect.argtypes = [ctypes.c_char_p, ctypes.c_void_p]
    xcb.xcb_connection_has_error.argtypes = [ctypes.c_void_p]
    xcb.xcb_disconnect.argtypes = [ctypes.c_void_p]
    connection = xcb.xcb_connect(None, None)
    failed = bool(xcb.xcb_connection_has_error(connection))
    xcb.xcb_disconnect(connection)
    return not failed
