"""Before a run is cancelled: what will be lost, listed (ux.md C1.4; look.md 7 Dialog)."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QDialog, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from oma_desktop.base.text import ntr, tr
from oma_desktop.model.view import CallState, RunView, TaskState, TaskView
from oma_desktop.ui import icons
from oma_desktop.ui.theme import theme

_MAX_LINES = 6


class CancelDialog(QDialog):
    """Lists the effects; no button is the default one. Opens without blocking the loop."""

    confirmed = Signal()
    suspend_chosen = Signal()

    def __init__(self, name: str, run: RunView, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setModal(True)
        look = theme()
        self.setWindowTitle(tr("Cancel {run}?", run=name))
        heading = QLabel(tr("Cancel {run}?", run=name))
        heading.setTextFormat(Qt.TextFormat.PlainText)
        heading.setFont(look.font("heading"))
        effects = effects_of(run)
        n = len(effects)
        intro = (
            ntr(
                "{n} step is running. If you stop now:",
                "{n} steps are running. If you stop now:",
                n,
            )
            if n
            else tr("No step is running. What is saved stays, and the run can be resumed.")
        )
        column = QVBoxLayout()
        column.setContentsMargins(20, 20, 20, 16)
        column.setSpacing(10)
        column.addWidget(heading)
        column.addWidget(QLabel(intro))
        for shape, who, what in effects[:_MAX_LINES]:
            column.addLayout(_effect_line(shape, who, what))
        if n > _MAX_LINES:
            column.addWidget(QLabel(tr("and {n} more", n=n - _MAX_LINES)))
        suspend = QPushButton(tr("Suspend instead"))
        suspend.setProperty("kind", "ghost")
        keep = QPushButton(tr("Keep running"))
        stop = QPushButton(tr("Cancel run"))
        stop.setProperty("kind", "dangerfill")
        foot = QWidget()
        foot.setProperty("ground", "foot")
        foot.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        row = QHBoxLayout(foot)
        row.setContentsMargins(12, 12, 12, 12)
        row.addWidget(suspend)
        row.addStretch(1)
        row.addWidget(keep)
        row.addWidget(stop)
        for button in (suspend, keep, stop):
            button.setAutoDefault(False)
            button.setDefault(False)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addLayout(column)
        outer.addWidget(foot)
        suspend.clicked.connect(self._on_suspend_clicked)
        keep.clicked.connect(self.reject)
        stop.clicked.connect(self._on_stop_clicked)
        self.setMinimumWidth(look.px(440))
        keep.setFocus()

    def _on_stop_clicked(self) -> None:
        self.confirmed.emit()
        self.accept()

    def _on_suspend_clicked(self) -> None:
        self.suspend_chosen.emit()
        self.accept()


def effects_of(run: RunView) -> list[tuple[str, str, str]]:
    """Return (shape, who, what happens) for each step that a stop would hit."""
    effects: list[tuple[str, str, str]] = []
    for task in run.tasks:
        if task.state is not TaskState.RUNNING:
            continue
        running = [c for c in task.calls if c.state is CallState.RUNNING]
        effects += [("outcome", c.tool, tr("becomes outcome unknown")) for c in running]
        if not running:
            effects.append(_asked_again(task))
    return effects


def _asked_again(task: TaskView) -> tuple[str, str, str]:
    return ("running", task.title, tr("model is asked again after a resume"))


def _effect_line(shape: str, who: str, what: str) -> QHBoxLayout:
    look = theme()
    picture, name, text = QLabel(), QLabel(who), QLabel(what)
    picture.setPixmap(icons.state_pixmap(shape, look.px(16)))
    name.setTextFormat(Qt.TextFormat.PlainText)
    name.setFont(look.font("mono" if shape == "outcome" else "name"))
    text.setProperty("role", "muted")
    row = QHBoxLayout()
    row.setSpacing(8)
    for part in (picture, name, text):
        row.addWidget(part)
    row.addStretch(1)
    return row
