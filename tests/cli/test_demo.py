"""`demo`: the bundled sample without a window (product.md 5)."""

import json
import sys
from collections import Counter
from importlib import resources
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from oma_desktop.engine.launching.sample import unpack_sample
from oma_desktop.model.errors import Conflict
from tests.cli.conftest import finish

FAST = ("demo", "--headless", "--fast", "--json")


def effects(folder):
    lines = (folder / "effects.jsonl").read_text("utf-8").splitlines()
    events = [json.loads(line) for line in lines]
    return Counter((e["event"], e["toolCallId"]) for e in events)


def test_the_sample_runs_to_its_end_and_accounts_for_every_task(cli, tmp_path):
    done = cli(*FAST, "--store", tmp_path)
    assert done.code == 0
    assert len(done.json["tasks"]) == 12
    assert {t["status"] for t in done.json["tasks"]} == {"completed"}
    assert done.json["identity"]["attempt"] == 2  # it really suspended and was restored
    (decision,) = done.json["approvalDecisions"]
    assert decision["reviewerId"] == "sample-reviewer"
    assert done.json["pendingApprovals"] == []
    ran = effects(tmp_path)
    assert len(ran) == 30
    assert set(ran.values()) == {1}
    assert f"sample run in {tmp_path}" in done.err


def test_the_second_time_nothing_runs_again(cli, tmp_path):
    cli(*FAST, "--store", tmp_path)
    before = (tmp_path / "effects.jsonl").read_bytes()
    done = cli(*FAST, "--store", tmp_path)
    assert done.code == 0
    assert {t["status"] for t in done.json["tasks"]} == {"completed"}
    assert (tmp_path / "effects.jsonl").read_bytes() == before


def test_without_a_place_it_makes_one_and_says_where(processes, tmp_path):
    done = finish(processes(*FAST, TMPDIR=str(tmp_path)))
    assert done.code == 0
    (folder,) = tmp_path.iterdir()
    assert f"sample run in {folder}" in done.err
    assert len(done.json["tasks"]) == 12


@pytest.fixture
def _no_display(monkeypatch):
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("QT_QPA_PLATFORM", "")  # restored afterwards: drawing asks for offscreen


@pytest.mark.usefixtures("_no_display")
def test_without_a_display_it_goes_headless_and_saves_a_picture(cli, tmp_path, monkeypatch):
    drawn = []

    def draw_store(store, picture):
        drawn.append((store, picture))
        return True

    monkeypatch.setitem(
        sys.modules, "oma_desktop.app.shots", SimpleNamespace(draw_store=draw_store)
    )
    done = cli("demo", "--fast", "--store", tmp_path)
    assert done.code == 0
    picture = tmp_path / "window.png"
    assert drawn == [(tmp_path / "checkpoint.json", picture)]
    assert f"picture of the finished window: {picture}" in done.err
    assert "To see it live" in done.err.splitlines()[-1]
    assert "run sample, attempt 2: finished" in done.out


@pytest.mark.usefixtures("_no_display")
@pytest.mark.parametrize("failure", [TimeoutError, OSError])
def test_a_picture_that_fails_spoils_nothing(cli, tmp_path, monkeypatch, failure):
    def draw_store(store, picture):
        raise failure

    monkeypatch.setitem(
        sys.modules, "oma_desktop.app.shots", SimpleNamespace(draw_store=draw_store)
    )
    done = cli("demo", "--fast", "--store", tmp_path, "--json")
    assert done.code == 0
    assert len(done.json["tasks"]) == 12
    assert "No picture was saved" in done.err


@pytest.mark.usefixtures("_no_display")
def test_without_a_window_at_all_it_still_runs(cli, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "oma_desktop.app.shots", None)
    done = cli("demo", "--fast", "--store", tmp_path)
    assert done.code == 0
    assert "No picture was saved" in done.err


