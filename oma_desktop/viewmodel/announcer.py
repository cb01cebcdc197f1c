"""What is worth saying aloud, by rule (ux.md C18): needs you at once, ends politely, text never.

At most one announcement in three seconds; what came in between is summed up. Pure of widgets: the
window gives each announcement to the screen reader.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Final

from PySide6.QtCore import QObject, QTimer, Signal

from oma_desktop.model.view import RunRef, RunState
from oma_desktop.viewmodel.feed import Feed
from oma_desktop.viewmodel.runs import RunRow, RunRows

PAUSE_S: Final = 3.0
_ENDS: Final = frozenset(
    {
        RunState.OK,
        RunState.ERROR,
        RunState.REJECTED,
        RunState.CANCELLED,
        RunState.TIMED_OUT,
        RunState.BUDGET,
        RunState.INTERRUPTED,
    }
)


class Happening(Enum):
    """What happened to a run."""

    NEEDS_YOU = "needs_you"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class Announcement:
    """Runs that need a person and runs that ended since the last announcement."""

    needs_you: tuple[RunRow, ...]
    ended: tuple[RunRow, ...]

    @property
    def is_urgent(self) -> bool:
        """Whether it may interrupt what is being read."""
        return bool(self.needs_you)


class Announcer(QObject):
    """Compares each picture with the one before; the first sight of a run says nothing."""

    due = Signal(object)  # Announcement

    def __init__(
        self,
        feed: Feed,
        runs: RunRows,
        *,
        monotonic: Callable[[], float],
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._runs = runs
        self._monotonic = monotonic
        self._seen: dict[RunRef, RunRow] = {}
        self._waiting: dict[RunRef, tuple[Happening, RunRow]] = {}
        self._spoke_at = float("-inf")
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._speak)
        feed.changed.connect(self._on_feed_changed)  # after `runs`, which listens since before

    def _on_feed_changed(self) -> None:
        now = {row.ref: row for row in self._runs.all_rows()}
        for ref, row in now.items():
            before = self._seen.get(ref)
            if before is None:
                continue
            if row.n_waiting > before.n_waiting:
                self._waiting[ref] = (Happening.NEEDS_YOU, row)
            elif row.state in _ENDS and before.state not in _ENDS:
                self._waiting[ref] = (Happening.ENDED, row)
        self._seen = now
        if self._waiting and not self._timer.isActive():
            left = self._spoke_at + PAUSE_S - self._monotonic()
            if left <= 0:
                self._speak()
            else:
                self._timer.start(int(left * 1000) + 1)

    def _speak(self) -> None:
        waiting, self._waiting = self._waiting, {}
        if not waiting:
            return
        self._spoke_at = self._monotonic()
        self.due.emit(
            Announcement(
                needs_you=_of(waiting, Happening.NEEDS_YOU), ended=_of(waiting, Happening.ENDED)
            )
        )


def _of(waiting: dict[RunRef, tuple[Happening, RunRow]], kind: Happening) -> tuple[RunRow, ...]:
    return tuple(row for happening, row in waiting.values() if happening is kind)
