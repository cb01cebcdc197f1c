"""Gives announcements to the screen reader, in whole sentences (ux.md C18)."""

from __future__ import annotations

from PySide6.QtCore import QObject
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent
from PySide6.QtWidgets import QWidget

from oma_desktop.base.text import ntr, paragraph, tr
from oma_desktop.ui import words
from oma_desktop.viewmodel.announcer import Announcement, Announcer


def announcement_text(announcement: Announcement) -> str:
    """Return the sentences of an announcement: few runs by name, many by number."""
    parts: list[str] = []
    needs, ended = announcement.needs_you, announcement.ended
    if len(needs) == 1:
        parts.append(tr("Run {name} needs you.", name=needs[0].name))
    elif needs:
        parts.append(ntr("{n} run needs you.", "{n} runs need you.", len(needs)))
    if len(ended) == 1:
        row = ended[0]
        state = words.run_word(row.state)
        parts.append(tr("Run {name} ended: {state}.", name=row.name, state=state))
    elif ended:
        parts.append(ntr("{n} run ended.", "{n} runs ended.", len(ended)))
    return paragraph(parts)


class Speech(QObject):
    """Speaks for one window; silent where no screen reader listens."""

    def __init__(self, announcer: Announcer, window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        announcer.due.connect(self._on_due)

    def _on_due(self, announcement: Announcement) -> None:
        if not QAccessible.isActive():
            return
        event = QAccessibleAnnouncementEvent(self._window, announcement_text(announcement))
        urgent = QAccessible.AnnouncementPoliteness.Assertive
        polite = QAccessible.AnnouncementPoliteness.Polite
        event.setPoliteness(urgent if announcement.is_urgent else polite)
        QAccessible.updateAccessibility(event)
