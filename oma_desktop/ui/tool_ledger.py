"""The tool call ledger: one row per call, its commit state in shape, word and colour (ux.md C5)."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QSize, Qt
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QHeaderView,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QWidget,
)
from typing_extensions import override

from oma_desktop.model.view import CallState, Effect, ToolCallView
from oma_desktop.ui import icons, states, words
from oma_desktop.ui.fonts import tabular
from oma_desktop.ui.numbers import NONE, size_text
from oma_desktop.ui.painting import (
    ELIDE_MIDDLE,
    RIGHT,
    device_ratio,
    draw_focus,
    draw_text,
    ground_role,
    has_focus,
    is_selected,
)
from oma_desktop.ui.theme import Theme, theme, theme_host
from oma_desktop.viewmodel.roles import Role
from oma_desktop.viewmodel.tools import ToolRows

Index = QModelIndex | QPersistentModelIndex
WIDE: Final = 400
_WITH_OUTPUT: Final = (CallState.SAVED, CallState.SAVED_ERROR, CallState.SAVED_JOURNAL)


class CallDelegate(QStyledItemDelegate):
    """Paints one call over the whole row. Wide rows have a word column; narrow rows keep the word
    where there is no output size to show, so that no state is told by shape alone.
    """

    @override
    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(theme().px(200), theme().height("row"))

    @override
    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        call = index.data(Role.ROW)
        if not isinstance(call, ToolCallView):
            return
        look = theme()
        rect: QRect = option.rect
        painter.save()
        ground = ground_role(option)
        if call.state is CallState.OUTCOME_UNKNOWN and not is_selected(option):
            ground = states.tint_role("outcome")
        painter.fillRect(rect, look.color(ground))
        _paint_call(painter, rect, call, look)
        if has_focus(option):
            draw_focus(painter, rect, look)
        painter.restore()


def _paint_call(painter: QPainter, rect: QRect, call: ToolCallView, look: Theme) -> None:
    px = look.px
    size = px(16)
    picture = icons.state_pixmap(call.state.value, size, dpr=device_ratio(painter))
    painter.drawPixmap(rect.x() + px(12), rect.center().y() - size // 2 + 1, picture)
    line = rect.adjusted(px(36), 0, -px(12), 0)
    right = _paint_end(painter, line, call, look)
    if rect.width() >= px(WIDE):
        right = _paint_effect(painter, line, call, look, right)
        right = _paint_word(painter, line, call, look, right)
    elif call.effect is not Effect.UNKNOWN and rect.width() >= px(340):
        right = _paint_effect(painter, line, call, look, right)
    area = QRect(line)
    area.setRight(right - px(8))
    draw_text(
        painter,
        area,
        call.tool,
        font=look.font("mono"),
        role="text",
        look=look,
        elide=ELIDE_MIDDLE,
    )


def end_text(call: ToolCallView) -> tuple[str, str]:
    """Return the text at the right end and its colour role: output size, or the state's word."""
    if call.state in _WITH_OUTPUT:
        return size_text(call.output_size), "text.muted"
    return words.call_word(call.state), states.text_role(call.state.value)


def _paint_end(painter: QPainter, line: QRect, call: ToolCallView, look: Theme) -> int:
    wide = line.width() + look.px(48) >= look.px(WIDE)
    text, role = end_text(call)
    if wide and call.state not in _WITH_OUTPUT:
        text, role = NONE, "text.muted"
    font = look.font("state") if role.startswith("state.") else tabular(look.font("caption"))
    area = QRect(line)
    taken = draw_text(painter, area, text, font=font, role=role, look=look, align=RIGHT)
    return line.right() + 1 - max(taken, look.px(48))


def _paint_effect(
    painter: QPainter, line: QRect, call: ToolCallView, look: Theme, right: int
) -> int:
    wide = look.px(110)
    area = QRect(right - look.px(8) - wide, line.y(), wide, line.height())
    font = look.font("caption")
    draw_text(
        painter, area, words.effect_word(call.effect), font=font, role="text.muted", look=look
    )
    return area.left()


def _paint_word(painter: QPainter, line: QRect, call: ToolCallView, look: Theme, right: int) -> int:
    wide = look.px(104)
    area = QRect(right - look.px(8) - wide, line.y(), wide, line.height())
    role = states.text_role(call.state.value)
    word = words.call_word(call.state)
    draw_text(painter, area, word, font=look.font("state"), role=role, look=look)
    return area.left()


class ToolLedger(QTableView):
    """The ledger as a view: whole rows, one selection, as high as its rows."""

    def __init__(self, model: ToolRows, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._delegate = CallDelegate(self)
        self.setItemDelegate(self._delegate)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setShowGrid(False)
        self.setMouseTracking(True)
        self.setTabKeyNavigation(False)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.horizontalHeader().hide()
        self.verticalHeader().hide()
        self.verticalHeader().setMinimumSectionSize(16)
        self.setModel(model)
        for column in range(1, model.columnCount()):
            self.hideColumn(column)
        self.horizontalHeader().setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        for moved in (model.rowsInserted, model.rowsRemoved, model.modelReset):
            moved.connect(self._on_rows_moved)
        theme_host().theme_changed.connect(self._on_rows_moved)
        self._on_rows_moved()

    def _on_rows_moved(self) -> None:
        height = theme().height("row")
        self.verticalHeader().setDefaultSectionSize(height)
        self.setFixedHeight(height * self.model().rowCount())
