"""What stands where no map can be drawn, and why (ux.md C5, C15)."""

from __future__ import annotations

import json
import re
from datetime import datetime
from typing import Final

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import (
    QFrame,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from oma_desktop.base.text import ntr, tr
from oma_desktop.model.view import RunState, RunView, TaskView
from oma_desktop.ui import icons
from oma_desktop.ui.empty_state import EmptyState
from oma_desktop.ui.labels import Label, dress
from oma_desktop.ui.numbers import elapsed_text
from oma_desktop.ui.theme import theme, theme_host
from oma_desktop.viewmodel.graph import GraphModel
from oma_desktop.viewmodel.graph_checks import FaultyLink, Refusal, Why

_TITLE: Final = re.compile(r'"title"\s*:\s*("(?:[^"\\]|\\.)*")')
_LIVE: Final = frozenset({RunState.RUNNING, RunState.SUSPENDING})


def fault_text(link: FaultyLink, tasks: dict[str, TaskView]) -> str:
    """Return a faulty dependency as a sentence."""
    task = _named(link.task_id, tasks)
    if link.kind == "self":
        return tr("{task} depends on itself.", task=task)
    if link.kind == "missing":
        return tr("{task} depends on {id}, which is not in the plan.", task=task, id=link.wanted)
    other = _named(link.wanted, tasks)
    return tr("{task} depends on {other}: the dependencies form a circle.", task=task, other=other)


def refusal_text(refusal: Refusal) -> str:
    """Return why a graph is not drawn."""
    n, limit = f"{refusal.n:,}", f"{refusal.limit:,}"
    match refusal.why:
        case Why.NODES:
            return tr("The graph has {n} tasks; up to {limit} are drawn.", n=n, limit=limit)
        case Why.LINKS:
            return tr("The graph has {n} dependencies; up to {limit} are drawn.", n=n, limit=limit)
        case Why.DEPTH:
            return tr("The graph is {n} steps long; up to {limit} are drawn.", n=n, limit=limit)
        case Why.FAULTY:
            return ntr(
                "{n} dependency of this plan is wrong.",
                "{n} dependencies of this plan are wrong.",
                refusal.n,
            )


def _named(task_id: str, tasks: dict[str, TaskView]) -> str:
    return tasks[task_id].title if task_id in tasks else task_id


class NoMap(EmptyState):
    """One sentence for each reason; a refused graph offers the outline."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("map", parent)

    def tell(self, model: GraphModel, now: datetime) -> None:
        """Say why there is no map."""
        picture = model.picture
        if picture.run is None:
            self.say(tr("No run selected"), tr("Choose a run in the list at the left."))
        elif picture.refusal is not None:
            self.say(
                tr("Too large for a map"),
                refusal_text(picture.refusal),
                button=tr("Open the outline"),
            )
        elif model.is_placing:
            self.say(tr("The map is being laid out."), _plan_size(picture.n_tasks))
        else:
            self._tell_no_tasks(picture.run, model.plan_text, now)

    def _tell_no_tasks(self, run: RunView, plan: str, now: datetime) -> None:
        if not run.readable:
            self.say(tr("This run cannot be read"), tr("The Problems panel says why."))
        elif run.state in _LIVE:
            since = elapsed_text(run.started_at, now)
            self.say(tr("The plan is being made."), tr("Coordinator, {time}", time=since))
            self.show_live("\n".join(plan_titles(plan)) or plan)
        else:
            self.say(tr("This run has no tasks"), tr("It ended before a plan was made."))


def plan_titles(written: str) -> list[str]:
    """Return the titles of the tasks in a plan that is being written, as far as they are there."""
    return [title for found in _TITLE.findall(written) if (title := _unquoted(found))]


def _unquoted(text: str) -> str:
    try:
        return " ".join(str(json.loads(text)).split())
    except ValueError:
        return ""


def _plan_size(n_tasks: int) -> str:
    return ntr("{n} task", "{n} tasks", n_tasks)


class FaultList(QWidget):
    """The faulty dependencies, one line each; choosing one selects its task."""

    chosen = Signal(str)
    outline_pressed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._head = Label("strong", wrap=True)
        self._line = Label("secondary", "text.muted", wrap=True)
        self.list = dress(QListWidget(), "body")
        self.list.setFrameShape(QFrame.Shape.NoFrame)
        self.list.setWordWrap(True)
        self._button = dress(QPushButton(), "name")
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 20, 20, 20)
        column.setSpacing(6)
        column.addWidget(self._head)
        column.addWidget(self._line)
        column.addSpacing(6)
        column.addWidget(self.list, 1)
        column.addWidget(self._button, alignment=Qt.AlignmentFlag.AlignLeft)
        self.setProperty("ground", "surface")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._button.clicked.connect(self.outline_pressed)
        self.list.currentItemChanged.connect(self._on_item_changed)
        theme_host().theme_changed.connect(self._on_theme_changed)

    def tell(self, refusal: Refusal, run: RunView) -> None:
        """List the links of a refusal."""
        tasks = {t.id: t for t in run.tasks}
        self._head.setText(refusal_text(refusal))
        self._line.setText(tr("A map needs a plan without circles and gaps. The outline has all."))
        self._button.setText(tr("Open the outline"))
        self.list.setAccessibleName(self._head.text())
        kept = self.list.currentRow()
        self.list.blockSignals(True)
        self.list.clear()
        for link in refusal.links:
            item = QListWidgetItem(fault_text(link, tasks))
            item.setData(Qt.ItemDataRole.UserRole, link.task_id)
            self.list.addItem(item)
        self.list.setCurrentRow(kept)
        self.list.blockSignals(False)
        self._on_theme_changed()

    def _on_item_changed(self, item: QListWidgetItem | None) -> None:
        if item is not None:
            self.chosen.emit(str(item.data(Qt.ItemDataRole.UserRole)))

    def _on_theme_changed(self) -> None:
        size = theme().px(16)
        self.list.setIconSize(QSize(size, size))
        for i in range(self.list.count()):
            self.list.item(i).setIcon(icons.icon("gap", "danger.text"))
