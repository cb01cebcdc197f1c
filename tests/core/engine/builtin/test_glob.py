"""glob: by pattern, in one order, with one limit (engine.md 9.1, 9.2)."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oma_desktop.engine.tools.builtin.glob_pattern import GlobPattern, name_fits
from oma_desktop.engine.tools.builtin.refusal import Refusal
from oma_desktop.engine.tools.builtin.walk import SKIPPED, Walk
from oma_desktop.engine.tools.builtin.workspace import Workspace


def plant(root, *names):
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x", encoding="utf-8")


@pytest.mark.parametrize(
    ("pattern", "fits", "not_"),
    [
        ("*.py", ["a.py", "d/a.PY", "d/e/b.py"], ["a.pyc", "py", "a.py/b"]),
        ("**/*.py", ["a.py", "d/e/b.py"], ["a.txt"]),
        ("d/*.py", ["d/a.py", "D/a.py"], ["a.py", "d/e/a.py", "x/d/a.py"]),
        ("d/**/a.py", ["d/a.py", "d/e/f/a.py"], ["a.py", "e/a.py"]),
        ("d/**", ["d/a", "d/e/f"], ["a"]),
        ("**", ["a", "a/b"], []),
        ("?.t", ["a.t", "é.t"], ["ab.t", ".t"]),
        ("*.{py,ts{,x}}", ["a.py", "a.ts", "a.tsx"], ["a.js", "a."]),
        ("./a", ["a"], ["b/a"]),
        ("[a].py", ["[a].py"], ["a.py"]),
        ("a{b", ["a{b"], ["ab"]),
        ("*a*b*c*", ["xaxbxc", "abc"], ["acb"]),
        ("STRASSE", ["straße", "Strasse"], []),
    ],
)
def test_patterns(pattern, fits, not_):
    wanted = GlobPattern(pattern)
    for path in fits:
        assert wanted.fits(path.split("/")), path
    for path in not_:
        assert not wanted.fits(path.split("/")), path


def test_unusable_patterns_are_refused():
    for pattern in ("", "/", "{a,b}" * 7):
        with pytest.raises(Refusal):
            GlobPattern(pattern)


def test_no_pattern_takes_for_ever():
    started = time.process_time()
    assert not GlobPattern("*a" * 200 + "b").fits(["a" * 250])
    assert not GlobPattern("**/" * 60 + "x").fits(["a"] * 300)
    assert time.process_time() - started < 2


@given(st.text("ab*?", max_size=8), st.text("ab", max_size=8))
def test_names_fit_like_the_expression(pattern, name):
    expression = "".join({"*": ".*", "?": "."}.get(c, c) for c in pattern)
    assert name_fits(pattern, name) == bool(re.fullmatch(expression, name))


async def test_files_are_listed_sorted_from_the_workspace_on(box):
    plant(box.root, "b.txt", "a/z.txt", "a/b/c.txt", "a.txt", "B.txt", "a/.hidden.txt", "x.md")
    listed = "B.txt\na/.hidden.txt\na/b/c.txt\na/z.txt\na.txt\nb.txt"
    assert await box.text("glob", pattern="*.txt") == listed
    assert await box.text("glob", pattern="*.txt", path=box.path("a", "b")) == "a/b/c.txt"
    assert await box.text("glob", pattern="b/*", path=box.path("a")) == "a/b/c.txt"
    assert await box.text("glob", pattern="*.no") == 'No file fits "*.no".'


async def test_the_limit_is_told_and_takes_the_first(box):
    plant(box.root, *(f"{n:03}.txt" for n in range(12)))
    text = await box.text("glob", pattern="*", maxFiles=3)
    assert text == "000.txt\n001.txt\n002.txt\n(Only the first 3 are listed; there are more.)"
    assert "more" not in await box.text("glob", pattern="*", maxFiles=12)


async def test_links_and_folders_of_tools_are_left_out(box):
    plant(box.root, "a", *(f"{name}/a" for name in SKIPPED), "src/node_modules/a", "lib/build.txt")
    (box.root / "link").symlink_to(box.outside)
    (box.root / "file").symlink_to("a")
    (box.root / "up").symlink_to("..")
    assert await box.text("glob", pattern="**") == "a\nlib/build.txt"
    assert ".git/a" in await box.text("glob", pattern="*", path=box.path(".git")), "named itself"


async def test_names_nobody_could_read_are_spelled_out(box):
    plant(box.root, "a\nb", "c\u202ed")
    assert await box.text("glob", pattern="*") == r"a\nb" + "\n" + r"c\u202ed"


async def test_a_file_is_no_folder(box):
    plant(box.root, "a")
    assert await box.refused("glob", pattern="*", path=box.path("a")) == "NOT_A_FOLDER"
    assert await box.refused("glob", pattern="*", path=box.path("none")) == "NOT_FOUND"


@pytest.mark.parametrize("anchors", [True, False])
def test_a_walk_ends_at_its_limit_and_says_so(box, anchors):
    plant(box.root, *(f"d{n}/a" for n in range(6)))
    walk = Walk(Workspace(box.root).place(str(box.root)), max_entries=8, anchors=anchors)
    assert list(walk.files()) == [("d0", "a"), ("d1", "a")]
    assert walk.cut
    assert walk.notes == ["(Stopped after 8 entries; name a smaller folder.)"]


def test_a_folder_swapped_for_a_link_is_not_entered(box):
    plant(box.root, "a/x", "b/x", "c/x")
    walk = Walk(Workspace(box.root).place(str(box.root)))
    files = walk.files()
    assert next(files) == ("a", "x")
    (box.root / "b" / "x").unlink()
    (box.root / "b").rmdir()
    (box.root / "b").symlink_to(box.outside)
    assert list(files) == [("c", "x")]
    assert walk.notes == ["(1 folders could not be opened.)"]


async def test_an_answer_has_an_end_whatever_is_asked_for(box):
    plant(box.root, *(f"{n:04}{'x' * 200}" for n in range(600)))
    text = await box.text("glob", pattern="*", maxFiles=10_000)
    assert len(text) < 101_000
    n_listed = text.count("\n")
    assert text.endswith(f"(Only the first {n_listed} are listed; there are more.)")
    assert 400 < n_listed < 600
