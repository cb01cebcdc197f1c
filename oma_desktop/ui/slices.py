"""Work of the window's own thread in slices, so that no turn of the loop is long (product.md 3.3).

What must happen in the window (inserting into a document, making items) cannot go to a lane. It is
written as a generator that yields the cost of each small step; a slice ends when the costs add up.
Costs are in units of about a microsecond of a slow machine, so that no clock is asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from PySide6.QtCore import QObject, QTimer, Signal

SLICE: Final = 9_000
"""Units of one slice: measured 4 to 8 ms."""


class Slices(QObject):
    """Runs one piece of work at a time. `moved` comes after a slice, `finished` after the last."""

    moved = Signal()
    finished = Signal()

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._steps: Iterator[int] | None = None
        self._timer = QTimer(self)
        self._timer.setInterval(1)  # 0 would starve input while a long text goes in
        self._timer.timeout.connect(self._on_turn)

    @property
    def running(self) -> bool:
        """Whether something is left to do."""
        return self._steps is not None

    def start(self, steps: Iterator[int]) -> None:
        """Drop what was being done, do the first slice now, the others in later turns."""
        self._steps = steps
        self._on_turn()

    def stop(self) -> None:
        """Drop what was being done."""
        self._steps = None
        self._timer.stop()

    def _on_turn(self) -> None:
        steps = self._steps
        if steps is None:
            self._timer.stop()
            return
        if _slice(steps):
            self._timer.start()
            self.moved.emit()
        elif self._steps is steps:
            self.stop()
            self.finished.emit()


def _slice(steps: Iterator[int]) -> bool:
    """Take steps until a slice is full; False when nothing is left."""
    spent = 0
    for cost in steps:
        spent += cost
        if spent >= SLICE:
            return True
    return False
