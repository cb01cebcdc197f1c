"""The state strip, our signature: one segment per task, in plan order (look.md 1.3 and 5).

`segments` is pure arithmetic in whole pixels; `paint_strip` draws them without antialiasing, at
whole device pixels.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from typing import Final, NamedTuple

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget
from typing_extensions import override

from oma_desktop.base.text import ntr, paragraph, tr
from oma_desktop.model.view import TaskState
from oma_desktop.ui import states, words
from oma_desktop.ui.theme import Theme, theme, theme_host

GAP: Final = 2
MIN_WIDTH: Final = 2
MIN_LOUD: Final = 4
LOUD: Final = frozenset({TaskState.NEEDS_YOU, TaskState.FAILED, TaskState.UNKNOWN})
_HOLLOW: Final = frozenset({TaskState.WAITING, TaskState.SKIPPED, TaskState.REPLACED})


class Segment(NamedTuple):
    """One piece of the strip, in whole pixels from its left end."""

    state: TaskState
    x: int
    width: int
    n_tasks: int


def segments(tasks: Sequence[TaskState], *, width: int, gap: int = GAP) -> list[Segment]:
    """Divide `width` pixels among the tasks.

    Up to width/4 tasks: one segment each. Beyond that neighbours of one state merge and share the
    width in proportion, with at least 4 px for needs you, failed and unknown, while there is room.
    The widths and gaps add up to `width` exactly; nothing is drawn outside it.
    """
    if not tasks or width < MIN_WIDTH:
        return []
    if len(tasks) * (MIN_WIDTH + gap) <= width + gap and len(tasks) <= width // 4:
        return _lay([(state, 1) for state in tasks], width=width, gap=gap)
    runs = [(state, len(list(group))) for state, group in groupby(tasks)]
    runs = _fit(runs, room=width)
    return _lay(runs, width=width, gap=1 if _needs(runs, gap) > width else gap)


def _needs(runs: list[tuple[TaskState, int]], gap: int) -> int:
    return sum(_least(s) for s, _ in runs) + gap * (len(runs) - 1)


def _least(state: TaskState) -> int:
    return MIN_LOUD if state in LOUD else MIN_WIDTH


def _fit(runs: list[tuple[TaskState, int]], *, room: int) -> list[tuple[TaskState, int]]:
    """Merge the smallest quiet neighbours until the least widths fit; loud ones go last."""
    runs = list(runs)
    while len(runs) > 1 and _needs(runs, 1) > room:
        i = min(
            range(len(runs) - 1),
            key=lambda k: (_loudness(runs, k), runs[k][1] + runs[k + 1][1]),
        )
        (a, n), (b, m) = runs[i], runs[i + 1]
        keep = a if (a in LOUD, n) >= (b in LOUD, m) else b
        runs[i : i + 2] = [(keep, n + m)]
    return runs


def _loudness(runs: list[tuple[TaskState, int]], i: int) -> int:
    return (runs[i][0] in LOUD) + (runs[i + 1][0] in LOUD)


def _lay(runs: list[tuple[TaskState, int]], *, width: int, gap: int) -> list[Segment]:
    total = sum(n for _, n in runs)
    spare = width - _needs_or(runs, gap, total)
    laid: list[Segment] = []
    x = seen = given = 0
    for state, n in runs:
        seen += n
        share = spare * seen // total - given
        given += share
        piece = (_least(state) if total != len(runs) else MIN_WIDTH) + share
        laid.append(Segment(state, x, piece, n))
        x += piece + gap
    return laid


def _needs_or(runs: list[tuple[TaskState, int]], gap: int, total: int) -> int:
    if total == len(runs):
        return MIN_WIDTH * len(runs) + gap * (len(runs) - 1)
    return _needs(runs, gap)


def paint_strip(
    painter: QPainter, rect: QRect, tasks: Sequence[TaskState], *, look: Theme | None = None
) -> None:
    """Draw the strip into `rect` (logical pixels) on whole device pixels."""
    look = look or theme()
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, on=False)
    painter.setPen(Qt.PenStyle.NoPen)
    for piece in segments(tasks, width=rect.width(), gap=GAP):
        area = QRect(rect.x() + piece.x, rect.y(), piece.width, rect.height())
        paint_segment(painter, area, piece.state, look)
    painter.restore()


def paint_segment(painter: QPainter, area: QRect, state: TaskState, look: Theme) -> None:
    """Draw one segment: also the far form of a map node (look.md 5, 7)."""
    color = look.color(states.shape_role(state))
    if state in _HOLLOW:
        _outline(painter, area, look, states.shape_role(state))
    elif state is TaskState.BLOCKED:
        _bars(painter, area, look, states.shape_role(state), on=2, off=2)
    elif state is TaskState.UNKNOWN:
        _bars(painter, area, look, states.shape_role(state), on=3, off=2)
    else:
        painter.fillRect(area, color)
        if state is TaskState.NEEDS_YOU:
            _outline(painter, area, look, "state.needsyou.edge")


def _outline(painter: QPainter, area: QRect, look: Theme, role: str) -> None:
    color = look.color(role)
    x, y, w, h = area.x(), area.y(), area.width(), area.height()
    painter.fillRect(x, y, w, 1, color)
    painter.fillRect(x, y + h - 1, w, 1, color)
    painter.fillRect(x, y, 1, h, color)
    painter.fillRect(x + w - 1, y, 1, h, color)


def _bars(painter: QPainter, area: QRect, look: Theme, role: str, *, on: int, off: int) -> None:
    color = look.color(role)
    for x in range(0, area.width(), on + off):
        width = min(on, area.width() - x)
        painter.fillRect(area.x() + x, area.y(), width, area.height(), color)


class StateStrip(QWidget):
    """A strip of fixed height as a widget; its accessible name counts the states in words."""

    def __init__(self, parent: QWidget | None = None, *, width: int = 196, height: int = 8) -> None:
        super().__init__(parent)
        self._tasks: tuple[TaskState, ...] = ()
        self._size = QSize(width, height)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        theme_host().theme_changed.connect(self._on_theme_changed)

    def set_tasks(self, tasks: Sequence[TaskState]) -> None:
        """Show these states, in plan order."""
        new = tuple(tasks)
        if new != self._tasks:
            self._tasks = new
            self.setAccessibleName(strip_sentence(new))
            self.setToolTip(strip_sentence(new))
            self.update()

    @override
    def sizeHint(self) -> QSize:
        now = theme()
        return QSize(now.px(self._size.width()), now.px(self._size.height()))

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        paint_strip(painter, self.rect(), self._tasks)
        painter.end()

    def _on_theme_changed(self) -> None:
        self.updateGeometry()
        self.update()


def strip_sentence(tasks: Sequence[TaskState]) -> str:
    """Return what the strip says, in words: "12 tasks. Done: 6. Running: 2."."""
    counts = Counter(tasks)
    parts = [ntr("{n} task.", "{n} tasks.", len(tasks))]
    parts += [
        tr("{state}: {n}.", state=words.task_word(state), n=counts[state])
        for state in TaskState
        if counts[state]
    ]
    return paragraph(parts)
