"""Context menus and copying for the rows of runs, tool calls and problems (ux.md C13, C18).

The Menu key and Shift+F10 open a menu at the current row, the right button at the row below it.
Every entry is reachable elsewhere as well; none of them acts on the world.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from PySide6.QtCore import QEvent, QModelIndex, QObject, QPoint, Qt, QUrl, Signal
from PySide6.QtGui import (
    QAction,
    QContextMenuEvent,
    QDesktopServices,
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
)
from PySide6.QtWidgets import QAbstractItemView, QMenu
from typing_extensions import override

from oma_desktop.base.text import tr
from oma_desktop.model.view import ToolCallView
from oma_desktop.ui.frame import Frame
from oma_desktop.ui.problems_panel import problem_line
from oma_desktop.viewmodel.problems import ProblemRow
from oma_desktop.viewmodel.roles import Role
from oma_desktop.viewmodel.runs import RunRow

OpenFolder = Callable[[str], object]

_RUN_VERBS: Final = ("review", "restore", "suspend", "cancel")
_COPY: Final = "copy"
_FOLDER: Final = "folder"
_CONVERSATION: Final = "conversation"


def open_folder(path: str) -> bool:
    """Show a folder in the file manager of the system; false when there is none."""
    return QDesktopServices.openUrl(QUrl.fromLocalFile(path))


def is_file(store: str) -> bool:
    """Say whether a store is a file, not a database."""
    return bool(store) and "://" not in store


class RowMenus(QObject):
    """Watches the lists of the window. `menu` is the one that is open, if any."""

    conversation_requested = Signal()

    def __init__(self, frame: Frame, *, open_folder: OpenFolder = open_folder) -> None:
        super().__init__(frame.window)
        self._frame = frame
        self._open_folder = open_folder
        self.menu: QMenu | None = None
        self._watched: list[tuple[QObject, QAbstractItemView]] = []
        for view in (frame.runs_panel.list, frame.inspector.ledger, frame.problems_panel.list):
            self._watched += [(view, view), (view.viewport(), view)]
            view.installEventFilter(self)
            view.viewport().installEventFilter(self)

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        kind = event.type()
        if kind is not QEvent.Type.ContextMenu and kind is not QEvent.Type.KeyPress:
            return False
        view = next((view for part, view in self._watched if part is watched), None)
        if view is None:
            return False
        if isinstance(event, QContextMenuEvent):
            return self._on_menu(view, event)
        if isinstance(event, QKeyEvent) and event.matches(QKeySequence.StandardKey.Copy):
            return self._copy_row(view.currentIndex().data(Role.ROW))
        return False

    def _on_menu(self, view: QAbstractItemView, event: QContextMenuEvent) -> bool:
        if event.reason() is QContextMenuEvent.Reason.Keyboard:
            index = view.currentIndex()
            spot = view.viewport().mapToGlobal(view.visualRect(index).bottomLeft())
        else:
            index, spot = view.indexAt(event.pos()), event.globalPos()
        return index.isValid() and self._open(view, index, spot)

    def _open(self, view: QAbstractItemView, index: QModelIndex, spot: QPoint) -> bool:
        row = index.data(Role.ROW)
        menu = QMenu(view)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        if isinstance(row, RunRow | ToolCallView | ProblemRow):
            view.setCurrentIndex(index)  # the verbs are those of the selection
        if isinstance(row, RunRow):
            self._fill_run(menu, row)
        elif isinstance(row, ToolCallView):
            self._fill_call(menu, row)
        elif isinstance(row, ProblemRow):
            self._fill_problem(menu, row)
        if menu.isEmpty():
            menu.deleteLater()
            return False
        self.menu = menu
        menu.destroyed.connect(self._on_menu_gone)
        menu.popup(spot)
        return True

    def _on_menu_gone(self) -> None:
        self.menu = None

    # -- entries -----------------------------------------------------------------------------

    def _fill_run(self, menu: QMenu, row: RunRow) -> None:
        for name in _RUN_VERBS:
            menu.addAction(self._frame.actions[name])
        menu.addSeparator()
        run = self._frame.feed.run(row.ref)
        self._add(menu, tr("Copy run id"), _COPY, run.run_id if run is not None else row.name)
        self._add(menu, tr("Copy place of the file"), _COPY, row.ref.store)
        self._add_folder(menu, row.ref.store)

    def _fill_call(self, menu: QMenu, call: ToolCallView) -> None:
        if call.approval_id:
            menu.addAction(self._frame.actions["review"])
        self._add(menu, tr("Show the conversation"), _CONVERSATION, "")
        menu.addSeparator()
        self._add(menu, tr("Copy call id"), _COPY, call.call_id)
        self._add(menu, tr("Copy task id"), _COPY, self._frame.selection.task_id or "")

    def _fill_problem(self, menu: QMenu, row: ProblemRow) -> None:
        self._add(menu, tr("Copy this problem"), _COPY, problem_line(row))
        self._add(menu, tr("Copy place of the file"), _COPY, row.store)
        self._add_folder(menu, row.store)

    def _add(self, menu: QMenu, text: str, what: str, value: str) -> None:
        if what == _COPY and not value:
            return
        action = menu.addAction(text)
        action.setData((what, value))
        action.triggered.connect(self._on_chosen)

    def _add_folder(self, menu: QMenu, store: str) -> None:
        if is_file(store):
            self._add(menu, tr("Open containing folder"), _FOLDER, str(Path(store).parent))

    # -- acts --------------------------------------------------------------------------------

    def _on_chosen(self) -> None:
        action = self.sender()
        if not isinstance(action, QAction):
            return
        what, value = action.data()
        if what == _COPY:
            QGuiApplication.clipboard().setText(value)
        elif what == _FOLDER:
            self._open_folder(value)
        else:
            self.conversation_requested.emit()

    def _copy_row(self, row: object) -> bool:
        """Ctrl+C: what names the row."""
        text = ""
        if isinstance(row, RunRow):
            run = self._frame.feed.run(row.ref)
            text = run.run_id if run is not None else row.name
        elif isinstance(row, ToolCallView):
            text = row.call_id
        elif isinstance(row, ProblemRow):
            text = problem_line(row)
        if text:
            QGuiApplication.clipboard().setText(text)
        return bool(text)
