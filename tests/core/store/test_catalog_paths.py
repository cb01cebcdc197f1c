"""Default places of runs survive every id on every file system (cases s41)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from oma_desktop.base.clock import SystemClock
from oma_desktop.model.errors import InvalidInput
from oma_desktop.store.catalog_paths import default_store_path, stored_runs, team_folder
from oma_desktop.store.writers import open_for_writing

IDS: list[str] = json.loads(
    (Path(__file__).parents[2] / "cases" / "s41-run-id-file-names" / "ids.json").read_bytes()
)
CLOCK = SystemClock()


def test_s41_create_list_reopen_delete(tmp_path: Path) -> None:
    places = {run_id: default_store_path(tmp_path, "team:a", run_id) for run_id in IDS}
    assert len({str(place).casefold() for place in places.values()}) == len(IDS)
    for run_id, place in places.items():
        assert tmp_path in place.resolve().parents
        with open_for_writing(place, app="test", clock=CLOCK) as opened:
            opened.store.set("id", run_id)
    listed = stored_runs(tmp_path, "team:a")
    assert {place for _, place in listed} == set(places.values())
    for shown, place in listed:
        with open_for_writing(place, app="test", clock=CLOCK) as opened:
            entry = opened.store.get("id")
        assert entry is not None
        assert places[entry.value] == place
        assert shown in (entry.value, None)
        assert shown is not None or len(entry.value) > 100, "only over-long ids are cut"
        place.unlink()
    assert stored_runs(tmp_path, "team:a") == []


def test_s41_an_empty_id_is_refused(tmp_path: Path) -> None:
    for team, run_id in (("", "r"), ("t", "")):
        with pytest.raises(InvalidInput, match="NAME_EMPTY"):
            default_store_path(tmp_path, team, run_id)


def test_no_runs_yet_and_foreign_files(tmp_path: Path) -> None:
    assert stored_runs(tmp_path, "t") == []
    (team_folder(tmp_path, "t") / "empty").mkdir(parents=True)
    (team_folder(tmp_path, "t") / "notes.txt").write_bytes(b"")
    assert stored_runs(tmp_path, "t") == []
