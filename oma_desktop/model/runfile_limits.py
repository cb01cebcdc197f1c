"""What a run file may ask for and this version cannot do yet: refused by name, never ignored."""

from __future__ import annotations

from collections.abc import Iterator

from oma_desktop.model.errors import NotAllowed
from oma_desktop.model.runfile import Journal, RunFile


def refuse_unsupported(run_file: RunFile) -> None:
    """Raise NotAllowed RUNFILE_NEEDS_* with the fact `name` (the key) for the first such wish."""
    for code, name in _wishes(run_file):
        raise NotAllowed(code, name=name)


def _wishes(run_file: RunFile) -> Iterator[tuple[str, str]]:
    if isinstance(run_file.journal, Journal):
        yield "RUNFILE_NEEDS_JOURNAL", "journal"
