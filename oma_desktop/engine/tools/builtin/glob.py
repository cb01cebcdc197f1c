"""glob: the files whose names fit a pattern (engine.md 9.2)."""

from __future__ import annotations

from typing import Final

from oma_desktop.engine.tools.builtin.glob_pattern import GlobPattern
from oma_desktop.engine.tools.builtin.refusal import quoted, shown
from oma_desktop.engine.tools.builtin.walk import Walk
from oma_desktop.engine.tools.builtin.workspace import Place, Workspace

MAX_FILES: Final = 500
MAX_CHARS: Final = 100_000
"""Characters of one answer of glob or grep."""


def find_files(
    workspace: Workspace, pattern: str, path: str | None, *, max_files: int = MAX_FILES
) -> str:
    """Return the first `max_files` paths, sorted, relative to the workspace. Blocking.

    `pattern` is matched from the folder `path` on, by default the workspace. Raises Refusal.
    """
    wanted = GlobPattern(pattern)
    place = workspace.place(path or str(workspace.root))
    walk = Walk(place)
    lines: list[str] = []
    room, more = MAX_CHARS, False
    for steps in walk.files():
        if wanted.fits(steps[len(place.steps) :]):
            line = relative(workspace, place, steps)
            room -= len(line) + 1
            if len(lines) == max_files or room < 0:
                more = True
                break
            lines.append(line)
    if not lines:
        lines.append(f"No file fits {quoted(pattern)}.")
    if more:
        lines.append(f"(Only the first {len(lines)} are listed; there are more.)")
    return "\n".join([*lines, *walk.notes])


def relative(workspace: Workspace, place: Place, steps: tuple[str, ...]) -> str:
    """Return how a file is named in answers: from the workspace on, with slashes."""
    if workspace.confined:
        return shown("/".join(steps))
    return shown(place.root.joinpath(*steps).as_posix())
