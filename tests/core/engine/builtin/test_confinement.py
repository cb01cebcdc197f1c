"""Which paths the file tools touch (engine.md 9.1, idea 59)."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from oma_desktop.engine.tools.builtin import anchored
from oma_desktop.engine.tools.builtin.anchored import FdCalls, PathCalls, opened
from oma_desktop.engine.tools.builtin.file_read import read_file
from oma_desktop.engine.tools.builtin.file_write import write_file
from oma_desktop.engine.tools.builtin.refusal import Refusal
from oma_desktop.engine.tools.builtin.workspace import Guard, Place, Workspace, _check_windows
from tests.core.engine.builtin.tool_world import ToolWorld

BOTH = pytest.mark.parametrize("anchors", [True, False])

CALLS = [
    ("file_read", {}),
    ("file_write", {"content": "x"}),
    ("file_edit", {"old_string": "secret", "new_string": "x"}),
    ("glob", {"pattern": "*"}),
    ("grep", {"pattern": "secret"}),
]
EVERY_TOOL = pytest.mark.parametrize(("tool", "more"), CALLS, ids=[name for name, _ in CALLS])


@EVERY_TOOL
async def test_idea_59_outside_relative_and_escaping_paths_are_refused(box, tool, more):
    (box.root / "link").symlink_to(box.outside)
    (box.root / "file").symlink_to(box.outside / "secret.txt")
    (box.root / "new").symlink_to(box.outside / "new.txt")
    for path, code in [
        (str(box.outside / "secret.txt"), "PATH_OUTSIDE"),
        (box.path("..", "outside", "secret.txt"), "PATH_OUTSIDE"),
        (box.path("link", "secret.txt"), "PATH_OUTSIDE"),
        (box.path("link", "new", "deep.txt"), "PATH_OUTSIDE"),
        (box.path("file"), "PATH_OUTSIDE"),
        (box.path("new"), "PATH_OUTSIDE"),
        (str(box.root) + "x/secret.txt", "PATH_OUTSIDE"),
        ("/", "PATH_OUTSIDE"),
        ("secret.txt", "PATH_NOT_ABSOLUTE"),
        ("../outside/secret.txt", "PATH_NOT_ABSOLUTE"),
        ("~/secret.txt", "PATH_NOT_ABSOLUTE"),
        (box.path("a\0b"), "PATH_INVALID"),
        (box.path("half \ud800"), "PATH_INVALID"),
    ]:
        assert await box.refused(tool, path=path, **more) == code, path
    assert [p.name for p in box.outside.iterdir()] == ["secret.txt"]
    assert (box.outside / "secret.txt").read_text("utf-8") == "secret\n"


async def test_links_inside_are_followed_to_where_they_lead(box):
    (box.root / "real").mkdir()
    (box.root / "real" / "a.txt").write_text("one\n", encoding="utf-8")
    (box.root / "link").symlink_to("real")
    (box.root / "file").symlink_to("real/a.txt")
    assert await box.text("file_read", path=box.path("file")) == "1\tone"
    await box.text("file_edit", path=box.path("link", "a.txt"), old_string="one", new_string="two")
    await box.text("file_write", path=box.path("link", "b.txt"), content="b")
    assert (box.root / "real" / "a.txt").read_text("utf-8") == "two\n"
    assert (box.root / "real" / "b.txt").read_text("utf-8") == "b"
    assert (box.root / "file").is_symlink()


async def test_a_root_that_is_a_link_is_the_folder_it_leads_to(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "root").symlink_to("real")
    world = ToolWorld(tmp_path / "root")
    await world.text("file_write", path=world.path("a.txt"), content="a")
    assert await world.text("file_read", path=str(tmp_path / "real" / "a.txt")) == "1\ta"
    world.close()


@EVERY_TOOL
async def test_idea_59_only_file_write_makes_the_workspace(tmp_path, tool, more):
    world = ToolWorld(tmp_path / "not" / "yet")
    path = world.path("a.txt")
    if tool == "file_write":
        await world.text(tool, path=path, **more)
        assert (tmp_path / "not" / "yet" / "a.txt").read_text("utf-8") == "x"
    else:
        assert await world.refused(tool, path=path, **more) == "WORKSPACE_MISSING"
        assert not (tmp_path / "not").exists()
    world.close()


@EVERY_TOOL
async def test_without_a_workspace_nothing_is_done(tmp_path, tool, more):
    world = ToolWorld(tmp_path, cwd=None)
    assert await world.refused(tool, path=world.path("a.txt"), **more) == "NO_WORKSPACE"
    world.close()


async def test_without_confinement_every_path_goes_relative_ones_from_the_workspace(tmp_path):
    (tmp_path / "ws").mkdir()
    world = ToolWorld(tmp_path / "ws", confined=False)
    await world.text("file_write", path="../a.txt", content="a")
    assert await world.text("file_read", path=str(tmp_path / "a.txt")) == "1\ta"
    assert await world.text("glob", path="..", pattern="*.txt") == str(tmp_path / "a.txt")
    world.close()


@pytest.mark.skipif(sys.platform == "win32", reason="no such files there")
async def test_only_plain_files_are_touched(box):
    os.mkfifo(box.root / "pipe")
    (box.root / "folder").mkdir()
    for name in ("pipe", "folder", ""):
        assert await box.refused("file_read", path=box.path(name)) == "NOT_A_FILE"
        assert await box.refused("file_write", path=box.path(name), content="x") == "NOT_A_FILE"
    assert await box.refused("grep", path=box.path("pipe"), pattern="x") == "NOT_A_FILE"


@pytest.mark.parametrize("step", ["NUL", "com1.txt", "a:b", "f.txt::$DATA", "a.", "a ", "..."])
def test_on_windows_devices_streams_and_shortened_names_are_refused(step):
    with pytest.raises(Refusal) as caught:
        _check_windows(("fine", step), step)
    assert caught.value.code == "PATH_INVALID"
    _check_windows(("fine", "null.txt", "a.b c"), "fine")


# --- what is swapped after the checks ------------------------------------------------------------


@BOTH
def test_a_folder_swapped_for_a_link_leads_nowhere(box, anchors):
    (box.root / "d").mkdir()
    (box.root / "d" / "secret.txt").write_text("mine", encoding="utf-8")
    place = Workspace(box.root).place(box.path("d", "secret.txt"))
    (box.root / "d").rename(box.root / "moved")
    (box.root / "d").symlink_to(box.outside)
    for create in (False, True):
        with (
            pytest.raises(Refusal) as caught,
            opened(place, place.steps[:-1], anchors=anchors, create=create) as folder,
        ):
            folder.read("secret.txt", limit=100)
        assert caught.value.code in {"NOT_A_FOLDER", "LINK_REFUSED"}
    assert [p.name for p in box.outside.iterdir()] == ["secret.txt"]


@BOTH
def test_a_file_swapped_for_a_link_is_neither_read_nor_written_through(box, anchors):
    place = Workspace(box.root).place(box.path("a.txt"))
    (box.root / "a.txt").symlink_to(box.outside / "secret.txt")
    with opened(place, (), anchors=anchors) as folder:
        for act in (lambda: folder.read("a.txt", limit=9), lambda: folder.replace("a.txt", b"x")):
            with pytest.raises(OSError, match="link"):
                act()
    assert (box.outside / "secret.txt").read_text("utf-8") == "secret\n"


@pytest.mark.skipif(not anchored.HAS_ANCHORS, reason="this system has no descriptors for folders")
def test_what_is_swapped_while_a_folder_is_open_does_not_matter(box):
    (box.root / "d").mkdir()
    place = Workspace(box.root).place(box.path("d", "a.txt"))
    with opened(place, ("d",)) as folder:
        (box.root / "d").rename(box.root / "moved")
        (box.root / "d").symlink_to(box.outside)
        folder.replace("a.txt", b"x")
    assert (box.root / "moved" / "a.txt").read_bytes() == b"x"
    assert [p.name for p in box.outside.iterdir()] == ["secret.txt"]


def test_without_descriptors_a_swap_in_the_middle_is_noticed(box, monkeypatch):
    (box.root / "a.txt").write_text("mine", encoding="utf-8")
    place = Workspace(box.root).place(box.path("a.txt"))
    real_open = os.open

    def swapping(path, flags, mode=0o777, **more):
        if str(path).endswith("a.txt"):
            (box.root / "a.txt").unlink()
            (box.root / "a.txt").symlink_to(box.outside / "secret.txt")
        return real_open(path, flags & ~getattr(os, "O_NOFOLLOW", 0), mode, **more)

    with opened(place, (), anchors=False) as folder:
        monkeypatch.setattr(os, "open", swapping)
        with pytest.raises(OSError, match="replaced"):
            folder.read("a.txt", limit=100)


@BOTH
def test_both_ways_do_the_same(box, anchors):
    place = Place(Path(os.path.realpath(box.root)), ("x", "y", "f"))
    with opened(place, ("x", "y"), create=True, anchors=anchors) as folder:
        assert isinstance(folder._calls, FdCalls if anchors else PathCalls)
        assert folder.replace("f", b"one") is True
        data, seen = folder.read("f", limit=3)
        assert data == b"one"
        assert folder.replace("f", b"two", expect=seen) is False
        with pytest.raises(Refusal, match="changed by somebody"):
            folder.replace("f", b"three", expect=seen)
        assert folder.entries() == [("f", False)]
    with opened(place, ("x",), anchors=anchors) as folder:
        assert folder.entries() == [("y", True)]
    assert (box.root / "x" / "y" / "f").read_bytes() == b"two"
    with pytest.raises(Refusal), opened(place, ("x", "no"), anchors=anchors):
        pass
    with pytest.raises(Refusal), opened(place, ("x", "y", "f"), anchors=anchors):
        pass


# --- the run's own files -------------------------------------------------------------------------


async def test_the_run_s_own_files_are_not_written(tmp_path):
    root = tmp_path / "ws"
    root.mkdir()
    guard = Guard(frozenset({root / "run.yaml"}), frozenset({root / "checkpoint.json"}))
    world = ToolWorld(root, guard=guard)
    (root / "run.yaml").write_text("tasks: []\n", encoding="utf-8")
    (root / "other").symlink_to("run.yaml")
    for name in (
        "run.yaml",
        "RUN.yaml",
        "other",
        "checkpoint.json",
        "checkpoint.json.lock",
        "checkpoint.json.origin.json",
        ".oma/t/r/checkpoint.json",
        "sub/.OMA/x",
    ):
        path = world.path(*name.split("/"))
        assert await world.refused("file_write", path=path, content="x") == "GUARDED", name
        edit = {"old_string": "tasks", "new_string": "x"}
        assert await world.refused("file_edit", path=path, **edit) == "GUARDED", name
    assert sorted(p.name for p in root.iterdir()) == ["other", "run.yaml"]
    assert await world.text("file_read", path=world.path("run.yaml")) == "1\ttasks: []"
    await world.text("file_write", path=world.path("runs.yaml"), content="x")
    world.close()


# --- any path whatever ---------------------------------------------------------------------------

STEP = st.one_of(
    st.sampled_from(["..", ".", "", "in", "out", "loop", "up", "a", "deep", "secret.txt", "ws"]),
    st.text(min_size=1, max_size=8),
)
ODD = settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture(scope="module")
def maze(tmp_path_factory):
    """A workspace full of links: inside, outside, up, in circles, to nowhere."""
    top = tmp_path_factory.mktemp("maze")
    root, outside = top / "ws", top / "outside"
    (root / "deep" / "er").mkdir(parents=True)
    outside.mkdir()
    (outside / "secret.txt").write_text("TREASURE", encoding="utf-8")
    for folder in (root, root / "deep", root / "deep" / "er"):
        (folder / "in").symlink_to(root / "deep")
        (folder / "out").symlink_to(outside)
        (folder / "up").symlink_to("..")
        (folder / "loop").symlink_to("loop")
        (folder / "a").symlink_to(outside / "absent" / "file")
    return root, outside


@ODD
@given(steps=st.lists(STEP, max_size=8), start=st.sampled_from(["", "/", "//", "rel"]))
@example(steps=["..", "ws", "up", "outside", "x"], start="")
@example(steps=["deep", "er", "up", "up", "up", "outside", "secret.txt"], start="")
@example(steps=["loop", "..", "..", "outside", "secret.txt"], start="")
def test_no_path_reads_or_writes_outside(maze, steps, start):
    root, outside = maze
    path = os.path.join({"": str(root)}.get(start, start), *[s.lstrip("/") for s in steps])  # noqa: PTH118
    workspace = Workspace(root)
    before = sorted((p.name, p.read_bytes()) for p in outside.iterdir())
    top = sorted(p.name for p in root.parent.iterdir())
    try:
        place = workspace.place(path)
    except Refusal:
        place = None
    if place is not None:
        assert place.path.is_relative_to(os.path.realpath(root))
        assert ".." not in place.steps
    for act in (
        lambda: write_file(workspace, path, "mark"),
        lambda: read_file(workspace, path),
    ):
        with suppress(Refusal):
            assert "TREASURE" not in act()
    assert sorted((p.name, p.read_bytes()) for p in outside.iterdir()) == before
    assert sorted(p.name for p in root.parent.iterdir()) == top


@ODD
@given(name=st.text(min_size=1, max_size=40))
def test_a_name_is_taken_as_it_is_or_refused(maze, name):
    root, _ = maze
    workspace = Workspace(root)
    try:
        write_file(workspace, f"{root}/names/{name}", name.replace("\ud800", ""))
    except Refusal:
        return
    place = workspace.place(f"{root}/names/{name}")
    assert place.path.is_file()
    assert not place.path.is_symlink()


def exchange(one, other):
    """Swap two names in one step (Linux)."""
    found = ctypes.CDLL(None, use_errno=True).renameat2(
        -100, os.fsencode(one), -100, os.fsencode(other), 2
    )
    assert found == 0, os.strerror(ctypes.get_errno())


@pytest.mark.skipif(sys.platform != "linux", reason="needs an exchange of names in one step")
def test_a_link_swapped_in_at_any_moment_never_leads_outside(box):
    """Another thread swaps a folder for a link all the time while files are written and read."""
    (box.root / "d").mkdir()
    (box.root / "link").symlink_to(box.outside)
    (box.root / "d" / "secret.txt").write_text("mine", encoding="utf-8")
    stop = threading.Event()

    def swap():
        n_swaps = 0
        while not stop.is_set():
            exchange(box.root / "d", box.root / "link")
            n_swaps += 1
        return n_swaps

    workspace = Workspace(box.root)
    caught_late = {"NOT_A_FOLDER", "LINK_REFUSED"}  # swapped between the checks and the opening
    ends = []
    with ThreadPoolExecutor(1) as other:
        swapping = other.submit(swap)
        try:
            while not (set(ends) >= {"done", "PATH_OUTSIDE"} and set(ends) & caught_late):
                try:
                    write_file(workspace, box.path("d", f"new{len(ends) % 5}"), "mark")
                    assert "secret" not in read_file(workspace, box.path("d", "secret.txt"))
                    ends.append("done")
                except Refusal as refusal:
                    ends.append(refusal.code)
                assert len(ends) < 100_000, "never swapped at the moment that matters"
        finally:
            stop.set()
        assert swapping.result()
    assert [p.name for p in box.outside.iterdir()] == ["secret.txt"]
    assert (box.outside / "secret.txt").read_text("utf-8") == "secret\n"
