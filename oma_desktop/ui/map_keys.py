"""What a key does on the map (ux.md C13): a table, so that nothing is hidden in a handler."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QKeyEvent, QKeySequence

_PLAIN: Final[dict[int, str]] = {
    Qt.Key.Key_Left: "left",
    Qt.Key.Key_Right: "right",
    Qt.Key.Key_Up: "up",
    Qt.Key.Key_Down: "down",
    Qt.Key.Key_K: "up",
    Qt.Key.Key_J: "down",
    Qt.Key.Key_BracketLeft: "parent",
    Qt.Key.Key_BracketRight: "child",
    Qt.Key.Key_Return: "open",
    Qt.Key.Key_Enter: "open",
    Qt.Key.Key_Z: "fit",
    Qt.Key.Key_H: "hide_done",
    Qt.Key.Key_Plus: "zoom_in",
    Qt.Key.Key_Equal: "zoom_in",
    Qt.Key.Key_Minus: "zoom_out",
    Qt.Key.Key_Slash: "find",
    Qt.Key.Key_Menu: "menu",
}
_SHIFTED: Final[dict[int, str]] = {
    Qt.Key.Key_Z: "full_size",
    Qt.Key.Key_Plus: "zoom_in",
    Qt.Key.Key_F10: "menu",
}
# Letters that mean something in the whole window; they must not begin a search here
_OF_THE_WINDOW: Final = "gfw?, ."


def verb_of(event: QKeyEvent) -> str:
    """Return the verb of a key, "type" for a letter that begins a search, or nothing."""
    held = event.modifiers() & ~(
        Qt.KeyboardModifier.KeypadModifier | Qt.KeyboardModifier.GroupSwitchModifier
    )
    if event.matches(QKeySequence.StandardKey.Find):
        return "find"
    verb = ""
    if held == Qt.KeyboardModifier.NoModifier:
        verb = _PLAIN.get(event.key(), "")
    elif held == Qt.KeyboardModifier.ShiftModifier:
        verb = _SHIFTED.get(event.key(), "")
    if not verb and not held & ~Qt.KeyboardModifier.ShiftModifier and _begins_search(event.text()):
        return "type"
    return verb


def wants(event: QEvent) -> bool:
    """Whether the map takes a key before a shortcut of the window does (`/`, Ctrl+F)."""
    is_override = event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent)
    return is_override and isinstance(event, QKeyEvent) and verb_of(event) in ("find", "menu")


def _begins_search(text: str) -> bool:
    return len(text) == 1 and text.isprintable() and text.lower() not in _OF_THE_WINDOW
