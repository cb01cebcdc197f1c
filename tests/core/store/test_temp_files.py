"""Temporary copies of dead writers go, everything else stays (formats.md 8 W18; s15)."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import psutil
import pytest

from oma_desktop.store.temp_files import is_temp_name, sweep_stale_temps

DEAD = 999999
S15 = Path(__file__).parents[2] / "cases" / "s15-stale-temp-files" / "dir"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    assert not psutil.pid_exists(DEAD)
    place = tmp_path / "dir"
    place.mkdir()
    for source in S15.iterdir():
        shutil.copyfile(source, place / source.name.replace("OWN", str(os.getpid())))
    return place


def names(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir())


def test_s15_only_temps_of_dead_writers_go(folder: Path) -> None:
    swept = sweep_stale_temps(folder / "run.json")
    assert [p.name for p in swept] == [f"run.json.tmp-{DEAD}-0", f"run.json.tmp-{DEAD}-1"]
    assert names(folder) == ["notes.tmp", "run.json", f"run.json.tmp-{os.getpid()}-0"]


def test_s15_a_temp_older_than_the_process_with_its_pid_goes(folder: Path) -> None:
    own = folder / f"run.json.tmp-{os.getpid()}-0"
    began = psutil.Process().create_time()
    os.utime(own, (began - 10, began - 10))
    sweep_stale_temps(folder / "run.json")
    assert names(folder) == ["notes.tmp", "run.json"]


@pytest.mark.parametrize(
    "name",
    [
        "notes.tmp",
        "other.json.tmp-999999-0",
        "run.json.tmp-999999",
        "run.json.tmp-999999-0-zzzzzzzz",
        "run.json.tmp-999999-0-12345678.bak",
        "run.json.tmp-x-0",
        "run.json.tmp-99999999999-0",
        "my-run.json.tmp-999999-0",
        "run.json.lock",
    ],
)
def test_foreign_names_stay(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"mine")
    assert sweep_stale_temps(tmp_path / "run.json") == []
    assert names(tmp_path) == [name]


def test_names_of_ours_and_of_the_peer() -> None:
    assert is_temp_name("run.json.tmp-17-0")
    assert is_temp_name("run.json.tmp-17-0-0a1b2c3d")
    assert not is_temp_name("notes.tmp")
    assert not is_temp_name("run.json")


def test_a_sweep_that_cannot_look_stops_nobody(tmp_path: Path) -> None:
    assert sweep_stale_temps(tmp_path / "missing" / "run.json") == []
    (tmp_path / f"run.json.tmp-{DEAD}-0").mkdir()
    assert sweep_stale_temps(tmp_path / "run.json") == []
