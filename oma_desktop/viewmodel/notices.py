"""What the window tells the operator right now: two notices at most (look.md 7)."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from PySide6.QtCore import QObject, Signal

from oma_desktop.viewmodel.feed import Feed, Notice
from oma_desktop.viewmodel.next_steps import LEADS_ON
from oma_desktop.viewmodel.run_names import distinct_name
from oma_desktop.viewmodel.verbs import Why, verbs_for

MAX_SHOWN: Final = 2
_MAX_KEPT: Final = 200


@dataclass(frozen=True, slots=True)
class Heard:
    """A notice and when it came; `number` names it. `times` counts equal ones.

    `more` counts others of its kind about the same run that the bar stands for as well.
    """

    number: int
    notice: Notice
    at: datetime
    times: int = 1
    more: int = 0


class NoticeBoard(QObject):
    """Keeps all notices of this session; the newest two that were not closed are shown.

    The same notice again does not open a second bar: it counts up and comes back into sight. A run
    has one bar per kind: the newest stands for all (ux.md C12).
    """

    changed = Signal()

    def __init__(
        self, feed: Feed, *, now: Callable[[], datetime], parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._now = now
        self._heard: list[Heard] = []
        self._open: set[int] = set()
        self._next = 1
        self._feed = feed
        feed.notice.connect(self._on_feed_notice)
        feed.live_changed.connect(self._take_back_offers)
        feed.changed.connect(self._take_back_offers)

    @property
    def shown(self) -> tuple[Heard, ...]:
        """The notices in sight, newest first."""
        found: dict[Hashable, Heard] = {}
        for heard in reversed(self._heard):
            if heard.number in self._open:
                first = found.get(_kind(heard))
                stands = heard if first is None else replace(first, more=first.more + 1)
                found[_kind(heard)] = stands
        return tuple(found.values())[:MAX_SHOWN]

    @property
    def kept(self) -> tuple[Heard, ...]:
        """Everything heard, oldest first: closed and crowded-out ones stay in Problems."""
        return tuple(self._heard)

    def about(self, heard: Heard) -> str:
        """Which run a notice speaks of; empty where there is one only, or it says so itself."""
        run = heard.notice.run
        if run is None or "run" in heard.notice.facts or heard.notice.code in LEADS_ON:
            return ""
        several = sum(len(store.runs) for store in self._feed.stores()) > 1
        return distinct_name(self._feed, run) if several else ""

    def close(self, number: int) -> None:
        """Take a notice out of sight, and those it stands for; they stay in Problems."""
        kind = next((_kind(h) for h in self._heard if h.number == number), None)
        self._open -= {h.number for h in self._heard if _kind(h) == kind}
        self.changed.emit()

    def _take_back_offers(self) -> None:
        """An offer to resume is over when the run goes on or can no longer be resumed."""
        over = {
            h.number
            for h in self._heard
            if h.number in self._open
            and h.notice.code in LEADS_ON
            and verbs_for(self._feed, h.notice.run).restore is not Why.FREE
        }
        if over:
            self._open -= over
            self.changed.emit()

    def _on_feed_notice(self, notice: Notice) -> None:
        same = next((h for h in self._heard if h.notice == notice), None)
        times = 1
        if same is not None:
            self._heard.remove(same)
            self._open.discard(same.number)
            times = same.times + 1
        self._heard.append(Heard(self._next, notice, self._now(), times))
        if not notice.quiet:
            self._open.add(self._next)
        self._next += 1
        for old in self._heard[:-_MAX_KEPT]:
            self._open.discard(old.number)
        del self._heard[:-_MAX_KEPT]
        self.changed.emit()


def _kind(heard: Heard) -> Hashable:
    """What shares a bar: of one run the same kind; what is about no run has a bar of its own."""
    notice = heard.notice
    return heard.number if notice.run is None else (notice.code, notice.run)
