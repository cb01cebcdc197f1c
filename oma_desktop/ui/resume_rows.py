"""The summary rows of the resume dialog: shape, word, number, sentence, and what stands behind."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget
from typing_extensions import override

from oma_desktop.base.text import tr
from oma_desktop.ui import resume_words as words
from oma_desktop.ui.flow import FlowLayout
from oma_desktop.ui.review_header import plain
from oma_desktop.ui.review_parts import ElidedText, Panel, Picture, Text, make_button
from oma_desktop.ui.theme import theme
from oma_desktop.viewmodel.resume import Entry, Line, Summary

MOST = 200
"""Items listed one by one; the rest is counted."""


class SummaryRow(QWidget):
    """One row of 36 px and, when unfolded, its items. `review_wanted` carries a request id."""

    review_wanted = Signal(str)

    def __init__(self, summary: Summary, undecided: int = 0) -> None:
        super().__init__()
        self._summary = summary
        line, n = summary.line, summary.n
        loud = line is Line.MAY_RUN_TWICE and n > 0
        head = Panel(ground="state.unknown.tint" if loud else "surface", bottom=True)
        head.setMinimumHeight(theme().px(36))
        row = QHBoxLayout(head)
        row.setContentsMargins(20, 2, 20, 2)
        row.setSpacing(8)
        row.addWidget(_shape(line))
        row.addSpacing(4)
        self._name = _fixed(Text(words.name(line), use="strong", wrap=True), 132)
        row.addWidget(self._name)
        number = _fixed(Text(str(n), use="heading"), 40)
        number.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        row.addWidget(number)
        row.addWidget(_fixed(Text(words.unit(line, n), use="secondary", role="text.muted"), 56))
        row.addSpacing(0)
        row.addWidget(Text(words.sentence(line, n), use="secondary", role="text.2", wrap=True), 1)
        self._undecided = Text(use="secondary.strong", role="state.unknown.text")
        row.addWidget(self._undecided)
        self._show = make_button(tr("Show"), kind="link")
        self._show.setVisible(n > 0 and line is not Line.MAY_RUN_TWICE)
        self._show.clicked.connect(self._on_show)
        row.addWidget(self._show)
        self._list = Panel(ground="window", bottom=True)
        self._list.hide()
        self._filled = False
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(head)
        column.addWidget(self._list)
        self.show_undecided(undecided)

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        _fixed(self._name, 132 if self.width() >= theme().px(640) else 84)

    @property
    def line(self) -> Line:
        """Which row this is."""
        return self._summary.line

    def show_undecided(self, n: int) -> None:
        """Show how many items of this row have no answer yet."""
        self._undecided.say(words.undecided(n) if n else "")

    def _on_show(self) -> None:
        if not self._filled:
            self._filled = True
            self._fill()
        self._list.setVisible(self._list.isHidden())
        self._show.setText(tr("Show") if self._list.isHidden() else tr("Hide"))

    def _fill(self) -> None:
        column = QVBoxLayout(self._list)
        column.setContentsMargins(52, 6, 20, 8)
        column.setSpacing(2)
        for entry in self._summary.entries[:MOST]:
            item = _EntryRow(entry, self._summary.line)
            item.review_wanted.connect(self.review_wanted)
            column.addWidget(item)
        more = self._summary.n - MOST
        if more > 0:
            text = tr("and {n} more", n=more)
            column.addWidget(Text(text, use="secondary", role="text.muted"))


class _EntryRow(QWidget):
    review_wanted = Signal(str)

    def __init__(self, entry: Entry, line: Line) -> None:
        super().__init__()
        self._entry = entry
        row = FlowLayout(self, spacing=12)
        row.setContentsMargins(0, 0, 0, 0)
        name = ElidedText(use="mono.strong" if entry.is_code else "state")
        name.set_whole(plain(entry.name))
        row.addWidget(name)
        where = tr("task {task}", task=plain(entry.task_title)) if entry.task_title else ""
        for text, use in (
            (where, "secondary"),
            (plain(entry.task_id), "mono"),
            (plain(entry.agent), "secondary"),
            (words.reason(entry), "secondary"),
        ):
            if text:
                role = "text.2" if use == "secondary" else "text.muted"
                row.addWidget(Text(text, use="mono" if use == "mono" else "secondary", role=role))
        if line is Line.NEEDS_YOU:
            review = make_button(tr("Review"), kind="link")
            review.clicked.connect(self._on_review)
            row.addWidget(review)

    def _on_review(self) -> None:
        if self._entry.approval_id is not None:
            self.review_wanted.emit(self._entry.approval_id)


def _shape(line: Line) -> Picture:
    if line is Line.ASKED:
        return Picture(meaning="model", size=20, role="text.2")
    return Picture(state=words.SHAPES[line], size=20)


def _fixed(label: Text, width: int) -> Text:
    label.setFixedWidth(theme().px(width))
    return label
