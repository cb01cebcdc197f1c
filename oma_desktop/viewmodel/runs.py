"""The Runs table: one row per run under three heads, needs you first (ux.md C5)."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import Enum
from pathlib import PurePath
from typing import Final

from PySide6.QtCore import QObject, Signal
from typing_extensions import override

from oma_desktop.model.view import (
    OwnerKind,
    RunRef,
    RunState,
    RunView,
    StoreView,
    TaskState,
)
from oma_desktop.viewmodel.feed import Feed
from oma_desktop.viewmodel.namesakes import places_of
from oma_desktop.viewmodel.rows import Rows


class RunGroup(Enum):
    """Heads of the list, in the order they are shown."""

    NEEDS_YOU = "needs_you"
    RUNNING = "running"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class GroupRow:
    """A head with the number of runs under it; folded heads hide them."""

    group: RunGroup
    n_runs: int
    folded: bool = False


@dataclass(frozen=True, slots=True)
class RunRow:
    """One run as the list shows it.

    `heard_at` is when its facts were true (the save time); `ended_at` None: the clock still runs.
    """

    ref: RunRef
    name: str
    state: RunState
    group: RunGroup
    tasks: tuple[TaskState, ...]
    n_done: int
    n_waiting: int
    heard_at: datetime | None
    started_at: datetime | None
    ended_at: datetime | None
    owner: OwnerKind
    pid: int | None
    readable: bool
    unreadable_since: datetime | None
    place: str = ""
    """The folder that tells it from others of its name; empty where the name is its own."""


Row = GroupRow | RunRow

_LIVE: Final = frozenset({RunState.RUNNING, RunState.SUSPENDING})
# File names that say nothing about the run inside: the folder speaks instead
_DULL_NAMES: Final = frozenset(
    {"checkpoint", "store", "state", "memory", "filestore", "run", "oma"}
)
_UUID: Final = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def run_name(store: StoreView, run: RunView) -> str:
    """Return the short name of a run: its id, unless that is only a number made by a machine.

    Then the file says more, or its folder where the file name is the usual one.
    """
    if run.run_id and (len(store.runs) > 1 or not _UUID.fullmatch(run.run_id)):
        return run.run_id
    path = PurePath(store.path)
    if path.stem.lower() in _DULL_NAMES and path.parent.name:
        return path.parent.name
    return path.stem


def group_of(run: RunView) -> RunGroup:
    """Return the head a run stands under; an open request counts before everything."""
    if run.n_open_approvals:
        return RunGroup.NEEDS_YOU
    return RunGroup.RUNNING if run.state in _LIVE else RunGroup.STOPPED


def run_row(store: StoreView, run: RunView, *, suspending: bool = False) -> RunRow:
    """Return the row of one run. `suspending` is known only for embedded runs."""
    state = RunState.SUSPENDING if suspending and run.state is RunState.RUNNING else run.state
    heard = run.saved_at or store.modified_at
    owner = run.owner or store.owner
    states = tuple([t.state for t in run.tasks])
    ended = run.end.at if run.end is not None and run.end.at is not None else heard
    return RunRow(
        ref=RunRef(store.path, run.key),
        name=run_name(store, run),
        state=state,
        group=group_of(run),
        tasks=states,
        n_done=states.count(TaskState.DONE),
        n_waiting=run.n_open_approvals,
        heard_at=heard,
        started_at=run.started_at,
        ended_at=None if state in _LIVE else ended,
        owner=owner.kind,
        pid=owner.pid,
        readable=store.readable and run.readable,
        unreadable_since=store.unreadable_since,
    )


class RunRows(Rows[Row]):
    """Runs of all watched stores. Listens to the feed; rebuilds only what it is told changed."""

    n_columns = 1
    told = Signal()  # what an empty list says may have changed

    def __init__(self, feed: Feed, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._feed = feed
        self._runs: dict[str, tuple[RunRow, ...]] = {}
        self._folded: set[RunGroup] = set()
        self._filter = ""
        self._names: dict[str, set[RunRef]] = {}
        self._apart: dict[str, dict[RunRef, str]] = {}
        feed.changed.connect(self._on_feed_changed)
        feed.live_changed.connect(self._on_feed_live_changed)
        feed.scanned.connect(self.told)
        self._on_feed_live_changed()

    @property
    def n_runs(self) -> int:
        """How many runs are known, shown or not."""
        return sum(len(rows) for rows in self._runs.values())

    @property
    def n_unreadable(self) -> int:
        """How many watched files cannot be read and never could: no run stands for them."""
        return sum(not s.readable and not s.runs for s in self._feed.stores())

    def is_looking(self, watched: Iterable[str]) -> bool:
        """Whether it is too early to say that a watched place holds nothing."""
        return self._feed.is_looking(watched)

    @property
    def n_shown(self) -> int:
        """How many runs pass the filter."""
        return sum(r.n_runs for r in self.rows() if isinstance(r, GroupRow))

    @property
    def n_waiting(self) -> int:
        """How many decisions wait in all runs."""
        return sum(r.n_waiting for rows in self._runs.values() for r in rows)

    def set_filter(self, text: str) -> None:
        """Show only runs whose name or path holds all the words, whatever their case."""
        if text != self._filter:
            self._filter = text
            self._lay()

    def toggle_group(self, group: RunGroup) -> None:
        """Fold or unfold a head."""
        self._folded ^= {group}
        self._lay()

    def all_rows(self) -> list[RunRow]:
        """Return all runs, shown or not, in no order."""
        return [row for rows in self._runs.values() for row in rows]

    def run_rows(self) -> list[RunRow]:
        """Return the visible runs, in order."""
        return [r for r in self.rows() if isinstance(r, RunRow)]

    @override
    def key(self, row: Row) -> Hashable:
        return row.group if isinstance(row, GroupRow) else row.ref

    @override
    def cell(self, row: Row, column: int) -> object:
        if isinstance(row, GroupRow):
            return f"[{row.group.value} {row.n_runs}]"
        return f"{row.name} {row.state.value} {row.n_done}/{len(row.tasks)} !{row.n_waiting}"

    @override
    def is_selectable(self, row: Row) -> bool:
        return isinstance(row, RunRow)

    def _on_feed_changed(self, paths: frozenset[str]) -> None:
        before = [r for p in paths for r in self._runs.get(p, ())]
        for path in paths:
            self._read_store(path)
        after = [r for p in paths for r in self._runs.get(p, ())]
        if [_standing(r) for r in before] == [_standing(r) for r in after]:
            # the usual case: one of ten thousand saved again
            self.replace_rows([self._placed(r) for r in after])
        else:
            self._lay()
        if not self._runs or not self.n_runs:
            self.told.emit()

    def _on_feed_live_changed(self) -> None:
        for store in self._feed.stores():
            self._read_store(store.path)
        self._lay()

    def _read_store(self, path: str) -> None:
        store = self._feed.store(path)
        for row in self._runs.pop(path, ()) if store is None else self._runs.get(path, ()):
            self._names[row.name].discard(row.ref)
            self._apart.pop(row.name, None)
        if store is None:
            return
        rows = []
        for run in store.runs:
            live = self._feed.live(RunRef(path, run.key))
            rows.append(run_row(store, run, suspending=live is not None and live.suspending))
        self._runs[path] = tuple(rows)
        for row in rows:
            self._names.setdefault(row.name, set()).add(row.ref)
            self._apart.pop(row.name, None)

    def _placed(self, row: RunRow) -> RunRow:
        """Say where a run is that shares its name."""
        same = self._names[row.name]
        if len(same) < 2:
            return row
        places = self._apart.get(row.name)
        if places is None:
            places = self._apart[row.name] = places_of(same)
        return replace(row, place=places[row.ref])

    def _lay(self) -> None:
        words = self._filter.lower().split()
        shown = [r for rows in self._runs.values() for r in rows if _matches(r, words)]
        laid: list[Row] = []
        for group in RunGroup:
            members = sorted((r for r in shown if r.group is group), key=_rank)
            if members:
                folded = group in self._folded
                laid.append(GroupRow(group, len(members), folded))
                laid += [] if folded else map(self._placed, members)
        self.set_rows(laid)


def _matches(row: RunRow, words: Iterable[str]) -> bool:
    hay = f"{row.name} {row.ref.store} {row.ref.key}".lower()
    return all(w in hay for w in words)


def _standing(row: RunRow) -> tuple[RunRef, RunGroup, tuple[bool, float, str, str]]:
    return row.ref, row.group, _rank(row)


def _rank(row: RunRow) -> tuple[bool, float, str, str]:
    # A live run saves all the time; by start time it keeps its place
    live = row.state in _LIVE
    moment = row.started_at or row.heard_at if live else row.heard_at
    return (not live, -(moment or _EPOCH).timestamp(), row.name, row.ref.key)
