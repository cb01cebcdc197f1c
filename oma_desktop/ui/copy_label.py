"""A shortened id that copies whole: Ctrl+C when focused, or its menu (ux.md C18)."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import (
    QContextMenuEvent,
    QFocusEvent,
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
    QPainter,
    QPaintEvent,
)
from PySide6.QtWidgets import QMenu, QWidget
from typing_extensions import override

from oma_desktop.base.text import tr
from oma_desktop.ui.labels import Label
from oma_desktop.ui.painting import draw_focus
from oma_desktop.ui.theme import theme

SHOWN = 12
HEAD = 8


class CopyLabel(Label):
    """Shows at most 12 characters of an id; the whole is in the tooltip and on the clipboard."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("mono", "text.2", parent=parent)
        self._whole = ""
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)

    def show_id(self, whole: str) -> None:
        """Show another id; an empty one hides the label."""
        self._whole = whole
        self.setText(whole if len(whole) <= SHOWN else f"{whole[:HEAD]}…")
        self.setToolTip(whole)
        self.setAccessibleName(tr("Id {id}", id=whole) if whole else "")
        self.setVisible(bool(whole))

    def copy(self) -> None:
        """Put the whole id on the clipboard."""
        QGuiApplication.clipboard().setText(self._whole)

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy()
        else:
            super().keyPressEvent(event)

    @override
    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction(tr("Copy id")).triggered.connect(self.copy)
        menu.popup(event.globalPos())

    @override
    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.update()

    @override
    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.update()

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self.hasFocus():
            painter = QPainter(self)
            draw_focus(painter, self.rect(), theme())
            painter.end()
