"""The approval inbox: one query over all stores drives badge, list, filter and review order.

(ux.md C7; airflow#66428 shows what happens when the count and the list ask different questions.)
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from PySide6.QtCore import QObject, Signal
from typing_extensions import override

from oma_desktop.model.json_value import JsonObject
from oma_desktop.model.view import (
    ApprovalView,
    Effect,
    Owner,
    OwnerKind,
    RunView,
    StoreView,
)
from oma_desktop.viewmodel.feed import Feed
from oma_desktop.viewmodel.rows import Rows
from oma_desktop.viewmodel.runs import run_name


class Group(StrEnum):
    """Where a request stands, in the order of the list."""

    NEEDS_YOU = "needs_you"
    NOT_HERE = "not_here"
    DECIDED = "decided"
    NO_LONGER_OPEN = "no_longer_open"


GROUPS = tuple(Group)


@dataclass(frozen=True, slots=True)
class RequestKey:
    """Names one request of one store."""

    store: str
    request_id: str


@dataclass(frozen=True, slots=True)
class RequestRow:
    """One request with what surrounds it. `run` is None when its checkpoint is gone."""

    key: RequestKey
    request: ApprovalView
    group: Group
    owner: Owner
    run: RunView | None
    run_name: str

    @property
    def acts_on_world(self) -> bool:
        """Say whether the call was marked as consequential, by its author or in the request."""
        return self.request.effect is Effect.CONSEQUENTIAL or bool(
            self.request.content.get("consequential")
        )

    @property
    def n_tasks(self) -> int:
        """How many tasks a plan or round would start."""
        tasks = self.request.content.get(
            "nextTasks" if self.request.scope == "task_round" else "tasks"
        )
        return len(tasks) if isinstance(tasks, list) else 0

    @property
    def search_text(self) -> str:
        """What the filter of the list looks at."""
        request = self.request
        parts = (
            self.run_name,
            request.run_id,
            request.scope,
            request.tool,
            request.task_title,
            request.task_id,
            request.agent,
            request.reviewer_id,
        )
        return "\n".join(p for p in parts if p).casefold()


def owned_elsewhere(owner: Owner) -> bool:
    """The owner rule of ux.md C7: another live process writes this store."""
    return owner.kind is OwnerKind.OTHER_PROCESS


def group_of(request: ApprovalView, owner: Owner, *, readable: bool = True) -> Group:
    """Return where a request stands; a decision counts even after its run has gone.

    What an unreadable store asks cannot be decided: nothing could be recorded in it.
    """
    if request.state != "pending":
        return Group.DECIDED
    if not request.open:
        return Group.NO_LONGER_OPEN
    decidable = readable and not owned_elsewhere(owner)
    return Group.NEEDS_YOU if decidable else Group.NOT_HERE


def query(stores: Iterable[StoreView]) -> tuple[RequestRow, ...]:
    """Return every request of every store, in list order: the only query there is.

    Open ones oldest first (they wait longest), decided ones newest first.
    """
    rows = [row for store in stores for row in _rows(store)]
    return tuple(sorted(rows, key=_order))


def _rows(store: StoreView) -> Iterable[RequestRow]:
    runs = {run.run_id: run for run in store.runs}
    for request in store.approvals:
        run = runs.get(request.run_id)
        yield RequestRow(
            RequestKey(store.path, request.id),
            request,
            group_of(request, store.owner, readable=store.readable),
            store.owner,
            run,
            run_name(store, run) if run is not None else request.run_id,
        )


def _order(row: RequestRow) -> tuple[int, float, str, str]:
    request = row.request
    decided = row.group in {Group.DECIDED, Group.NO_LONGER_OPEN}
    at = request.decided_at or request.requested_at
    stamp = at.timestamp() if at else 0.0
    return GROUPS.index(row.group), -stamp if decided else stamp, row.key.store, request.id


def matching(rows: Sequence[RequestRow], words: str) -> tuple[RequestRow, ...]:
    """Return the rows that contain every word."""
    wanted = words.casefold().split()
    return tuple(r for r in rows if all(w in r.search_text for w in wanted))


class Inbox(QObject):
    """The newest answer of `query`, kept current with the feed."""

    changed = Signal()

    def __init__(self, feed: Feed, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._feed = feed
        self._rows = query(feed.stores())
        feed.changed.connect(self._on_feed_changed)

    def _on_feed_changed(self, _paths: object) -> None:
        rows = query(self._feed.stores())
        if rows != self._rows:
            self._rows = rows
            self.changed.emit()

    def rows(self, words: str = "") -> tuple[RequestRow, ...]:
        """Return the rows that pass the filter."""
        return matching(self._rows, words)

    def row(self, key: RequestKey) -> RequestRow | None:
        """Return one row, or None when its store or request is gone."""
        return next((r for r in self._rows if r.key == key), None)

    def open_keys(self) -> tuple[RequestKey, ...]:
        """Return what needs you, in list order: the badge counts these, the review walks them."""
        return tuple(r.key for r in self._rows if r.group is Group.NEEDS_YOU)

    @property
    def badge(self) -> int:
        """How many requests need you."""
        return len(self.open_keys())

    @property
    def last_decided(self) -> RequestRow | None:
        """The newest decision, for the empty inbox."""
        return max(self._rows, key=_decided_stamp, default=None) if self._has_decision() else None

    def _has_decision(self) -> bool:
        return any(r.request.decided_at is not None for r in self._rows)


@dataclass(frozen=True, slots=True)
class HeadRow:
    """A head with the number of requests under it; folded heads hide them."""

    group: Group
    n: int
    folded: bool


InboxRow = HeadRow | RequestRow
ALWAYS_OPEN = Group.NEEDS_YOU


class InboxRows(Rows[InboxRow]):
    """The inbox as a list: heads and cards. `needs you` has no head, it is what the list is for."""

    def __init__(
        self,
        inbox: Inbox,
        parent: QObject | None = None,
        *,
        text: Callable[[InboxRow, int], str] | None = None,
    ) -> None:
        super().__init__(parent, text=text)
        self._inbox = inbox
        self._folded = {Group.DECIDED, Group.NO_LONGER_OPEN}
        self._filter = ""
        inbox.changed.connect(self._refresh)
        self._refresh()

    @property
    def n_shown(self) -> int:
        """How many requests pass the filter, folded or not."""
        return len(self._inbox.rows(self._filter))

    @property
    def n_all(self) -> int:
        """How many requests there are."""
        return len(self._inbox.rows())

    def set_filter(self, words: str) -> None:
        """Show only requests that hold all the words."""
        if words != self._filter:
            self._filter = words
            self._refresh()

    def toggle(self, group: Group) -> None:
        """Fold or unfold a group."""
        self._folded ^= {group}
        self._refresh()

    @override
    def key(self, row: InboxRow) -> Hashable:
        return row.group if isinstance(row, HeadRow) else row.key

    @override
    def cell(self, row: InboxRow, column: int) -> object:
        if isinstance(row, HeadRow):
            return f"{row.group.value} ({row.n})"
        return f"{row.group.value} {row.request.id}"

    def _refresh(self) -> None:
        self.set_rows(list(self._listed()))

    def _listed(self) -> Iterator[InboxRow]:
        rows = self._inbox.rows(self._filter)
        for group in GROUPS:
            members = [r for r in rows if r.group is group]
            if not members:
                continue
            folded = group in self._folded and not self._filter
            if group is not ALWAYS_OPEN:
                yield HeadRow(group, len(members), folded)
            if not folded:
                yield from members


def _decided_stamp(row: RequestRow) -> float:
    at = row.request.decided_at
    return at.timestamp() if at is not None else 0.0


def tasks_of(content: JsonObject) -> tuple[tuple[str, tuple[JsonObject, ...]], ...]:
    """Return the task lists of a plan, round or dispatch by the name of their key, in order."""
    lists: list[tuple[str, tuple[JsonObject, ...]]] = []
    for key, value in content.items():
        if key == "task" and isinstance(value, dict):
            lists.append((key, (value,)))
        elif key in {"tasks", "completedTasks", "nextTasks"} and isinstance(value, list):
            lists.append((key, tuple(t for t in value if isinstance(t, dict))))
    return tuple(lists)
