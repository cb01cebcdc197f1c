"""The keyboard map: every action with a key, read from the actions themselves (ux.md C13)."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QDialog, QGridLayout, QScrollArea, QVBoxLayout, QWidget

from oma_desktop.base.text import tr
from oma_desktop.ui.actions import Actions, plain
from oma_desktop.ui.labels import Label
from oma_desktop.ui.theme import theme


class KeysDialog(QDialog):
    """A list of keys; any key of the dialog closes it with Escape."""

    def __init__(
        self, actions: Actions, panels: list[tuple[str, str]], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(tr("Keyboard"))
        look = theme()
        inside = QWidget()
        inside.setProperty("ground", "surface")
        grid = QGridLayout(inside)
        grid.setContentsMargins(20, 20, 20, 20)
        grid.setHorizontalSpacing(24)
        grid.setVerticalSpacing(6)
        lines = [*panels, *key_lines(actions)]
        for i, (keys, text) in enumerate(lines):
            grid.addWidget(Label("mono", "text.2", text=keys), i, 0)
            grid.addWidget(Label(text=text), i, 1)
        area = QScrollArea()
        area.setWidget(inside)
        area.setWidgetResizable(True)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(area)
        self.resize(look.px(420), look.px(480))


def key_lines(actions: Actions) -> list[tuple[str, str]]:
    """Return (keys, text) of every action that has a key."""
    return [
        (
            actions[name].shortcut().toString(QKeySequence.SequenceFormat.NativeText),
            plain(actions[name].text()),
        )
        for name in actions.names()
        if not actions[name].shortcut().isEmpty()
    ]
