"""Which paths the file tools may touch: those inside one folder (engine.md 9.1).

Two checks: the spelled path must lie inside the root, and so must what it resolves to, links
followed. What comes out is the resolved place; `anchored` then opens it without following any
link, so what is swapped after the checks leads nowhere.
"""

from __future__ import annotations

import ntpath
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path, PureWindowsPath
from typing import Final

from oma_desktop.engine.tools.builtin.refusal import Refusal, of_os_error, quoted

OWN_FOLDER: Final = ".oma"
_WINDOWS: Final = sys.platform == "win32"


@dataclass(frozen=True, slots=True)
class Place:
    """A resolved path: `root` holds no link, `steps` lead down from it, none is `..`."""

    root: Path
    steps: tuple[str, ...]

    @property
    def path(self) -> Path:
        """The whole path."""
        return self.root.joinpath(*self.steps)


@dataclass(frozen=True, slots=True)
class Guard:
    """Files no file tool may write: the run's own records and the files it was started from.

    An agent that writes its run file would grant itself what a person did not; one that writes its
    checkpoint would decide its own approvals. `files` are exact; of `stores` everything whose name
    begins like theirs is meant (locks, sidecars, temporary copies), and the folder `.oma` is
    closed wherever it lies below the root.
    """

    files: frozenset[Path] = frozenset()
    stores: frozenset[Path] = frozenset()
    _exact: frozenset[str] = field(init=False)
    _begins: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_exact", frozenset(_folded(p) for p in self.files))
        object.__setattr__(self, "_begins", tuple(_folded(p) for p in self.stores))

    def check(self, place: Place) -> None:
        """Raise Refusal GUARDED when `place` may not be written."""
        name = str(place.path).casefold()
        own = any(step.casefold() == OWN_FOLDER for step in place.steps)
        if own or name in self._exact or (self._begins and name.startswith(self._begins)):
            raise Refusal("GUARDED", f"{quoted(place.path)} belongs to the run and is not written.")


@dataclass(frozen=True, slots=True)
class Workspace:
    """The folder the file tools work in. `confined` False lifts the confinement, not the guard."""

    root: Path
    confined: bool = True
    guard: Guard = field(default_factory=Guard)

    def place(self, path: str) -> Place:
        """Return where `path` really lies. Raises Refusal PATH_INVALID, PATH_NOT_ABSOLUTE,
        PATH_OUTSIDE, and what `of_os_error` says.
        """
        _check_spelling(path)
        if not self.confined:
            real = _resolved(self.root / path)
            return Place(Path(real.anchor), real.parts[1:])
        if not Path(path).is_absolute():
            where = quoted(self.root)
            raise Refusal(
                "PATH_NOT_ABSOLUTE",
                f"{quoted(path)} is not an absolute path; the workspace is {where}.",
            )
        root = _resolved(self.root)
        spelled = Path(os.path.normpath(path))
        if spelled.root == "//":  # POSIX keeps two leading slashes
            spelled = Path("/", *spelled.parts[1:])
        steps = _below(spelled, Path(os.path.abspath(self.root)))  # noqa: PTH100 - lexical
        if steps is None:
            steps = _below(spelled, root)
        if steps is None:
            raise self._outside(path)
        inside = _below(_resolved(root.joinpath(*steps)), root)
        if inside is None:
            raise self._outside(path)
        if _WINDOWS:
            _check_windows(inside, path)
        return Place(root, inside)

    def _outside(self, path: str) -> Refusal:
        return Refusal(
            "PATH_OUTSIDE", f"{quoted(path)} lies outside the workspace {quoted(self.root)}."
        )


def _check_spelling(path: str) -> None:
    try:
        usable = bool(path) and b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        usable = False
    if not usable:
        raise Refusal("PATH_INVALID", f"{quoted(path)} is not a path.")


def _resolved(path: Path) -> Path:
    """Follow every link; of what is not there the longest part that is."""
    try:
        return Path(os.path.realpath(path))
    except OSError as error:  # a link that was swapped while it was looked at
        raise of_os_error(error, path) from error


def _check_windows(steps: Sequence[str], path: str) -> None:
    """Refuse devices (`NUL`), streams (`a:b`) and names Windows would silently shorten."""
    for step in steps:
        if ":" in step or step != step.rstrip(". ") or _is_device(step):
            raise Refusal("PATH_INVALID", f"{quoted(path)} names no plain file.")


def _is_device(name: str) -> bool:
    """Whether Windows takes the name for a device, like `NUL` or `com1.txt`."""
    newer = getattr(ntpath, "isreserved", None)  # Python 3.13
    return bool(newer(name)) if newer else PureWindowsPath(name).is_reserved()


def _below(path: Path, root: Path) -> tuple[str, ...] | None:
    """Return the steps from `root` down to `path`, or None; letter case as the system sees it."""
    n_root = len(root.parts)
    head = [os.path.normcase(part) for part in path.parts[:n_root]]
    if head != [os.path.normcase(part) for part in root.parts]:
        return None
    return path.parts[n_root:]


def _folded(path: Path) -> str:
    return os.path.realpath(path).casefold()
