"""What embedded runs do in their tasks now, kept while it lasts (ux.md C2: in no file yet)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from oma_desktop.model.view import RunRef
from oma_desktop.viewmodel.feed import PLANNING, LiveActivity

_MAX_PLAN: Final = 20_000
"""Of a longer plan the end is kept."""


@dataclass(frozen=True, slots=True)
class Heard:
    """What an embedded run does in a task now, and since when.

    `agent` names somebody else who works inside the task, `judging` one who judges its answer.
    """

    kind: str
    text: str
    at: datetime
    turn: int | None = None
    agent: str | None = None
    judging: bool = False


class Hearing:
    """The newest word of each task. Whoever works inside a task is heard before its own agent."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self._own: dict[tuple[RunRef, str], Heard] = {}
        self._inside: dict[tuple[RunRef, str], Heard] = {}
        self._plans: dict[RunRef, str] = {}

    def of(self, run: RunRef, task_id: str) -> Heard | None:
        """Return what is heard of a task."""
        key = (run, task_id)
        return self._inside.get(key) or self._own.get(key)

    def plan(self, run: RunRef) -> str:
        """Return what the coordinator has written of its plan, the end of it."""
        return self._plans.get(run, "")

    def take(self, activity: LiveActivity) -> bool:
        """Take one piece of news; False when it says what was known."""
        key = (activity.run, activity.task_id)
        before = self.of(*key)
        if activity.task_id == PLANNING:
            self._take_plan(activity)
        if activity.agent is None:
            self._inside.pop(key, None)  # the task's own agent goes on
        place = self._own if activity.agent is None else self._inside
        if activity.kind == "idle":
            place.pop(key, None)
        elif not _is_same(place.get(key), activity):
            place[key] = self._heard(activity)
        return self.of(*key) is not before

    def forget(self, is_over: Callable[[RunRef], bool]) -> Iterator[tuple[RunRef, str]]:
        """Drop what was heard of runs that are over; yields their tasks."""
        for place in (self._own, self._inside):
            for key in [k for k in place if is_over(k[0])]:
                del place[key]
                yield key
        for run in [r for r in self._plans if is_over(r)]:
            del self._plans[run]

    def _take_plan(self, activity: LiveActivity) -> None:
        if activity.kind == "text":
            written = self._plans.get(activity.run, "") + activity.text
            self._plans[activity.run] = written[-_MAX_PLAN:]
        else:
            self._plans.pop(activity.run, None)

    def _heard(self, activity: LiveActivity) -> Heard:
        turn = activity.facts.get("turn")
        return Heard(
            activity.kind,
            _told(activity),
            self._now(),
            turn if isinstance(turn, int) else None,
            activity.agent,
            activity.judging,
        )


def _told(activity: LiveActivity) -> str:
    """Streamed text comes in many pieces; that it is being written is one fact."""
    return "" if activity.kind == "text" else activity.text


def _is_same(known: Heard | None, activity: LiveActivity) -> bool:
    return known is not None and (known.kind, known.text, known.agent) == (
        activity.kind,
        _told(activity),
        activity.agent,
    )
