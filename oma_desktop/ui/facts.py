"""A grid of named facts: muted names left, values right (look.md a, Inspector)."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent, QTextLayout
from PySide6.QtWidgets import QGridLayout, QWidget
from typing_extensions import override

from oma_desktop.ui.labels import Label
from oma_desktop.ui.theme import theme


@dataclass(frozen=True, slots=True)
class Fact:
    """One line: `role` colours the value, `tip` is the whole of a value that may be cut."""

    name: str
    value: str
    role: str = "text"
    tip: str = ""


class Value(Label):
    """A value over as many lines as it needs; what has no place to break is cut in the middle.

    An id of digits and hyphens is one word to Qt: it would end at the edge with no sign of it.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("secondary", wrap=True, selectable=True, parent=parent)
        self._whole = self._tip = ""

    def show_value(self, whole: str, *, tip: str = "") -> None:
        """Show a value; `tip` is what a pointer resting on it reads."""
        if (whole, tip) != (self._whole, self._tip):
            self._whole, self._tip = whole, tip
            self._fit()

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        room = self.contentsRect().width()
        fits = room <= 0 or not self.isVisible() or self._breaks(room)
        metrics = self.fontMetrics()
        cut = metrics.elidedText(self._whole, Qt.TextElideMode.ElideMiddle, room)
        self.setText(self._whole if fits else cut)
        self.setToolTip(self._tip or ("" if fits else self._whole))
        self.setAccessibleName("" if fits else self._whole)

    def _breaks(self, room: int) -> bool:
        """Whether every line of the wrapped text has room."""
        layout = QTextLayout(self._whole, self.font())
        layout.beginLayout()
        widest = 0.0
        while (line := layout.createLine()).isValid():
            line.setLineWidth(room)
            widest = max(widest, line.naturalTextWidth())
        layout.endLayout()
        return widest <= room + 0.5


class FactGrid(QWidget):
    """Shows facts; rows are kept and reused, so a ticking age moves nothing else."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._rows: list[tuple[Label, Value]] = []
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
            value.set_look("state" if fact.role.startswith("state.") else "secondary", fact.role)
            value.show_value(fact.value, tip=fact.tip)

    def _add_row(self) -> None:
        name = Label("secondary", "text.muted", parent=self)
        value = Value(self)
        name.setAlignment(Qt.AlignmentFlag.AlignTop)
        name.setBuddy(value)
        row = len(self._rows)
        self._grid.addWidget(name, row, 0)
        self._grid.addWidget(value, row, 1)
        self._rows.append((name, value))
