"""Docks with our own heads: 32 px when alone or floating, none when the tab bar names them."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QDockWidget,
    QHBoxLayout,
    QMainWindow,
    QTabBar,
    QToolButton,
    QWidget,
)
from typing_extensions import override

from oma_desktop.base.text import tr
from oma_desktop.ui import icons
from oma_desktop.ui.badges import Badge
from oma_desktop.ui.language import Retranslated
from oma_desktop.ui.painting import CENTER, draw_text, text_width
from oma_desktop.ui.theme import theme, theme_host


class HeadTitle(QWidget):
    """A title that looks like the active tab it stands for."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._text = ""

    def set_text(self, text: str) -> None:
        self._text = text
        self.setFixedWidth(text_width(text, theme().font("secondary.strong")) + 4)
        self.update()

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        look = theme()
        painter = QPainter(self)
        font = look.font("secondary.strong")
        draw_text(painter, self.rect(), self._text, font=font, role="text", look=look, align=CENTER)
        painter.fillRect(0, self.height() - 2, self.width(), 2, look.color("accent"))
        painter.end()


class DockHead(Retranslated):
    """Title left, ghost buttons right."""

    def __init__(self, dock: Dock) -> None:
        super().__init__(dock)
        self._dock = dock
        self._title = HeadTitle()
        self._close = QToolButton()
        self._close.clicked.connect(dock.close)
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(12, 0, 8, 0)
        self._row.setSpacing(4)
        self._badge = Badge(needs_you=False)
        self._row.addWidget(self._title)
        self._row.addSpacing(2)
        self._row.addWidget(self._badge)
        self._row.addStretch(1)
        self._row.addWidget(self._close)
        self.setProperty("ground", "head")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        theme_host().theme_changed.connect(self.retranslate)
        dock.windowTitleChanged.connect(self.retranslate)
        self.retranslate()

    def show_count(self, n: int, *, needs_you: bool) -> None:
        """Show a count beside the title."""
        self._badge.set_needs_you(needs_you=needs_you)
        self._badge.set_count(n)

    def add_button(self, button: QToolButton) -> None:
        """Put a button before the close button."""
        self._row.insertWidget(self._row.count() - 1, button)

    @override
    def retranslate(self) -> None:
        look = theme()
        self._title.set_text(self._dock.windowTitle())
        self._title.setFixedHeight(look.height("tab"))
        self.setFixedHeight(look.height("tab"))
        self._close.setIcon(icons.icon("clear"))
        self._close.setToolTip(tr("Close this panel"))
        self._close.setAccessibleName(tr("Close {panel}", panel=self._dock.windowTitle()))


class Dock(QDockWidget):
    """A dock that can move, float, tab and hide; its head follows what its place shows."""

    def __init__(self, name: str, content: QWidget, window: QMainWindow) -> None:
        super().__init__(window)
        self.setObjectName(f"dock.{name}")
        self.setWidget(content)
        self.head = DockHead(self)
        self._no_head = QWidget(self)
        self.setTitleBarWidget(self.head)
        self._window = window
        self.n, self.needs_you, self.spoken = 0, False, ""

    def set_count(self, n: int, *, spoken: str = "", needs_you: bool = False) -> None:
        """Show a count in the head or on the tab; `spoken` is the title with it in words."""
        self.n, self.needs_you, self.spoken = n, needs_you, spoken
        self.head.show_count(n, needs_you=needs_you)
        self.setAccessibleName(spoken or self.windowTitle())

    def refresh_head(self) -> None:
        """Show the head unless a tab bar names this dock already."""
        tabbed = bool(self._window.tabifiedDockWidgets(self)) and not self.isFloating()
        wanted = self._no_head if tabbed else self.head
        if self.titleBarWidget() is not wanted:
            self.setTitleBarWidget(wanted)
            self._no_head.setVisible(tabbed)
            self.head.setVisible(not tabbed)


def polish_dock_tabs(window: QMainWindow) -> None:
    """Make dock tab bars, which Qt creates late, look like ours (look.md 10.5)."""
    font = theme().font("state")
    docks = {dock.windowTitle(): dock for dock in _docks(window)}
    for bar in window.findChildren(QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly):
        bar.setFont(font)
        bar.setDrawBase(False)
        bar.setExpanding(False)
        bar.setDocumentMode(True)
        bar.setElideMode(Qt.TextElideMode.ElideNone)
        bar.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        for index in range(bar.count()):
            _badge_tab(bar, index, docks.get(bar.tabText(index)))


def _docks(window: QMainWindow) -> list[Dock]:
    return window.findChildren(Dock, options=Qt.FindChildOption.FindDirectChildrenOnly)


def _badge_tab(bar: QTabBar, index: int, dock: Dock | None) -> None:
    """Put the count of a dock on its tab; Qt makes and reorders these tabs as it likes."""
    side = QTabBar.ButtonPosition.RightSide
    badge: QWidget | None = bar.tabButton(index, side)
    n = dock.n if dock is not None else 0
    if n and not isinstance(badge, Badge):
        badge = Badge(bar)
        bar.setTabButton(index, side, badge)
    elif not n and badge is not None:
        bar.setTabButton(index, side, None)
        badge.deleteLater()
        badge = None
    if isinstance(badge, Badge) and dock is not None:
        badge.set_needs_you(needs_you=dock.needs_you)
        badge.set_count(n)
        if badge.size() != badge.sizeHint():
            badge.resize(badge.sizeHint())
            bar.setTabButton(index, side, badge)
            badge.show()  # Qt hides the widget it replaces, also when it is the same one
    spoken = dock.spoken if dock is not None else ""
    bar.setAccessibleTabName(index, spoken or bar.tabText(index))
    bar.setTabToolTip(index, spoken)
