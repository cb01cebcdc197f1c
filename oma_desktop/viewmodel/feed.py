"""The one door through which facts reach the screen: store pictures and answers to commands.

`app.session` pushes, view models and views listen. Nothing here changes a fact (house.md 2.3, 2.4).
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from PySide6.QtCore import QObject, Signal

from oma_desktop.model.call_detail import CallDetail as CallDetail  # noqa: PLC0414 - re-export
from oma_desktop.model.json_value import JsonObject
from oma_desktop.model.resume import ResumePlan
from oma_desktop.model.view import ConversationView, RunRef, RunView, StoreView
from oma_desktop.viewmodel.live_tasks import Began, with_begun

PLANNING: Final = "@decompose"
"""The task id under which the coordinator is heard while it makes the plan."""


@dataclass(frozen=True, slots=True)
class Notice:
    """Something to tell the operator. `code` and `facts` go through `base.sentences`.

    A quiet one opens no bar: it waits in Problems.
    """

    level: str  # "info" | "warning" | "error"
    code: str
    facts: dict[str, object] = field(default_factory=dict)
    run: RunRef | None = None
    quiet: bool = False


@dataclass(frozen=True, slots=True)
class DecisionOutcome:
    """How a recorded (or refused) decision ended: `code` is "" or the ledger's code."""

    store: str
    request_id: str
    ok: bool
    code: str = ""
    facts: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LiveActivity:
    """Decoration from an embedded run, drawn lighter until the checkpoint confirms (ux.md C2).

    `agent` is None for the agent the task belongs to; else it names who works inside the task: one
    the agent delegated to, or with `judging` one that judges the answer. What these say is never
    part of the task's own conversation.
    """

    run: RunRef
    task_id: str
    kind: str  # "model" | "tool" | "text" | "idle"
    text: str = ""
    facts: JsonObject = field(default_factory=dict)
    agent: str | None = None
    judging: bool = False


@dataclass(frozen=True, slots=True)
class LiveRun:
    """An embedded run of this process: `waiting_for` names what a suspend waits for.

    `begun` tells when each task of this attempt began; it shows in the pictures of the stores.
    `answering_since`: the tasks are over and the coordinator makes the closing answer.
    """

    run: RunRef
    suspending: bool = False
    waiting_for: tuple[str, ...] = ()
    begun: Began = field(default_factory=dict, compare=False)
    answering_since: datetime | None = None


class Feed(QObject):
    """Holds the newest picture of every watched store; announces what changed.

    Pictures say what the file says, and of runs of this process also which tasks began since.

    Signals carry frozen values through `object` (house.md 4.2 #27).
    """

    changed = Signal(object)  # frozenset[str]: paths of stores that changed or went
    live_changed = Signal()  # the set of embedded runs or what they wait for
    activity = Signal(object)  # LiveActivity
    conversation_loaded = Signal(object)  # tuple[RunRef, ConversationView]
    call_loaded = Signal(object)  # tuple[RunRef, CallDetail]
    plan_ready = Signal(object)  # tuple[RunRef, ResumePlan]
    decided = Signal(object)  # DecisionOutcome
    notice = Signal(object)  # Notice
    scanned = Signal()  # a watched folder turned out to hold no store

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._read: dict[str, StoreView] = {}  # as the files say
        self._stores: dict[str, StoreView] = {}  # as shown
        self._live: dict[RunRef, LiveRun] = {}
        self._bare: set[str] = set()

    def put(self, view: StoreView) -> None:
        """Replace the picture of one store; equal pictures are not announced."""
        self.put_all((view,))

    def put_all(self, views: Iterable[StoreView]) -> None:
        """Replace the pictures of several stores and announce them together."""
        new = {view.path: view for view in views}
        self._read.update(new)
        self._show(new)

    def drop(self, path: str) -> None:
        """Forget a store that is no longer watched."""
        self._read.pop(path, None)
        if self._stores.pop(path, None) is not None:
            self.changed.emit(frozenset({path}))

    def stores(self) -> tuple[StoreView, ...]:
        """Return all pictures, in the order they were first seen."""
        return tuple(self._stores.values())

    def store(self, path: str) -> StoreView | None:
        """Return the picture of one store."""
        return self._stores.get(path)

    def run(self, ref: RunRef) -> RunView | None:
        """Return one run, or None when it is not known (any more)."""
        store = self._stores.get(ref.store)
        if store is None:
            return None
        return next((r for r in store.runs if r.key == ref.key), None)

    def note_bare(self, folder: str) -> None:
        """A watched folder was walked through and holds no store."""
        if folder not in self._bare:
            self._bare.add(folder)
            self.scanned.emit()

    def is_looking(self, watched: Iterable[str]) -> bool:
        """Whether of a watched place no picture has come yet: nothing can be said of it."""
        return any(
            place not in self._bare and not any(_is_in(store, place) for store in self._stores)
            for place in watched
        )

    def set_live(self, runs: tuple[LiveRun, ...]) -> None:
        """Replace the set of embedded runs."""
        old, self._live = self._live, {r.run: r for r in runs}
        # Of a run that ended the next picture tells: the last one may miss its last save
        self._show({ref.store for ref in self._live})
        if self._live != old:
            self.live_changed.emit()

    def _show(self, paths: Iterable[str]) -> None:
        changed = set()
        for path in paths:
            read = self._read.get(path)
            if read is None:
                continue
            view = with_begun(read, self._begun)
            if self._stores.get(path) != view:
                self._stores[path] = view
                changed.add(path)
        if changed:
            self.changed.emit(frozenset(changed))

    def _begun(self, ref: RunRef) -> Began:
        live = self._live.get(ref)
        return live.begun if live is not None else {}

    def live(self, ref: RunRef) -> LiveRun | None:
        """Return the embedded run behind `ref`, if this process runs it."""
        return self._live.get(ref)


def _is_in(store: str, place: str) -> bool:
    return store == place or store.startswith(os.path.join(place, ""))  # noqa: PTH118 - strings


ConversationLoaded = tuple[RunRef, ConversationView]
CallLoaded = tuple[RunRef, CallDetail]
PlanReady = tuple[RunRef, ResumePlan]
