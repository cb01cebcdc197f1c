"""The sidecar that remembers which files a run was started from."""

import json

import pytest

from oma_desktop.store.origin import (
    Origin,
    forget_origin,
    lost_files,
    origin_path,
    read_origin,
    write_origin,
)


@pytest.fixture
def store(tmp_path):
    return tmp_path / "runs" / "checkpoint.json"


@pytest.fixture
def files(tmp_path, store):
    store.parent.mkdir()
    made = [tmp_path / name for name in ("run.yaml", "team.json", "script.json")]
    for path in made:
        path.touch()
    return made


def test_what_was_written_is_read_again(store, files):
    origin = Origin(*files)
    write_origin(store, "k", origin)
    assert read_origin(store, "k") == origin
    assert read_origin(store) == origin
    assert json.loads(origin_path(store).read_text())["runs"]["k"]["runFile"] == "../run.yaml"


def test_it_moves_with_the_folder(tmp_path, store, files):
    write_origin(store, "k", Origin(run_file=files[0]))
    (tmp_path / "elsewhere").mkdir()
    for path in (files[0], store.parent):
        path.rename(tmp_path / "elsewhere" / path.name)
    moved = tmp_path / "elsewhere" / "runs" / "checkpoint.json"
    assert read_origin(moved, "k").run_file == tmp_path / "elsewhere" / "run.yaml"


def test_runs_of_one_store_are_kept_apart(store, files):
    write_origin(store, "a", Origin(run_file=files[0]))
    write_origin(store, "b", Origin(run_file=files[0]))
    assert read_origin(store) == Origin(run_file=files[0])  # the same for both
    write_origin(store, "b", Origin(script=files[2]))
    assert read_origin(store, "a") == Origin(run_file=files[0])
    assert read_origin(store, "b") == Origin(script=files[2])
    assert read_origin(store).is_empty  # which of the two?
    assert read_origin(store, "c").is_empty


def test_forgetting_the_last_run_removes_the_sidecar(store, files):
    write_origin(store, "a", Origin(run_file=files[0]))
    write_origin(store, "b", Origin(run_file=files[0]))
    forget_origin(store, "a")
    assert read_origin(store, "a").is_empty
    assert not read_origin(store, "b").is_empty
    forget_origin(store, "a")
    forget_origin(store, "b")
    assert not origin_path(store).exists()
    forget_origin(store, "b")


def test_files_that_are_gone_are_not_named(store, files):
    write_origin(store, "k", Origin(*files))
    files[1].unlink()
    assert read_origin(store, "k") == Origin(run_file=files[0], script=files[2])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "7",
        '{"version": 2, "runs": {"k": {"runFile": "../run.yaml"}}}',
        '{"version": 1, "runs": []}',
        '{"version": 1, "runs": {"k": []}}',
        '{"version": 1, "runs": {"k": {"runFile": 7, "script": "", "team": "a\\u0000b"}}}',
    ],
)
def test_a_damaged_or_foreign_sidecar_names_nothing(store, files, text):
    origin_path(store).write_text(text)
    assert read_origin(store, "k").is_empty
    assert read_origin(store).is_empty
    write_origin(store, "k", Origin(run_file=files[0]))
    assert read_origin(store, "k") == Origin(run_file=files[0])


def test_without_a_sidecar_nothing_is_known(store):
    assert read_origin(store).is_empty
    assert read_origin(store, "k").is_empty


def test_a_link_and_its_target_are_one_store(tmp_path):
    (tmp_path / "real").mkdir()
    real, link = tmp_path / "real" / "c.json", tmp_path / "link.json"
    real.write_text("{}", "utf-8")
    link.symlink_to(real)
    run_file = tmp_path / "run.yaml"
    run_file.write_text("", "utf-8")
    write_origin(link, "k", Origin(run_file=run_file))
    assert read_origin(real, "k").run_file == run_file


def test_files_that_are_gone_are_still_known_by_name(store, files):
    write_origin(store, "k", Origin(*files))
    assert lost_files(store, "k") == []
    files[0].unlink()
    files[2].unlink()
    assert lost_files(store, "k") == [files[0], files[2]]
    assert read_origin(store, "k") == Origin(team=files[1])
    assert lost_files(store, "other") == []
