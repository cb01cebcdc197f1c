"""Finding text in an exact view: a field in its foot, matches over all pages (case s37)."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QLineEdit
from typing_extensions import override

from oma_desktop.base.text import tr
from oma_desktop.model.visible_pages import Pages
from oma_desktop.ui.theme import theme


def count_matches(pages: Pages, words: str) -> int:
    """Return in how many places `words` stands, whatever the case, within single lines."""
    wanted = words.casefold()
    if not wanted:
        return 0
    return sum(part.line.text.casefold().count(wanted) for page in pages for part in page)


def next_page(pages: Pages, words: str, after: int) -> int | None:
    """Return the next page after `after` that holds `words`, going round, or None."""
    wanted = words.casefold()
    for step in range(1, len(pages) + 1):
        page = (after + step) % len(pages)
        if any(wanted in part.line.text.casefold() for part in pages[page]):
            return page
    return None


class FindField(QLineEdit):
    """Hidden until asked for. `typing` says whether the keys go here; Escape closes only this."""

    typing = Signal(bool)
    left = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setClearButtonEnabled(True)
        self.hide()
        self.installEventFilter(self)

    def begin(self) -> None:
        """Show the field and give it the keys."""
        self.setPlaceholderText(tr("Find in this text"))
        self.setAccessibleName(tr("Find in this text"))
        self.setFixedWidth(theme().px(180))
        self.show()
        self.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.selectAll()

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() is QEvent.Type.FocusIn:
            self.typing.emit(True)
        elif event.type() is QEvent.Type.FocusOut:
            self.typing.emit(False)
        return super().eventFilter(watched, event)

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.hide()
            self.left.emit()
        else:
            super().keyPressEvent(event)
