"""Which files a run was started from, kept beside its store so that a resume finds them.

`<store>.origin.json` holds paths only, relative to the store where that is possible. Nothing
depends on it: without it a person names the files again.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from oma_desktop.model.errors import OmaError
from oma_desktop.model.json_text import encode, parse
from oma_desktop.model.json_value import JsonObject
from oma_desktop.store.atomic import write_atomic

SUFFIX = ".origin.json"


@dataclass(frozen=True, slots=True)
class Origin:
    """Absolute paths of the run file, team file and script; None where there was none."""

    run_file: Path | None = None
    team: Path | None = None
    script: Path | None = None

    @property
    def is_empty(self) -> bool:
        """True when no file is named."""
        return self.run_file is None and self.script is None


def origin_path(store: Path) -> Path:
    """Return the place of the sidecar of a store."""
    return store.with_name(store.name + SUFFIX)


def write_origin(store: Path, origin: Origin) -> None:
    """Remember where the run came from. Raises WriteFailed."""
    base = store.resolve().parent
    document: JsonObject = {"version": 1}
    for name in ("run_file", "team", "script"):
        path: Path | None = getattr(origin, name)
        if path is not None:
            document[_JSON_NAMES[name]] = _relative(path.resolve(), base)
    write_atomic(origin_path(store), encode(document) + b"\n")


def read_origin(store: Path) -> Origin:
    """Return what is known; an absent, damaged or foreign sidecar is no error and names nothing."""
    try:
        document = parse(origin_path(store).read_bytes(), where=str(origin_path(store)))
    except (OSError, OmaError):
        return Origin()
    if not isinstance(document, dict) or document.get("version") != 1:
        return Origin()
    base = store.resolve().parent
    found: dict[str, Path] = {}
    for name, json_name in _JSON_NAMES.items():
        text = document.get(json_name)
        if isinstance(text, str) and text:
            path = (base / text).resolve()
            if path.is_file():
                found[name] = path
    return Origin(**found)


_JSON_NAMES = {"run_file": "runFile", "team": "team", "script": "script"}


def _relative(path: Path, base: Path) -> str:
    try:
        return os.path.relpath(path, base)
    except ValueError:  # another drive on Windows
        return str(path)
