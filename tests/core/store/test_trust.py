"""Trusted folders: one list, exact paths, a damaged list trusts nothing."""

import json
import stat
import sys

import pytest

from oma_desktop.model.errors import WriteFailed
from oma_desktop.store.trust import TrustedFolders


def test_a_yes_counts_for_the_very_folder(tmp_path):
    folders = TrustedFolders(tmp_path / "home" / "list.json")
    project = tmp_path / "project"
    (project / "below").mkdir(parents=True)
    assert not folders.trusts(project)
    folders.trust(project)
    folders.trust(project)
    assert folders.trusts(project)
    assert not folders.trusts(project / "below")
    assert not folders.trusts(tmp_path)
    assert json.loads(folders.path.read_text("utf-8"))["folders"] == [str(project.resolve())]


def test_a_link_and_its_target_are_one_folder(tmp_path):
    project, link = tmp_path / "project", tmp_path / "link"
    project.mkdir()
    link.symlink_to(project)
    folders = TrustedFolders(tmp_path / "list.json")
    folders.trust(link)
    assert folders.trusts(project)
    other = tmp_path / "other"
    other.mkdir()
    link.unlink()
    link.symlink_to(other)
    assert not folders.trusts(link)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"folders": 3}', '{"folders": [3, null]}', "[" * 100_000]
)
def test_a_damaged_list_trusts_nothing_and_is_made_anew(tmp_path, text):
    path = tmp_path / "list.json"
    path.write_text(text, "utf-8")
    folders = TrustedFolders(path)
    assert not folders.trusts(tmp_path)
    folders.trust(tmp_path)
    assert folders.trusts(tmp_path)


@pytest.mark.skipif(sys.platform == "win32", reason="permissions of POSIX")
def test_only_the_owner_reads_the_list(tmp_path):
    folders = TrustedFolders(tmp_path / "list.json")
    folders.trust(tmp_path)
    assert stat.S_IMODE(folders.path.stat().st_mode) == 0o600
    assert [p.name for p in tmp_path.iterdir()] == ["list.json"]


def test_a_list_that_cannot_be_written_says_so(tmp_path):
    (tmp_path / "home").write_text("a file", "utf-8")
    with pytest.raises((WriteFailed, OSError)):
        TrustedFolders(tmp_path / "home" / "list.json").trust(tmp_path)
