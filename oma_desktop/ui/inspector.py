"""The Inspector: facts of the selection, its ledger, its neighbours, its verbs (ux.md C5)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from PySide6.QtCore import QModelIndex, Qt, Signal
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from oma_desktop.base.text import ntr, tr
from oma_desktop.model.view import RunView, StoreView, TaskView
from oma_desktop.ui import icons, words
from oma_desktop.ui.actions import Actions
from oma_desktop.ui.call_view import CallView
from oma_desktop.ui.copy_label import CopyLabel
from oma_desktop.ui.empty_state import EmptyState
from oma_desktop.ui.facts import FactGrid
from oma_desktop.ui.inspector_facts import run_facts, task_facts
from oma_desktop.ui.inspector_parts import Neighbours, Verb
from oma_desktop.ui.labels import Label
from oma_desktop.ui.language import Retranslated
from oma_desktop.ui.theme import theme, theme_host
from oma_desktop.ui.tool_ledger import ToolLedger
from oma_desktop.viewmodel.commands import Commands
from oma_desktop.viewmodel.feed import CallDetail, Feed
from oma_desktop.viewmodel.runs import run_row
from oma_desktop.viewmodel.selection import Selection
from oma_desktop.viewmodel.tools import ToolRows, n_open
from oma_desktop.viewmodel.verbs import open_request_of

ReviewTarget = tuple[str, str]  # store path, request id


class Inspector(Retranslated):
    """Follows the selection; knows nothing the feed does not say."""

    review_requested = Signal(object)  # ReviewTarget
    conversation_requested = Signal()

    def __init__(
        self,
        feed: Feed,
        commands: Commands,
        selection: Selection,
        actions: Actions,
        *,
        now: Callable[[], datetime],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._feed = feed
        self._commands = commands
        self._selection = selection
        self._now = now
        self._rows = ToolRows(self, text=_read_call)
        self._review: ReviewTarget | None = None
        self._moving = False

        self._shape = QLabel()
        self._name = Label("heading", wrap=True)
        self._id = CopyLabel()
        self._facts = FactGrid()
        self._verb = Verb(actions)
        self._ledger_head = Label("section", "text.2")
        self._ledger_end = Label("caption", "text.muted")
        self.ledger = ToolLedger(self._rows)
        self._call = CallView()
        self._neighbours = Neighbours()
        self._empty = EmptyState("info")
        self._page = QScrollArea()
        self._page.setWidgetResizable(True)
        self._page.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._page.setFrameShape(QFrame.Shape.NoFrame)
        self._page.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._lay_out()

        self._verb.review_pressed.connect(self._on_review_pressed)
        self._verb.conversation_pressed.connect(self.conversation_requested)
        self._neighbours.chosen.connect(selection.select_task)
        self.ledger.selectionModel().currentRowChanged.connect(self._on_call_chosen)
        selection.task_changed.connect(self.refresh)  # comes with every other run, too
        selection.call_changed.connect(self._on_selection_call_changed)
        feed.changed.connect(self._on_feed_changed)
        feed.live_changed.connect(self.refresh)
        feed.call_loaded.connect(self._on_feed_call_loaded)
        theme_host().theme_changed.connect(self._on_theme_changed)
        self._on_theme_changed()

    def _lay_out(self) -> None:
        head = QHBoxLayout()
        head.setContentsMargins(12, 10, 12, 0)
        head.setSpacing(8)
        head.addWidget(self._shape, alignment=Qt.AlignmentFlag.AlignTop)
        head.addWidget(self._name, 1)
        head.addWidget(self._id, alignment=Qt.AlignmentFlag.AlignTop)
        facts = QVBoxLayout()
        facts.setContentsMargins(12, 8, 12, 0)
        facts.addWidget(self._facts)
        self._section = QWidget()
        ledger_head = QHBoxLayout(self._section)
        ledger_head.setContentsMargins(12, 0, 12, 0)
        ledger_head.addWidget(self._ledger_head)
        ledger_head.addStretch(1)
        ledger_head.addWidget(self._ledger_end)
        self._lines = [_line(), _line()]
        inside = QWidget()
        inside.setProperty("ground", "surface")
        column = QVBoxLayout(inside)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(head)
        column.addLayout(facts)
        column.addWidget(self._verb)
        column.addWidget(self._lines[0])
        column.addWidget(self._section)
        column.addWidget(self.ledger)
        column.addWidget(self._call)
        column.addWidget(self._lines[1])
        column.addWidget(self._neighbours)
        column.addStretch(1)
        self._page.setWidget(inside)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(self._page)
        outer.addWidget(self._empty)

    def refresh(self) -> None:
        """Show the selection as the feed has it now."""
        ref = self._selection.run
        store = self._feed.store(ref.store) if ref is not None else None
        run = self._feed.run(ref) if ref is not None else None
        known = store is not None and run is not None
        self._page.setVisible(known)
        self._empty.setVisible(not known)
        if store is None or run is None:
            self._empty.say(
                tr("Nothing is selected."), tr("Choose a run or a task to see its facts.")
            )
            return
        task_id = self._selection.task_id
        task = (
            next((t for t in run.tasks if t.id == task_id), None) if task_id is not None else None
        )
        if task is None:
            self._show_run(run, store)
        else:
            self._show_task(task, run, store)
        request = open_request_of(store, run, task_id=task.id if task else None)
        self._review = None if request is None else (store.path, request.id)
        self._verb.show_verbs(
            review=self._review is not None, conversation=task is not None, run=task is None
        )

    def tick(self) -> None:
        """Let ages move on."""
        if self.isVisible():
            self.refresh()

    @override
    def retranslate(self) -> None:
        self.ledger.setAccessibleName(tr("Tool calls"))
        self._ledger_end.setText(tr("output"))
        self._verb.retranslate()
        self.refresh()

    def _show_run(self, run: RunView, store: StoreView) -> None:
        ref = self._selection.run
        live = self._feed.live(ref) if ref is not None else None
        row = run_row(store, run, suspending=live is not None and live.suspending)
        self._show_head(row.state.value, row.name, "")
        since = live.answering_since if live is not None else None
        facts = run_facts(row, run, store, now=self._now(), answering_since=since)
        self._facts.show_facts(facts)
        self._show_ledger(None)
        self._neighbours.hide()
        self.setAccessibleName(
            tr("Inspector: run {name}, {state}", name=row.name, state=words.run_word(row.state))
        )

    def _show_task(self, task: TaskView, run: RunView, store: StoreView) -> None:
        self._show_head(task.state.value, task.title, task.id)
        self._facts.show_facts(task_facts(task, run, store, now=self._now()))
        self._show_ledger(task)
        self._neighbours.show_task(task, run.tasks)
        sentence = words.task_sentence(task, n_open=n_open(task))
        self.setAccessibleName(tr("Inspector: {sentence}", sentence=sentence))

    def _show_head(self, shape: str, name: str, id_: str) -> None:
        size = theme().px(20)
        self._shape.setPixmap(icons.state_pixmap(shape, size, dpr=self.devicePixelRatioF()))
        self._name.setText(name)
        self._id.show_id(id_)

    def _show_ledger(self, task: TaskView | None) -> None:
        self._moving = True
        self._rows.set_task(task)
        self._moving = False
        n = self._rows.rowCount()
        for part in (self._lines[0], self._section, self.ledger):
            part.setVisible(n > 0)
        self._ledger_head.setText(ntr("{n} tool call", "{n} tool calls", n))
        self._show_call()

    def _show_call(self) -> None:
        place = self._rows.find(self._selection.call_id) if self._selection.call_id else -1
        self._moving = True
        if place < 0:
            self.ledger.clearSelection()
        elif place != self.ledger.currentIndex().row() or not self.ledger.selectedIndexes():
            self.ledger.setCurrentIndex(self._rows.index(place, 0))
        self._moving = False
        self._call.show_call(self._rows.row_at(place))

    def _on_call_chosen(self, current: QModelIndex, _previous: QModelIndex) -> None:
        call = self._rows.row_at(current.row())
        if call is not None and not self._moving:
            self._selection.select_call(call.call_id)

    def _on_selection_call_changed(self, call_id: str | None) -> None:
        self._show_call()
        place = self._selection.place
        if call_id is not None and place.run is not None and place.task_id is not None:
            self._commands.load_call(place.run, place.task_id, call_id)

    def _on_feed_changed(self, paths: frozenset[str]) -> None:
        ref = self._selection.run
        if ref is not None and ref.store in paths:
            self.refresh()

    def _on_feed_call_loaded(self, loaded: tuple[object, CallDetail]) -> None:
        ref, detail = loaded
        if ref == self._selection.run:
            self._call.show_detail(detail)

    def _on_review_pressed(self) -> None:
        if self._review is not None:
            self.review_requested.emit(self._review)

    def _on_theme_changed(self) -> None:
        self._section.setFixedHeight(theme().px(28))
        self._neighbours.restyle()
        self.retranslate()


def _read_call(call: object, _column: int) -> str:
    return words.call_sentence(call)  # type: ignore[arg-type]


def _line() -> QFrame:
    line = QFrame()
    line.setProperty("role", "line")
    line.setFixedHeight(1)
    return line
