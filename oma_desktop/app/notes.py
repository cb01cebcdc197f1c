"""The reviewer's notes in a file of the app, never in a run (ux.md C7: "kept in this app")."""

from __future__ import annotations

import json
import logging
import os
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from oma_desktop.viewmodel.approvals import RequestKey
from oma_desktop.viewmodel.offload import Offload

log = logging.getLogger(__name__)

MAX_NOTES: Final = 500
MAX_CHARS: Final = 4_000


class FileNotes:
    """Notes by request id, the newest 500. Written on a lane, one write at a time, the last wins.

    A file that cannot be read or written costs the notes, nothing else: `on_trouble` is told once.
    """

    def __init__(
        self, path: Path, *, offload: Offload, on_trouble: Callable[[Path], None] | None = None
    ) -> None:
        self._file = _NotesFile(path)
        self._offload = offload
        self._on_trouble = on_trouble
        self._notes = self._file.read()
        self._writing = False
        self._again = False

    def note(self, key: RequestKey) -> str:
        """Return the note of a request, or an empty text."""
        return self._notes.get(key.request_id, "")

    def set_note(self, key: RequestKey, text: str) -> None:
        """Keep the note of a request; an empty one is forgotten."""
        self._notes.pop(key.request_id, None)
        if text.strip():
            self._notes[key.request_id] = text[:MAX_CHARS]
        for old in list(self._notes)[: max(len(self._notes) - MAX_NOTES, 0)]:
            del self._notes[old]
        self._save()

    def _save(self) -> None:
        self._again = self._writing
        if not self._writing:
            self._writing = True
            self._offload(self._file.writing(self._notes), self._on_saved)

    def _on_saved(self, saved: bool) -> None:
        self._writing = False
        if not saved and self._on_trouble is not None:
            self._on_trouble(self._file.path)
            self._on_trouble = None
        if self._again:
            self._save()

    def flush(self) -> None:
        """Write what is not written yet, here and now: the program ends."""
        if self._writing or self._again:
            self._file.writing(self._notes)()


class _NotesFile:
    """The file. Writes may come from several threads; an older one never replaces a newer."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._next = 0
        self._written = 0

    def read(self) -> dict[str, str]:
        """Return what is there; nothing of it where it is not ours to understand."""
        try:
            values = json.loads(self.path.read_text("utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, RecursionError) as error:
            log.warning("notes are not readable: %s", type(error).__name__)
            return {}
        notes = values.get("notes") if isinstance(values, dict) else None
        if not isinstance(notes, dict):
            return {}
        return {k: v[:MAX_CHARS] for k, v in notes.items() if isinstance(v, str)}

    def writing(self, notes: dict[str, str]) -> Callable[[], bool]:
        """Return the act of writing these notes, for whatever thread does it."""
        self._next += 1
        return partial(self._write, self._next, dict(notes))

    def _write(self, number: int, notes: dict[str, str]) -> bool:
        """Replace the file in one step; readable by its owner only."""
        with self._lock:
            if number < self._written:
                return True
            beside = self.path.with_name(f"{self.path.name}.{os.getpid()}.tmp")
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                beside.touch(mode=0o600)
                beside.write_text(json.dumps({"version": 1, "notes": notes}, indent=1), "ascii")
                beside.replace(self.path)
            except OSError as error:
                log.warning("notes could not be saved: %s", type(error).__name__)
                return False
            self._written = number
            return True
