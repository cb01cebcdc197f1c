"""What an operator may want next, offered and never done (ux.md C8, house.md 2.4).

After the last open decision of a suspended run the way to resume it is offered; at the start it is
told how many runs stopped without an end.
"""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QObject, QTimer

from oma_desktop.model.view import RunRef, RunState, RunView, StoreView
from oma_desktop.viewmodel.feed import DecisionOutcome, Feed, Notice
from oma_desktop.viewmodel.run_names import distinct_name
from oma_desktop.viewmodel.verbs import Why, open_requests, verbs_for

DECIDED: Final = "DECISION_RECORDED_RESUME"
INTERRUPTED: Final = "RUN_INTERRUPTED"
SEVERAL_INTERRUPTED: Final = "RUNS_INTERRUPTED"
LEADS_ON: Final = frozenset({DECIDED, INTERRUPTED, SEVERAL_INTERRUPTED})
"""Notices whose link opens the resume dialog of their run."""
_FIRST_LOOK_MS: Final = 1_500
"""Watched folders are read one file after the other: one notice, not one per file."""


class NextSteps(QObject):
    """Listens to the feed and puts quiet notices into it."""

    def __init__(self, feed: Feed, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._feed = feed
        self._decided: set[tuple[str, str]] = set()
        self._told = False
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(_FIRST_LOOK_MS)
        self._timer.timeout.connect(self.tell_interrupted)
        feed.decided.connect(self._on_feed_decided)
        feed.changed.connect(self._on_feed_changed)

    def _on_feed_decided(self, outcome: DecisionOutcome) -> None:
        if outcome.ok:
            self._decided.add((outcome.store, outcome.request_id))
            self._look(outcome.store)

    def _on_feed_changed(self, paths: frozenset[str]) -> None:
        for path in paths:
            self._look(path)
        if not self._told and not self._timer.isActive() and interrupted(self._feed):
            self._timer.start()

    def _look(self, path: str) -> None:
        """Wait until the bytes say that a decision is there; then see whether it was the last."""
        store = self._feed.store(path)
        if store is None:
            return
        for mine in [d for d in self._decided if d[0] == path]:
            request = next((a for a in store.approvals if a.id == mine[1]), None)
            if request is not None and request.state == "pending":
                continue
            self._decided.discard(mine)
            run = next((r for r in store.runs if request and r.run_id == request.run_id), None)
            if run is not None:
                self._offer(store, run)

    def _offer(self, store: StoreView, run: RunView) -> None:
        ref = RunRef(store.path, run.key)
        free = verbs_for(self._feed, ref).restore is Why.FREE
        if free and run.state is RunState.SUSPENDED and not open_requests(store, run):
            self._feed.notice.emit(
                Notice("info", DECIDED, {"run": distinct_name(self._feed, ref)}, ref)
            )

    def tell_interrupted(self) -> None:
        """Say once how many runs stopped without an end."""
        found = interrupted(self._feed)
        if found and not self._told:
            self._told = True
            self._feed.notice.emit(self._notice_of(found))

    def _notice_of(self, found: tuple[RunRef, ...]) -> Notice:
        if len(found) > 1:
            return Notice("info", SEVERAL_INTERRUPTED, {"n": len(found)}, found[0])
        name = distinct_name(self._feed, found[0])
        return Notice("info", INTERRUPTED, {"run": name}, found[0])


def interrupted(feed: Feed) -> tuple[RunRef, ...]:
    """Return the runs that stopped without an end and that nobody writes, newest first."""
    found = [
        (run.saved_at, RunRef(store.path, run.key))
        for store in feed.stores()
        for run in store.runs
        if run.state is RunState.INTERRUPTED
        and verbs_for(feed, RunRef(store.path, run.key)).restore is Why.FREE
    ]
    found.sort(key=lambda f: f[0].timestamp() if f[0] is not None else 0.0, reverse=True)
    return tuple(ref for _, ref in found)
