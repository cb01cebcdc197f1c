"""Paints the cells of the outline: shape and word, names, numbers (look.md 3, 10)."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QSize
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QStyledItemDelegate, QStyleOptionViewItem
from typing_extensions import override

from oma_desktop.model.view import TaskState
from oma_desktop.ui import icons, states
from oma_desktop.ui.fonts import FontUse, tabular
from oma_desktop.ui.outline_words import cell_text
from oma_desktop.ui.painting import LEFT, RIGHT, device_ratio, draw_text, ground_role
from oma_desktop.ui.theme import Theme, theme
from oma_desktop.viewmodel.outline_rows import NUMBERS, Column, Kind, OutlineRow
from oma_desktop.viewmodel.roles import Role

Index = QModelIndex | QPersistentModelIndex
_FONTS: Final[dict[Kind, FontUse]] = {
    Kind.RUN: "strong",
    Kind.TASK: "name",
    Kind.TURN: "secondary",
    Kind.CALL: "mono",
}


class OutlineDelegate(QStyledItemDelegate):
    """One cell at a time; the view draws branches and the ring of the current row."""

    @override
    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(theme().px(60), theme().height("row"))

    @override
    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        row = index.data(Role.ROW)
        if not isinstance(row, OutlineRow):
            return
        look = theme()
        rect: QRect = option.rect
        painter.save()
        painter.fillRect(rect, look.color(ground_role(option)))
        column = index.column()
        pad = look.px(4 if column == Column.TITLE else 12)
        area = rect.adjusted(pad, 0, -look.px(12), 0)
        if column == Column.STATE:
            _paint_state(painter, area, row, look)
        elif column == Column.TITLE:
            _paint_title(painter, area, row, look)
        else:
            font = look.font("secondary")
            is_number = column in NUMBERS
            draw_text(
                painter,
                area,
                cell_text(row, column),
                font=tabular(font) if is_number else font,
                role="text.2",
                look=look,
                align=RIGHT if is_number else LEFT,
            )
        painter.restore()


def _paint_title(painter: QPainter, area: QRect, row: OutlineRow, look: Theme) -> None:
    role = "text" if row.kind in (Kind.RUN, Kind.TASK) else "text.2"
    font = look.font(_FONTS[row.kind])
    if row.state is TaskState.REPLACED:
        role = "text.muted"
        font = type(font)(font)
        font.setStrikeOut(True)
    draw_text(painter, area, cell_text(row, Column.TITLE), font=font, role=role, look=look)


def _paint_state(painter: QPainter, area: QRect, row: OutlineRow, look: Theme) -> None:
    if row.state is None:
        return
    size = look.px(16)
    shape = icons.state_pixmap(row.state.value, size, dpr=device_ratio(painter))
    painter.drawPixmap(area.x(), area.center().y() - size // 2 + 1, shape)
    text = area.adjusted(size + look.px(8), 0, 0, 0)
    role = states.text_role(row.state.value)
    word = cell_text(row, Column.STATE)
    draw_text(painter, text, word, font=look.font("state"), role=role, look=look)
