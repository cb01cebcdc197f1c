"""The outline of the selected run as a tree: run, task, turn, tool call (ux.md C5).

Compares by key and announces ranges, never a reset: what is open, selected and scrolled to stays.
Does nothing while nobody looks, and makes the turns and calls of a task when it is opened.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Final

from PySide6.QtCore import QAbstractItemModel, QModelIndex, QObject, QPersistentModelIndex, Qt
from typing_extensions import override

from oma_desktop.model.view import TaskView
from oma_desktop.viewmodel.feed import Feed
from oma_desktop.viewmodel.outline_rows import (
    NUMBERS,
    Branch,
    Column,
    Key,
    Kind,
    OutlineRow,
    TaskBranch,
    run_branch,
    sort_value,
)
from oma_desktop.viewmodel.roles import Role
from oma_desktop.viewmodel.rows import ranges
from oma_desktop.viewmodel.selection import Selection

Index = QModelIndex | QPersistentModelIndex
PLAN_ORDER: Final = -1
# made once: a tree asks for every row it lays out, and joining flags costs more than the answer
_OPENS: Final = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
_LEAF: Final = _OPENS | Qt.ItemFlag.ItemNeverHasChildren
_CALL_PARTS: Final = 4


class _Node:
    """A place in the tree. `id` names it inside Qt's indexes for as long as it lives; `is_made`
    false: what is below waits until the row is opened."""

    __slots__ = ("branch", "children", "id", "is_made", "key", "parent", "place")

    def __init__(self, id_: int, parent: _Node | None, branch: Branch | None) -> None:
        self.id = id_
        self.parent = parent
        self.branch = branch
        self.key: Key = branch.key if branch is not None else ()
        self.children: list[_Node] = []
        self.is_made = branch is None or not branch.is_later
        self.place = 0

    @property
    def row(self) -> OutlineRow | None:
        return self.branch.row if self.branch is not None else None


class OutlineModel(QAbstractItemModel):
    """Follows feed and selection.

    Invariants: keys are unique in the whole tree; nodes change only between Qt's begin and end
    calls; `data` is total. Only tasks are sorted; turns and calls keep the order of time. While it
    is not active the tree stays as it was last seen.
    """

    def __init__(
        self,
        feed: Feed,
        selection: Selection,
        parent: QObject | None = None,
        *,
        active: bool = True,
    ) -> None:
        super().__init__(parent)
        self._is_active = active
        self._is_behind = False
        self._feed = feed
        self._selection = selection
        self._root = _Node(0, None, None)
        self._gone = _Node(-1, None, None)  # what an outdated index leads to
        self._nodes: dict[int, _Node] = {0: self._root}
        self._by_key: dict[Key, _Node] = {}
        self._n_made = 0
        self._known: dict[str, TaskBranch] = {}
        self._sort = (PLAN_ORDER, Qt.SortOrder.AscendingOrder)
        self._text: Callable[[OutlineRow, int], str] | None = None
        self._sentence: Callable[[OutlineRow], str] | None = None
        self._heads: Callable[[int], str] | None = None
        feed.changed.connect(self._on_feed_changed)
        selection.run_changed.connect(self._on_run_changed)
        self._refresh()

    # -- for views --------------------------------------------------------------------------

    def set_words(
        self,
        *,
        text: Callable[[OutlineRow, int], str],
        sentence: Callable[[OutlineRow], str],
        heads: Callable[[int], str],
    ) -> None:
        """Set how cells, rows and columns read; the words come from `ui`."""
        self._text, self._sentence, self._heads = text, sentence, heads

    def set_active(self, *, active: bool) -> None:
        """Follow the feed only while somebody looks; catch up when somebody does again."""
        self._is_active = active
        if active and self._is_behind:
            self._refresh()

    def row_at(self, index: Index) -> OutlineRow | None:
        """Return the row of an index."""
        return self._node(index).row if index.isValid() else None

    def index_of(self, key: Key, column: int = 0) -> QModelIndex:
        """Return the index of a key, or an invalid one; what is below its task is made."""
        if len(key) > 2:  # of turns and calls the second part names the task
            self._make_below(self._by_key.get(("task", key[1])))
        node = self._by_key.get(key)
        return self._index(node, column) if node is not None else QModelIndex()

    def open_below(self, index: Index) -> None:
        """Make everything below a row."""
        node = self._node(index)
        self._make_below(node)
        for child in node.children:
            self._make_below(child)

    def keys_below(self, index: Index) -> tuple[Key, ...]:
        """Return the keys of the rows right below one."""
        return tuple(child.key for child in self._node(index).children)

    def index_of_call(self, task_id: str, call_id: str) -> QModelIndex:
        """Return the newest call of a task with this id; ids may come back in later turns."""
        task = self._by_key.get(("task", task_id))
        self._make_below(task)
        for turn in reversed(task.children if task is not None else ()):
            for call in turn.children:
                if call.key[-1] == call_id:
                    return self._index(call, 0)
        return QModelIndex()

    def lines(self) -> list[str]:
        """Return the rows that are made as text, for tests that read like a diff (house.md 3.6)."""
        told: list[str] = []

        def tell(node: _Node, depth: int) -> None:
            for child in node.children:
                row = child.row
                if row is not None:
                    told.append("  " * depth + _line(row))
                tell(child, depth + 1)

        tell(self._root, 0)
        return told

    # -- Qt ---------------------------------------------------------------------------------

    @override
    def index(
        self,
        row: int,
        column: int,
        parent: Index = QModelIndex(),  # noqa: B008 - Qt's own default
    ) -> QModelIndex:
        children = self._node(parent).children
        if 0 <= row < len(children) and 0 <= column < len(Column):
            return self._index(children[row], column)
        return QModelIndex()

    @override
    def parent(self, index: Index) -> QModelIndex:  # type: ignore[override]
        # the stub has only the overload of QObject.parent without arguments beside this one
        above = self._node(index).parent if index.isValid() else None
        if above is None or above is self._root:
            return QModelIndex()
        return self._index(above, 0)

    @override
    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's own default
        return 0 if parent.column() > 0 else len(self._node(parent).children)

    @override
    def hasChildren(self, parent: Index = QModelIndex()) -> bool:  # noqa: B008 - Qt's own default
        node = self._node(parent)
        return parent.column() <= 0 and (bool(node.children) or not node.is_made)

    @override
    def canFetchMore(self, parent: Index) -> bool:
        return not self._node(parent).is_made

    @override
    def fetchMore(self, parent: Index) -> None:
        self._make_below(self._node(parent))

    @override
    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's own default
        return len(Column)

    @override
    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        row = self.row_at(index)
        if row is None:
            return None
        if role == Role.ROW:
            return row
        if role == Role.KEY:
            return row.key
        if role == Role.SORT:
            return sort_value(row, index.column())
        if role == Qt.ItemDataRole.DisplayRole:
            return self._text(row, index.column()) if self._text is not None else row.title
        if role == Qt.ItemDataRole.AccessibleTextRole and self._sentence is not None:
            return self._sentence(row) if index.column() == 0 else None
        return None

    @override
    def headerData(
        self,
        section: int,
        orientation: Qt.Orientation,
        role: int = Qt.ItemDataRole.DisplayRole,
    ) -> object:
        is_head = orientation is Qt.Orientation.Horizontal and 0 <= section < len(Column)
        if is_head and role == Qt.ItemDataRole.DisplayRole:
            return self._heads(section) if self._heads is not None else Column(section).name
        if is_head and role == Qt.ItemDataRole.TextAlignmentRole:
            side = Qt.AlignmentFlag.AlignRight if section in NUMBERS else Qt.AlignmentFlag.AlignLeft
            return side | Qt.AlignmentFlag.AlignVCenter
        return None

    @override
    def flags(self, index: Index) -> Qt.ItemFlag:
        node = self._nodes.get(index.internalId()) if index.isValid() else None
        if node is None:
            return Qt.ItemFlag.NoItemFlags
        return _LEAF if len(node.key) == _CALL_PARTS else _OPENS

    @override
    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Sort tasks by a column; -1 is the order of the plan."""
        self._sort = (column, order)
        self._refresh()

    # -- making the tree --------------------------------------------------------------------

    def _refresh(self) -> None:
        self._is_behind = not self._is_active
        if self._is_behind:
            return
        ref = self._selection.run
        store = self._feed.store(ref.store) if ref is not None else None
        run = self._feed.run(ref) if ref is not None else None
        if run is None or store is None:
            self._known = {}
            self._sync(self._root, [])
            return
        tasks = self._task_branches(run.tasks)
        column, order = self._sort
        if column != PLAN_ORDER:
            tasks.sort(
                key=lambda b: sort_value(b.row, column),
                reverse=order is Qt.SortOrder.DescendingOrder,
            )
        self._sync(self._root, [run_branch(store, run, tasks)])

    def _task_branches(self, tasks: Sequence[TaskView]) -> list[TaskBranch]:
        """Make branches anew only for tasks that changed: the usual save changes one."""
        known = self._known
        self._known = now = {}
        for task in tasks:
            old = known.get(task.id)
            same = old is not None and (old.task is task or old.task == task)
            now[task.id] = old if same and old is not None else TaskBranch(task)
        return list(now.values())

    def _sync(self, node: _Node, branches: Sequence[Branch]) -> None:
        """Make the children of a node what `branches` say, announcing only what moved."""
        keys = [b.key for b in branches]
        if keys != [c.key for c in node.children]:
            self._remove_missing(node, set(keys))
            self._reorder(node, keys)
            self._insert_missing(node, branches)
        changed: list[int] = []
        below: list[tuple[_Node, Branch]] = []
        for child, branch in zip(node.children, branches, strict=True):
            old = child.branch
            if old is branch:
                continue
            child.branch = branch
            if child.is_made or not branch.is_later:
                child.is_made = True
                below.append((child, branch))
            if old is None or not old.says_what(branch):
                changed.append(child.place)
        for first, last in ranges(changed):
            left = self._index(node.children[first], 0)
            right = self._index(node.children[last], len(Column) - 1)
            self.dataChanged.emit(left, right)
        for child, branch in below:
            self._sync(child, branch.branches)

    def _make_below(self, node: _Node | None) -> None:
        """Make what is below a row that is opened."""
        if node is None or node.is_made or node.branch is None:
            return
        branches = node.branch.branches
        self.beginInsertRows(self._index_or_root(node), 0, len(branches) - 1)
        node.is_made = True
        node.children = [self._grow(node, b) for b in branches]
        _number(node)
        self.endInsertRows()

    def _remove_missing(self, node: _Node, wanted: set[Key]) -> None:
        gone = [c.place for c in node.children if c.key not in wanted]
        for first, last in reversed(list(ranges(gone))):
            self.beginRemoveRows(self._index_or_root(node), first, last)
            for child in node.children[first : last + 1]:
                self._forget(child)
            del node.children[first : last + 1]
            _number(node)
            self.endRemoveRows()

    def _reorder(self, node: _Node, keys: Sequence[Key]) -> None:
        rank = {k: i for i, k in enumerate(keys)}
        order = [rank[c.key] for c in node.children]
        if all(a < b for a, b in pairwise(order)):
            return
        self.layoutAboutToBeChanged.emit()  # the binding takes no arguments (PySide6 6.11.3)
        moving = [i for i in self.persistentIndexList() if self._node(i).parent is node]
        node.children.sort(key=lambda c: rank[c.key])
        _number(node)
        moved = [self._index(self._node(i), i.column()) for i in moving]
        self.changePersistentIndexList(moving, moved)
        self.layoutChanged.emit()

    def _insert_missing(self, node: _Node, branches: Sequence[Branch]) -> None:
        known = {c.key for c in node.children}
        missing = [i for i, b in enumerate(branches) if b.key not in known]
        for first, last in ranges(missing):
            self.beginInsertRows(self._index_or_root(node), first, last)
            made = [self._grow(node, b) for b in branches[first : last + 1]]
            node.children[first:first] = made
            _number(node)
            self.endInsertRows()

    def _grow(self, parent: _Node, branch: Branch) -> _Node:
        self._n_made += 1
        node = _Node(self._n_made, parent, branch)
        self._nodes[node.id] = node
        self._by_key[branch.key] = node
        if node.is_made:
            node.children = [self._grow(node, b) for b in branch.branches]
            _number(node)
        return node

    def _forget(self, node: _Node) -> None:
        del self._nodes[node.id]
        self._by_key.pop(node.key, None)
        for child in node.children:
            self._forget(child)

    # -- indexes ----------------------------------------------------------------------------

    def _node(self, index: Index) -> _Node:
        return self._nodes.get(index.internalId(), self._gone) if index.isValid() else self._root

    def _index(self, node: _Node, column: int) -> QModelIndex:
        return self.createIndex(node.place, column, node.id)

    def _index_or_root(self, node: _Node) -> QModelIndex:
        return QModelIndex() if node is self._root else self._index(node, 0)

    # -- events -----------------------------------------------------------------------------

    def _on_feed_changed(self, paths: frozenset[str]) -> None:
        ref = self._selection.run
        if ref is not None and ref.store in paths:
            self._refresh()

    def _on_run_changed(self) -> None:
        self._known = {}
        self._refresh()


def _number(node: _Node) -> None:
    for place, child in enumerate(node.children):
        child.place = place


def _line(row: OutlineRow) -> str:
    name = f"turn {row.number}" if row.kind is Kind.TURN else row.title
    state = f" {row.state.value}" if row.state is not None else ""
    agent = f" by {row.agent}" if row.agent and row.kind is Kind.TASK else ""
    calls = f" {row.n_saved} saved {row.n_open} open" if row.n_saved or row.n_open else ""
    tokens = f" {row.tokens} tokens" if row.tokens else ""
    return f"{name}{state}{agent}{calls}{tokens}"
