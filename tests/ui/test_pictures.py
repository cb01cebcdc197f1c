"""State shapes, icons and type: every name has a picture in every theme, tinted by role."""

import importlib.resources
import re

import pytest
from PySide6.QtGui import QFontMetricsF

from oma_desktop.model.view import CallState, RunState, TaskState
from oma_desktop.ui import fonts, icons, states
from oma_desktop.ui.theme import make_theme, theme


def test_every_state_has_a_shape_and_every_shape_a_file():
    named = {s.value for kind in (TaskState, RunState, CallState) for s in kind}
    assert named <= set(states.SHAPES)
    folder = importlib.resources.files("resources") / "icons" / "states"
    files = {f.name for f in folder.iterdir()}
    assert files == {f"{n}-{s}.svg" for n in states.SHAPES for s in (12, 16, 20)}


@pytest.mark.parametrize("name", states.SHAPES)
def test_roles_of_states_exist(name):
    roles = make_theme("light").roles
    for role in (states.shape_role, states.text_role, states.tint_role, states.edge_role):
        assert role(name) in roles


def _has_ink(pixmap):
    image = pixmap.toImage()
    return any(
        image.pixelColor(x, y).alpha() > 128
        for x in range(image.width())
        for y in range(image.height())
    )


@pytest.mark.parametrize("scheme", ["light", "dark", "contrast"])
def test_shapes_are_drawn_sharp_and_in_colour(host, scheme):
    host.set_scheme(scheme)
    for name in states.SHAPES:
        for size in (12, 16, 20):
            pixmap = icons.state_pixmap(name, size, dpr=2.0)
            assert pixmap.width() == 2 * size
            assert pixmap.deviceIndependentSize().width() == size
            assert _has_ink(pixmap), name
    middle = icons.state_pixmap("running", 16, dpr=4.0).toImage().pixelColor(28, 32)
    assert middle == theme().color("state.running")


def test_shapes_follow_the_theme(host):
    light = icons.state_pixmap("done", 16).toImage()
    host.set_scheme("dark")
    assert icons.state_pixmap("done", 16).toImage() != light


def test_an_unknown_shape_is_refused(host):
    with pytest.raises(KeyError):
        icons.state_pixmap("sleeping", 16)


def test_every_meaning_has_an_icon(host):
    for meaning in icons.ICONS:
        assert _has_ink(icons.icon_pixmap(meaning, 16)), meaning
    assert not icons.app_icon().isNull()


def test_placeholders_are_all_replaced():
    folder = importlib.resources.files("resources") / "icons" / "states"
    for file in folder.iterdir():
        rest = re.sub("currentColor|#fefefe|#020202|none", "", file.read_text())
        assert not re.findall(r'(?:fill|stroke)="[^"]+"', rest), file.name


def test_weights_really_differ(host):
    assert {"Inter", "JetBrains Mono"} <= set(fonts.load())
    plain, strong = fonts.make_font("body"), fonts.make_font("strong")
    text = "Supplier letters"
    assert QFontMetricsF(strong).horizontalAdvance(text) > QFontMetricsF(plain).horizontalAdvance(
        text
    )


def test_figures_in_number_cells_have_one_width(host):
    font = fonts.tabular(fonts.make_font("caption"))
    wide, thin = (QFontMetricsF(font).horizontalAdvance(t) for t in ("0000", "1111"))
    assert wide == thin


def test_an_input_shows_every_character(host):
    metrics = QFontMetricsF(fonts.make_font("mono"))
    assert metrics.horizontalAdvance("!=") == pytest.approx(2 * metrics.horizontalAdvance("="))
