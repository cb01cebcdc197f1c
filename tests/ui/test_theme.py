"""Colours by role: contrast of every pair, the same roles everywhere, no colour in view code."""

import csv
import re
from pathlib import Path

import pytest
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QLineEdit, QPushButton

from oma_desktop.ui import theme as themes

HERE = Path(__file__).parent
UI = HERE.parents[1] / "oma_desktop" / "ui"


def _pairs():
    with (HERE / "contrast.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def _luminance(value: str) -> float:
    channels = [int(value[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, two: str) -> float:
    light, dark = sorted((_luminance(one), _luminance(two)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_every_listed_pair_has_the_contrast_it_needs():
    tokens = themes.tokens()
    pairs = _pairs()
    assert len(pairs) == 732
    low = []
    for pair in pairs:
        colors = tokens[pair["theme"]]
        ratio = contrast(colors[pair["foreground"]], colors[pair["background"]])
        if ratio < float(pair["needed"]):
            low.append((pair, ratio))
    assert low == []


def test_every_role_exists_in_every_theme():
    light, dark, contrast_set = (set(themes.tokens()[k]) for k in ("light", "dark", "hc"))
    assert light == dark == contrast_set


def test_no_colour_is_written_in_view_code():
    # the two marks inside the state shapes are placeholders, not colours (look.md 5)
    allowed = {"#fefefe", "#020202"}
    found = [
        (file.name, text)
        for file in UI.rglob("*.py")
        for text in re.findall(r"#[0-9a-fA-F]{6}\b|#[0-9a-fA-F]{3}\b", file.read_text("utf-8"))
        if text not in allowed
    ]
    assert found == []
    assert not re.findall(
        r"#[0-9a-fA-F]{3,8}\b", (UI.parents[1] / "resources/themes/theme.qss").read_text()
    )


@pytest.mark.parametrize("scheme", themes.SCHEMES)
def test_the_style_sheet_has_no_place_left(scheme, tmp_path):
    sheet = themes.make_style_sheet(themes.make_theme(scheme), icons=tmp_path)
    assert not re.findall(r"\{[a-z0-9.]+\}", sheet)
    assert "font-" not in re.sub(r"/\*.*?\*/", "", sheet, flags=re.DOTALL)


def test_lengths_grow_with_the_text_scale_and_lines_do_not(tmp_path):
    sheet = themes.make_style_sheet(themes.make_theme("light", scale=2.0), icons=tmp_path)
    assert "border: 1px solid" in sheet
    assert "padding: 0 22px" in sheet
    assert themes.make_theme("light", scale=2.0).height("run") == 112


def test_unknown_roles_are_refused():
    with pytest.raises(KeyError):
        themes.make_theme("dark").color("state.sleeping")


def test_switching_repaints_the_application(host, qapp):
    seen = []
    host.theme_changed.connect(seen.append)
    host.set_scheme("dark")
    host.set_scheme("dark")
    host.theme_changed.disconnect(seen.append)
    assert [t.scheme for t in seen] == ["dark"]
    assert qapp.palette().color(QPalette.ColorRole.Window) == host.theme.color("window")
    assert host.theme.hex("surface") in qapp.styleSheet()


def test_high_contrast_has_wider_rings_and_black_tints(host):
    host.set_scheme("contrast")
    look = themes.theme()
    assert look.focus_width == 3
    assert {look.hex(r) for r in look.roles if r.endswith(".tint") and r.startswith("state.")} == {
        "#000000"
    }


@pytest.mark.parametrize(
    ("density", "button", "field"), [("compact", 24, 24), ("normal", 28, 26), ("roomy", 36, 34)]
)
def test_controls_have_the_heights_of_their_density(host, qtbot, density, button, field):
    host.set_density(density)
    push, line = QPushButton("Go"), QLineEdit()
    qtbot.addWidget(push)
    qtbot.addWidget(line)
    assert push.sizeHint().height() == button
    assert line.sizeHint().height() == field


def test_the_scale_is_held_between_one_and_two(host):
    host.set_scale(5.0)
    assert themes.theme().scale == 2.0
    assert themes.theme().font("body").pixelSize() == 26
    host.set_scale(0.2)
    assert themes.theme().scale == 1.0


def test_the_marks_of_a_scheme_are_written_once(host):
    host.set_scheme("dark")
    folder = Path(host._icons.path()) / "dark"
    before = {p.name: p.stat().st_mtime_ns for p in folder.iterdir()}
    assert before
    host.set_scale(1.5)
    assert {p.name: p.stat().st_mtime_ns for p in folder.iterdir()} == before
