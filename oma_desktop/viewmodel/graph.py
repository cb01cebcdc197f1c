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

from oma_desktop.model.view import RunRef, RunView, StoreView
from oma_desktop.viewmodel.feed import Feed, LiveActivity
from oma_desktop.viewmodel.graph_focus import STEPS, Focus
from oma_desktop.viewmodel.graph_layout import Spot
from oma_desktop.viewmodel.graph_maker import PictureMaker, View
from oma_desktop.viewmodel.graph_nodes import count_states
from oma_desktop.viewmodel.graph_picture import GraphPicture, arranged, same_shape
from oma_desktop.viewmodel.graph_stacks import fold
from oma_desktop.viewmodel.hearing import Heard as Heard  # noqa: PLC0414 - re-export
from oma_desktop.viewmodel.hearing import Hearing
from oma_desktop.viewmodel.selection import Selection

# Up to here picture and layout take a few milliseconds; beyond both go to a lane when there is one
_AT_ONCE: Final = 300
_MAX_HOMES: Final = 32


@dataclass(frozen=True, slots=True)
class Prepared:
    """What comes back from a lane: a picture with its places, and the maker that made it."""

    picture: GraphPicture
    maker: PictureMaker


class Offload(Protocol):
    """Runs `work` on a lane and calls `done` with its result on the loop."""

    def __call__(
        self, work: Callable[[], Prepared], done: Callable[[Prepared], None], /
    ) -> None: ...


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
        self._hearing = Hearing(now)
        self._kept: dict[str, Spot] | None = None
        self._homes: dict[RunRef, dict[str, Spot]] = {}
        self._pending: tuple[RunRef, RunView] | None = None  # what a lane works on
        self._n_asked = 0  # numbers jobs, so that a late one is dropped
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
        return self._hearing.of(ref, task_id) if ref is not None else None

    @property
    def plan_text(self) -> str:
        """What the coordinator has written of the plan of the selected run."""
        ref = self._selection.run
        return self._hearing.plan(ref) if ref is not None else ""

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
        shown = self._picture
        is_big = self._offload is not None and len(run.tasks) > _AT_ONCE
        if is_big and not anew:
            if self._pending is not None and _is_like(self._pending, ref, run):
                return  # what is on its way still serves; then the newest facts are taken
            anew = shown.placed is None or not _is_like((shown.ref, shown.run), ref, run)
        if is_big and anew:
            self._prepare(ref, run, store)
            return
        new = self._maker.make(ref, run, store, self._view, selected=self._selection.task_id)
        if not anew and shown.placed is not None and same_shape(shown, new):
            self._drop_pending()
            self._show(replace(new, placed=shown.placed))
        elif is_big:
            self._prepare(ref, run, store)
        else:
            self._drop_pending()
            self._take(arranged(new, self._kept))

    def _prepare(self, ref: RunRef, run: RunView, store: StoreView) -> None:
        """Have picture and layout made on a lane."""
        self._drop_pending()
        self._pending = (ref, run)
        asked, maker, view, kept = self._n_asked, self._maker.copy(), self._view, self._kept
        selected = self._selection.task_id
        if self._picture.ref != ref:
            # the old run must not stand there as if it were this one
            counts = tuple(count_states(run.tasks))
            self._show(GraphPicture(ref, run, n_tasks=len(run.tasks), counts=counts))

        def work() -> Prepared:
            new = maker.make(ref, run, store, view, selected=selected)
            return Prepared(arranged(new, kept), maker)

        def done(prepared: Prepared) -> None:
            if asked == self._n_asked:
                self._drop_pending()
                self._maker = prepared.maker
                self._take(prepared.picture)
                if self._feed.run(ref) is not run:
                    self._refresh()

        assert self._offload is not None
        self._offload(work, done)

    def _drop_pending(self) -> None:
        self._pending = None
        self._n_asked += 1

    def _take(self, new: GraphPicture) -> None:
        """Show a picture that was laid out, and keep its places."""
        if new.placed is not None:
            self._kept = dict(new.placed.geometry.spots)
            if new.ref is not None and self._view.is_plain:
                self._homes.pop(new.ref, None)
                self._homes[new.ref] = self._kept
                while len(self._homes) > _MAX_HOMES:
                    del self._homes[next(iter(self._homes))]
        self._show(new)

    def _show(self, new: GraphPicture) -> None:
        old, self._picture = self._picture, new
        if new.placed is None or new.placed is not old.placed:
            if new.placed is not None or new != old:
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
        gone = list(self._hearing.forget(lambda run: self._feed.live(run) is None))
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
        is_news = self._hearing.take(activity)
        node = self._picture.shown_as.get(activity.task_id)
        if is_news and activity.run == self._selection.run and node is not None:
            self.changed.emit(frozenset({node}))


def _is_like(known: tuple[RunRef | None, RunView | None], ref: RunRef, run: RunView) -> bool:
    """Whether it is the same run with the same tasks hanging together in the same way."""
    old = known[1]
    return (
        known[0] == ref
        and old is not None
        and len(old.tasks) == len(run.tasks)
        and all(
            a is b or (a.id == b.id and a.depends_on == b.depends_on)
            for a, b in zip(old.tasks, run.tasks, strict=True)
        )
    )


def _told(picture: GraphPicture) -> tuple[object, ...]:
    return picture.n_tasks, picture.n_hidden, picture.counts, picture.refusal
