"""Log files of the window: rotating, bounded, with native crashes kept apart for the next start."""

from __future__ import annotations

import faulthandler
import logging
import logging.handlers
from pathlib import Path
from typing import TextIO

# httpx logs addresses, watchdog every event, qasync every handle.
QUIET = {
    "httpx": logging.WARNING,
    "httpcore": logging.WARNING,
    "watchdog": logging.INFO,
    "qasync": logging.INFO,
    "asyncio": logging.INFO,
}

_crash_file: dict[str, TextIO] = {}


def start_logs(folder: Path, *, debug: bool = False) -> Path | None:
    """Log into `folder`; returns last session's native crash report when there is one.

    Where the folder cannot be written, warnings go to the terminal: a window without logs is worth
    more than none.

    Log lines never hold tool inputs, message texts or keys: callers log ids and codes only.
    """
    root = logging.getLogger()
    root.setLevel(logging.DEBUG if debug else logging.INFO)
    for noisy, level in QUIET.items():
        logging.getLogger(noisy).setLevel(level)
    try:
        return _log_into(folder)
    except OSError as error:
        terminal = logging.StreamHandler()
        terminal.setLevel(logging.WARNING)
        root.addHandler(terminal)
        root.warning("no log is kept in %s: %s", folder, error.strerror)
        return None


def _log_into(folder: Path) -> Path | None:
    folder.mkdir(parents=True, exist_ok=True)
    found = _keep_native_crashes(folder)  # opens a file: what cannot be written shows here
    handler = logging.handlers.RotatingFileHandler(
        folder / "oma-desktop.log", maxBytes=2_000_000, backupCount=3, encoding="utf-8", delay=True
    )
    handler.setFormatter(
        logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s", "%Y-%m-%dT%H:%M:%S%z")
    )
    logging.getLogger().addHandler(handler)
    return found


def _keep_native_crashes(folder: Path) -> Path | None:
    current = folder / "native-crash.txt"
    previous = folder / "native-crash-previous.txt"
    found = current.exists() and current.stat().st_size > 0
    if found:
        current.replace(previous)
    stream = current.open("w", encoding="utf-8")
    faulthandler.enable(stream)
    _crash_file["now"] = stream  # faulthandler writes to the descriptor: keep it open
    return previous if found else None
