"""file_read: the numbered lines of a text file (engine.md 9.2)."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Final

from oma_desktop.engine.tools.builtin.anchored import opened
from oma_desktop.engine.tools.builtin.refusal import Refusal, quoted
from oma_desktop.engine.tools.builtin.text_file import MAX_BYTES, count_lines, decode, lines_of
from oma_desktop.engine.tools.builtin.workspace import Place, Workspace

MAX_CHARS: Final = 200_000
"""Characters of one answer; the rest is read from the offset that the note names."""
MAX_LINE: Final = 20_000


def read_file(workspace: Workspace, path: str, *, offset: int = 1, limit: int | None = None) -> str:
    """Return lines from `offset` (1-based), at most `limit`. Blocking. Raises Refusal."""
    place = workspace.place(path)
    name = file_name(place)
    with opened(place, place.steps[:-1]) as folder:
        data, _ = folder.read(name, limit=MAX_BYTES)
    found = decode(data, name=name)
    n_lines = count_lines(found.text)
    if n_lines == 0 and offset == 1:
        return "(The file is empty.)"
    if offset > n_lines:
        text = f"{quoted(path)} has {n_lines} lines; line {offset} does not exist."
        raise Refusal("OFFSET_PAST_END", text)
    wanted = islice(lines_of(found.text), offset - 1, None if limit is None else offset - 1 + limit)
    shown = _numbered(wanted, offset)
    last = offset + len(shown) - 1
    notes = []
    if len(shown) < n_lines:
        notes.append(f"(Lines {offset} to {last} of {n_lines}.)")
    if not found.exact:
        notes.append("(Some bytes are not text and were replaced; the file cannot be edited.)")
    return "\n".join([*shown, *notes])


def file_name(place: Place) -> str:
    """Return the last step; the root itself is a folder."""
    if not place.steps:
        raise Refusal("NOT_A_FILE", f"{quoted(place.path)} is a folder.")
    return place.steps[-1]


def _numbered(lines: Iterable[str], offset: int) -> list[str]:
    shown: list[str] = []
    room = MAX_CHARS
    for number, line in enumerate(lines, offset):
        if len(line) > MAX_LINE:
            line = f"{line[:MAX_LINE]} [... {len(line)} characters in this line]"  # noqa: PLW2901
        shown.append(f"{number}\t{line}")
        room -= len(shown[-1]) + 1
        if room < MAX_LINE:
            break
    return shown
