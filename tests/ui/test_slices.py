"""Nothing holds the window above 50 ms (product.md 3.3): big requests and long conversations."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QObject

from oma_desktop.app.loop import StallGuard
from oma_desktop.ui import icons
from oma_desktop.ui.conversation_page import paragraphs
from oma_desktop.ui.slices import SLICE, Slices
from oma_desktop.viewmodel.conversation import WINDOW
from oma_desktop.viewmodel.offload import is_small
from oma_desktop.viewmodel.review import Bar
from tests.bench.bench_conversation import open_conversation, said
from tests.bench.bench_review import CONTENTS, open_review
from tests.bench.turns import Turns

pytestmark = [
    pytest.mark.usefixtures("host"),
    pytest.mark.qt_log_ignore("This plugin does not support"),  # offscreen
]

CPU_S = 0.05
MARGIN = 1.5
"""Machines of a check differ; what is guarded against is three to ten times as much."""


@pytest.fixture
def turns():
    # fonts and icons are loaded once, with the main window
    icons.icon_pixmap("map", size=16, role="text", dpr=1.0)
    open_review({"to": "x"}, Turns(StallGuard(wall_s=10.0, cpu_s=10.0))).close()
    return Turns(StallGuard(wall_s=10.0, cpu_s=CPU_S * MARGIN))


@pytest.mark.parametrize(
    "name", ["64 KB, one line", "64 KB, short lines", "64 KB, hidden characters", "200 KB, keys"]
)
def test_a_big_request_is_written_in_short_turns(turns, qtbot, name):
    open_review(CONTENTS[name], turns).close()
    assert turns.guard.stalls == []
    assert turns.n > 10, "it was written in slices"


@pytest.mark.parametrize("n", [500, 10_000])
def test_a_long_conversation_is_written_in_short_turns(turns, qtbot, n):
    view = open_conversation(said(n, "hello there " * 60), turns)
    qtbot.addWidget(view)
    assert turns.guard.stalls == []
    shown = view.page.toPlainText()
    assert abs(shown.count("render_letter") - min(n, WINDOW) // 3) <= 1
    assert ("show 500 earlier messages" in shown) == (n > WINDOW)


def test_a_page_that_is_not_written_to_its_end_was_not_shown(turns, qtbot):
    """Arming waits for the last slice, however much was on screen before."""
    window = open_review("ab\n" * 3_000, turns)
    view = window.body.text
    view._go(0)
    assert not view.text.is_filled
    first = view.text.toPlainText()
    view.text._shown.add(0, 10**9)
    view._on_seen()
    assert not view.text.whole_was_shown
    assert not view.whole_was_shown
    assert window.model.review.bar("approve", window.model.now) is Bar.NOT_SHOWN
    turns.until(lambda: view.text.is_filled, "fill")
    assert view.text.toPlainText().startswith(first)
    assert len(view.text.toPlainText()) > len(first)
    window.close()


def test_a_newer_work_replaces_the_older_one(qtbot):
    owner, done = QObject(), []
    slices = Slices(owner)

    def work(name):
        for i in range(4):
            done.append((name, i))
            yield SLICE

    slices.start(work("old"))
    slices.start(work("new"))
    qtbot.waitUntil(lambda: not slices.running)
    assert done == [("old", 0), ("new", 0), ("new", 1), ("new", 2), ("new", 3)]


@given(st.text(alphabet="ab\n", max_size=200), st.integers(0, 3))
def test_paragraphs_lose_nothing(text, n_long):
    whole = text + "\n" + "x" * (5_000 * n_long) + "\n" + text
    pieces = list(paragraphs(whole))
    assert all(len(piece) <= 4096 for piece in pieces)
    assert "".join(pieces).replace("\n", "") == whole.replace("\n", "")


def test_the_size_of_a_value_is_told_by_a_small_part_of_it():
    assert is_small({"to": "x", "body": ["a", 1, None, {"b": True}]})
    assert not is_small({"body": "x" * 7_000})
    assert not is_small(list(range(100_000)))
    assert not is_small({"a": [{"b": "y" * 100} for _ in range(100)]})
    assert not is_small("x" * 4_000, "x" * 4_000)
