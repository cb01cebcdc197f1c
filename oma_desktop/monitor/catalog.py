"""Which store files a folder holds (ux.md C5, Runs; cases s15).

A store is recognised by its first bytes, not by its name alone: temporary files, locks and other
JSON are never listed. Links to folders are not followed, so a circle cannot catch the walk.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

MAX_DEPTH: Final = 12
MAX_STORES: Final = 20_000
MAX_ENTRIES: Final = 400_000
_SNIFF: Final = 4096
_SKIP: Final = frozenset({".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv"})
_STORE: Final = re.compile(
    rb'\A(?:\xef\xbb\xbf)?\s*\{\s*(?:"version"\s*:\s*[^,{\[]{1,40},\s*"entries"\s*:\s*\['
    rb'|"entries"\s*:\s*\[)'
)
_Stamp = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Found:
    """The stores of one folder, sorted; `complete` is false when a limit cut the walk short."""

    stores: tuple[str, ...]
    complete: bool = True


def is_store(path: Path) -> bool:
    """Whether a file begins like a FileStore; an unreadable one is none we could list."""
    try:
        with path.open("rb") as file:
            return _STORE.match(file.read(_SNIFF)) is not None
    except OSError:
        return False


def may_be_store(path: str) -> bool:
    """Whether a name can belong to a store, before anything is opened."""
    return path.endswith(".json")


@dataclass(slots=True)
class Catalog:
    """Remembers which files were looked into, so that the next walk opens only new ones."""

    root: str
    _known: dict[str, tuple[_Stamp, bool]] = field(default_factory=dict)

    def scan(self) -> Found:
        """Walk the folder; blocking. A folder that vanishes under way counts as empty."""
        known: dict[str, tuple[_Stamp, bool]] = {}
        stack = [(self.root, 0)]
        n_entries = 0
        complete = True
        while stack:
            folder, depth = stack.pop()
            for entry in _entries(folder):
                n_entries += 1
                if entry.is_dir(follow_symlinks=False):
                    if entry.name not in _SKIP and depth < MAX_DEPTH:
                        stack.append((entry.path, depth + 1))
                elif may_be_store(entry.name):
                    self._judge(entry, known)
            stores = [path for path, (_, yes) in known.items() if yes]
            if len(stores) >= MAX_STORES or n_entries >= MAX_ENTRIES:
                complete = False
                break
        self._known = known
        return Found(tuple(sorted(p for p, (_, yes) in known.items() if yes)), complete)

    def _judge(self, entry: os.DirEntry[str], known: dict[str, tuple[_Stamp, bool]]) -> None:
        try:
            stat = entry.stat()
        except OSError:
            return
        stamp = (stat.st_ino, stat.st_size, stat.st_mtime_ns)
        before = self._known.get(entry.path)
        if before is not None and (before[0] == stamp or before[1]):
            # Once a store, always followed: damage must not make it vanish from the list.
            known[entry.path] = (stamp, before[1])
            return
        known[entry.path] = (stamp, is_store(Path(entry.path)))


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return list(found)
    except OSError:
        return []
