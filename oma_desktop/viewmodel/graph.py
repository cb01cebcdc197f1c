"""The map of the selected run: nodes, links, places, and what is hidden (ux.md C5, Map).

A new picture of the store changes nodes in place; places are worked out again only when other tasks
are to be shown, and then what stands already stays (only `tidy`, a stack, the focus and a filter
start anew). No sentences, no pixels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, Protocol

from PySide6.QtCore import QObject, Signal

from oma_desktop.model.view import RunRef
from oma_desktop.viewmodel.feed import Feed, LiveActivity
from oma_desktop.viewmodel.graph_checks import too_large
from oma_desktop.viewmodel.graph_focus import STEPS, Focus
from oma_desktop.viewmodel.graph_layout import Spot
from oma_desktop.viewmodel.graph_maker import PictureMaker, View
from oma_desktop.viewmodel.graph_picture import (
    GraphPicture,
    Placed,
    needs_of,
    place,
    same_shape,
)
from oma_desktop.viewmodel.graph_stacks import fold
from oma_desktop.viewmodel.selection import Selection

# Up to here a layout takes a few milliseconds; beyond it goes to a lane when there is one
_AT_ONCE: Final = 300
_MAX_HOMES: Final = 32


class Offload(Protocol):
    """Runs `work` on a lane and calls `done` with its result on the loop."""

    def __call__(self, work: Callable[[], Placed], done: Callable[[Placed], None], /) -> None: ...


@dataclass(frozen=True, slots=True)
class Heard:
    """What an embedded run does in a task now, and since when (ux.md C2: not durable)."""

    kind: str
    text: str
    at: datetime
    turn: int | None = None


class GraphModel(QObject):
    """Follows feed and selection.

    Invariants: `picture` is whole and of one moment; where it has places, every node and link has
    one. `rearranged` comes after places changed, `changed` with the keys of nodes that say
    something else in their places (links may have changed too), `described` after counts or
    reasons changed.
    """

    rearranged = Signal()
    changed = Signal(object)  # frozenset[str]
    described = Signal()

    def __init__(
        self,
        feed: Feed,
        selection: Selection,
        *,
        now: Callable[[], datetime],
        offload: Offload | None = None,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._feed = feed
        self._selection = selection
        self._now = now
        self._offload = offload
        self._picture = GraphPicture()
        self._maker = PictureMaker()
        self._view = View()
        self._heard: dict[tuple[RunRef, str], Heard] = {}
        self._kept: dict[str, Spot] | None = None
        self._homes: dict[RunRef, dict[str, Spot]] = {}
        self._pending: GraphPicture | None = None
        self._n_asked = 0  # numbers layouts, so that a late one is dropped
        feed.changed.connect(self._on_feed_changed)
        feed.activity.connect(self._on_feed_activity)
        feed.live_changed.connect(self._on_feed_live_changed)
        selection.run_changed.connect(self._on_run_changed)
        selection.task_changed.connect(self._on_task_changed)
        self._refresh()

    # -- for views --------------------------------------------------------------------------

    @property
    def picture(self) -> GraphPicture:
        return self._picture

    @property
    def view(self) -> View:
        return self._view

    @property
    def current(self) -> str | None:
        """The key of the node that shows the selected task."""
        return self._picture.shown_as.get(self._selection.task_id or "")

    @property
    def is_placing(self) -> bool:
        """Whether a layout is being made on a lane."""
        return self._pending is not None

    def heard(self, task_id: str) -> Heard | None:
        """Return what an embedded run says of a task."""
        ref = self._selection.run
        return self._heard.get((ref, task_id)) if ref is not None else None

    def set_focus(self, focus: Focus) -> None:
        """Show another part of the graph."""
        self._choose(replace(self._view, focus=focus))

    def set_hide_done(self, hide: bool) -> None:
        """Hide or show done tasks."""
        self._choose(replace(self._view, hide_done=hide))

    def set_grouping(self, group: bool) -> None:
        """Fold more than eight like siblings, or show each."""
        self._choose(replace(self._view, grouping=group))

    def toggle_stack(self, key: str) -> None:
        """Open a stack in place, or close the one that began with this task."""
        self._choose(replace(self._view, opened=self._view.opened ^ {key}))

    def opened_stack_of(self, task_id: str) -> str | None:
        """Return the key of the opened stack a task came out of."""
        run = self._picture.run
        if run is None or not self._view.opened or not self._view.grouping:
            return None
        tasks = {t.id: t for t in run.tasks}
        stacks = fold(list(tasks), tasks)
        return next((k for k in self._view.opened if task_id in stacks.get(k, ())), None)

    def tidy(self) -> None:
        """Lay everything out anew: with the choices above the only verb that moves what stands."""
        self._homes.clear()
        self._start_anew()

    # -- making the picture -----------------------------------------------------------------

    def _choose(self, view: View) -> None:
        old, self._view = self._view, view
        if (old.grouping, old.opened) != (view.grouping, view.opened):
            self._homes.clear()
        if view != old:
            self._start_anew()

    def _start_anew(self) -> None:
        ref = self._selection.run
        self._maker.forget_stacks()
        at_home = self._view.is_plain and ref is not None
        self._kept = self._homes.get(ref) if at_home and ref is not None else None
        self._refresh(anew=True)

    def _refresh(self, *, anew: bool = False) -> None:
        ref = self._selection.run
        run = self._feed.run(ref) if ref is not None else None
        store = self._feed.store(ref.store) if ref is not None else None
        if ref is None or run is None or store is None or not run.tasks:
            self._drop_pending()
            self._show(GraphPicture(ref=ref, run=run))
            return
        new = self._maker.make(ref, run, store, self._view, selected=self._selection.task_id)
        if new.refusal is not None:
            self._drop_pending()
            self._show(new)
        elif not anew and self._pending is not None and same_shape(self._pending, new):
            self._pending = new
        elif not anew and self._picture.placed is not None and same_shape(self._picture, new):
            self._drop_pending()
            self._show(replace(new, placed=self._picture.placed))
        else:
            self._lay_out(new)

    def _lay_out(self, new: GraphPicture) -> None:
        self._drop_pending()
        refusal = too_large(list(new.nodes), needs_of(new.nodes, new.edges))
        if refusal is not None:
            told = GraphPicture(new.ref, new.run, new.n_tasks, counts=new.counts, refusal=refusal)
            self._show(told)
            return
        kept, nodes, edges = self._kept, new.nodes, new.edges
        if self._offload is None or len(nodes) <= _AT_ONCE:
            self._on_placed(new, place(nodes, edges, kept))
            return
        self._pending = new
        asked = self._n_asked
        if self._picture.ref != new.ref:
            self._show(new)  # the old run must not stand there as if it were this one

        def work() -> Placed:
            return place(nodes, edges, kept)

        def done(placed: Placed) -> None:
            pending = self._pending
            if asked == self._n_asked and pending is not None:
                self._drop_pending()
                self._on_placed(pending, placed)

        self._offload(work, done)

    def _drop_pending(self) -> None:
        self._pending = None
        self._n_asked += 1

    def _on_placed(self, new: GraphPicture, placed: Placed) -> None:
        self._kept = dict(placed.geometry.spots)
        if new.ref is not None and self._view.is_plain:
            self._homes.pop(new.ref, None)
            self._homes[new.ref] = self._kept
            while len(self._homes) > _MAX_HOMES:
                del self._homes[next(iter(self._homes))]
        self._show(replace(new, placed=placed))

    def _show(self, new: GraphPicture) -> None:
        old, self._picture = self._picture, new
        if new.placed is None or new.placed is not old.placed:
            if new != old:
                self.rearranged.emit()
        elif new.nodes != old.nodes or new.edges != old.edges:
            changed = {k for k, n in new.nodes.items() if old.nodes.get(k) is not n}
            self.changed.emit(frozenset(changed))
        if _told(new) != _told(old):
            self.described.emit()

    # -- events -----------------------------------------------------------------------------

    def _on_feed_changed(self, paths: frozenset[str]) -> None:
        ref = self._selection.run
        if ref is not None and ref.store in paths:
            self._refresh()

    def _on_feed_live_changed(self) -> None:
        gone = [key for key in self._heard if self._feed.live(key[0]) is None]
        for key in gone:
            del self._heard[key]
        ref = self._selection.run
        nodes = {self._picture.shown_as.get(task_id) for run, task_id in gone if run == ref}
        if nodes - {None}:
            self.changed.emit(frozenset(nodes - {None}))

    def _on_run_changed(self) -> None:
        self._view = replace(self._view, opened=frozenset())
        self._start_anew()

    def _on_task_changed(self) -> None:
        if self._view.focus in STEPS:
            self._start_anew()

    def _on_feed_activity(self, activity: LiveActivity) -> None:
        key = (activity.run, activity.task_id)
        known = self._heard.get(key)
        if activity.kind == "idle":
            self._heard.pop(key, None)
        else:
            # streamed text comes in many pieces; that it is being written is one fact
            text = "" if activity.kind == "text" else activity.text
            if known is None or (known.kind, known.text) != (activity.kind, text):
                turn = activity.facts.get("turn")
                number = turn if isinstance(turn, int) else None
                self._heard[key] = Heard(activity.kind, text, self._now(), number)
        node = self._picture.shown_as.get(activity.task_id)
        is_news = self._heard.get(key) is not known
        if is_news and activity.run == self._selection.run and node is not None:
            self.changed.emit(frozenset({node}))


def _told(picture: GraphPicture) -> tuple[object, ...]:
    return picture.n_tasks, picture.n_hidden, picture.counts, picture.refusal
