"""file_read, file_write, file_edit (engine.md 9.2, DEV-25)."""

from __future__ import annotations

import asyncio
import codecs
import os
import stat
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oma_desktop.engine.tools.builtin import file_read, text_file
from oma_desktop.engine.tools.builtin.file_edit import edit_file, replaced
from oma_desktop.engine.tools.builtin.refusal import Refusal, of_os_error, quoted
from oma_desktop.engine.tools.builtin.text_file import count_lines, lines_of
from oma_desktop.engine.tools.builtin.workspace import Workspace


def put(box, name, data):
    path = box.root / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return str(path)


# --- reading -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "arguments", "expected"),
    [
        ("a\nb\n", {}, "1\ta\n2\tb"),
        ("a\nb", {}, "1\ta\n2\tb"),
        ("a\r\nb\r\n", {}, "1\ta\n2\tb"),
        ("a\n\n", {}, "1\ta\n2\t"),
        ("a\nb\nc\n", {"offset": 2}, "2\tb\n3\tc\n(Lines 2 to 3 of 3.)"),
        ("a\nb\nc\n", {"limit": 1}, "1\ta\n(Lines 1 to 1 of 3.)"),
        ("a\nb\nc\n", {"offset": 2, "limit": 9}, "2\tb\n3\tc\n(Lines 2 to 3 of 3.)"),
        ("", {}, "(The file is empty.)"),
        ("a\u2028b\x85c\x0cd\n", {}, "1\ta\u2028b\x85c\x0cd"),
        (codecs.BOM_UTF8 + b"a\n", {}, "1\ta"),
        (codecs.BOM_UTF16_LE + "é\n".encode("utf-16-le"), {}, "1\té"),
        (codecs.BOM_UTF16_BE + "é\n".encode("utf-16-be"), {}, "1\té"),
        (codecs.BOM_UTF32_LE + "é\n".encode("utf-32-le"), {}, "1\té"),
    ],
)
async def test_lines_are_numbered(box, data, arguments, expected):
    path = put(box, "f", data)
    assert await box.text("file_read", path=path, **arguments) == expected


async def test_what_cannot_be_read_says_why(box, monkeypatch):
    path = put(box, "f", "a\n")
    assert await box.refused("file_read", path=path, offset=2) == "OFFSET_PAST_END"
    assert await box.refused("file_read", path=put(box, "e", ""), offset=2) == "OFFSET_PAST_END"
    assert await box.refused("file_read", path=box.path("none")) == "NOT_FOUND"
    assert await box.refused("file_read", path=box.path("f", "g")) == "NOT_A_FOLDER"
    assert await box.refused("file_read", path=put(box, "b", b"a\0b")) == "BINARY_FILE"
    assert await box.refused("file_read", path=box.path("n" * 300)) == "PATH_INVALID"
    monkeypatch.setattr(file_read, "MAX_BYTES", 10)
    path = put(box, "big", "x" * 11)
    with pytest.raises(Refusal, match="11 bytes, the limit is 10"):
        await box.call("file_read", path=path)
    await box.text("file_read", path=put(box, "fits", "x" * 10))


async def test_bytes_that_are_no_text_are_shown_replaced_and_never_edited(box):
    path = put(box, "f", b"caf\xe9\n")
    text = await box.text("file_read", path=path)
    assert text.startswith("1\tcaf\ufffd\n(Some bytes are not text")
    edit = {"old_string": "caf", "new_string": "x"}
    assert await box.refused("file_edit", path=path, **edit) == "NOT_TEXT"
    assert (box.root / "f").read_bytes() == b"caf\xe9\n"


async def test_long_files_come_in_parts_that_join(box):
    lines = [f"line {n} " + "x" * 90 for n in range(5000)]
    path = put(box, "f", "\n".join(lines))
    found, offset = [], 1
    while offset <= len(lines):
        text = await box.text("file_read", path=path, offset=offset)
        assert len(text) <= file_read.MAX_CHARS
        shown, note = text.rsplit("\n", 1)
        assert note.endswith(" of 5000.)")
        found += [line.split("\t", 1)[1] for line in shown.split("\n")]
        offset = len(found) + 1
    assert found == lines


async def test_a_giant_line_is_cut_and_its_length_told(box):
    path = put(box, "f", "x" * 50_000 + "\nend\n")
    text = await box.text("file_read", path=path)
    assert "[... 50000 characters in this line]" in text
    assert text.endswith("2\tend")


# --- writing -------------------------------------------------------------------------------------


