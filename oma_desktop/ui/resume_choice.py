"""One call that may run twice: what it is, what is known, and the operator's choice (ux.md C8)."""

from __future__ import annotations

import json
from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFontMetrics, QResizeEvent
from PySide6.QtWidgets import QButtonGroup, QHBoxLayout, QRadioButton, QVBoxLayout, QWidget
from typing_extensions import override

from oma_desktop.base.text import tr
from oma_desktop.model.resume import CallItem
from oma_desktop.model.view import Effect
from oma_desktop.model.visible_pages import Sheet, sheet
from oma_desktop.ui import resume_words as words
from oma_desktop.ui.exact_view import ExactView
from oma_desktop.ui.flow import FlowLayout
from oma_desktop.ui.review_header import plain
from oma_desktop.ui.review_parts import ElidedText, Panel, Picture, Text, make_button
from oma_desktop.ui.theme import theme
from oma_desktop.viewmodel.offload import Offload, at_once, is_small
from oma_desktop.viewmodel.resume import preselected

_COMPACT = 300
"""More than fits on the line; the whole is one press away."""


class ChoiceCard(Panel):
    """`chosen` carries the item and whether it may run again."""

    chosen = Signal(object, bool)

    def __init__(self, item: CallItem, *, again: bool, offload: Offload = at_once) -> None:
        super().__init__(box=True)
        self._item = item
        self._offload = offload
        self._gone = False
        self.again = QRadioButton(tr("Run it again"))
        self.undecided = QRadioButton(tr("Undecided"))
        self._group = QButtonGroup(self)
        for radio in (self.again, self.undecided):
            self._group.addButton(radio)
        self.show_input = make_button(tr("Show input"), meaning="read.only")
        self.input = ExactView()
        self.input.hide()
        self._lay_out()
        self.again.setAccessibleName(tr("Run {tool} again", tool=plain(item.tool)))
        self.undecided.setAccessibleName(tr("Leave {tool} undecided", tool=plain(item.tool)))
        (self.again if again else self.undecided).setChecked(True)
        self._show_edge(again=again)
        self.again.toggled.connect(self._on_toggled)
        self.show_input.clicked.connect(self._on_show_input)
        self.input.laid_out.connect(self._fit_input)

    def _lay_out(self) -> None:
        column = QVBoxLayout(self)
        column.setContentsMargins(14, 10, 14, 10)
        column.setSpacing(4)
        column.addLayout(self._head())
        column.addWidget(self._facts())
        column.addWidget(_Rule())
        column.addLayout(self._choices())
        column.addWidget(self.input)

    def _head(self) -> QHBoxLayout:
        item = self._item
        head = QHBoxLayout()
        head.setSpacing(8)
        head.addWidget(Picture(state="outcome", size=18))
        head.addWidget(Text(plain(item.tool), use="mono.strong"))
        compact = ElidedText(use="mono", middle=False)
        compact.set_whole(plain(_compact(item)))
        head.addWidget(compact)
        head.addStretch(1)
        head.addWidget(_task_of(item))
        self._id = ElidedText(use="mono", role="text.muted")
        self._id.set_whole(plain(item.task_id))
        self._id.setFixedWidth(theme().px(104))
        head.addWidget(self._id)
        return head

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._id.setVisible(bool(self._item.task_title) and self.width() >= theme().px(640))

    def _facts(self) -> QWidget:
        item = self._item
        line = QWidget()
        row = FlowLayout(line, spacing=10)
        row.setContentsMargins(26, 0, 0, 4)
        risky = item.effect in {Effect.CONSEQUENTIAL, Effect.UNKNOWN}
        row.addWidget(
            Picture(
                meaning={Effect.CONSEQUENTIAL: "world", Effect.UNKNOWN: "not.known"}.get(
                    item.effect, "read.only"
                ),
                size=14,
                role="danger.text" if item.effect is Effect.CONSEQUENTIAL else "text.2",
            )
        )
        role = "danger.text" if item.effect is Effect.CONSEQUENTIAL else "text.2"
        row.addWidget(
            Text(words.effect_text(item.effect), use="state" if risky else "secondary", role=role)
        )
        known = tr("no start record: cannot tell if it ran")
        row.addWidget(Text(known, use="secondary", role="text.2"))
        if item.approved_by is not None:
            text = tr(
                "approved by {who} before the stop; a second run needs a fresh look",
                who=plain(item.approved_by),
            )
            row.addWidget(Text(text, use="secondary", role="text.2"))
        return line

    def _choices(self) -> FlowLayout:
        row = FlowLayout(spacing=12)
        row.setContentsMargins(26, 2, 0, 0)
        row.addWidget(self.again)
        if preselected(self._item):
            text = tr("(chosen beforehand: a repeat does no harm)")
            row.addWidget(Text(text, use="secondary", role="text.muted"))
        row.addWidget(self.undecided)
        row.split()
        row.addWidget(self.show_input)
        return row

    def _on_toggled(self, again: bool) -> None:
        self._show_edge(again=again)
        self.chosen.emit(self._item, again)

    def _show_edge(self, *, again: bool) -> None:
        if again:
            self.set_ground("surface", "border")
        else:
            self.set_ground("surface", "state.unknown", width=2)

    def _on_show_input(self) -> None:
        if not self.input.isHidden():
            self.input.hide()
            self.show_input.setText(tr("Show input"))
            return
        work = partial(sheet, self._item.input)
        if is_small(self._item.input):
            self._on_drawn(work())
        else:
            self.input.show_reading()
            self._offload(work, self._on_drawn)
        self.input.show()
        self._fit_input()
        self.show_input.setText(tr("Hide input"))

    def _on_drawn(self, drawn: Sheet) -> None:
        if not self._gone:
            self.input.show_value(drawn)

    def _fit_input(self) -> None:
        if not self.input.isHidden():
            height = min(self.input.wanted_height(), theme().px(320))
            self.input.setFixedHeight(max(height, self.input.least_height()))

    def forget(self) -> None:
        """The card goes away: what is still being drawn is not shown any more."""
        self._gone = True


def _task_of(item: CallItem) -> Text:
    """The title has room first: it is what a person knows the task by."""
    whole = tr("task {task}", task=plain(item.task_title or item.task_id))
    text = Text(use="secondary", role="text.2")
    metrics = QFontMetrics(text.font())
    text.setText(metrics.elidedText(whole, Qt.TextElideMode.ElideMiddle, theme().px(260)))
    text.setToolTip(whole)
    text.setAccessibleName(whole)
    return text


class _Rule(Panel):
    def __init__(self) -> None:
        super().__init__(ground="border")
        self.setFixedHeight(1)


def _compact(item: CallItem) -> str:
    values = list(item.input.values())
    if len(values) == 1 and isinstance(values[0], str):
        return values[0][:_COMPACT]
    chunks = json.JSONEncoder(ensure_ascii=False).iterencode(item.input)
    text = ""
    for chunk in chunks:
        text += chunk[:_COMPACT]
        if len(text) >= _COMPACT:
            break
    return text[:_COMPACT]
