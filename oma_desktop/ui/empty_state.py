"""Empty panels say what belongs there, and offer at most one button (look.md 7, ux.md C15)."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import QLabel, QPushButton, QVBoxLayout, QWidget
from typing_extensions import override

from oma_desktop.ui.icons import icon_pixmap
from oma_desktop.ui.labels import Label, dress
from oma_desktop.ui.theme import theme, theme_host

_LIVE_LINES: Final = 6
_LIVE_CHARS: Final = 360


class EmptyState(QWidget):
    """Icon 24, one sentence, one line, one button; centred."""

    pressed = Signal()

    def __init__(self, icon: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._icon = icon
        self._picture = QLabel(alignment=Qt.AlignmentFlag.AlignCenter)
        self._title = Label("strong", wrap=True)
        self._detail = Label("secondary", "text.muted", wrap=True)
        for line in (self._title, self._detail):
            line.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._live = Label("secondary", "text.muted", wrap=True)
        self._live.setAlignment(Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop)
        self._live.hide()
        self._button = dress(QPushButton(), "name")
        self._button.hide()
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 20, 20, 20)
        column.setSpacing(6)
        column.addStretch(2)
        column.addWidget(self._picture)
        column.addWidget(self._title)
        column.addWidget(self._detail)
        column.addWidget(self._live)
        column.addSpacing(6)
        column.addWidget(self._button, alignment=Qt.AlignmentFlag.AlignHCenter)
        column.addStretch(3)
        self._button.clicked.connect(self.pressed)
        theme_host().theme_changed.connect(self._on_theme_changed)
        self._on_theme_changed()

    def say(self, title: str, detail: str = "", *, button: str = "", icon: str = "") -> None:
        """Set the texts; no button text, no button."""
        self._title.setText(title)
        self._detail.setText(detail)
        self._detail.setVisible(bool(detail))
        self._button.setText(button)
        self._button.setVisible(bool(button))
        self._live.hide()
        if icon and icon != self._icon:
            self._icon = icon
            self._on_theme_changed()

    def show_live(self, text: str) -> None:
        """Show below what is being written, its last lines; until something else is said."""
        lines = text.strip().splitlines()[-_LIVE_LINES:]
        self._live.setText("\n".join(lines)[-_LIVE_CHARS:])
        self._live.setVisible(bool(lines))

    @override
    def minimumSizeHint(self) -> QSize:
        return QSize(120, 80)

    def _on_theme_changed(self) -> None:
        size = theme().px(24)
        picture = icon_pixmap(self._icon, size, "text.muted", self.devicePixelRatioF())
        self._picture.setPixmap(picture)