def test_with_a_display_the_window_opens_on_the_live_sample(cli, tmp_path, monkeypatch):
    opened = []

    def run_demo(folder, **options):
        opened.append((folder, options))
        return 0

    monkeypatch.setitem(sys.modules, "oma_desktop.app.main", SimpleNamespace(run_demo=run_demo))
    monkeypatch.setenv("QT_QPA_PLATFORM", "offscreen")
    picture = tmp_path / "s.png"
    done = cli("demo", "--store", tmp_path, "--screenshot", picture, "--quit-after", "60")
    assert done.code == 0
    assert opened == [(tmp_path, {"speed": 1.0, "screenshot": picture, "quit_after_s": 60.0})]
    assert not (tmp_path / "checkpoint.json").exists()  # the window starts the run


@pytest.mark.parametrize("name", ["run.yaml", "script.json", "checkpoint.json"])
def test_files_of_somebody_else_are_left_alone(cli, tmp_path, name):
    (tmp_path / name).write_bytes(b"mine")
    done = cli(*FAST, "--store", tmp_path)
    assert (done.code, done.error["code"]) == (2, "SAMPLE_FOLDER_TAKEN")
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == {name: b"mine"}


def test_a_place_that_cannot_be_written_is_one_clear_line(cli, tmp_path):
    (tmp_path / "file").touch()
    done = cli(*FAST, "--store", tmp_path / "file")
    assert done.code == 1
    assert done.error["code"].startswith("STORE_")
    assert len(done.err.splitlines()) == 1


def test_unpacking_twice_is_fine_and_a_changed_file_is_not(tmp_path):
    place, origin = unpack_sample(tmp_path / "new" / "folder")
    assert origin.run_file == place / "run.yaml"
    assert unpack_sample(place)[0] == place
    (place / "run.yaml").write_text("changed")
    with pytest.raises(Conflict):
        unpack_sample(place)


def test_a_kill_while_unpacking_does_not_spoil_the_folder(tmp_path, monkeypatch):
    def killed(_self, _data):
        raise KeyboardInterrupt

    # Nothing may write a file of the sample in place: a kill would leave a part of it for good.
    monkeypatch.setattr(Path, "write_bytes", killed)
    place, _ = unpack_sample(tmp_path / "new")
    written = (place / "script.json").stat()
    unpack_sample(place)
    again = (place / "script.json").stat()
    assert (written.st_ino, written.st_mtime_ns) == (again.st_ino, again.st_mtime_ns)


def test_the_sample_is_what_it_promises():
    folder = resources.files("resources") / "sample"
    run_file = yaml.safe_load((folder / "run.yaml").read_text("utf-8"))
    script = json.loads((folder / "script.json").read_text("utf-8"))
    titles = [t["title"] for t in run_file["tasks"]]
    assert len(titles) == 12
    assert set(script["replies"]) == set(titles)
    assert any("\u4e00" <= char <= "\u9fff" for title in titles for char in title)
    assert script["agents"] == [
        {k: v for k, v in agent.items() if k != "provider"} for agent in run_file["team"]["agents"]
    ]
    failing = [r for t in script["tools"].values() for r in t["results"].values() if "isError" in r]
    assert len(failing) == 1
    assert list(script["gates"]["tool"]) == ["send_letter"]
    assert all(t["effect"] != "unknown" for t in script["tools"].values())
    roots = [t["title"] for t in run_file["tasks"] if not t.get("dependsOn")]
    after_root = [t for t in run_file["tasks"] if t.get("dependsOn") == roots]
    assert len(after_root) == 4  # branches that run side by side


def test_the_sample_runs_by_itself_as_any_run_file(cli, tmp_path):
    place, _ = unpack_sample(tmp_path)
    (place / "effects.jsonl").unlink()
    store = tmp_path / "elsewhere" / "c.json"
    assert cli("check", place / "run.yaml").code == 0
    env = pytest.MonkeyPatch()
    with env.context() as patch:
        patch.setenv("OMA_DESKTOP_SAMPLE_SPEED", "0")
        done = cli("run", place / "run.yaml", "--store", store, "--json")
    assert done.code == 3
    assert done.json["pendingApprovals"][0]["scope"] == "tool_call"
    assert not (store.parent / "effects.jsonl").exists()
