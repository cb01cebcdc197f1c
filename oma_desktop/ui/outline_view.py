"""The Outline: the map's twin as a tree table, whole by keyboard (ux.md C5, C18).

Not a lesser view: what the map or a panel offers for a task is in its menu too. What is selected is
in `Selection`; verbs are only asked for by signal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from PySide6.QtCore import QModelIndex, QPoint, Qt, Signal
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QMenu, QStackedLayout, QWidget
from typing_extensions import override

from oma_desktop.base.text import tr
from oma_desktop.ui import icons
from oma_desktop.ui.empty_state import EmptyState
from oma_desktop.ui.language import Retranslated
from oma_desktop.ui.outline_tree import OutlineTree
from oma_desktop.ui.outline_words import cell_text, head_text, row_sentence
from oma_desktop.ui.slices import Slices
from oma_desktop.ui.theme import theme_host
from oma_desktop.viewmodel.feed import Feed
from oma_desktop.viewmodel.outline import OutlineModel
from oma_desktop.viewmodel.outline_rows import Key, Kind, OutlineRow
from oma_desktop.viewmodel.selection import Selection
from oma_desktop.viewmodel.verbs import open_request_of


class OutlineView(Retranslated):
    """A centre tab.

    `opened` asks for the details of what is selected, `conversation_requested` for its messages,
    `review_requested` carries (store path, request id), `map_requested` asks for the picture.
    """

    opened = Signal()
    conversation_requested = Signal()
    review_requested = Signal(object)
    map_requested = Signal()

    def __init__(self, feed: Feed, selection: Selection, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._feed = feed
        self._selection = selection
        self._is_following = False
        self._menu: QMenu | None = None
        self.model = OutlineModel(feed, selection, self, active=False)
        self.model.set_words(text=cell_text, sentence=row_sentence, heads=head_text)
        self.tree = OutlineTree(self.model)
        self._empty = EmptyState("outline")
        self._opening = Slices(self)
        self._pages = QStackedLayout(self)
        self._pages.setContentsMargins(0, 0, 0, 0)
        self._pages.addWidget(self.tree)
        self._pages.addWidget(self._empty)
        self.setProperty("ground", "surface")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setFocusProxy(self.tree)

        self.model.rowsInserted.connect(self._on_rows_inserted)
        self.model.rowsRemoved.connect(self._choose_page)
        self.tree.selectionModel().currentChanged.connect(self._on_current_changed)
        self.tree.opened.connect(self.opened)
        self.tree.menu_wanted.connect(self.show_menu)
        selection.task_changed.connect(self._follow)
        selection.call_changed.connect(self._follow)
        theme_host().theme_changed.connect(self.tree.lay_columns)
        self.tree.expand(self.model.index(0, 0))
        self._choose_page()
        self._follow()
        self.retranslate()

    @override
    def retranslate(self) -> None:
        self.tree.setAccessibleName(tr("Outline"))
        self._empty.say(tr("No run selected"), tr("Choose a run in the list at the left."))
        self.tree.lay_columns()
        self.tree.header().viewport().update()

    @override
    def showEvent(self, event: QShowEvent) -> None:
        self._is_following = True  # rows that went meanwhile are no choice of the operator
        self.model.set_active(active=True)
        self._is_following = False
        super().showEvent(event)
        self._follow()

    @override
    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self.model.set_active(active=False)

    def show_menu(self, at: QPoint) -> None:
        """Offer everything that can be done with the current row."""
        if self._menu is not None:
            self._menu.deleteLater()
        menu = self._menu = QMenu(self)
        row = self.model.row_at(self.tree.currentIndex())
        if row is not None and row.task_id is not None:
            menu.addAction(tr("Show details"), self.opened.emit)
            conversation = menu.addAction(icons.icon("conversation"), tr("Open conversation"))
            conversation.triggered.connect(self.conversation_requested)
            if self._request(row) is not None:
                menu.addAction(icons.icon("review"), tr("Review request"), self._review)
            menu.addAction(icons.icon("map"), tr("Show on the map"), self.map_requested.emit)
            menu.addSeparator()
        menu.addAction(tr("Open all below"), self._expand_below)
        menu.addAction(tr("Close all"), self._collapse)
        menu.popup(at)

    # -- parts ------------------------------------------------------------------------------

    def _request(self, row: OutlineRow) -> tuple[str, str] | None:
        """Return the open request of the row's call, else of its task."""
        ref = self._selection.run
        store = self._feed.store(ref.store) if ref is not None else None
        run = self._feed.run(ref) if ref is not None else None
        if store is None or run is None or row.task_id is None:
            return None
        if row.call is not None:
            wanted = row.call.approval_id
            is_open = any(a.id == wanted and a.open for a in store.approvals)
            return (store.path, wanted) if wanted is not None and is_open else None
        found = open_request_of(store, run, task_id=row.task_id)
        return (store.path, found.id) if found is not None else None

    def _review(self) -> None:
        row = self.model.row_at(self.tree.currentIndex())
        target = self._request(row) if row is not None else None
        if target is not None:
            self.review_requested.emit(target)

    def _expand_below(self) -> None:
        index = self.tree.currentIndex().siblingAtColumn(0)
        row = self.model.row_at(index)
        if row is not None and row.kind is Kind.RUN:
            self.tree.expand(index)
            self._opening.start(self._opening_all(self.model.keys_below(index)))
        else:
            self._open_whole(index)

    def _opening_all(self, keys: Iterable[Key]) -> Iterator[int]:
        """Open one task after the other; [measured] 1,800 at once held the window for 280 ms."""
        for key in keys:
            yield self._open_whole(self.model.index_of(key))

    def _open_whole(self, index: QModelIndex) -> int:
        """Open a row and what is below it; returns the cost. The inner rows first: they cost
        nothing while they are not in sight, and then come with the outer one."""
        if not index.isValid():
            return 1  # it went while others were opened
        self.model.open_below(index)
        n = 0
        for i in range(self.model.rowCount(index)):
            inner = self.model.index(i, 0, index)
            n += 1 + self.model.rowCount(inner)
            self.tree.expand(inner)
        self.tree.expand(index)
        return 50 + 30 * n

    def _collapse(self) -> None:
        self._opening.stop()
        self.tree.collapseAll()
        self.tree.expand(self.model.index(0, 0))

    def _choose_page(self) -> None:
        self._pages.setCurrentIndex(0 if self.model.rowCount() else 1)

    def _on_rows_inserted(self, parent: QModelIndex, first: int, _last: int) -> None:
        if not parent.isValid():
            self.tree.expand(self.model.index(first, 0))
        self._choose_page()
        self._follow()

    def _follow(self) -> None:
        """Make the selected call or task the current row; unseen, nothing is made for it."""
        if not self.isVisible():
            return
        task_id, call_id = self._selection.task_id, self._selection.call_id
        index = QModelIndex()
        if task_id is not None and call_id is not None:
            index = self.model.index_of_call(task_id, call_id)
        if task_id is not None and not index.isValid():
            index = self.model.index_of(("task", task_id))
        here = self.model.row_at(self.tree.currentIndex())
        is_inside = here is not None and here.kind is Kind.TURN and here.task_id == task_id
        if index.isValid() and not (is_inside and call_id is None):
            self._is_following = True
            self.tree.setCurrentIndex(index)
            self.tree.scrollTo(index)
            self._is_following = False

    def _on_current_changed(self, index: QModelIndex) -> None:
        row = self.model.row_at(index)
        if self._is_following or row is None:
            return
        if row.call is not None:
            self._selection.select_call(row.call.call_id, task_id=row.task_id)
        elif row.task_id is not None and row.task_id != self._selection.task_id:
            self._selection.select_task(row.task_id)
        elif row.kind is Kind.TASK and self._selection.call_id is not None:
            self._selection.select_call(None, task_id=row.task_id)