async def test_a_file_is_written_exactly_and_reported(box):
    path = box.path("new", "folder", "f.txt")
    content = "a\r\nb\n\u4e2d\U0001f600"
    told = await box.text("file_write", path=path, content=content)
    assert told == f'Created "{path}": 3 lines, {len(content.encode())} bytes.'
    told = await box.text("file_write", path=path, content="")
    assert told == f'Updated "{path}": 0 lines, 0 bytes.'
    await box.text("file_write", path=path, content=content)
    assert (box.root / "new" / "folder" / "f.txt").read_bytes() == content.encode()
    assert os.listdir(box.root / "new" / "folder") == ["f.txt"], "no temporary file is left"  # noqa: PTH208


async def test_half_a_character_is_refused_and_the_old_file_stays(box):
    path = put(box, "f", "old")
    assert await box.refused("file_write", path=path, content="a\ud800") == "TEXT_INVALID"
    assert (box.root / "f").read_text("utf-8") == "old"


@pytest.mark.skipif(sys.platform == "win32", reason="no such permissions there")
async def test_permissions_stay_and_links_beside_are_not_touched(box):
    path = put(box, "f", "old")
    (box.root / "f").chmod(0o750)
    os.link(path, box.outside / "hard")
    await box.text("file_write", path=path, content="new")
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o750  # noqa: PTH116
    await box.text("file_edit", path=path, old_string="new", new_string="newer")
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o750  # noqa: PTH116
    assert (box.outside / "hard").read_text("utf-8") == "old", "a second name keeps the old bytes"


@pytest.mark.skipif(sys.platform == "win32", reason="umask")
async def test_a_new_file_has_the_usual_permissions(box):
    before = os.umask(0o027)
    try:
        await box.text("file_write", path=box.path("f"), content="x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((box.root / "f").stat().st_mode) == 0o640


@pytest.mark.parametrize("step", ["fsync", "rename"])
async def test_a_write_that_fails_leaves_the_old_file(box, monkeypatch, step):
    path = put(box, "f", "old")

    def full(*_args, **_more):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, step, full)
    assert await box.refused("file_write", path=path, content="new") == "NO_SPACE"
    monkeypatch.undo()
    assert (box.root / "f").read_text("utf-8") == "old"
    assert [p.name for p in box.root.iterdir()] == ["f"]


# --- editing -------------------------------------------------------------------------------------


@pytest.mark.parametrize("new", ["$&", "$$", "$1", r"\1", r"\g<0>", r"\n", "%s{}", "x\\"])
async def test_dev_25_the_replacement_is_literal(box, new):
    path = put(box, "f", "one two three")
    told = await box.text("file_edit", path=path, old_string="two", new_string=new)
    assert told == f'Edited "{path}" in 1 place.'
    assert (box.root / "f").read_text("utf-8") == f"one {new} three"


@pytest.mark.parametrize("old", [".", "a.c", "(", "[x]", "^a", "*", "a|b", "\\d", "$", " "])
async def test_dev_25_the_old_text_is_literal(box, old):
    path = put(box, "f", f"<{old}> abc 7")
    if old == " ":
        assert await box.refused("file_edit", path=path, old_string=old, new_string="X")
        return
    await box.text("file_edit", path=path, old_string=old, new_string="X")
    assert (box.root / "f").read_text("utf-8") == "<X> abc 7"


@pytest.mark.parametrize(
    ("text", "old", "code"),
    [
        ("abc", "x", "TEXT_NOT_FOUND"),
        ("abc", "", "TEXT_NOT_FOUND"),
        ("", "", "TEXT_NOT_FOUND"),
        ("aXbXc", "X", "TEXT_AMBIGUOUS"),
        ("aaa", "aa", "TEXT_AMBIGUOUS"),
        ("abab\r\nab", "ab", "TEXT_AMBIGUOUS"),
        ("a\r\nb\r\nc", "\n", "TEXT_AMBIGUOUS"),
    ],
)
async def test_one_place_and_one_only(box, text, old, code):
    path = put(box, "f", text)
    assert await box.refused("file_edit", path=path, old_string=old, new_string="y") == code
    assert (box.root / "f").read_bytes() == text.encode()


