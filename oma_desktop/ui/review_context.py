"""What stands beside a request and is not bound by its hash: reason, messages, earlier decisions.

Everything here is plain text with its hidden characters as codes; long texts are cut, because the
evidence is the exact text above.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from oma_desktop.base.text import ntr, tr
from oma_desktop.model.view import BlockView, MessageView
from oma_desktop.ui import review_words as words
from oma_desktop.ui.review_header import plain
from oma_desktop.ui.review_parts import Text, make_button
from oma_desktop.ui.theme import theme
from oma_desktop.viewmodel.approvals import RequestRow
from oma_desktop.viewmodel.review_model import N_MESSAGES, ReviewModel

MAX_TEXT: Final = 600
MAX_SIMILAR: Final = 5
_LABEL: Final = 132


class Context(QWidget):
    """Lines of label and value; two of them unfold."""

    def __init__(self, model: ReviewModel) -> None:
        super().__init__()
        self._model = model
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(20, 10, 20, 12)
        self._column.setSpacing(6)
        self._rows: list[QWidget] = []
        self._unfolded: set[str] = set()
        self.messages: QPushButton | None = None
        self.similar: QPushButton | None = None
        model.messages_read.connect(self.refresh)

    def forget(self) -> None:
        """Another request is shown: everything folds."""
        self._unfolded.clear()

    def refresh(self) -> None:
        """Show the context of the request on screen."""
        for old in self._rows:
            old.hide()
            old.deleteLater()
        self._rows, self.messages, self.similar = [], None, None
        row = self._model.review.shown
        reason = row.request.reason
        self._add(tr("Reason from the gate"), _wrapped(_said(reason or tr("none given"))))
        if row.request.task_title:
            self._add(tr("Title of the task"), _wrapped(_said(row.request.task_title)))
        if row.run is not None and row.run.goal:
            self._add(tr("Goal of the run"), _wrapped(_said(row.run.goal)))
        if self._model.can_read_messages:
            self._add_messages()
        if any(self._model.similar):
            self._add_similar()

    # -- messages ----------------------------------------------------------------------------------

    def _add_messages(self) -> None:
        is_open = "messages" in self._unfolded
        n = N_MESSAGES if self._model.messages is None else len(self._model.messages)
        text = tr("hide") if is_open else ntr("last {n} message", "last {n} messages", n)
        self.messages = self._link(text, self._on_messages)
        self._add(tr("Messages"), self.messages)
        if not is_open:
            return
        if self._model.messages is None:
            self._add("", Text(tr("Reading the conversation…"), use="secondary", role="text.muted"))
        for message in self._model.messages or ():
            self._add(_speaker(message), _wrapped(_text_of(message)))

    def _on_messages(self) -> None:
        self._unfolded ^= {"messages"}
        if "messages" in self._unfolded:
            self._model.read_messages()
        self.refresh()

    # -- decisions ---------------------------------------------------------------------------------

    def _add_similar(self) -> None:
        approved, rejected = self._model.similar
        is_open = "similar" in self._unfolded
        counts = Text(tr("{a} approved, {r} rejected", a=approved, r=rejected), use="secondary")
        self.similar = self._link(tr("hide") if is_open else tr("show"), self._on_similar)
        self._add(tr("Similar decisions"), counts, self.similar)
        if is_open:
            for row in self._model.similar_rows[:MAX_SIMILAR]:
                self._add("", _wrapped(_decided(row)))

    def _on_similar(self) -> None:
        self._unfolded ^= {"similar"}
        self.refresh()

    # -- lines -------------------------------------------------------------------------------------

    def _link(self, text: str, act: Callable[[], None]) -> QPushButton:
        link = make_button(text, kind="inline")
        link.setFont(theme().font("secondary"))
        link.clicked.connect(act)
        return link

    def _add(self, label: str, *values: QWidget) -> None:
        line = QWidget()
        row = QHBoxLayout(line)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(12)
        name = Text(label, use="secondary", role="text.muted")
        name.setFixedWidth(theme().px(_LABEL))
        several_lines = any(isinstance(v, Text) and v.wordWrap() for v in values)
        side = Qt.AlignmentFlag.AlignTop if several_lines else Qt.AlignmentFlag.AlignVCenter
        row.addWidget(name, 0, side)
        for value in values:
            row.addWidget(value, int(isinstance(value, Text) and value.wordWrap()))
        if not several_lines:
            row.addStretch(1)
        self._column.addWidget(line)
        self._rows.append(line)


def _wrapped(text: str) -> Text:
    return Text(text, use="secondary", wrap=True)


def _said(text: str) -> str:
    shown = plain(text[:MAX_TEXT])
    return shown if len(text) <= MAX_TEXT else tr("{text} … (cut)", text=shown)


def _speaker(message: MessageView) -> str:
    if message.role == "assistant":
        return tr("agent")
    if message.blocks and all(b.kind == "tool_result" for b in message.blocks):
        return tr("tool result")
    return tr("to the agent")


def _text_of(message: MessageView) -> str:
    return _said("\n".join(_line_of(block) for block in message.blocks))


def _line_of(block: BlockView) -> str:
    if block.kind == "tool_use":
        return f"{block.tool or '?'} {' '.join(block.text.split())}"
    return block.text or block.media_type or block.kind


def _decided(row: RequestRow) -> str:
    return tr(
        "{verdict}; run {run}",
        verdict=words.verdict_sentence(row.request),
        run=plain(row.run_name),
    )
