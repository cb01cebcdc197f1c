"""Shared memory of a team over any store (engine.md 1.2; formats.md 1.6).

The store is blocking, so every access goes over the store lane; the turn counter lives on the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Final

from oma_desktop.base.lanes import Lanes
from oma_desktop.base.ms_iso import to_ms_iso
from oma_desktop.model.checkpoint import SharedMemorySnapshot, StoreEntrySnapshot
from oma_desktop.model.errors import Corrupt, InvalidInput
from oma_desktop.model.json_place import not_json_at
from oma_desktop.model.json_text import cut_utf16, parse, stringify, utf16_length
from oma_desktop.model.json_value import JsonObject, JsonValue
from oma_desktop.model.keys import is_reserved_key
from oma_desktop.store.enlisting import EnlistingStore
from oma_desktop.store.memory import BatchingStore, ExpiringStore, MemoryStore, StoreEntry

ENCODING: Final = "sharedMemoryValueEncoding"
VALUE_LIMIT: Final = 200


@dataclass(frozen=True, slots=True)
class MemoryPicture:
    """What shared memory held at one moment, by reference: entries are immutable."""

    turn_count: int
    entries: tuple[StoreEntry, ...]


class SharedMemory:
    """Key-value notes by agent: `<agent>/<key>`. Expired rows are hidden, never deleted.

    Reserved keys (checkpoints, approvals) are neither shown nor touched.
    """

    def __init__(self, store: MemoryStore, lanes: Lanes) -> None:
        self.store = store
        self._lanes = lanes
        self.turn_count = 0

    async def write(
        self, agent: str, key: str, value: JsonValue, metadata: JsonObject | None = None
    ) -> None:
        """Write one note. Raises InvalidInput MEMORY_KEY_RESERVED or MEMORY_VALUE_INVALID (not
        JSON, with its `path`), StoreError.
        """
        note = _note(agent, key, value, metadata)
        await self._do(partial(self.store.set, *note))

    async def write_expiring(
        self,
        agent: str,
        key: str,
        value: JsonValue,
        ttl_turns: int,
        metadata: JsonObject | None = None,
    ) -> None:
        """Write a note that is hidden after `ttl_turns` more completed tasks (at least 1).

        A store without expiry keeps it for good. Raises as `write`, and MEMORY_TTL_INVALID.
        """
        if isinstance(ttl_turns, bool) or not isinstance(ttl_turns, int) or ttl_turns < 1:
            raise InvalidInput("MEMORY_TTL_INVALID", found=repr(ttl_turns))
        full, text, about = _note(agent, key, value, metadata)
        if not isinstance(self.store, ExpiringStore):
            await self._do(partial(self.store.set, full, text, about))
            return
        until = self.turn_count + ttl_turns
        await self._do(partial(self.store.set_with_expiry, full, text, until, about))

    async def _do(self, put: Callable[[], None]) -> None:
        store = self.store
        await self._lanes.store(store.enlist(put) if isinstance(store, EnlistingStore) else put)

    async def read(self, agent: str, key: str) -> JsonValue:
        """Return the value, or None when there is none or it expired."""
        full = f"{agent}/{key}"
        if is_reserved_key(full):
            return None
        entry = await self._lanes.store(self.store.get, full)
        return None if entry is None or self._expired(entry) else value_of(entry)

    async def picture(self) -> MemoryPicture:
        """Everything visible, in store order."""
        entries = await self._lanes.store(self.store.list)
        return MemoryPicture(self.turn_count, tuple(e for e in entries if self._visible(e)))

    async def summary(self, task_ids: Collection[str] = ()) -> str:
        """The notes as Markdown, for prompts; `task_ids` keeps only those tasks' results."""
        return summarize((await self.picture()).entries, task_ids)

    def advance(self) -> None:
        """Count one successful task; expiry times refer to it."""
        self.turn_count += 1

    async def restore(self, snapshot: SharedMemorySnapshot) -> None:
        """Replace everything that is not reserved by the snapshot's entries, or nothing (W34)."""
        check_memory_snapshot(snapshot)
        await self._lanes.store(self._replace, snapshot["entries"])
        self.turn_count = snapshot["turnCount"]

    def _replace(self, entries: list[StoreEntrySnapshot]) -> None:
        with self.store.batch() if isinstance(self.store, BatchingStore) else nullcontext():
            self._replace_each(entries)

    def _replace_each(self, entries: list[StoreEntrySnapshot]) -> None:
        kept = {row["key"] for row in entries}
        for entry in self.store.list():
            if not is_reserved_key(entry.key) and entry.key not in kept:
                self.store.delete(entry.key)
        for row in entries:
            if is_reserved_key(row["key"]):
                continue
            turn = row.get("expiresAtTurn")
            if turn is not None and isinstance(self.store, ExpiringStore):
                self.store.set_with_expiry(row["key"], row["value"], turn, row.get("metadata"))
            else:
                self.store.set(row["key"], row["value"], row.get("metadata"))

    def _visible(self, entry: StoreEntry) -> bool:
        return not is_reserved_key(entry.key) and not self._expired(entry)

    def _expired(self, entry: StoreEntry) -> bool:
        return entry.expires_at_turn is not None and self.turn_count >= entry.expires_at_turn


