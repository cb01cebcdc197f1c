"""The one selection all views share: run, task, call, and the way back (ux.md C1.5)."""

from __future__ import annotations

from typing import Final, NamedTuple

from PySide6.QtCore import QObject, Signal

from oma_desktop.model.view import RunRef

_MAX_HISTORY: Final = 100


class Place(NamedTuple):
    """What is selected. A task needs a run, a call needs a task."""

    run: RunRef | None = None
    task_id: str | None = None
    call_id: str | None = None


class Selection(QObject):
    """Holds the selected place. Selecting what is selected announces nothing.

    `run_changed`, `task_changed`, `call_changed` each carry the new value (or None) and come after
    all three are in place; `history_changed` says whether `back` and `forward` lead anywhere.
    """

    run_changed = Signal(object)  # RunRef | None
    task_changed = Signal(object)  # str | None
    call_changed = Signal(object)  # str | None
    history_changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._place = Place()
        self._past: list[Place] = []
        self._future: list[Place] = []

    @property
    def place(self) -> Place:
        return self._place

    @property
    def run(self) -> RunRef | None:
        return self._place.run

    @property
    def task_id(self) -> str | None:
        return self._place.task_id

    @property
    def call_id(self) -> str | None:
        return self._place.call_id

    @property
    def can_go_back(self) -> bool:
        return bool(self._past)

    @property
    def can_go_forward(self) -> bool:
        return bool(self._future)

    def select_run(self, run: RunRef | None) -> None:
        """Select a run; the task of the run before is dropped."""
        if run != self._place.run:
            self._go(Place(run))

    def select_task(self, task_id: str | None) -> None:
        """Select a task of the selected run."""
        if self._place.run is not None and task_id != self._place.task_id:
            self._go(Place(self._place.run, task_id))

    def select_call(self, call_id: str | None, *, task_id: str | None = None) -> None:
        """Select a tool call of the selected (or the named) task."""
        task = task_id or self._place.task_id
        if task is not None and self._place.run is not None:
            self._go(Place(self._place.run, task, call_id))

    def select(self, place: Place) -> None:
        """Select run, task and call at once, as a link does."""
        self._go(place)

    def back(self) -> None:
        """Return to the place before."""
        if self._past:
            self._future.append(self._place)
            self._move(self._past.pop())
            self.history_changed.emit()

    def forward(self) -> None:
        """Undo `back`."""
        if self._future:
            self._past.append(self._place)
            self._move(self._future.pop())
            self.history_changed.emit()

    def _go(self, place: Place) -> None:
        if place == self._place:
            return
        if self._place.run is not None:
            self._past.append(self._place)
            del self._past[:-_MAX_HISTORY]
        self._future.clear()
        self._move(place)
        self.history_changed.emit()

    def _move(self, place: Place) -> None:
        old, self._place = self._place, place
        if old.run != place.run:
            self.run_changed.emit(place.run)
        if (old.run, old.task_id) != (place.run, place.task_id):
            self.task_changed.emit(place.task_id)
        if old != place:
            self.call_changed.emit(place.call_id)
