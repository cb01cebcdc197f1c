"""Top of the review window: what is asked, by which run, and what either verdict would do."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QHBoxLayout, QVBoxLayout, QWidget
from typing_extensions import override

from oma_desktop.base.text import tr
from oma_desktop.model.view import Effect
from oma_desktop.model.visible_text import reveal
from oma_desktop.ui import review_words as words
from oma_desktop.ui.flow import FlowLayout
from oma_desktop.ui.icons import icon
from oma_desktop.ui.review_parts import Chip, ElidedText, Panel, Picture, Text, make_button
from oma_desktop.ui.theme import theme, theme_host
from oma_desktop.viewmodel.approvals import RequestRow
from oma_desktop.viewmodel.review_model import ReviewModel


def plain(text: str) -> str:
    """Return a short text with its hidden characters as codes, for labels."""
    return "".join(piece.text for piece in reveal(text))


class Header(QWidget):
    """Name, chips, run and age, and the way to the neighbours."""

    def __init__(self, model: ReviewModel) -> None:
        super().__init__()
        self._model = model
        self.shape = Picture(state="needsyou", size=32)
        self.name = ElidedText(use="title")
        self.wants = Text(use="title", role="text.2")
        self.effect, self.kind = Chip(), Chip()
        self.run = ElidedText(use="secondary", role="text.2")
        self.asked = Text(use="secondary", role="text.muted")
        self.back = make_button("")
        self.next = make_button("")
        self._lay_out()
        self._on_theme_changed()
        theme_host().theme_changed.connect(self._on_theme_changed)

    def _lay_out(self) -> None:
        title = QHBoxLayout()
        title.setSpacing(7)
        title.addWidget(self.name)
        title.addWidget(self.wants)
        title.addStretch(1)
        facts = FlowLayout(spacing=8)
        for part in (self.effect, self.kind, self.run, self.asked):
            facts.addWidget(part)
        middle = QVBoxLayout()
        middle.setSpacing(4)
        middle.addLayout(title)
        middle.addLayout(facts)
        row = QHBoxLayout(self)
        row.setContentsMargins(20, 14, 20, 10)
        row.setSpacing(12)
        row.addWidget(self.shape, 0, Qt.AlignmentFlag.AlignTop)
        row.addLayout(middle, 1)
        row.addWidget(self.back, 0, Qt.AlignmentFlag.AlignTop)
        row.addWidget(self.next, 0, Qt.AlignmentFlag.AlignTop)

    def _on_theme_changed(self) -> None:
        for button, meaning in ((self.back, "chevron.up"), (self.next, "chevron.down")):
            button.setIcon(icon(meaning, role="text"))
            button.setFixedSize(theme().px(26), theme().px(26))
            button.setStyleSheet("padding: 0px;")

    def refresh(self) -> None:
        """Show the request of the model and its age."""
        self.back.setToolTip(tr("Previous request"))
        self.next.setToolTip(tr("Next request (Alt+J)"))
        self.back.setAccessibleName(tr("Previous request"))
        self.next.setAccessibleName(tr("Next request"))
        row = self._model.review.shown
        name, wants, _ = words.title(row)
        self.name.set_whole(plain(name))
        self.wants.setText(wants)
        self._show_effect(row)
        self.kind.fill(words.scope_word(row.request.scope), meaning=_scope_icon(row))
        attempt = row.run.attempt if row.run is not None else None
        run_id = plain(row.run_name)
        self.run.setStatusTip(row.request.run_id)
        self.run.set_whole(
            tr("run {run}", run=run_id)
            if attempt is None
            else tr("run {run}, attempt {n}", run=run_id, n=attempt)
        )
        self.refresh_age()
        place, n = self._model.position
        self.back.setVisible(n > 1 or place == 0)
        self.next.setVisible(n > 1 or place == 0)
        self.back.setEnabled(self._model.neighbour(-1) is not None)
        self.next.setEnabled(self._model.neighbour(1) is not None)

    def refresh_age(self) -> None:
        """Show how long the request waits."""
        at = self._model.review.shown.request.requested_at
        if at is None:
            self.asked.say("")
            return
        age = words.age(at, self._model.clock.now())
        self.asked.say(tr("asked {time}, {age} ago", time=words.local_time(at), age=age))

    def _show_effect(self, row: RequestRow) -> None:
        self.effect.setVisible(row.request.scope == "tool_call")
        if row.acts_on_world:
            self.effect.fill(
                tr("Acts on the world"), meaning="world", role="danger.text", line="danger"
            )
        elif row.request.effect is Effect.READ_ONLY:
            self.effect.fill(tr("Read only"), meaning="read.only")
        elif row.request.effect is Effect.REPEATABLE:
            self.effect.fill(tr("Safe to repeat"), meaning="restore")
        else:
            self.effect.fill(
                tr("Effect not declared"), meaning="not.known", role="warning.text", line="warning"
            )


def _scope_icon(row: RequestRow) -> str:
    return {"plan": "plan", "task_round": "layers", "task_dispatch": "play"}.get(
        row.request.scope, "tool"
    )


class Consequences(QWidget):
    """Two cards: what happens if you approve, and if you reject."""

    def __init__(self) -> None:
        super().__init__()
        self.approve = _Consequence("approved", "state.done.text")
        self.reject = _Consequence("denied", "state.failed.text")
        self._row = QBoxLayout(QBoxLayout.Direction.LeftToRight, self)
        self._row.setContentsMargins(20, 6, 20, 16)
        self._row.setSpacing(12)
        self._row.addWidget(self.approve, 1)
        self._row.addWidget(self.reject, 1)

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        """One above the other where side by side would be too narrow to read."""
        super().resizeEvent(event)
        wide = self.width() >= theme().px(560)
        way = QBoxLayout.Direction.LeftToRight if wide else QBoxLayout.Direction.TopToBottom
        if self._row.direction() is not way:
            self._row.setDirection(way)

    def refresh(self, row: RequestRow) -> None:
        """Say what the verdicts would do to this request."""
        self.approve.head.setText(tr("If you approve"))
        self.approve.text.setText(words.if_approved(row))
        self.reject.head.setText(tr("If you reject"))
        self.reject.text.setText(words.if_rejected(row))


class _Consequence(Panel):
    def __init__(self, state: str, role: str) -> None:
        super().__init__(box=True)
        self.head = Text(use="secondary.strong", role=role)
        self.text = Text(use="secondary", role="text.2", wrap=True)
        head = QHBoxLayout()
        head.setSpacing(6)
        head.addWidget(Picture(state=state, size=14))
        head.addWidget(self.head, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(13, 8, 13, 8)
        column.setSpacing(4)
        column.addLayout(head)
        column.addWidget(self.text)


class Band(Panel):
    """The head of a section: bound by the hash, or not."""

    def __init__(self, meaning: str) -> None:
        super().__init__(ground="sunken", top=True, bottom=True)
        self.head = Text(use="secondary.strong")
        self.tail = Text(use="secondary", role="text.muted")
        row = QHBoxLayout(self)
        row.setContentsMargins(20, 5, 20, 5)
        row.setSpacing(8)
        row.addWidget(Picture(meaning=meaning, size=14, role="text"))
        row.addWidget(self.head)
        row.addWidget(self.tail)
        row.addStretch(1)
