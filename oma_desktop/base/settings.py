"""The operator's settings: one JSON file, read tolerantly, never rewritten just for reading."""

from __future__ import annotations

import getpass
import json
import logging
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Final

log = logging.getLogger(__name__)

FILE_NAME: Final = "settings.json"
DEFAULT_UNDO_S: Final = 5.0
MAX_UNDO_S: Final = 30.0


@dataclass(frozen=True, slots=True)
class Settings:
    """What a person may set in `settings.json`.

    `reviewer_id` names who decides approvals; `undo_s` is the time to take a decision back before
    it is written (ux.md C7: 0 to 30 s); `watch` are folders opened at every start.
    """

    reviewer_id: str
    reviewer_name: str | None = None
    undo_s: float = DEFAULT_UNDO_S
    watch: tuple[str, ...] = ()


def load_settings(folder: Path) -> Settings:
    """Read the settings of `folder`. Absent or damaged values are the defaults, with a log line.

    A byte order mark and CRLF are fine (cases s22).
    """
    values = _read(folder / FILE_NAME)
    undo = values.get("undoSeconds")
    watch = values.get("watch")
    reviewer = values.get("reviewer")
    person = reviewer if isinstance(reviewer, dict) else {}
    name = person.get("name")
    return Settings(
        reviewer_id=_text(person.get("id")) or _login_name(),
        reviewer_name=name if isinstance(name, str) and name else None,
        undo_s=_seconds(undo),
        watch=tuple(w for w in watch if isinstance(w, str)) if isinstance(watch, list) else (),
    )


def _read(path: Path) -> dict[str, object]:
    try:
        values = json.loads(path.read_text("utf-8-sig"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        log.warning("settings are not readable, using the defaults: %s", type(error).__name__)
        return {}
    return values if isinstance(values, dict) else {}


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""


def _seconds(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return DEFAULT_UNDO_S
    if isinstance(value, float) and math.isnan(value):
        return DEFAULT_UNDO_S
    return float(min(max(value, 0), MAX_UNDO_S))


def _login_name() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # no login name in some containers
        return "operator"
