"""The menu bar: which action stands where. Holds no behaviour."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QLabel, QMenu, QMenuBar, QWidget

from oma_desktop.base.text import N_, tr
from oma_desktop.ui import icons
from oma_desktop.ui.actions import Actions
from oma_desktop.ui.theme import theme

_MENUS: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    (
        N_("&File"),
        ("new", "sample", "-", "open_file", "open_folder", "-", "look_again", "-", "quit"),
    ),
    (N_("&Run"), ("review", "-", "suspend", "cancel", "-", "restore")),
    (
        N_("&View"),
        (
            "panels",
            "-",
            "scheme",
            "density",
            "language",
            "-",
            "larger",
            "smaller",
            "normal_size",
            "-",
            "reset_layout",
        ),
    ),
    (
        N_("&Go"),
        (
            "back",
            "forward",
            "-",
            "inbox",
            "next_needs_you",
            "first_failure",
            "-",
            "filter",
            "find",
            "-",
            "next_panel",
            "previous_panel",
        ),
    ),
    (N_("&Help"), ("keys", "sample", "-", "about")),
)
_SUBMENUS: Final = {"scheme": N_("&Theme"), "density": N_("&Density"), "language": N_("La&nguage")}


class Menus:
    """Builds the menus once; `retranslate` sets their titles again."""

    def __init__(self, bar: QMenuBar, actions: Actions, panels: list[QAction]) -> None:
        self._bar = bar
        self._titles: list[tuple[QMenu, str]] = []
        self._mark = QLabel(bar)
        bar.setCornerWidget(self._mark, Qt.Corner.TopLeftCorner)
        for title, names in _MENUS:
            menu = bar.addMenu("")
            self._titles.append((menu, title))
            for name in names:
                self._add(menu, name, actions, panels)
        self.retranslate()

    def _add(self, menu: QMenu, name: str, actions: Actions, panels: list[QAction]) -> None:
        if name == "-":
            menu.addSeparator()
        elif name == "panels":
            menu.addActions(panels)
        elif name in _SUBMENUS:
            submenu = menu.addMenu("")
            submenu.addActions(actions.groups[name].actions())
            self._titles.append((submenu, _SUBMENUS[name]))
        else:
            menu.addAction(actions[name])

    def retranslate(self) -> None:
        """Set all titles again."""
        for menu, title in self._titles:
            menu.setTitle(tr(title))

    def restyle(self, host: QWidget) -> None:
        """Follow the text scale."""
        look = theme()
        self._bar.setFixedHeight(look.px(28))
        size = look.px(16)
        self._mark.setPixmap(icons.app_icon().pixmap(QSize(size, size), host.devicePixelRatioF()))
        self._mark.setContentsMargins(12, 0, 4, 0)
