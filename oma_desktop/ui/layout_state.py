"""Where panels were: window geometry and docks as JSON in one file; a bad file changes nothing."""

from __future__ import annotations

import base64
import binascii
import json
import logging
from pathlib import Path
from typing import Final

from PySide6.QtCore import QByteArray
from PySide6.QtWidgets import QMainWindow

log = logging.getLogger(__name__)
VERSION: Final = 1


class LayoutState:
    """Keeps one window's layout in `path` (None: keep nothing). Never raises on a damaged file."""

    def __init__(self, path: Path | None) -> None:
        self._path = path

    def load(self) -> dict[str, str]:
        """Return the stored texts, or an empty dict."""
        if self._path is None:
            return {}
        try:
            found = json.loads(self._path.read_text("utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError):
            log.info("layout file is not readable, starting with the default layout")
            return {}
        if not isinstance(found, dict) or found.get("version") != VERSION:
            return {}
        return {k: v for k, v in found.items() if isinstance(k, str) and isinstance(v, str)}

    def save(self, values: dict[str, str]) -> None:
        """Write all values; a full disk costs the layout, nothing else."""
        if self._path is None:
            return
        text = json.dumps({"version": VERSION, **values}, indent=1, sort_keys=True)
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            fresh = self._path.with_name(f"{self._path.name}.new")
            fresh.write_text(text, "utf-8")
            fresh.replace(self._path)
        except OSError:
            log.info("layout could not be saved")


def take(window: QMainWindow) -> dict[str, str]:
    """Return geometry and dock state of a window as texts."""
    return {
        "geometry": _text(window.saveGeometry()),
        "docks": _text(window.saveState(VERSION)),
    }


def apply(window: QMainWindow, values: dict[str, str]) -> bool:
    """Put a window as `take` found it; False when the values do not fit this program."""
    geometry, docks = _bytes(values.get("geometry", "")), _bytes(values.get("docks", ""))
    if geometry is None or docks is None:
        return False
    return window.restoreGeometry(geometry) and window.restoreState(docks, VERSION)


def _text(data: QByteArray) -> str:
    return base64.b64encode(data.data()).decode("ascii")


def _bytes(text: str) -> QByteArray | None:
    try:
        raw = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return QByteArray(raw) if raw else None
