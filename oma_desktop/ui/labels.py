"""Labels by use and role, and fonts for other widgets: both follow the theme and survive moves.

WORKAROUND(PySide6 6.11.3): under an application style sheet, widgets inside a scroll area lose the
font set on them when an ancestor gets a new parent (docks do), and fonts per class are ignored.
`Label` and `dress` put the font back; remove them when a plain `setFont` holds.
"""

from __future__ import annotations

from typing import TypeVar

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QFont, QPalette
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget
from typing_extensions import override

from oma_desktop.ui.fonts import FontUse, tabular
from oma_desktop.ui.theme import theme, theme_host


class _Dresser(QObject):
    """Lives as a child of the widget it dresses."""

    def __init__(self, widget: QWidget, use: FontUse, *, figures: bool) -> None:
        super().__init__(widget)
        self._widget = widget
        self._use: FontUse = use
        self._figures = figures
        widget.installEventFilter(self)
        theme_host().theme_changed.connect(self.apply)
        self.apply()

    def apply(self) -> None:
        font = theme().font(self._use)
        wanted = tabular(font) if self._figures else font
        if self._widget.font() != wanted:
            self._widget.setFont(wanted)

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.FontChange:
            self.apply()
        return False


W = TypeVar("W", bound=QWidget)


def dress(widget: W, use: FontUse, *, figures: bool = False) -> W:
    """Give a widget the font of a use, for good; returns the widget."""
    _Dresser(widget, use, figures=figures)
    return widget


class Label(QLabel):
    """Plain text only: what a file holds is never read as rich text."""

    def __init__(
        self,
        use: FontUse = "body",
        role: str = "text",
        *,
        text: str = "",
        wrap: bool = False,
        selectable: bool = False,
        figures: bool = False,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._use: FontUse = use
        self._role = role
        self._figures = figures
        # A tool bar would hand down its button text colour
        self.setForegroundRole(QPalette.ColorRole.WindowText)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setText(text)
        if wrap:
            self.setWordWrap(True)
            self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        if selectable:
            self.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        theme_host().theme_changed.connect(self._restyle)
        self._restyle()

    def set_look(self, use: FontUse, role: str) -> None:
        """Change use and colour role."""
        if (use, role) != (self._use, self._role):
            self._use, self._role = use, role
            self._restyle()

    @override
    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.PaletteChange):
            self._restyle()

    def _wanted(self) -> QFont:
        font = theme().font(self._use)
        return tabular(font) if self._figures else font

    def _restyle(self) -> None:
        wanted = self._wanted()
        if self.font() != wanted:
            self.setFont(wanted)
        palette = self.palette()
        color = theme().color(self._role)
        if palette.color(palette.ColorRole.WindowText) != color:
            palette.setColor(palette.ColorRole.WindowText, color)
            self.setPalette(palette)
