"""Whole input and output of one tool call, as plain text (ux.md C5: opens full viewer)."""

from __future__ import annotations

from PySide6.QtWidgets import QPlainTextEdit, QVBoxLayout, QWidget
from typing_extensions import override

from oma_desktop.base.text import tr
from oma_desktop.model.view import ToolCallView
from oma_desktop.ui import words
from oma_desktop.ui.labels import Label, dress
from oma_desktop.ui.language import Retranslated
from oma_desktop.ui.numbers import size_text
from oma_desktop.ui.theme import theme, theme_host
from oma_desktop.viewmodel.feed import CallDetail

_MAX_CHARS = 2_000_000


class CallView(Retranslated):
    """Input above, output below. Text from files is never read as rich text."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._call: ToolCallView | None = None
        self._detail: CallDetail | None = None
        self._title = Label("mono.strong", wrap=True)
        self._input_head = Label("section", "text.muted")
        self._input = _text_field()
        self._output_head = Label("section", "text.muted")
        self._output = _text_field()
        column = QVBoxLayout(self)
        column.setContentsMargins(12, 8, 12, 12)
        column.setSpacing(6)
        for part in (
            self._title,
            self._input_head,
            self._input,
            self._output_head,
            self._output,
        ):
            column.addWidget(part)
        theme_host().theme_changed.connect(self._on_theme_changed)
        self._on_theme_changed()

    def show_call(self, call: ToolCallView | None) -> None:
        """Show what is known of a call; its full text comes with `show_detail`."""
        same = (
            call is not None
            and self._call is not None
            and (call.task_id, call.call_id) == (self._call.task_id, self._call.call_id)
        )
        self._call = call
        if not same:
            self._detail = None
        self.setVisible(call is not None)
        self.retranslate()

    def show_detail(self, detail: CallDetail) -> None:
        """Show the whole text, if it is of the call shown now."""
        call = self._call
        if call is None or (detail.task_id, detail.call_id) != (call.task_id, call.call_id):
            return
        self._detail = detail
        self.retranslate()

    @override
    def retranslate(self) -> None:
        call, detail = self._call, self._detail
        if call is None:
            return
        self._title.setText(
            tr(
                "{tool}, {state}, {effect}",
                tool=call.tool,
                state=words.call_word(call.state),
                effect=words.effect_word(call.effect),
            )
        )
        self._input_head.setText(tr("Input, {size}", size=size_text(call.input_size)))
        self._set(self._input, detail.input if detail is not None else call.input_preview)
        has_output = bool(call.output_size) or (detail is not None and detail.output is not None)
        self._output_head.setText(
            tr("Output, {size}", size=size_text(call.output_size))
            if has_output
            else tr("No output is saved.")
        )
        self._output.setVisible(has_output)
        output = detail.output if detail is not None else call.output_preview
        self._set(self._output, output or "")
        self._input.setAccessibleName(self._input_head.text())
        self._output.setAccessibleName(self._output_head.text())

    def _set(self, field: QPlainTextEdit, text: str) -> None:
        shown = text[:_MAX_CHARS]
        if field.toPlainText() != shown:
            field.setPlainText(shown)

    def _on_theme_changed(self) -> None:
        look = theme()
        for field in (self._input, self._output):
            field.setFixedHeight(look.px(112))


def _text_field() -> QPlainTextEdit:
    field = dress(QPlainTextEdit(), "mono")
    field.setReadOnly(True)
    field.setProperty("kind", "code")
    field.setTabChangesFocus(True)
    field.setUndoRedoEnabled(False)
    return field
