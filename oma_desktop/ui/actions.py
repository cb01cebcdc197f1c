"""One QAction per verb; menus, run bar and keyboard share them (ux.md C13).

Acts that change the world (approve, reject, resume, cancel, delete) have no single-key shortcut:
here they have a menu entry that opens a list of effects first.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QAction, QActionGroup, QKeySequence
from PySide6.QtWidgets import QWidget

from oma_desktop.base.text import N_, tr
from oma_desktop.ui import icons, words
from oma_desktop.viewmodel.verbs import Verbs, Why

# name -> (text, shortcut, icon). The texts are whole menu entries.
_ACTIONS: Final[dict[str, tuple[str, str, str]]] = {
    "new": (N_("&New run…"), "Ctrl+N", "new"),
    "sample": (N_("&Play the sample"), "", "sample"),
    "open_file": (N_("&Open store file…"), "Ctrl+O", "file"),
    "open_folder": (N_("Open &folder…"), "Ctrl+Shift+O", "open"),
    "look_again": (N_("&Look again now"), "F5", "refresh"),
    "quit": (N_("&Quit"), "Ctrl+Q", ""),
    "suspend": (N_("&Suspend"), "Ctrl+Shift+S", "suspend"),
    "cancel": (N_("&Cancel…"), "", "cancel"),
    "restore": (N_("&Restore…"), "Ctrl+R", "restore"),
    "review": (N_("Re&view request"), "", "review"),
    "inbox": (N_("&Inbox"), "Ctrl+Shift+I", "inbox"),
    "back": (N_("&Back"), "Alt+Left", "back"),
    "forward": (N_("&Forward"), "Alt+Right", "forward"),
    "next_needs_you": (N_("Next that &needs you"), "G, N", ""),
    "first_failure": (N_("First f&ailure"), "G, F", ""),
    "filter": (N_("Fil&ter this panel"), "/", "filter"),
    "find": (N_("Fin&d in conversation"), "Ctrl+F", "search"),
    "next_panel": (N_("Next &panel"), "F6", ""),
    "previous_panel": (N_("Pre&vious panel"), "Shift+F6", ""),
    "larger": (N_("&Larger text"), "Ctrl++", ""),
    "smaller": (N_("S&maller text"), "Ctrl+-", ""),
    "normal_size": (N_("&Normal text size"), "", ""),
    "reset_layout": (N_("&Reset layout"), "", ""),
    "keys": (N_("&Keyboard"), "F1", "keyboard"),
    "about": (N_("&About OMA Desktop"), "", "info"),
}

# Groups of choices: name -> (choice, text)
CHOICES: Final[dict[str, tuple[tuple[str, str], ...]]] = {
    "scheme": (
        ("system", N_("As the system")),
        ("light", N_("Light")),
        ("dark", N_("Dark")),
        ("contrast", N_("High contrast")),
    ),
    "density": (
        ("compact", N_("Compact")),
        ("normal", N_("Normal")),
        ("roomy", N_("Roomy")),
    ),
    # Each language is named in itself: who cannot read the window must find theirs
    "language": (("en", "English"), ("zh_CN", "中文")),
}


class Actions(QObject):
    """All actions of the main window, by name."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._by_name: dict[str, QAction] = {}
        for name, (_text, keys, _icon) in _ACTIONS.items():
            action = QAction(window)
            action.setObjectName(f"action.{name}")
            action.setShortcuts(_shortcuts(keys))
            action.setShortcutContext(Qt.ShortcutContext.WindowShortcut)
            window.addAction(action)
            self._by_name[name] = action
        self.groups: dict[str, QActionGroup] = {}
        for name, choices in CHOICES.items():
            self.groups[name] = _group(window, name, choices)
        self._reasons: dict[str, Why] = {}
        self.retranslate()
        self.tint()

    def __getitem__(self, name: str) -> QAction:
        return self._by_name[name]

    def names(self) -> tuple[str, ...]:
        return tuple(self._by_name)

    def connect_all(self, slots: dict[str, Callable[[], None]]) -> None:
        """Connect actions to bound methods."""
        for name, slot in slots.items():
            self._by_name[name].triggered.connect(slot)

    def apply(self, verbs: Verbs) -> None:
        """Turn the verbs of a run on or off, each with its reason."""
        for name, why in (
            ("suspend", verbs.suspend),
            ("cancel", verbs.cancel),
            ("restore", verbs.restore),
        ):
            self._reasons[name] = why
            self._by_name[name].setEnabled(why is Why.FREE)
        self._explain()

    def choose(self, group: str, choice: str) -> None:
        """Check the entry of a choice without triggering it."""
        for action in self.groups[group].actions():
            action.setChecked(action.data() == choice)

    def retranslate(self) -> None:
        """Set all texts again."""
        for name, (text, _keys, _icon) in _ACTIONS.items():
            self._by_name[name].setText(tr(text))
        for name, choices in CHOICES.items():
            for action, (_choice, text) in zip(self.groups[name].actions(), choices, strict=True):
                action.setText(tr(text))
        self._explain()

    def tint(self) -> None:
        """Set all icons again, in the colours of the theme."""
        for name, (_text, _keys, icon) in _ACTIONS.items():
            if icon:
                self._by_name[name].setIcon(icons.icon(icon))

    def _explain(self) -> None:
        for name, why in self._reasons.items():
            action = self._by_name[name]
            reason = "" if why is Why.FREE else words.why_sentence(why)
            action.setToolTip(reason or plain(action.text()))
            action.setStatusTip(reason)


_MNEMONIC: Final = re.compile(r"\(&\w\)|&")


def plain(text: str) -> str:
    """Return a menu text without its mnemonic, as for a button: also without "(&S)"."""
    return _MNEMONIC.sub("", text)


def _shortcuts(keys: str) -> list[QKeySequence]:
    if not keys:
        return []
    made = [QKeySequence(keys)]
    if keys == "Ctrl++":
        made.append(QKeySequence("Ctrl+="))
    if keys == "F1":
        made.append(QKeySequence("?"))
    return made


def _group(window: QWidget, name: str, choices: tuple[tuple[str, str], ...]) -> QActionGroup:
    group = QActionGroup(window)
    group.setObjectName(f"group.{name}")
    for choice, _text in choices:
        action = QAction(group)
        action.setCheckable(True)
        action.setData(choice)
    return group
