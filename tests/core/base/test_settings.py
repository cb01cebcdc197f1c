"""The operator's settings: read tolerantly, never rewritten just for reading (case s22)."""

import getpass
import json
import logging
from pathlib import Path

import pytest

from oma_desktop.base.places import home
from oma_desktop.base.settings import DEFAULT_UNDO_S, FILE_NAME, MAX_UNDO_S, load_settings


def write(folder, document, *, bom=False, crlf=False):
    text = json.dumps(document, indent=2)
    if crlf:
        text = text.replace("\n", "\r\n")
    (folder / FILE_NAME).write_bytes(b"\xef\xbb\xbf" * bom + text.encode())


def test_without_a_file_the_login_name_decides_and_nothing_is_made(tmp_path):
    found = load_settings(tmp_path / "none")
    assert found.reviewer_id
    assert found.undo_s == DEFAULT_UNDO_S
    assert found.watch == ()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("form", [{}, {"bom": True}, {"crlf": True}, {"bom": True, "crlf": True}])
def test_everything_is_read_and_the_file_stays(tmp_path, form):
    document = {
        "reviewer": {"id": " ann ", "name": "Ann 安"},
        "undoSeconds": 12,
        "watch": ["/a", "/b"],
        "unknown": {"of": "another version"},
    }
    write(tmp_path, document, **form)
    before = (tmp_path / FILE_NAME).read_bytes()
    found = load_settings(tmp_path)
    assert (found.reviewer_id, found.reviewer_name) == ("ann", "Ann 安")
    assert found.undo_s == 12.0
    assert found.watch == ("/a", "/b")
    assert (tmp_path / FILE_NAME).read_bytes() == before


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '"x"', "\x00", "[" * 100_000])
def test_a_damaged_file_is_the_defaults_and_stays(tmp_path, text):
    (tmp_path / FILE_NAME).write_text(text)
    assert load_settings(tmp_path).undo_s == DEFAULT_UNDO_S
    assert (tmp_path / FILE_NAME).read_text() == text


def test_a_damaged_file_is_told_in_the_log(tmp_path, caplog):
    (tmp_path / FILE_NAME).write_text("{")
    with caplog.at_level(logging.WARNING):
        load_settings(tmp_path)
    assert "settings are not readable" in caplog.text


@pytest.mark.parametrize(
    ("value", "seconds"),
    [(0, 0.0), (-3, 0.0), (7.5, 7.5), (99, MAX_UNDO_S), ("5", 5.0), (True, 5.0), (None, 5.0)],
)
def test_the_time_to_undo_stays_in_its_limits(tmp_path, value, seconds):
    write(tmp_path, {"undoSeconds": value})
    assert load_settings(tmp_path).undo_s == seconds


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "1e999", "9" * 400])
def test_a_number_that_is_none_never_hurts(tmp_path, value):
    (tmp_path / FILE_NAME).write_text(f'{{"undoSeconds": {value}}}')
    assert 0 <= load_settings(tmp_path).undo_s <= MAX_UNDO_S


@pytest.mark.parametrize(
    "document",
    [{"reviewer": "ann"}, {"reviewer": {"id": 7}}, {"reviewer": {"id": "  "}}, {"watch": "/a"}],
)
def test_values_of_a_wrong_kind_are_the_defaults(tmp_path, document, monkeypatch):
    monkeypatch.setattr(getpass, "getuser", lambda: "login")
    write(tmp_path, document)
    found = load_settings(tmp_path)
    assert (found.reviewer_id, found.reviewer_name, found.watch) == ("login", None, ())


def test_a_machine_without_a_login_name(tmp_path, monkeypatch):
    def nobody():
        raise OSError

    monkeypatch.setattr(getpass, "getuser", nobody)
    assert load_settings(tmp_path).reviewer_id == "operator"


def test_one_variable_moves_every_place(tmp_path, monkeypatch):
    monkeypatch.setenv("OMA_DESKTOP_HOME", str(tmp_path))
    kinds = ("settings", "logs", "layout", "shelf")
    assert [home(kind) for kind in kinds] == [tmp_path / kind for kind in kinds]
    assert list(tmp_path.iterdir()) == []


def test_without_it_the_places_are_the_platforms_and_all_different(monkeypatch):
    monkeypatch.delenv("OMA_DESKTOP_HOME", raising=False)
    places = [home(kind) for kind in ("settings", "logs", "layout", "shelf")]
    assert len(set(places)) == 4
    assert all("oma-desktop" in str(place) for place in places)
    assert all(isinstance(place, Path) for place in places)
