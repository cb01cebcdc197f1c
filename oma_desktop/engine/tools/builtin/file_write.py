"""file_write: a whole file, in one step (engine.md 9.2)."""

from __future__ import annotations

from oma_desktop.engine.tools.builtin.anchored import opened
from oma_desktop.engine.tools.builtin.file_read import file_name
from oma_desktop.engine.tools.builtin.refusal import quoted
from oma_desktop.engine.tools.builtin.text_file import count_lines, encode
from oma_desktop.engine.tools.builtin.workspace import Workspace


def write_file(workspace: Workspace, path: str, content: str) -> str:
    """Make or replace a file, byte for byte `content` as UTF-8; missing folders are made.

    The only tool that makes the workspace. Blocking. Raises Refusal; the old file is then intact.
    """
    place = workspace.place(path)
    workspace.guard.check(place)
    name = file_name(place)
    data = encode(content)
    with opened(place, place.steps[:-1], create=True) as folder:
        created = folder.replace(name, data)
    done = "Created" if created else "Updated"
    return f"{done} {quoted(path)}: {count_lines(content)} lines, {len(data)} bytes."
