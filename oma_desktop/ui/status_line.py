"""The status line: age of the data with its source, decisions waiting, tokens (ux.md C4)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QSizePolicy, QToolButton, QWidget
from typing_extensions import override

from oma_desktop import __version__
from oma_desktop.base.text import ntr, tr
from oma_desktop.ui import icons
from oma_desktop.ui.labels import Label, dress
from oma_desktop.ui.language import Retranslated
from oma_desktop.ui.numbers import age_text, count_text, time_text
from oma_desktop.ui.theme import theme, theme_host
from oma_desktop.viewmodel.ages import age_of, quiet_for
from oma_desktop.viewmodel.feed import Feed
from oma_desktop.viewmodel.selection import Selection


class Cell(QWidget):
    """One item of the line: an optional shape and a text, a hairline at its right."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._shape = QLabel()
        self._text = Label("secondary", "text.2", figures=True)
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 0, 12, 0)
        row.setSpacing(6)
        row.addWidget(self._shape)
        row.addWidget(self._text)

    def show_text(self, text: str, *, shape: str = "", role: str = "text.2") -> None:
        """Show a text; an empty one hides the cell."""
        self.setVisible(bool(text))
        self._text.setText(text)
        self._text.set_look("secondary", role)
        self._shape.setVisible(bool(shape))
        if shape:
            size = theme().px(14)
            self._shape.setPixmap(icons.state_pixmap(shape, size, dpr=self.devicePixelRatioF()))

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.width() - 1, 0, 1, self.height(), theme().color("border"))
        painter.end()


class StatusLine(Retranslated):
    """24 high, on the window ground. `decisions_pressed` leads to the inbox."""

    decisions_pressed = Signal()

    def __init__(
        self,
        feed: Feed,
        selection: Selection,
        *,
        now: Callable[[], datetime],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._feed = feed
        self._selection = selection
        self._now = now
        self._age = Cell()
        self._source = Cell()
        self._decisions = dress(QToolButton(), "secondary.strong")
        self._decisions.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self._decisions.setProperty("kind", "decisions")
        self._message = Label("secondary", "text.2")
        self._message.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._tokens = Cell()
        self._version = Label("secondary", "text.2")
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        for part in (self._age, self._source, self._decisions):
            row.addWidget(part)
        row.addWidget(self._message, 1)
        row.addWidget(_hairline())
        row.addWidget(self._tokens)
        row.addWidget(self._version)
        self._version.setContentsMargins(12, 0, 12, 0)
        self._message.setContentsMargins(12, 0, 12, 0)
        self._decisions.clicked.connect(self.decisions_pressed)
        feed.changed.connect(self.refresh)
        selection.run_changed.connect(self.refresh)
        theme_host().theme_changed.connect(self._on_theme_changed)
        self._on_theme_changed()

    def say(self, text: str) -> None:
        """Show a passing text, as of the menu entry under the pointer."""
        self._message.setText(text)

    def refresh(self) -> None:
        """Show facts of the selected run, and what waits in all runs."""
        n = sum(r.n_open_approvals for s in self._feed.stores() for r in s.runs)
        self._decisions.setVisible(n > 0)
        self._decisions.setText(ntr("{n} decision waiting", "{n} decisions waiting", n))
        self._show_source()

    def _show_source(self) -> None:
        ref = self._selection.run
        store = self._feed.store(ref.store) if ref is not None else None
        run = self._feed.run(ref) if ref is not None else None
        if store is None or run is None:
            self._age.show_text(tr("No data"))
            self._source.show_text("")
            self._tokens.show_text("")
            return
        if run.readable and run.saved_at is None and not run.version:
            self._age.show_text(tr("Nothing saved yet"))
            self._source.show_text("")
            self._tokens.show_text("")
            return
        if not store.readable:
            since = time_text(store.unreadable_since)
            text = tr("File unreadable since {time}", time=since)
            self._age.show_text(text, shape="failed", role="danger.text")
        else:
            heard = run.saved_at or store.modified_at
            age = age_text(age_of(heard, now=self._now()))
            fresh = quiet_for(heard, now=self._now()) is None
            self._age.show_text(tr("Data {age} old", age=age), shape="done" if fresh else "")
        self._source.show_text(tr("Checkpoint v{version}", version=run.version or "?"))
        total = run.usage.total
        self._tokens.show_text(
            ntr("{count} token", "{count} tokens", total, count=count_text(total)) if total else ""
        )

    @override
    def retranslate(self) -> None:
        self.setAccessibleName(tr("Status line"))
        self._version.setText(tr("OMA Desktop {version}", version=__version__))
        self.refresh()

    @override
    def sizeHint(self) -> QSize:
        return QSize(400, theme().px(24))

    def _on_theme_changed(self) -> None:
        look = theme()
        self.setFixedHeight(look.px(24))
        self._decisions.setIcon(icons.state_icon("needsyou", look.px(14), self.devicePixelRatioF()))
        self.retranslate()


def _hairline() -> QFrame:
    line = QFrame()
    line.setProperty("role", "line")
    line.setFixedWidth(1)
    return line
