"""Hidden and deceiving characters become codes, ordinary text is left alone (ux.md C7)."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oma_desktop.model.visible_json import NumberText, VisibleText, draw, exact_content
from oma_desktop.model.visible_pages import PART, pages, sheet
from oma_desktop.model.visible_text import MarkKind, marks, reveal


def kinds(text: str) -> list[str]:
    return [mark.kind.value for _, mark in sorted(marks(text).items())]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("acme\u200bcorp", ["invisible"]),
        ("soft\u00adhyphen", ["invisible"]),
        ("tag\U000e0041", ["invisible"]),
        ("vs\ufe0f", ["invisible"]),
        ("filler\u3164", ["invisible"]),
        ("a\u202eb\u202c", ["bidi", "bidi"]),
        ("lrm\u200e", ["bidi"]),
        ("esc\x1b[2K", ["control"]),
        ("c1\x85", ["control"]),
        ("ls\u2028", ["control"]),
        ("nbsp\u00a0x", ["space"]),
        ("wide\u3000x", ["space"]),
        ("half\ud800", ["surrogate"]),
        ("private\ue000", ["no_glyph"]),
        ("p\u0430ypal", ["look_alike"]),
        ("\u0440\u0430\u0443", ["look_alike"] * 3),
        ("\uff50aypal", ["look_alike"]),
        ("evil\u2215example", ["look_alike"]),
        ("rm \uff0drf", ["look_alike"]),
    ],
)
def test_marked(text: str, expected: list[str]) -> None:
    assert kinds(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "plain ASCII, with <tags> and \\ backslashes",
        "第三季度交货日期：12，好。（ＡＢＣ）",
        "Это обычный русский текст, сор и рама",
        "Αυτό είναι κείμενο",
        "naïve café, 25 m², 10 µm, ½, Straße",
        "日本語のテキスト 한국어",
        "emoji 🙂 and € signs “quoted”",
    ],
)
def test_ordinary_text_is_not_marked(text: str) -> None:
    assert kinds(text) == []


def test_a_chip_names_the_code_and_the_look() -> None:
    assert [p.text for p in reveal("p\u0430y\u200b")] == ["p", "<\u0430 U+0430>", "y", "<U+200B>"]
    mark = marks("p\u0430y")[1]
    assert (mark.kind, mark.looks_like) == (MarkKind.LOOK_ALIKE, "a")


def test_text_that_reads_like_a_chip_is_told_apart() -> None:
    assert reveal("<U+200B>")[0].text == "\\u003cU+200B>"


_CHIP = re.compile(r"<(?:. )?U\+([0-9A-F]{4,6})(?: x(\d+))?>", re.DOTALL)


def undraw(drawn: VisibleText) -> str:
    """Turn the drawing back into JSON text, by the rules the docstring promises."""
    text = ""
    for line in drawn.lines:
        assert line.text.startswith(" " * line.hang)
        text += line.text[line.hang :]
    return _CHIP.sub(lambda m: json.dumps(chr(int(m[1], 16)))[1:-1] * int(m[2] or 1), text)


any_text = st.text(
    st.one_of(
        st.characters(exclude_categories=["Cs"]),
        st.sampled_from('\n\n\n\r\t\\"<>U+200B \u200b\u202e\u0430\u043eaop\x00\x1b\ue000'),
    ),
    max_size=40,
)
any_text = any_text | st.lists(any_text | st.just(" " * 41), max_size=4).map("".join)
any_json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | any_text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(any_text, inner, max_size=4),
    max_leaves=12,
)


@given(any_json)
def test_drawing_is_injective(value: object) -> None:
    again = json.loads(undraw(draw(value)))  # type: ignore[arg-type]
    assert again == value
    assert json.dumps(again) == json.dumps(value), "key order and number form survive"


@given(st.lists(st.sampled_from("<U+20B>\ud800 \u0430ax4"), max_size=12).map("".join))
def test_nothing_but_a_chip_looks_like_one(value: str) -> None:
    assert json.loads(undraw(draw(value))) == value


def test_a_row_of_blanks_is_counted_because_no_viewer_wraps_it() -> None:
    drawn = draw({"command": "ls" + " " * 5000 + "; rm -rf data", "indent": " " * 39})
    assert drawn.lines[1].text == '  "command": "ls<U+0020 x5000>; rm -rf data",'
    assert drawn.n_marks == 1
    assert json.loads(undraw(drawn))["command"].count(" ") == 5003


def test_a_long_tail_after_blank_lines_is_pointed_out() -> None:
    drawn = draw({"command": "echo hi" + "\n" * 41 + "rm -rf data"})
    runs = [(i, line.blank_run) for i, line in enumerate(drawn.lines) if line.blank_run]
    assert runs == [(2, 40)]
    assert drawn.lines[42].text.strip() == 'rm -rf data"'
    assert len(drawn.lines) == 44


def test_looks_like_the_file() -> None:
    value = {"to": "a\u200bb", "n": [1, 2], "deep": {"x": None}, "empty": {}, "none": []}
    assert [line.text for line in draw(value).lines] == [
        "{",
        '  "to": "a<U+200B>b",',
        '  "n": [1, 2],',
        '  "deep": {',
        '    "x": null',
        "  },",
        '  "empty": {},',
        '  "none": []',
        "}",
    ]
    assert draw(value).n_marks == 1


def test_counts_are_those_of_the_compact_text() -> None:
    drawn = draw({"a": "é"})
    assert (drawn.n_chars, drawn.n_bytes) == (9, 10)


def test_digits_of_the_file_are_kept() -> None:
    row = '{"version":1,"request":{"content":{"amount":1840.00,"big":12345678901234567890}}}'
    content = json.loads(row)["request"]["content"]
    drawn = draw(exact_content(row, content))
    assert drawn.lines[1].text == '  "amount": 1840.00,'
    assert drawn.lines[2].text == '  "big": 12345678901234567890'
    assert isinstance(exact_content(row, content)["amount"], NumberText)


@pytest.mark.parametrize("row", [None, "not json", "{}", '{"request":{"content":{"a":2}}}', "[]"])
def test_without_a_fitting_row_the_content_itself_is_drawn(row: str | None) -> None:
    content = {"a": 1}
    assert exact_content(row, content) is content


def test_a_megabyte_is_drawn_whole() -> None:
    value = {"script": "echo 你好 x\n" * 100_000}
    drawn = draw(value)
    assert len(drawn.lines) == 100_003
    assert drawn.n_bytes > 1_000_000


@given(any_json, st.integers(12, 60))
def test_pages_hold_everything_once_and_in_order(value: object, limit: int) -> None:
    lines = draw(value).lines  # type: ignore[arg-type]
    cut = pages(lines, limit)
    again: dict[int, str] = {}
    for part in (part for page in cut for part in page):
        assert (part.number in again) == part.goes_on
        again[part.number] = again.get(part.number, "") + part.line.text
    assert [again[i + 1] for i in range(len(lines))] == [line.text for line in lines]
    for page in cut:
        assert sum(len(p.line.text) for p in page) <= limit or len(page) == 1


def test_a_long_line_goes_on_in_parts_cut_at_a_blank() -> None:
    made = sheet("word " * 4000)
    (page,) = made.pages
    assert all(len(part.line.text) <= PART for part in page)
    assert [part.goes_on for part in page] == [False, *[True] * (len(page) - 1)]
    assert all(part.line.text.endswith("word ") for part in page[:-1])
    assert {part.number for part in page} == {1}


def test_a_sheet_counts_what_it_points_out() -> None:
    made = sheet({"to": "a\u200bb\u202ec"})
    assert made.n_marks == made.text.n_marks == 2
