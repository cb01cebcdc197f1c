"""One checkpoint record in a store: its key and metadata, load, save, delete (formats.md 2.2)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

from oma_desktop.model.checkpoint import CheckpointSnapshot
from oma_desktop.model.checkpoint_loader import LoadedSnapshot, load_snapshot_text
from oma_desktop.model.errors import Corrupt, SchemaTooNew
from oma_desktop.model.json_text import stringify
from oma_desktop.model.json_value import JsonObject
from oma_desktop.model.keys import checkpoint_key
from oma_desktop.model.redaction_values import PartMask
from oma_desktop.store.enlisting import EnlistingStore
from oma_desktop.store.memory import MemoryStore
from oma_desktop.store.ready_text import BufferStore, MaskedText, ReadyStore, ReadyText
from oma_desktop.store.redacting import MaskingStore

R = TypeVar("R")


class Checkpoint:
    """The record of one run, overwritten by each save. Blocking, for the store lane.

    Every call may also raise what the store raises.
    """

    def __init__(
        self, store: MemoryStore, *, run_id: str | None = None, key: str | None = None
    ) -> None:
        self._store = store
        self._run_id = run_id or None
        self.key = checkpoint_key(run_id) if key is None else key

    def latest_text(self) -> str | None:
        """Return the stored text, None when there is no record; parsing may happen elsewhere."""
        entry = self._store.get(self.key)
        return None if entry is None else entry.value

    def load_latest(self) -> LoadedSnapshot | None:
        """Return the snapshot, None when there is no record.

        A record that cannot be used is never taken for an absent one: raises Corrupt or
        SchemaTooNew, `key` and (where the store is a file) `path` among the facts.
        """
        text = self.latest_text()
        if text is None:
            return None
        try:
            return load_snapshot_text(text)
        except (Corrupt, SchemaTooNew) as error:
            error.facts["key"] = self.key
            path = getattr(self._store, "path", None)
            if path is not None:
                error.facts["path"] = str(path)
            raise

    def save(self, snapshot: CheckpointSnapshot) -> None:
        """Write the whole snapshot; a v1 one without run id gets ours (formats.md 2.3)."""
        document = cast("JsonObject", snapshot)
        if snapshot["version"] == 1 and "runId" not in snapshot and self._run_id:
            document = {**document, "runId": self._run_id}
        self.save_text(
            stringify(document),
            version=snapshot["version"],
            run_id=_run_id_of(cast("CheckpointSnapshot", document)),
            created_at=snapshot["createdAt"],
        )

    @property
    def takes_pieces(self) -> bool:
        """Whether quoted pieces reach the medium as they are; else plain ones cost less."""
        store = self._store
        return isinstance(store, ReadyStore) or (
            isinstance(store, MaskingStore) and store.takes_pieces
        )

    def mask(self) -> PartMask | None:
        """Return the mask that parts of the text must go through before they are written."""
        return self._store.mask() if isinstance(self._store, MaskingStore) else None

    def save_text(
        self, text: str | ReadyText, *, created_at: str, run_id: str | None, version: int = 4
    ) -> None:
        """Write a snapshot that is encoded already; the rest mirrors what stands in it."""
        metadata: JsonObject = {"namespace": "checkpoint", "version": version}
        if run_id is not None:
            metadata["runId"] = run_id
        metadata["createdAt"] = created_at
        store = self._store
        if isinstance(text, MaskedText) and isinstance(store, MaskingStore):
            store.set_masked(self.key, text, metadata)
        elif isinstance(text, ReadyText) and text.quoted and isinstance(store, ReadyStore):
            store.set_ready(self.key, text, metadata)
        elif isinstance(text, ReadyText) and not text.quoted and isinstance(store, BufferStore):
            store.set_buffer(self.key, text, metadata)
        else:
            store.set(self.key, text if isinstance(text, str) else text.text, metadata)

    def enlist(self, work: Callable[[], R]) -> Callable[[], R]:
        """Announce work that saves here: where the store can, what waits shares one write."""
        store = self._store
        return store.enlist(work) if isinstance(store, EnlistingStore) else work

    def delete(self) -> None:
        """Remove this record and nothing else; silent when absent."""
        self._store.delete(self.key)


def _run_id_of(snapshot: CheckpointSnapshot) -> str | None:
    return snapshot["identity"]["runId"] if "identity" in snapshot else snapshot.get("runId")
