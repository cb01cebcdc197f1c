"""Before code of a folder runs for the first time: the folder, and all that would be used of it.

Nothing is imported or started before the answer (product.md 7). No button is the default one;
Escape and closing are "not now".
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QDialog,
    QFrame,
    QHBoxLayout,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from oma_desktop.base.text import tr
from oma_desktop.model.trust import TrustQuestion
from oma_desktop.ui.icons import app_icon
from oma_desktop.ui.review_header import plain
from oma_desktop.ui.review_parts import Page, Panel, Text, make_button
from oma_desktop.ui.theme import theme


class TrustDialog(QDialog):
    """Asks one question; accepted means yes. Ask it with `ui.ask.ask`."""

    def __init__(self, question: TrustQuestion, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("trust")
        self.setWindowIcon(app_icon())
        self.setModal(True)
        self.setWindowTitle(tr("Trust this folder?"))
        heading = Text(tr("Trust this folder?"), use="heading")
        self.folder = _exact(str(question.folder))
        source = question.run_file.name if question.run_file is not None else ""
        why = Text(_why(source), wrap=True)
        self.list = Page(ground="surface")
        rows = QVBoxLayout(self.list)
        rows.setContentsMargins(12, 10, 12, 10)
        rows.setSpacing(4)
        _add(rows, tr("Functions that are imported"), question.functions)
        _add(rows, tr("Programs that are started"), question.commands)
        rows.addStretch(1)
        scroller = QScrollArea()
        scroller.setWidget(self.list)
        scroller.setWidgetResizable(True)
        scroller.setFrameShape(QFrame.Shape.NoFrame)
        scroller.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroller.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        scroller.setAccessibleName(tr("What the run would import and start"))
        risk = Text(
            tr("It can do whatever you can do on this computer, whenever a run uses it."),
            wrap=True,
        )
        kept = Text(
            tr("A yes is kept for this folder, also when its files change."),
            use="secondary",
            role="text.2",
            wrap=True,
        )
        self.not_now = make_button(tr("Not now"))
        self.trust = make_button(tr("Trust folder and go on"))
        column = QVBoxLayout()
        column.setContentsMargins(20, 20, 20, 16)
        column.setSpacing(10)
        for part in (heading, why, self.folder):
            column.addWidget(part)
        column.addWidget(scroller, 1)
        column.addWidget(risk)
        column.addWidget(kept)
        foot = Panel(ground="window", top=True)
        buttons = QHBoxLayout(foot)
        buttons.setContentsMargins(12, 12, 12, 12)
        buttons.addStretch(1)
        buttons.addWidget(self.not_now)
        buttons.addWidget(self.trust)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.setSpacing(0)
        outer.addLayout(column, 1)
        outer.addWidget(foot)
        self.not_now.clicked.connect(self.reject)
        self.trust.clicked.connect(self.accept)
        self.resize(theme().px(560), theme().px(440))
        self.setMinimumSize(360, 300)
        self.not_now.setFocus()


def _why(source: str) -> str:
    if not source:
        return tr("This run wants to run code of its own; its folder is:")
    return tr(
        "The run file {name} wants to run code of its own; its folder is:", name=plain(source)
    )


def _exact(text: str) -> Text:
    """Return text as it really is: hidden characters are spelled out, and it can be copied."""
    label = Text(plain(text), use="mono", wrap=True)
    label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    return label


def _add(rows: QVBoxLayout, title: str, names: Sequence[str]) -> None:
    if names:
        rows.addWidget(Text(title, use="secondary", role="text.2"))
        for name in names:
            rows.addWidget(_exact(name))