def _note(
    agent: str, key: str, value: JsonValue, metadata: JsonObject | None
) -> tuple[str, str, JsonObject]:
    """Key, text and metadata of a note (formats.md 1.6.1)."""
    full = f"{agent}/{key}"
    if is_reserved_key(full):
        raise InvalidInput("MEMORY_KEY_RESERVED", key=full)
    given = {k: v for k, v in (metadata or {}).items() if k != ENCODING}
    if isinstance(value, str):
        return full, value, {**given, "agent": agent}
    wrong = not_json_at(value)
    if wrong is not None:
        raise InvalidInput("MEMORY_VALUE_INVALID", key=full, path=wrong[0], found=wrong[1])
    return full, stringify(value), {**given, ENCODING: "json", "agent": agent}


def check_memory_snapshot(snapshot: SharedMemorySnapshot) -> None:
    """Raise InvalidInput MEMORY_SNAPSHOT_INVALID when it cannot be restored."""
    version: object = snapshot.get("version")
    rows: object = snapshot.get("entries")
    well_formed = isinstance(rows, list) and all(
        isinstance(r, dict) and isinstance(r.get("key"), str) and isinstance(r.get("value"), str)
        for r in rows
    )
    if version != 1 or not well_formed:
        raise InvalidInput("MEMORY_SNAPSHOT_INVALID", found=version)


def entry_document(entry: StoreEntry) -> StoreEntrySnapshot:
    """One entry as it lies in snapshots (formats.md 1.2)."""
    doc: StoreEntrySnapshot = {
        "key": entry.key,
        "value": entry.value,
        "createdAt": to_ms_iso(entry.created_at),
    }
    if entry.metadata is not None:
        doc = {
            "key": entry.key,
            "value": entry.value,
            "metadata": entry.metadata,
            "createdAt": doc["createdAt"],
        }
    if entry.expires_at_turn is not None:
        doc["expiresAtTurn"] = entry.expires_at_turn
    return doc


def value_of(entry: StoreEntry) -> JsonValue:
    """Decode a value marked as JSON; anything unreadable stays the string it is."""
    if (entry.metadata or {}).get(ENCODING) != "json":
        return entry.value
    try:
        return parse(entry.value)
    except Corrupt:
        return entry.value


def summarize(entries: Collection[StoreEntry], task_ids: Collection[str] = ()) -> str:
    """formats.md 1.6.5: one section per agent, long values cut to 197 units and an ellipsis."""
    wanted = {f"task:{task_id}:result" for task_id in task_ids}
    by_agent: dict[str, list[str]] = {}
    for entry in entries:
        agent, slash, key = entry.key.partition("/")
        if not slash:
            agent, key = "_unknown", entry.key
        if wanted and key not in wanted:
            continue
        by_agent.setdefault(agent, []).append(f"- {key}: {_short(entry)}")
    if not by_agent:
        return ""
    lines = ["## Shared Team Memory", ""]
    for agent, notes in by_agent.items():
        lines += [f"### {agent}", *notes, ""]
    return "\n".join(lines).rstrip()


def _short(entry: StoreEntry) -> str:
    value = value_of(entry)
    text = value if isinstance(value, str) else stringify(value)
    if utf16_length(text) > VALUE_LIMIT:
        return cut_utf16(text, VALUE_LIMIT - 3) + "\u2026"
    return text
