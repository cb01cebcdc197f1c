"""The state strip: exact widths, loud states never lost, the same words as the picture."""

import itertools

from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QRect
from PySide6.QtGui import QImage, QPainter

from oma_desktop.model.view import TaskState
from oma_desktop.ui import strip
from oma_desktop.ui.strip import LOUD, StateStrip, segments, strip_sentence
from oma_desktop.ui.theme import make_theme

STATES = st.sampled_from(list(TaskState))


@given(tasks=st.lists(STATES, min_size=1, max_size=400), width=st.integers(2, 300))
def test_segments_fill_the_width_and_never_overlap(tasks, width):
    laid = segments(tasks, width=width)
    assert laid[0].x == 0
    assert laid[-1].x + laid[-1].width == width
    for a, b in itertools.pairwise(laid):
        assert a.x + a.width < b.x
    assert all(s.width >= 2 for s in laid)
    assert sum(s.n_tasks for s in laid) == len(tasks)


@given(tasks=st.lists(STATES, min_size=1, max_size=49))
def test_up_to_a_quarter_of_the_width_each_task_has_its_segment(tasks):
    laid = segments(tasks, width=196)
    assert [s.state for s in laid] == tasks
    widths = [s.width for s in laid]
    assert max(widths) - min(widths) <= 1


@given(quiet=st.integers(200, 5000), at=st.floats(0, 1))
def test_one_loud_task_among_thousands_keeps_four_pixels(quiet, at):
    for state in LOUD:
        cut = int(quiet * at)
        tasks = [TaskState.DONE] * cut + [state] + [TaskState.WAITING] * (quiet - cut)
        loud = [s for s in segments(tasks, width=96) if s.state is state]
        assert len(loud) == 1
        assert loud[0].width >= 4


def test_nothing_is_drawn_for_no_tasks():
    assert segments([], width=100) == []


def test_states_differ_without_colour(host):
    look = make_theme("light")
    pictures = {}
    for state in TaskState:
        image = QImage(24, 8, QImage.Format.Format_ARGB32)
        image.fill(look.color("surface"))
        painter = QPainter(image)
        strip.paint_segment(painter, QRect(0, 0, 24, 8), state, look)
        painter.end()
        ground = look.color("surface")
        inked = [image.pixelColor(x, 4) != ground for x in range(24)]
        has_edge = image.pixelColor(0, 0) != image.pixelColor(2, 4)
        pictures[state] = (*inked, has_edge)
    # running and unknown must differ by form (look.md 2), and so must blocked and waiting
    assert pictures[TaskState.RUNNING] != pictures[TaskState.UNKNOWN]
    assert pictures[TaskState.BLOCKED] != pictures[TaskState.WAITING]
    assert pictures[TaskState.FAILED] != pictures[TaskState.REPLACED]
    assert pictures[TaskState.NEEDS_YOU] != pictures[TaskState.RUNNING]


def test_the_widget_says_in_words_what_it_shows(host, qtbot):
    widget = StateStrip()
    qtbot.addWidget(widget)
    widget.set_tasks([TaskState.DONE, TaskState.DONE, TaskState.NEEDS_YOU])
    assert widget.accessibleName() == "3 tasks. Needs you: 1. Done: 2."
    assert strip_sentence([TaskState.DONE]) == "1 task. Done: 1."
    assert not widget.grab().isNull()
