"""The one door through which facts reach the screen: store pictures and answers to commands.

`app.session` pushes, view models and views listen. Nothing here changes a fact (house.md 2.3, 2.4).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from PySide6.QtCore import QObject, Signal

from oma_desktop.model.call_detail import CallDetail as CallDetail  # noqa: PLC0414 - re-export
from oma_desktop.model.json_value import JsonObject
from oma_desktop.model.resume import ResumePlan
from oma_desktop.model.view import ConversationView, RunRef, RunView, StoreView


@dataclass(frozen=True, slots=True)
class Notice:
    """Something to tell the operator. `code` and `facts` go through `base.sentences`."""

    level: str  # "info" | "warning" | "error"
    code: str
    facts: dict[str, object] = field(default_factory=dict)
    run: RunRef | None = None


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
    """Decoration from an embedded run, drawn lighter until the checkpoint confirms (ux.md C2)."""

    run: RunRef
    task_id: str
    kind: str  # "model" | "tool" | "text" | "idle"
    text: str = ""
    facts: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LiveRun:
    """An embedded run of this process: `waiting_for` names what a suspend waits for."""

    run: RunRef
    suspending: bool = False
    waiting_for: tuple[str, ...] = ()


class Feed(QObject):
    """Holds the newest picture of every watched store; announces what changed.

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

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._stores: dict[str, StoreView] = {}
        self._live: dict[RunRef, LiveRun] = {}

    def put(self, view: StoreView) -> None:
        """Replace the picture of one store; equal pictures are not announced."""
        if self._stores.get(view.path) == view:
            return
        self._stores[view.path] = view
        self.changed.emit(frozenset({view.path}))

    def drop(self, path: str) -> None:
        """Forget a store that is no longer watched."""
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

    def set_live(self, runs: tuple[LiveRun, ...]) -> None:
        """Replace the set of embedded runs."""
        live = {r.run: r for r in runs}
        if live != self._live:
            self._live = live
            self.live_changed.emit()

    def live(self, ref: RunRef) -> LiveRun | None:
        """Return the embedded run behind `ref`, if this process runs it."""
        return self._live.get(ref)


ConversationLoaded = tuple[RunRef, ConversationView]
CallLoaded = tuple[RunRef, CallDetail]
PlanReady = tuple[RunRef, ResumePlan]
