"""Find a task on the map by typing (ux.md C5): words of its title, id or agent."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLineEdit, QWidget
from typing_extensions import override

from oma_desktop.base.text import tr
from oma_desktop.model.view import TaskView
from oma_desktop.ui.labels import Label, dress
from oma_desktop.ui.theme import theme
from oma_desktop.viewmodel.graph import GraphModel
from oma_desktop.viewmodel.selection import Selection


def matches(task: TaskView, text: str) -> bool:
    """Whether a task has all the words, whatever their case."""
    hay = f"{task.title} {task.id} {task.assignee or ''}".lower()
    return all(word in hay for word in text.lower().split())


class FindTask(QFrame):
    """A field over the map. Selects the first match while typing; Enter goes on, Esc closes."""

    closed = Signal()

    def __init__(self, model: GraphModel, selection: Selection, parent: QWidget) -> None:
        super().__init__(parent)
        self._model = model
        self._selection = selection
        self.field = dress(QLineEdit(), "body")
        self._count = Label("secondary", "text.muted", figures=True)
        row = QHBoxLayout(self)
        row.setContentsMargins(6, 6, 10, 6)
        row.setSpacing(8)
        row.addWidget(self.field)
        row.addWidget(self._count)
        self.setProperty("card", "true")
        self.setFocusProxy(self.field)
        self.field.textChanged.connect(self._on_text_changed)
        self.hide()

    def open(self, text: str) -> None:
        """Begin a search with these letters."""
        self.field.setPlaceholderText(tr("Find task"))
        self.field.setAccessibleName(tr("Find task"))
        self.field.setFixedWidth(theme().px(200))
        self.show()
        self.raise_()
        self.field.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.field.setText(text)
        self._place()

    def close_find(self) -> None:
        """Give the focus back to the map."""
        self.hide()
        self.closed.emit()

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.close_find()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Down):
            self._go(1)
        elif event.key() == Qt.Key.Key_Up:
            self._go(-1)
        else:
            super().keyPressEvent(event)

    def _found(self) -> list[str]:
        run = self._model.picture.run
        shown = self._model.picture.shown_as
        text = self.field.text()
        if run is None or not text.strip():
            return []
        return [t.id for t in run.tasks if t.id in shown and matches(t, text)]

    def _on_text_changed(self) -> None:
        found = self._found()
        if found and self._selection.task_id not in found:
            self._selection.select_task(found[0])
        self._tell(found)

    def _go(self, step: int) -> None:
        found = self._found()
        if found:
            now = self._selection.task_id
            at = found.index(now) if now in found else -1
            self._selection.select_task(found[(at + step) % len(found)])
        self._tell(found)

    def _tell(self, found: list[str]) -> None:
        now = self._selection.task_id
        if not self.field.text().strip():
            text = ""
        elif not found:
            text = tr("no task found")
        else:
            text = tr(
                "{n} of {total}", n=found.index(now) + 1 if now in found else 0, total=len(found)
            )
        self._count.setText(text)
        self._place()

    def _place(self) -> None:
        self.adjustSize()
        parent = self.parentWidget()
        if parent is not None:
            gap = theme().px(12)
            self.move(parent.width() - self.width() - gap, gap)
