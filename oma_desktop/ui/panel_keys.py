"""Getting around without a mouse: Ctrl+digit to a panel, F6 from panel to panel (ux.md C13)."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QApplication, QWidget

from oma_desktop.ui.frame import Frame

_KEYS: Final = {
    "runs": "Ctrl+1",
    "inbox": "Ctrl+2",
    "map": "Ctrl+3",
    "outline": "Ctrl+5",
    "conversation": "Ctrl+6",
    "inspector": "Ctrl+7",
    "problems": "Ctrl+0",
}


class PanelKeys(QObject):
    """Moves the focus between panels in reading order; there is no trap and no dead end."""

    def __init__(self, frame: Frame) -> None:
        super().__init__(frame.window)
        self._frame = frame
        for name, keys in _KEYS.items():
            if name in frame.docks or name in frame.views:
                action = QAction(frame.window)
                action.setData(name)
                action.setShortcut(QKeySequence(keys))
                action.triggered.connect(self._on_panel_asked)
                frame.window.addAction(action)
        frame.actions.connect_all(
            {"next_panel": self.focus_next, "previous_panel": self.focus_previous}
        )

    def lines(self) -> list[tuple[str, str]]:
        """Return (keys, title) of the panels that are there."""
        titles = {n: d.windowTitle() for n, d in self._frame.docks.items()}
        tabs = self._frame.tabs
        titles |= {n: tabs.tabText(tabs.indexOf(v)) for n, v in self._frame.views.items()}
        return [(keys, titles[name]) for name, keys in _KEYS.items() if name in titles]

    def show_view(self, name: str) -> None:
        """Bring a centre tab to the front and give it the focus."""
        if name in self._frame.views:
            view = self._frame.views[name]
            self._frame.tabs.setCurrentWidget(view)
            _first_focus(view).setFocus(Qt.FocusReason.ShortcutFocusReason)

    def show_dock(self, name: str) -> None:
        """Bring a dock to the front and give it the focus."""
        if name in self._frame.docks:
            dock = self._frame.docks[name]
            dock.show()
            dock.raise_()
            self.focus(name)

    def focus(self, name: str) -> None:
        """Give the focus to the part of a panel that reads the keyboard."""
        target = self._targets().get(name)
        if target is not None:
            _focus(self._frame.docks[name], target, Qt.FocusReason.ShortcutFocusReason)

    def focus_next(self) -> None:
        self._step(1)

    def focus_previous(self) -> None:
        self._step(-1)

    def _step(self, step: int) -> None:
        targets = [(p, w) for p, w in self._panels() if p.isVisible()]
        if not targets:
            return
        now = QApplication.focusWidget()
        at = next(
            (
                i
                for i, (panel, _) in enumerate(targets)
                if now is not None and (panel is now or panel.isAncestorOf(now))
            ),
            -1 if step > 0 else 0,
        )
        panel, part = targets[(at + step) % len(targets)]
        _focus(panel, part, Qt.FocusReason.TabFocusReason)

    def _panels(self) -> list[tuple[QWidget, QWidget]]:
        """Return (panel, the part that takes the focus) in reading order."""
        frame = self._frame
        targets = self._targets()
        panels: list[tuple[QWidget, QWidget]] = [(frame.run_bar, frame.run_bar.new)]
        panels += [(frame.docks[n], targets[n]) for n in ("runs", "inbox") if n in frame.docks]
        centre = frame.tabs.currentWidget()
        if centre is not None:
            panels.append((frame.tabs, _first_focus(centre)))
        panels.append((frame.first_start, frame.first_start.cards[0].button))
        panels += [(frame.docks[n], targets[n]) for n in ("inspector", "problems")]
        return panels

    def _targets(self) -> dict[str, QWidget]:
        frame = self._frame
        targets: dict[str, QWidget] = {
            "runs": frame.runs_panel.list,
            "inspector": _first_focus(frame.inspector),
            "problems": frame.problems_panel.list,
        }
        if frame.inbox is not None:
            targets["inbox"] = getattr(frame.inbox, "list", frame.inbox)
        return targets

    def _on_panel_asked(self) -> None:
        action = self.sender()
        if isinstance(action, QAction):
            name = str(action.data())
            if name in self._frame.docks:
                self.show_dock(name)
            else:
                self.show_view(name)


def _focus(panel: QWidget, part: QWidget, reason: Qt.FocusReason) -> None:
    """Focus a part of a panel; where that cannot be seen to have it, what else the panel has.

    A hidden widget (an empty list) takes no focus, and F6 would end in front of the panel.
    """
    shows = part.isVisible() and part.focusPolicy() & Qt.FocusPolicy.TabFocus
    (part if shows else _first_focus(panel)).setFocus(reason)


def _first_focus(panel: QWidget) -> QWidget:
    """Return the first part of a panel that the Tab key would reach, or the panel."""
    if panel.focusPolicy() & Qt.FocusPolicy.TabFocus:
        return panel
    for child in panel.findChildren(QWidget):
        reachable = child.focusPolicy() & Qt.FocusPolicy.TabFocus
        if reachable and child.isVisibleTo(panel) and child.isEnabled():
            return child
    return panel
