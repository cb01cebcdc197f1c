"""Where the program keeps its own things: settings, logs, layout, shelf (product.md 5)."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

APP_NAME = "oma-desktop"


def home(kind: str) -> Path:
    """Return the folder for `settings`, `logs`, `layout` or `shelf`.

    `OMA_DESKTOP_HOME` overrides all of them; otherwise the platform's own places are used.
    Nothing is created.
    """
    override = os.environ.get("OMA_DESKTOP_HOME")
    if override:
        return Path(override) / kind
    if kind == "logs":
        return Path(platformdirs.user_log_dir(APP_NAME, appauthor=False))
    if kind == "settings":
        return Path(platformdirs.user_config_dir(APP_NAME, appauthor=False))
    return Path(platformdirs.user_data_dir(APP_NAME, appauthor=False)) / kind
