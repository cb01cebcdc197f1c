"""Before a run file is started: what it would do (look.md 7 Dialog). Nothing runs until then."""

from __future__ import annotations

from pathlib import PurePath

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QDialog,
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from oma_desktop.base.text import named, ntr, tr
from oma_desktop.ui.theme import theme
from oma_desktop.viewmodel.start_offer import StartOffer

GOAL_SHOWN = 300


class StartDialog(QDialog):
    """Asks once; no button is the default one. Opens without blocking the loop."""

    def __init__(self, offer: StartOffer, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setModal(True)
        self.setObjectName("start")
        look = theme()
        title = tr("Start {file}?", file=PurePath(offer.path).name)
        self.setWindowTitle(title)
        heading = _plain(title)
        heading.setFont(look.font("heading"))
        column = QVBoxLayout()
        column.setContentsMargins(20, 20, 20, 16)
        column.setSpacing(10)
        column.addWidget(heading)
        column.addLayout(_facts(offer))
        note = QLabel(tr("Nothing has run yet. Calls that act on the world ask you first, unless "
                         "the file says otherwise."))  # fmt: skip
        note.setWordWrap(True)
        note.setProperty("role", "muted")
        column.addWidget(note)
        self.not_now = QPushButton(tr("Not now"))
        self.start = QPushButton(tr("Start run"))
        self.start.setProperty("kind", "primary")
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addLayout(column)
        outer.addWidget(self._foot())
        self.not_now.clicked.connect(self.reject)
        self.start.clicked.connect(self.accept)
        self.setMinimumWidth(look.px(440))
        self.not_now.setFocus()

    def _foot(self) -> QWidget:
        foot = QWidget()
        foot.setProperty("ground", "foot")
        foot.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        row = QHBoxLayout(foot)
        row.setContentsMargins(12, 12, 12, 12)
        row.addStretch(1)
        for button in (self.not_now, self.start):
            button.setAutoDefault(False)
            button.setDefault(False)
            row.addWidget(button)
        return foot


def work_of(offer: StartOffer) -> str:
    """Return what would be done, in words."""
    if offer.goal is not None:
        shown = offer.goal[:GOAL_SHOWN] + ("…" if len(offer.goal) > GOAL_SHOWN else "")
        if offer.alone:
            return tr("one agent takes it: {goal}", goal=shown)
        if offer.roles:
            return tr(
                "{roles}, one after the other: {goal}", roles=", ".join(offer.roles), goal=shown
            )
        return tr("a coordinator plans: {goal}", goal=shown)
    if offer.frozen:
        return ntr("a frozen plan of {n} task", "a frozen plan of {n} tasks", offer.tasks)
    return ntr("{n} task", "{n} tasks", offer.tasks)


def models_of(offer: StartOffer) -> str:
    """Return where model calls would go, and with which keys: a file may name any address."""
    lines = []
    for address, variables in offer.models:
        if variables:
            keys = named(variables)
            lines.append(tr("{address}, with the key {variables}", address=address, variables=keys))
        else:
            lines.append(tr("{address}, without a key", address=address))
    return "\n".join(lines)


def _facts(offer: StartOffer) -> QFormLayout:
    form = QFormLayout()
    form.setHorizontalSpacing(12)
    form.setLabelAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)
    agents = ntr("{team}, {n} agent", "{team}, {n} agents", offer.agents, team=offer.team)
    for name, value in (
        (tr("File"), offer.path),
        (tr("Team"), agents),
        (tr("Work"), work_of(offer)),
        (tr("Model calls"), models_of(offer)),
    ):
        if not value:
            continue
        label = QLabel(name)
        label.setProperty("role", "muted")
        label.setAlignment(Qt.AlignmentFlag.AlignTop)
        form.addRow(label, _plain(value))
    return form


def _plain(text: str) -> QLabel:
    """Texts of a file are shown as they are, never as markup."""
    label = QLabel(text)
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setWordWrap(True)
    return label
