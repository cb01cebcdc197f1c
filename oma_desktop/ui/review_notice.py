"""One line across a window that says what is wrong and offers at most one way on (look.md 7)."""

from __future__ import annotations

from typing import Literal

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout

from oma_desktop.ui.review_parts import Panel, Picture, Text, make_button

Level = Literal["error", "warning", "info"]


class Notice(Panel):
    """Hidden until there is something to say."""

    followed = Signal()

    def __init__(self) -> None:
        super().__init__(top=True, bottom=True)
        self._picture = Picture(meaning="error", size=16)
        self.text = Text(wrap=True)
        self._link = make_button("", kind="link")
        self._link.clicked.connect(self.followed)
        row = QHBoxLayout(self)
        row.setContentsMargins(20, 7, 20, 7)
        row.setSpacing(10)
        row.addWidget(self._picture)
        row.addWidget(self.text, 1)
        row.addWidget(self._link)
        self.hide()

    def say(self, text: str, *, level: Level, link: str = "") -> None:
        """Show a sentence."""
        role = {"error": "danger", "warning": "warning", "info": "info"}[level]
        self._picture.show_icon(level, role)
        self.text.setText(text)
        self._link.setText(link)
        self._link.setVisible(bool(link))
        self.set_ground(f"{role}.tint", role)
        self.show()

    def clear(self) -> None:
        """Hide it."""
        self.hide()