async def test_all_places_when_asked(box):
    path = put(box, "f", "aaaa b aa")
    told = await box.text("file_edit", path=path, old_string="aa", new_string="a", replace_all=True)
    assert told == f'Edited "{path}" in 3 places.'
    assert (box.root / "f").read_text("utf-8") == "aa b a"
    edit = {"old_string": "zz", "new_string": "a", "replace_all": True}
    assert await box.refused("file_edit", path=path, **edit) == "TEXT_NOT_FOUND"


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        (b"a\r\nb\r\nc\r\n", "a\nb", "x\ny\nz", b"x\r\ny\r\nz\r\nc\r\n"),
        (b"a\r\nb\r\n", "a\r\nb", "x\r\ny", b"x\r\ny\r\n"),
        (b"a\r\nb\r\n", "\nb", "\nc", b"a\r\nc\r\n"),
        (b"a\nb\n", "a\nb", "x\r\ny", b"x\r\ny\n"),
        (b"a\r\nb\nc", "b\nc", "x\ny", b"a\r\nx\ny"),
        (b"a\r\nb\nc", "a\nb", "x", b"x\nc"),
        (codecs.BOM_UTF8 + b"a b", "a", "x", codecs.BOM_UTF8 + b"x b"),
        (
            codecs.BOM_UTF16_LE + "a é\r\n".encode("utf-16-le"),
            "é",
            "è\nz",
            codecs.BOM_UTF16_LE + "a è\r\nz\r\n".encode("utf-16-le"),
        ),
        ("a\u2028b c".encode(), "b", "x", "a\u2028x c".encode()),
    ],
)
async def test_line_ends_mark_and_encoding_stay(box, before, old, new, after):
    path = put(box, "f", before)
    await box.text("file_edit", path=path, old_string=old, new_string=new)
    assert (box.root / "f").read_bytes() == after


async def test_edits_at_the_same_time_all_count(box):
    path = put(box, "f", " ".join(f"<{n}>" for n in range(12)))
    edits = (
        box.text("file_edit", path=path, old_string=f"<{n}>", new_string=f"[{n}]")
        for n in range(12)
    )
    await asyncio.gather(*edits)
    assert (box.root / "f").read_text("utf-8") == " ".join(f"[{n}]" for n in range(12))


def test_a_change_by_somebody_else_is_not_overwritten(box, monkeypatch):
    path = put(box, "f", "a")
    real = os.fsync

    def meddling(fd):
        (box.root / "f").write_text("theirs", encoding="utf-8")
        return real(fd)

    monkeypatch.setattr(os, "fsync", meddling)
    with pytest.raises(Refusal, match="changed by somebody else"):
        edit_file(Workspace(box.root), path, "a", "b")
    assert (box.root / "f").read_text("utf-8") == "theirs"


@given(
    before=st.text("ab\n", max_size=12),
    old=st.text("ab\n", min_size=1, max_size=3),
    new=st.text("ab\\$\n", max_size=3),
)
def test_an_edit_is_what_str_replace_does(before, old, new):
    for text, ends in (before, "\n"), (before.replace("\n", "\r\n"), "\r\n"):
        try:
            found, n_places = replaced(text, old, new, replace_all=True)
        except Refusal:
            assert old not in before
        else:
            assert found == before.replace(old, new).replace("\n", ends if "\n" in before else "\n")
            assert n_places == before.count(old)
        alone = sum(before.startswith(old, at) for at in range(len(before))) == 1
        try:
            replaced(text, old, new, replace_all=False)
        except Refusal:
            assert not alone
        else:
            assert alone


@given(st.text("a\r\n\u2028"))
def test_lines_join_to_the_text(text):
    parts = text.split("\n")
    expected = [part.removesuffix("\r") for part in (parts if parts[-1] else parts[:-1])]
    assert list(lines_of(text)) == expected
    assert count_lines(text) == len(expected)


@given(st.text("ab\u00e9\u4e2d\r\n\u2028", max_size=30), st.sampled_from(text_file._MARKS))
def test_every_encoding_comes_back_as_it_was(text, kind):
    mark, encoding = kind
    data = mark + text.encode(encoding)
    found = text_file.decode(data, name="f")
    assert (found.text, found.exact) == (text, True)
    assert found.encode(found.text) == data


# --- what refusals say ---------------------------------------------------------------------------


def test_refusals_are_one_line_whatever_the_name():
    assert quoted("a\nb\x1b[2J\u202e") == r'"a\nb\x1b[2J\u202e"'
    assert quoted(os.fsdecode(b"\xff")) == r'"\xff"'
    assert quoted("\ud800x") == r'"\ud800x"'
    assert len(quoted("x" * 10_000)) < 300
    assert of_os_error(OSError(5, "Input/output error"), "f").code == "IO_ERROR"
    assert of_os_error(OSError(13, "no"), "f").code == "NO_PERMISSION"
