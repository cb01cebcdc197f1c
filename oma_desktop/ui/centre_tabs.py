"""The tabs of the centre, painted by ourselves: icon, name, the active one heavier (look.md 7).

A style sheet cannot give the active tab its own weight without cutting it (look.md 10.5): the width
of the heavier text is reserved here for every tab.
"""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QEvent, QRect, QSize, Qt
from PySide6.QtGui import QFocusEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QTabBar, QWidget
from typing_extensions import override

from oma_desktop.ui.icons import icon_pixmap
from oma_desktop.ui.painting import LEFT, draw_focus, draw_text, text_width
from oma_desktop.ui.theme import Theme, theme, theme_host

PAD: Final = 12
ICON: Final = 14
GAP: Final = 8
_BY_KEY: Final = frozenset(
    {
        Qt.FocusReason.TabFocusReason,
        Qt.FocusReason.BacktabFocusReason,
        Qt.FocusReason.ShortcutFocusReason,
    }
)


class CentreTabs(QTabBar):
    """Tabs whose data is the meaning of their icon."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._hovered = -1
        self._by_key = False
        self.setDrawBase(False)
        self.setExpanding(False)
        self.setMouseTracking(True)
        theme_host().theme_changed.connect(self._on_theme_changed)

    def _on_theme_changed(self) -> None:
        self.setIconSize(self.iconSize())  # lays the tabs out anew
        self.updateGeometry()
        self.update()

    @override
    def tabSizeHint(self, index: int) -> QSize:
        look = theme()
        text = text_width(self.tabText(index), look.font("secondary.strong"))
        icon = look.px(ICON + GAP) if self.tabData(index) else 0
        return QSize(text + icon + look.px(2 * PAD), look.height("tab"))

    @override
    def minimumTabSizeHint(self, index: int) -> QSize:
        return self.tabSizeHint(index)

    @override
    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        super().mouseMoveEvent(event)
        self._hover(self.tabAt(event.position().toPoint()))

    @override
    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._hover(-1)

    @override
    def focusInEvent(self, event: QFocusEvent) -> None:
        """The ring is for the keyboard: a click or a window that opens needs none."""
        self._by_key = event.reason() in _BY_KEY
        super().focusInEvent(event)

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        self._by_key = True
        super().keyPressEvent(event)

    def _hover(self, index: int) -> None:
        if index != self._hovered:
            self._hovered = index
            self.update()

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        look = theme()
        painter = QPainter(self)
        painter.fillRect(self.rect(), look.color("window"))
        for index in range(self.count()):
            self._paint_tab(painter, index, look)
        painter.end()

    def _paint_tab(self, painter: QPainter, index: int, look: Theme) -> None:
        rect = self.tabRect(index)
        active = index == self.currentIndex()
        if index == self._hovered and not active:
            painter.fillRect(rect, look.color("hover"))
        role = "text" if active or index == self._hovered else "text.muted"
        area = rect.adjusted(look.px(PAD), 0, 0, 0)
        meaning = self.tabData(index)
        if meaning:
            size = look.px(ICON)
            picture = icon_pixmap(str(meaning), size, role, self.devicePixelRatioF())
            painter.drawPixmap(area.left(), rect.center().y() - size // 2 + 1, picture)
            area.setLeft(area.left() + size + look.px(GAP))
        font = look.font("secondary.strong" if active else "state")
        draw_text(painter, area, self.tabText(index), font=font, role=role, look=look, align=LEFT)
        if active:
            line = QRect(rect.left(), rect.bottom() - 1, rect.width(), 2)
            painter.fillRect(line, look.color("accent"))
            if self.hasFocus() and self._by_key:
                draw_focus(painter, rect, look)
