"""A store as readers have it: one version of it, looked at once and never written."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

from oma_desktop.model.errors import NotAllowed
from oma_desktop.model.json_value import JsonObject
from oma_desktop.model.view import Problem
from oma_desktop.store.address import StoreAddress
from oma_desktop.store.atomic import resolve
from oma_desktop.store.database import DatabaseStamp
from oma_desktop.store.file_calls import FileStamp
from oma_desktop.store.file_reading import read_container
from oma_desktop.store.memory import StoreEntry
from oma_desktop.store.rows import Row


class ReadOnlyStore:
    """The entries of one version of a store. Changes raise NotAllowed; no compare-and-set."""

    def __init__(
        self,
        path: StoreAddress,
        *,
        entries: list[StoreEntry],
        stamp: FileStamp | DatabaseStamp | None,
        problems: tuple[Problem, ...],
    ) -> None:
        self.path = path
        self.stamp = stamp
        self.problems = problems
        self._entries = {entry.key: entry for entry in entries}

    def get(self, key: str) -> StoreEntry | None:
        """Return the entry, or None when the key does not exist."""
        return self._entries.get(key)

    def list(self) -> list[StoreEntry]:
        """Return all entries, in the order of the store."""
        return [*self._entries.values()]

    def set(self, key: str, value: str, metadata: JsonObject | None = None) -> NoReturn:
        """Raise NotAllowed."""
        self._refuse()

    def delete(self, key: str) -> NoReturn:
        """Raise NotAllowed."""
        self._refuse()

    def clear(self) -> NoReturn:
        """Raise NotAllowed."""
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise NotAllowed("STORE_READER_ONLY", path=str(self.path))


def read_only(path: Path) -> ReadOnlyStore:
    """Read the store at `path` once, without lock and without touching anything.

    A missing file is an empty store. Raises Corrupt, SchemaTooNew or StoreError.
    """
    target = resolve(path)
    read, stamp = read_container(target)
    entries = [Row(entry).public for entry in read.entries]
    return ReadOnlyStore(target, entries=entries, stamp=stamp, problems=read.problems)
