"""Notices below the run bar: full width, two at most, older ones wait in Problems (look.md 7)."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QToolButton,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from oma_desktop.base.sentences import describe
from oma_desktop.base.text import ntr, tr
from oma_desktop.ui import icons
from oma_desktop.ui.labels import Label
from oma_desktop.ui.language import Retranslated
from oma_desktop.ui.theme import theme, theme_host
from oma_desktop.viewmodel.feed import Notice
from oma_desktop.viewmodel.next_steps import DECIDED, LEADS_ON
from oma_desktop.viewmodel.notices import Heard, NoticeBoard

_ICONS = {"info": "info", "warning": "warning", "error": "error"}
_LINE = 1
_ROLES = {"info": "info.text", "warning": "warning.text", "error": "danger.text"}


def notice_text(heard: Heard) -> str:
    """Return the whole sentence of a notice; a repeated one says how often."""
    sentence = describe(heard.notice.code, dict(heard.notice.facts))
    text = sentence.whole
    if heard.more:
        return ntr(
            "{text} ({n} more like this: see Problems)",
            "{text} ({n} more like this: see Problems)",
            heard.more,
            text=text,
        )
    return tr("{text} ({n} times)", text=text, n=heard.times) if heard.times > 1 else text


def link_text(notice: Notice) -> str:
    """Return what a notice offers; an empty text where it only tells."""
    if notice.run is None or notice.code not in LEADS_ON:
        return ""
    return tr("Resume…") if notice.code == DECIDED else tr("Review")


class NoticeLine(QFrame):
    """One notice: icon, sentence, close."""

    closed = Signal(object)  # number
    followed = Signal(object)  # Heard

    def __init__(self, heard: Heard, about: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._number = heard.number
        self._heard = heard
        level = heard.notice.level if heard.notice.level in _ICONS else "info"
        look = theme()
        self.setProperty("notice", level)
        self.setProperty("bar", "true")
        picture = QLabel()
        size = look.px(16)
        ratio = self.devicePixelRatioF()
        picture.setPixmap(icons.icon_pixmap(_ICONS[level], size, _ROLES[level], ratio))
        said = notice_text(heard)
        said = tr("{run}: {text}", run=about, text=said) if about else said
        self._text = text = Label(text=said, wrap=True, selectable=True)
        text.setToolTip(heard.notice.code)
        self.link = QPushButton(link_text(heard.notice))
        self.link.setProperty("kind", "inline")
        self.link.setVisible(bool(self.link.text()))
        self.link.clicked.connect(self._on_link_clicked)
        close = QToolButton()
        close.setIcon(icons.icon("clear"))
        close.setToolTip(tr("Close; it stays in Problems"))
        close.setAccessibleName(tr("Close this notice"))
        close.clicked.connect(self._on_close_clicked)
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 6, 8, 6)
        row.setSpacing(8)
        row.addWidget(picture, alignment=Qt.AlignmentFlag.AlignTop)
        row.addWidget(text, 1)
        row.addWidget(self.link, alignment=Qt.AlignmentFlag.AlignTop)
        row.addWidget(close, alignment=Qt.AlignmentFlag.AlignTop)
        self.setAccessibleName(text.text())

    def height_at(self, width: int) -> int:
        """Return the height this notice needs at a width."""
        look = theme()
        link = self.link.sizeHint().width() + look.px(8) if self.link.text() else 0
        room = max(look.px(160), width - look.px(12 + 16 + 8 + 8 + 32) - link)
        # the frame's own line above and below is part of the height, not of the text's
        return max(self._text.heightForWidth(room), look.px(22)) + look.px(12) + 2 * _LINE

    def _on_link_clicked(self) -> None:
        self.closed.emit(self._number)
        self.followed.emit(self._heard.notice)

    def _on_close_clicked(self) -> None:
        self.closed.emit(self._number)


class NoticeBar(Retranslated):
    """Shows what the board has in sight; takes no room when there is nothing."""

    followed = Signal(object)  # Notice whose link was pressed

    def __init__(self, board: NoticeBoard, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._board = board
        self._lines: list[NoticeLine] = []
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(0)
        board.changed.connect(self.retranslate)
        theme_host().theme_changed.connect(self.retranslate)
        self.retranslate()

    @override
    def retranslate(self) -> None:
        for line in self._lines:
            self._column.removeWidget(line)
            line.hide()
            line.deleteLater()
        self._lines = [NoticeLine(h, self._board.about(h), self) for h in self._board.shown]
        for line in self._lines:
            self._column.addWidget(line)
            line.closed.connect(self._board.close)
            line.followed.connect(self.followed)
        self._fit()

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """Be as high as the sentences need at this width: tool bars do not ask."""
        height = sum(line.height_at(self.width()) for line in self._lines)
        if height != self.height():
            self.setFixedHeight(height)
