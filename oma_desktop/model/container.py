"""The file of a FileStore: one JSON object with entries (formats.md 1.4.1, 1.4.2).

Reading is stricter than the peer where the peer would lose or alter data; writing gives the same
bytes, but keeps the unknown keys the peer drops (W43).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from oma_desktop.base.ms_iso import to_ms_iso
from oma_desktop.model.dates import parse_js_date
from oma_desktop.model.errors import Corrupt, SchemaTooNew
from oma_desktop.model.json_kind import found_in, kind_of
from oma_desktop.model.json_text import STORE_DEPTH, encode, parse_with_bom, quote
from oma_desktop.model.json_value import JsonObject, JsonValue
from oma_desktop.model.json_writer import js_members
from oma_desktop.model.view import Problem

STORE_VERSION: Final = 1
_TOP_KEYS: Final = frozenset(("version", "entries"))
_ENTRY_KEYS: Final = frozenset(("key", "value", "metadata", "createdAt", "expiresAtTurn"))


@dataclass(frozen=True, slots=True)
class ContainerEntry:
    """One row. `created_at` is aware UTC in milliseconds; `extra` are keys we do not know."""

    key: str
    value: str
    created_at: datetime
    metadata: JsonObject | None = None
    expires_at_turn: float | None = None
    extra: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Container:
    """A store file as read: rows in file order (keys unique), unknown top-level keys, oddities."""

    entries: list[ContainerEntry] = field(default_factory=list)
    extra: JsonObject = field(default_factory=dict)
    bom: bool = False
    problems: tuple[Problem, ...] = ()


def parse_container(data: bytes, *, path: str) -> Container:
    """Read the bytes of a store file; `path` only names the file in errors.

    Raises Corrupt (`JSON_*`, `STORE_*`) or SchemaTooNew. Odd but readable things become warnings:
    byte order mark, repeated entry keys, an expiry that is no number.
    """
    try:
        document, bom = parse_with_bom(data, where="$", max_depth=STORE_DEPTH)
        return _read(document, bom=bom)
    except (Corrupt, SchemaTooNew) as error:
        error.facts["path"] = path
        raise


def _read(document: JsonValue, *, bom: bool) -> Container:
    if not isinstance(document, dict):
        raise Corrupt("STORE_NOT_OBJECT", where="$", found=kind_of(document))
    _check_version(document)
    rows = document.get("entries")
    if not isinstance(rows, list):
        raise Corrupt("STORE_NO_ENTRIES", where="$.entries", found=found_in(document, "entries"))
    problems = [Problem("STORE_BOM", "warning", "$")] if bom else []
    by_key: dict[str, ContainerEntry] = {}
    for index, row in enumerate(rows):
        where = f"$.entries[{index}]"
        entry = _entry(row, where, problems)
        if entry.key in by_key:
            problems.append(
                Problem("STORE_DUPLICATE_KEY", "warning", where, facts={"key": entry.key})
            )
        by_key[entry.key] = entry
    extra = {k: v for k, v in document.items() if k not in _TOP_KEYS}
    return Container(list(by_key.values()), extra, bom, tuple(problems))


def _check_version(document: JsonObject) -> None:
    version = document.get("version")
    if type(version) is int and version > STORE_VERSION:
        raise SchemaTooNew(
            "STORE_TOO_NEW", where="$.version", found=version, supported=STORE_VERSION
        )
    if type(version) is not int or version != STORE_VERSION:
        raise Corrupt(
            "STORE_VERSION_UNKNOWN",
            where="$.version",
            found=found_in(document, "version"),
            supported=STORE_VERSION,
        )


def _entry(row: JsonValue, where: str, problems: list[Problem]) -> ContainerEntry:
    if not isinstance(row, dict):
        raise Corrupt("STORE_ENTRY_MALFORMED", where=where, expected="object", found=kind_of(row))
    key, value = _string(row, "key", where), _string(row, "value", where)
    created = _string(row, "createdAt", where)
    created_at = parse_js_date(created)
    if created_at is None:
        raise Corrupt(
            "STORE_CREATED_AT_INVALID", where=f"{where}.createdAt", key=key, found=created[:60]
        )
    metadata = row.get("metadata")
    if "metadata" in row and not isinstance(metadata, dict):
        raise Corrupt(
            "STORE_METADATA_INVALID", where=f"{where}.metadata", key=key, found=kind_of(metadata)
        )
    return ContainerEntry(
        key=key,
        value=value,
        created_at=created_at,
        metadata=metadata if isinstance(metadata, dict) else None,
        expires_at_turn=_expiry(row, where, problems),
        extra={k: v for k, v in row.items() if k not in _ENTRY_KEYS},
    )


def _string(row: JsonObject, name: str, where: str) -> str:
    value = row.get(name)
    if not isinstance(value, str):
        raise Corrupt(
            "STORE_ENTRY_MALFORMED",
            where=f"{where}.{name}",
            expected="string",
            found=found_in(row, name),
        )
    return value


def _expiry(row: JsonObject, where: str, problems: list[Problem]) -> float | None:
    expiry = row.get("expiresAtTurn")
    if isinstance(expiry, int | float) and not isinstance(expiry, bool):
        return expiry
    if "expiresAtTurn" in row:
        problems.append(Problem("STORE_EXPIRY_IGNORED", "warning", f"{where}.expiresAtTurn"))
    return None


def entry_object(entry: ContainerEntry) -> JsonObject:
    """Return the row as written: key, value, metadata?, createdAt, expiresAtTurn?, unknown keys."""
    row: JsonObject = {"key": entry.key, "value": entry.value}
    if entry.metadata is not None:
        row["metadata"] = entry.metadata
    row["createdAt"] = to_ms_iso(entry.created_at)
    if entry.expires_at_turn is not None:
        row["expiresAtTurn"] = entry.expires_at_turn
    row.update(entry.extra)
    return row


def encode_entry(entry: ContainerEntry) -> bytes:
    """Return the bytes of one row, so that a writer can encode entry by entry and keep them."""
    return encode(entry_object(entry))


def join_entries(rows: list[bytes], extra: JsonObject | None = None) -> bytes:
    """Return the whole file from encoded rows; the same bytes as `encode_container`."""
    whole: JsonObject = {"version": STORE_VERSION, "entries": None, **(extra or {})}
    parts: list[bytes] = []
    for name, member in js_members(whole):
        rest = b"[%b]" % b",".join(rows) if name == "entries" else encode(member)
        parts.append(quote(name).encode() + b":" + rest)
    return b"{%b}" % b",".join(parts)


def encode_container(container: Container) -> bytes:
    """Return the file bytes: compact, no byte order mark, no trailing newline."""
    return join_entries([encode_entry(e) for e in container.entries], container.extra)
