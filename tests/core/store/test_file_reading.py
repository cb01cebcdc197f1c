"""Readers meet writers that overwrite instead of replacing (house.md 4.3)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from oma_desktop.model.errors import Corrupt, NotAllowed, StoreError
from oma_desktop.store import file_reading
from oma_desktop.store.file_reading import read_bytes, read_container
from oma_desktop.store.read_only import read_only

WHOLE = b'{"version":1,"entries":[{"key":"a","value":"1","createdAt":"2026-01-02T03:04:05.678Z"}]}'


@pytest.fixture
def path(tmp_path: Path) -> Path:
    place = tmp_path / "run.json"
    place.write_bytes(WHOLE[:40])
    return place


def meanwhile(monkeypatch: pytest.MonkeyPatch, acts: list[Any]) -> list[float]:
    """Let somebody else act in every pause of the reader."""
    pauses: list[float] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        if acts:
            acts.pop(0)()

    monkeypatch.setattr(file_reading.time, "sleep", pause)
    return pauses


def test_a_half_written_file_is_read_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The writer goes on between our reading and our look at the damage."""
    parse = file_reading.parse_container

    def slow_parse(data: bytes, *, path: str) -> Any:
        Path(path).write_bytes(WHOLE)
        return parse(data, path=path)

    monkeypatch.setattr(file_reading, "parse_container", slow_parse)
    meanwhile(monkeypatch, [])
    container, stamp = read_container(path)
    assert [e.key for e in container.entries] == ["a"]
    assert stamp is not None
    assert stamp.size == len(WHOLE)


def test_lasting_damage_is_reported_at_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses = meanwhile(monkeypatch, [])
    with pytest.raises(Corrupt):
        read_container(path)
    assert pauses == []


def test_a_file_that_changes_while_it_is_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fstat, calls = os.fstat, []

    def growing(fd: int) -> os.stat_result:
        calls.append(fd)
        if len(calls) % 2 == 0 and len(calls) <= limit:
            with path.open("ab") as file:
                file.write(b" ")
        return fstat(fd)

    pauses = meanwhile(monkeypatch, [])
    monkeypatch.setattr(file_reading.os, "fstat", growing)
    limit = 4
    read = read_bytes(path)
    assert read is not None
    assert read[0] == path.read_bytes()
    assert len(pauses) == 2
    calls.clear()
    limit = 10**6
    with pytest.raises(StoreError, match="STORE_UNREADABLE"):
        read_bytes(path)
    assert sum(pauses) < 1


def test_a_sharing_violation_is_waited_out(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_bytes(WHOLE)
    once = file_reading._read_once
    errors = []
    for code in (32, 5):
        error = PermissionError(13, "denied")
        error.winerror = code  # type: ignore[attr-defined,unused-ignore]
        errors.append(error)

    def shared(place: Path) -> Any:
        if errors:
            raise errors.pop()
        return once(place)

    monkeypatch.setattr(file_reading, "_read_once", shared)
    pauses = meanwhile(monkeypatch, [])
    assert read_only(path).get("a") is not None
    assert len(pauses) == 2


def test_readers_cannot_write(path: Path) -> None:
    path.write_bytes(WHOLE)
    store = read_only(path)
    for act in (lambda: store.set("a", "2"), lambda: store.delete("a"), store.clear):
        with pytest.raises(NotAllowed, match="STORE_READER_ONLY"):
            act()
    assert path.read_bytes() == WHOLE


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_in_the_place_of_a_store_is_refused_not_waited_for(tmp_path: Path) -> None:
    place = tmp_path / "pipe.json"
    os.mkfifo(place)
    with pytest.raises(StoreError, match="STORE_UNREADABLE"):
        read_container(place)
