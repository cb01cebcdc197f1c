"""Runs of a goal that have no store yet: what the window shows while their plan is made (C15)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import Final

from oma_desktop.engine.bus import EventBus, ProgressEvent
from oma_desktop.model.view import Owner, OwnerKind, RunRef, RunState, RunView, StoreView

_BEFORE_TASKS: Final = frozenset(("routing", "decomposition"))
_MISSING: Final = "STORE_MISSING"


class Planning:
    """Adds runs that are being planned here to the pictures of stores that do not hold them yet.

    `put` takes a picture on its way to the screen, `known` gives the one that is there. Nothing is
    added once the file holds the run.
    """

    def __init__(
        self,
        put: Callable[[StoreView], None],
        known: Callable[[str], StoreView | None],
        *,
        now: Callable[[], datetime],
    ) -> None:
        self._put = put
        self._known = known
        self._now = now
        self._runs: dict[RunRef, RunView] = {}
        self._seen: dict[str, StoreView] = {}

    def show(self, view: StoreView) -> None:
        """Pass a picture on, with the runs it lacks."""
        if view.path in self._seen:
            self._seen[view.path] = view
        self._put(self._with_runs(view))

    @contextmanager
    def following(self, bus: EventBus, ref: RunRef, run_id: str) -> Iterator[None]:
        """Watch one new run: it is shown from the moment a model is asked anything for it."""

        def hear(event: ProgressEvent) -> None:
            if event.type == "agent_start" and event.data.get("phase") in _BEFORE_TASKS:
                self._begin(ref, run_id, str(event.data.get("goal", "")))

        forget = bus.subscribe(hear)
        try:
            yield
        finally:
            forget()
            self._end(ref)

    def _begin(self, ref: RunRef, run_id: str, goal: str) -> None:
        if ref in self._runs:
            return  # who takes the goal was asked before
        view = self._known(ref.store) or StoreView(ref.store)
        self._seen.setdefault(ref.store, view)
        self._runs[ref] = RunView(
            key=ref.key,
            run_id=run_id,
            state=RunState.RUNNING,
            mode="runTeam",
            goal=goal,
            started_at=self._now(),
        )
        self._put(self._with_runs(self._seen[ref.store]))

    def _end(self, ref: RunRef) -> None:
        """What the file says is all there is; it may say nothing of this run."""
        if self._runs.pop(ref, None) is None:
            return
        view = self._seen[ref.store]
        if all(other.store != ref.store for other in self._runs):
            del self._seen[ref.store]
        if all(run.key != ref.key for run in view.runs):
            self._put(self._with_runs(view))

    def _with_runs(self, view: StoreView) -> StoreView:
        held = {run.key for run in view.runs}
        added = [
            run for ref, run in self._runs.items() if ref.store == view.path and ref.key not in held
        ]
        if not added:
            return view
        owner = view.owner
        if owner.kind is OwnerKind.NOT_KNOWN:
            owner = Owner(OwnerKind.THIS_APP)
        problems = tuple(p for p in view.problems if p.code != _MISSING)
        return replace(view, runs=(*view.runs, *added), owner=owner, problems=problems)
