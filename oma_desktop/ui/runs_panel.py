"""The Runs panel: a filter, the list with its heads, what is watched (ux.md C5, look.md 7)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Final

from PySide6.QtCore import QItemSelectionModel, QModelIndex, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QHBoxLayout,
    QHeaderView,
    QLineEdit,
    QStackedLayout,
    QTableView,
    QToolButton,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from oma_desktop.base.text import ntr, tr
from oma_desktop.ui import icons
from oma_desktop.ui.delegates import GROUP_HEIGHT, RunDelegate, group_word, run_sentence
from oma_desktop.ui.empty_state import EmptyState
from oma_desktop.ui.labels import Label
from oma_desktop.ui.language import Retranslated
from oma_desktop.ui.review_parts import ElidedText
from oma_desktop.ui.theme import theme, theme_host
from oma_desktop.viewmodel.runs import GroupRow, Row, RunRow, RunRows
from oma_desktop.viewmodel.selection import Selection

_TOGGLE_KEYS: Final = (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space)


class RunList(QTableView):
    """The list itself: one column, heads that fold, one selection."""

    folded = Signal(object)  # RunGroup
    opened = Signal()

    def __init__(self, model: RunRows, delegate: RunDelegate, parent: QWidget) -> None:
        super().__init__(parent)
        delegate.setParent(self)
        self.setItemDelegate(delegate)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setShowGrid(False)
        self.setMouseTracking(True)
        self.setTabKeyNavigation(False)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.horizontalHeader().hide()
        self.verticalHeader().hide()
        self.verticalHeader().setMinimumSectionSize(16)
        self.setModel(model)
        self.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
        self._model = model
        for moved in (model.rowsInserted, model.rowsRemoved, model.layoutChanged):
            moved.connect(self.lay_heights)
        self.lay_heights()

    def lay_heights(self) -> None:
        """Give heads and runs their heights; sections are fixed, so 10,000 rows cost nothing."""
        look = theme()
        header = self.verticalHeader()
        run = look.height("run")
        if header.defaultSectionSize() != run:
            header.setDefaultSectionSize(run)
        for i, row in enumerate(self._model.rows()):
            wanted = look.px(GROUP_HEIGHT) if isinstance(row, GroupRow) else run
            if header.sectionSize(i) != wanted:
                header.resizeSection(i, wanted)

    @override
    def mousePressEvent(self, event: QMouseEvent) -> None:
        row = self._model.row_at(self.rowAt(event.position().toPoint().y()))
        if isinstance(row, GroupRow) and event.button() == Qt.MouseButton.LeftButton:
            self.folded.emit(row.group)
            return
        super().mousePressEvent(event)

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        row = self._model.row_at(self.currentIndex().row())
        if event.key() in _TOGGLE_KEYS:
            if isinstance(row, GroupRow):
                self.folded.emit(row.group)
            else:
                self.opened.emit()
            return
        super().keyPressEvent(event)


class RunsPanel(Retranslated):
    """Runs of all watched files; selecting one selects it everywhere."""

    open_requested = Signal()
    opened = Signal()  # Enter on a run: the operator wants to look inside

    def __init__(
        self,
        model: RunRows,
        selection: Selection,
        *,
        now: Callable[[], datetime],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._model = model
        self._selection = selection
        self._now = now
        self._watched: tuple[str, ...] = ()
        self._is_shrinking = False
        model.set_text(self._read)
        # Before the list exists: Qt moves the current row while rows go, and that is no choice
        model.rowsAboutToBeRemoved.connect(self._on_rows_going)
        model.rowsRemoved.connect(self._on_rows_gone)

        self.filter = QLineEdit()
        self.filter.setClearButtonEnabled(True)
        self._find_icon = self.filter.addAction(
            icons.icon("search"), QLineEdit.ActionPosition.LeadingPosition
        )
        self._open = QToolButton()
        self.list = RunList(model, RunDelegate(now), self)
        self._empty = EmptyState("open")
        self._where = ElidedText(use="secondary", role="text.2")
        self._count = Label("secondary", "text.2", figures=True)
        self._foot = QWidget()

        self._bar = QWidget()
        bar = QHBoxLayout(self._bar)
        bar.setContentsMargins(8, 6, 8, 6)
        bar.setSpacing(6)
        bar.addWidget(self.filter)
        bar.addWidget(self._open)
        self._stack = QStackedLayout()
        self._stack.addWidget(self.list)
        self._stack.addWidget(self._empty)
        foot = QHBoxLayout(self._foot)
        foot.setContentsMargins(12, 0, 12, 0)
        foot.setSpacing(8)
        foot.addWidget(self._where)
        foot.addStretch(1)
        foot.addWidget(self._count)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self._bar)
        column.addLayout(self._stack, 1)
        column.addWidget(self._foot)
        self.setProperty("ground", "surface")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._foot.setProperty("ground", "panelfoot")
        self._foot.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)

        self.filter.textChanged.connect(self._on_filter_changed)
        self._open.clicked.connect(self.open_requested)
        self._empty.pressed.connect(self._on_empty_pressed)
        self.list.folded.connect(model.toggle_group)
        self.list.opened.connect(self.opened)
        self.list.selectionModel().currentChanged.connect(self._on_current_changed)
        selection.run_changed.connect(self._on_selection_run_changed)
        for moved in (model.rowsInserted, model.rowsRemoved, model.layoutChanged):
            moved.connect(self._on_rows_moved)
        model.told.connect(self._say)
        theme_host().theme_changed.connect(self._on_theme_changed)
        self._on_theme_changed()
        self.retranslate()

    def set_watched(self, paths: tuple[str, ...]) -> None:
        """Say which folders and files are watched (the foot of the panel, and empty states)."""
        self._watched = paths
        self._say()

    def tick(self) -> None:
        """Let ages move on."""
        self.list.viewport().update()

    @override
    def retranslate(self) -> None:
        self.filter.setPlaceholderText(tr("Filter runs"))
        self.filter.setAccessibleName(tr("Filter runs by name or folder"))
        self.list.setAccessibleName(tr("Runs"))
        self._open.setToolTip(tr("Open a folder or a store file…"))
        self._open.setAccessibleName(tr("Open a folder or a store file…"))
        self._say()

    def _read(self, row: Row, _column: int) -> str:
        if isinstance(row, GroupRow):
            return ntr(
                "{group}, {n} run", "{group}, {n} runs", row.n_runs, group=group_word(row.group)
            )
        return run_sentence(row, self._now())

    def _say(self) -> None:
        known, shown = self._model.n_runs, self._model.n_shown
        self._foot.setVisible(bool(self._watched))
        self._where.set_whole(self._watched_text(), hint="\n".join(self._watched))
        self._count.setText(ntr("{n} run", "{n} runs", known))
        self._bar.setVisible(known > 0 or bool(self._watched))
        self.filter.setEnabled(known > 0)
        self._stack.setCurrentIndex(0 if shown else 1)
        if known and not shown:
            self._empty.say(
                tr("{shown} of {known} shown", shown=0, known=known),
                button=tr("Clear filter"),
                icon="filter",
            )
        elif n := self._model.n_unreadable:
            self._empty.say(
                ntr("{n} file cannot be read.", "{n} files cannot be read.", n),
                tr("Problems says why. Nothing was changed."),
                icon="warning",
            )
        elif self._watched and self._model.is_looking(self._watched):
            self._empty.say(tr("Looking for runs…"), icon="search")
        elif self._watched:
            self._empty.say(
                tr("No runs in this folder."),
                tr("OMA Desktop looks for FileStore files (*.json)."),
                icon="folder",
            )
        else:
            self._empty.say(
                tr("No folder is watched."),
                tr("Drop a folder or a FileStore file (*.json) here."),
                icon="open",
            )

    def _watched_text(self) -> str:
        if len(self._watched) > 1:
            return ntr("{n} place watched", "{n} places watched", len(self._watched))
        return self._watched[0] if self._watched else ""

    def _on_filter_changed(self, text: str) -> None:
        self._model.set_filter(text)
        self._say()
        self._show_selected()

    def _on_empty_pressed(self) -> None:
        self.filter.clear()

    def _on_rows_going(self) -> None:
        self._is_shrinking = True

    def _on_rows_gone(self) -> None:
        self._is_shrinking = False

    def _on_rows_moved(self) -> None:
        self._say()
        self._show_selected()

    def _on_current_changed(self, current: QModelIndex, _previous: QModelIndex) -> None:
        row = self._model.row_at(current.row())
        if isinstance(row, RunRow) and not self._is_shrinking:
            self._selection.select_run(row.ref)

    def _on_selection_run_changed(self, _run: object) -> None:
        self._show_selected()

    def _show_selected(self) -> None:
        place = self._model.row_of(self._selection.run)
        if place < 0:
            self.list.selectionModel().clearSelection()
        elif place not in {i.row() for i in self.list.selectedIndexes()}:
            index = self._model.index(place, 0)
            on_head = isinstance(self._model.row_at(self.list.currentIndex().row()), GroupRow)
            if on_head and self.list.hasFocus():  # the caret stays where the person put it
                flag = QItemSelectionModel.SelectionFlag.ClearAndSelect
                self.list.selectionModel().select(index, flag)
            else:
                self.list.setCurrentIndex(index)

    def _on_theme_changed(self) -> None:
        look = theme()
        self._find_icon.setIcon(icons.icon("search"))
        self._open.setIcon(icons.icon("open"))
        self.list.lay_heights()
        self._foot.setFixedHeight(look.px(28))
        self.list.viewport().update()
