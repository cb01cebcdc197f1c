"""Every plain file below a folder, in one order on every machine; links are never followed."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from oma_desktop.engine.tools.builtin.anchored import HAS_ANCHORS, opened
from oma_desktop.engine.tools.builtin.refusal import Refusal, quoted
from oma_desktop.engine.tools.builtin.workspace import OWN_FOLDER, Place

SKIPPED: Final = frozenset(
    {".git", ".svn", ".hg", "node_modules", ".next", "dist", "build", OWN_FOLDER}
)
MAX_ENTRIES: Final = 500_000


@dataclass(slots=True)
class Walk:
    """One walk. Files come folder by folder, names in the order of their characters.

    After it: `cut` says that there was more than `max_entries`, `n_closed` how many folders could
    not be opened.
    """

    place: Place
    max_entries: int = MAX_ENTRIES
    anchors: bool = HAS_ANCHORS
    cut: bool = False
    n_closed: int = 0

    def files(self) -> Iterator[tuple[str, ...]]:
        """Yield the steps from the root of `place` to each file. Raises Refusal at the start."""
        waiting: list[tuple[tuple[str, ...], bool]] = [(self.place.steps, True)]
        room = self.max_entries
        while waiting:
            steps, is_folder = waiting.pop()
            if not is_folder:
                yield steps
                continue
            try:
                with opened(self.place, steps, anchors=self.anchors) as folder:
                    entries = folder.entries()
            except Refusal:
                if steps == self.place.steps:
                    raise
                self.n_closed += 1
                continue
            room -= len(entries)
            if room < 0:
                self.cut = True
                return
            waiting += [
                ((*steps, name), is_dir)
                for name, is_dir in reversed(entries)
                if not (is_dir and name in SKIPPED)
            ]

    @property
    def notes(self) -> list[str]:
        """What the reader must know about what is missing."""
        notes = []
        if self.cut:
            notes.append(f"(Stopped after {self.max_entries} entries; name a smaller folder.)")
        if self.n_closed:
            notes.append(f"({self.n_closed} folders could not be opened.)")
        return notes


def is_file(place: Place) -> bool:
    """Tell a plain file from a folder; raises Refusal for everything else."""
    if not place.steps:
        return False
    with opened(place, place.steps[:-1]) as folder:
        kind = folder.kind(place.steps[-1])
    if kind not in {stat.S_IFREG, stat.S_IFDIR}:
        raise Refusal("NOT_A_FILE", f"{quoted(place.path)} is neither a file nor a folder.")
    return kind == stat.S_IFREG
