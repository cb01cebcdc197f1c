"""Which files of a folder are stores."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from oma_desktop.monitor import catalog
from oma_desktop.monitor.catalog import Catalog, is_store
from tests.core.monitor.harness import CASES, GOLDEN, store_text


@pytest.mark.parametrize("name", sorted(p.parent.name for p in GOLDEN.glob("*/checkpoint.json")))
def test_every_golden_store_is_recognised(name: str) -> None:
    assert is_store(GOLDEN / name / "checkpoint.json")


@pytest.mark.parametrize(
    "text",
    [
        '{"version":1,"entries":[]}',
        '\ufeff{ "version": 2,\r\n "entries": [ {} ] }',
        '{"entries":[],"version":1}',
    ],
)
def test_other_spellings_are_recognised(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text, "utf-8")
    assert is_store(path)


@pytest.mark.parametrize(
    "text",
    ["", "[]", "null", "{}", '{"version":1}', '{"name":"x","version":1,"entries":[]}', "\0" * 50],
)
def test_foreign_json_is_not(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    assert not is_store(path)
    assert not is_store(tmp_path / "absent.json")


def test_other_golden_json_is_not_listed() -> None:
    found = Catalog(str(GOLDEN)).scan()
    names = {Path(p).name for p in found.stores}
    assert found.complete
    assert "checkpoint.json" in names
    assert not names & {"expected.json", "peer_script.json", "tasks.json", "ours.json", "plan.json"}


def test_s15_lists_exactly_one_run() -> None:
    folder = CASES / "s15-stale-temp-files" / "dir"
    assert Catalog(str(folder)).scan().stores == (str(folder / "run.json"),)


def test_once_a_store_it_stays_listed_even_when_damaged(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text(store_text("x"))
    known = Catalog(str(tmp_path))
    assert known.scan().stores == (str(path),)
    path.write_bytes(b"\0" * 100)
    assert known.scan().stores == (str(path),)
    assert Catalog(str(tmp_path)).scan().stores == ()
    path.unlink()
    assert known.scan().stores == ()


def test_a_file_is_opened_again_only_when_it_changed(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "other.json").write_text("{}")
    looked: list[str] = []
    monkeypatch.setattr(catalog, "is_store", lambda path: looked.append(path.name) or False)
    known = Catalog(str(tmp_path))
    known.scan()
    known.scan()
    assert looked == ["other.json"]
    (tmp_path / "other.json").write_text("{ }")
    known.scan()
    assert looked == ["other.json"] * 2


def test_circles_depth_and_number_are_bounded(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "circle").symlink_to(tmp_path)
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules" / "a.json").write_text(store_text("x"))
    deep = tmp_path
    for _ in range(catalog.MAX_DEPTH + 2):
        deep /= "d"
        deep.mkdir()
        (deep / "run.json").write_text(store_text("x"))
    found = Catalog(str(tmp_path)).scan()
    assert len(found.stores) == catalog.MAX_DEPTH
    monkeypatch.setattr(catalog, "MAX_STORES", 3)
    found = Catalog(str(tmp_path)).scan()
    assert (len(found.stores), found.complete) == (3, False)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_closed_folder_is_empty(tmp_path: Path) -> None:
    tmp_path.chmod(0)
    try:
        assert Catalog(str(tmp_path)).scan().stores == ()
    finally:
        tmp_path.chmod(0o700)
