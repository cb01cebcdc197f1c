"""A grid of named facts: muted names left, values right (look.md a, Inspector)."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QWidget

from oma_desktop.ui.labels import Label
from oma_desktop.ui.theme import theme


@dataclass(frozen=True, slots=True)
class Fact:
    """One line: `role` colours the value, `tip` is the whole of a value that may be cut."""

    name: str
    value: str
    role: str = "text"
    tip: str = ""


class FactGrid(QWidget):
    """Shows facts; rows are kept and reused, so a ticking age moves nothing else."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._rows: list[tuple[Label, Label]] = []
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(12)
        self._grid.setVerticalSpacing(4)
        self._grid.setColumnStretch(1, 1)

    def show_facts(self, facts: list[Fact]) -> None:
        """Show exactly these facts, in order."""
        while len(self._rows) < len(facts):
            self._add_row()
        self._grid.setColumnMinimumWidth(0, theme().px(84))
        for i, (name, value) in enumerate(self._rows):
            name.setVisible(i < len(facts))
            value.setVisible(i < len(facts))
            if i >= len(facts):
                continue
            fact = facts[i]
            name.setText(fact.name)
            value.setText(fact.value)
            value.set_look("state" if fact.role.startswith("state.") else "secondary", fact.role)
            value.setToolTip(fact.tip)

    def _add_row(self) -> None:
        name = Label("secondary", "text.muted", parent=self)
        value = Label("secondary", wrap=True, selectable=True, parent=self)
        name.setAlignment(Qt.AlignmentFlag.AlignTop)
        name.setBuddy(value)
        row = len(self._rows)
        self._grid.addWidget(name, row, 0)
        self._grid.addWidget(value, row, 1)
        self._rows.append((name, value))
