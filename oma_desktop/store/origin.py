"""Which files a run was started from, kept beside its store so that a resume finds them.

`<store>.origin.json` holds paths only, per checkpoint key, relative to the store where that is
possible. For a database it lies among our own files: paths mean nothing on another computer.
Nothing depends on it: without it a person names the files again.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from oma_desktop.base.places import home
from oma_desktop.model.errors import OmaError
from oma_desktop.model.json_text import encode, parse
from oma_desktop.model.json_value import JsonObject, JsonValue
from oma_desktop.store.address import StoreAddress
from oma_desktop.store.atomic import resolve, write_atomic

SUFFIX: Final = ".origin.json"
_VERSION: Final = 1


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


def origin_path(store: StoreAddress) -> Path:
    """Return the place of the sidecar: beside the real file, on this computer for a database."""
    if isinstance(store, Path):
        target = resolve(store)  # as the lock: a link and its target are one store
        return target.with_name(target.name + SUFFIX)
    name = hashlib.sha256(store.text.encode()).hexdigest()[:32]
    return home("origins") / f"{name}{SUFFIX}"


def write_origin(store: StoreAddress, key: str, origin: Origin) -> None:
    """Remember where the run under `key` came from; other runs of the store stay remembered.

    Raises WriteFailed.
    """
    place = origin_path(store)
    place.parent.mkdir(parents=True, exist_ok=True)
    base = place.resolve().parent
    paths: JsonObject = {}
    for name, json_name in _JSON_NAMES.items():
        path: Path | None = getattr(origin, name)
        if path is not None:
            paths[json_name] = _relative(path.resolve(), base)
    runs = {**_read_runs(store), key: paths}
    document: JsonObject = {"version": _VERSION, "runs": runs}
    write_atomic(origin_path(store), encode(document) + b"\n")


def forget_origin(store: StoreAddress, key: str) -> None:
    """Drop what is remembered of a run that was never saved. Raises WriteFailed."""
    runs = _read_runs(store)
    if runs.pop(key, None) is None:
        return
    if runs:
        document: JsonObject = {"version": _VERSION, "runs": runs}
        write_atomic(origin_path(store), encode(document) + b"\n")
        return
    with suppress(OSError):
        origin_path(store).unlink()


def read_origin(store: StoreAddress, key: str | None = None) -> Origin:
    """Return what is known; an absent, damaged or foreign sidecar is no error and names nothing.

    Without a key the answer is that of all runs of the store, when they were started from the same
    files. Files that are gone are not named.
    """
    runs = _read_runs(store)
    if key is not None:
        return _origin(runs.get(key), store)
    found = {_origin(paths, store) for paths in runs.values()}
    return found.pop() if len(found) == 1 else Origin()


def lost_files(store: StoreAddress, key: str) -> list[Path]:
    """Return the files the run under `key` was started from that are gone, or moved away."""
    return [path for path in _named(_read_runs(store).get(key), store).values() if not _there(path)]


def _read_runs(store: StoreAddress) -> JsonObject:
    try:
        document = parse(origin_path(store).read_bytes(), where=str(origin_path(store)))
    except (OSError, OmaError):
        return {}
    if not isinstance(document, dict) or document.get("version") != _VERSION:
        return {}
    runs = document.get("runs")
    return runs if isinstance(runs, dict) else {}


def _origin(paths: JsonValue, store: StoreAddress) -> Origin:
    named = _named(paths, store)
    return Origin(**{name: path for name, path in named.items() if _there(path)})


def _there(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a folder nobody lets us look into
        return False


def _named(paths: JsonValue, store: StoreAddress) -> dict[str, Path]:
    base = origin_path(store).resolve().parent
    found: dict[str, Path] = {}
    for name, json_name in _JSON_NAMES.items():
        text = paths.get(json_name) if isinstance(paths, dict) else None
        if isinstance(text, str) and text and "\x00" not in text:
            found[name] = (base / text).resolve()
    return found


_JSON_NAMES: Final = {"run_file": "runFile", "team": "team", "script": "script"}


def _relative(path: Path, base: Path) -> str:
    try:
        return os.path.relpath(path, base)
    except ValueError:  # another drive on Windows
        return str(path)
