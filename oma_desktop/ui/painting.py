"""The few strokes all delegates share: text in a role, a focus ring, a ground."""

from __future__ import annotations

from PySide6.QtCore import QRect, QRectF, Qt
from PySide6.QtGui import QFont, QFontMetrics, QPainter, QPen
from PySide6.QtWidgets import QStyle, QStyleOptionViewItem

from oma_desktop.ui.theme import Theme

LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
CENTER = Qt.AlignmentFlag.AlignCenter
ELIDE_END = Qt.TextElideMode.ElideRight
ELIDE_MIDDLE = Qt.TextElideMode.ElideMiddle


def draw_text(
    painter: QPainter,
    rect: QRect,
    text: str,
    *,
    font: QFont,
    role: str,
    look: Theme,
    align: Qt.AlignmentFlag = LEFT,
    elide: Qt.TextElideMode = ELIDE_END,
) -> int:
    """Draw one line of plain text, elided to fit; return the width it took."""
    metrics = QFontMetrics(font)
    fitted = metrics.elidedText(text, elide, max(0, rect.width()))
    painter.setFont(font)
    painter.setPen(look.color(role))
    painter.drawText(rect, int(align) | int(Qt.TextFlag.TextSingleLine), fitted)
    return metrics.horizontalAdvance(fitted)


def text_width(text: str, font: QFont) -> int:
    """Return the width of a line of text."""
    return QFontMetrics(font).horizontalAdvance(text)


def is_selected(option: QStyleOptionViewItem) -> bool:
    """Whether the row is selected."""
    return bool(option.state & QStyle.StateFlag.State_Selected)


def has_focus(option: QStyleOptionViewItem) -> bool:
    """Whether the row is current in a view with the focus."""
    return bool(option.state & QStyle.StateFlag.State_HasFocus)


def ground_role(option: QStyleOptionViewItem) -> str:
    """Return the role of a row's ground: selection, selection without focus, hover, surface."""
    state = option.state
    if state & QStyle.StateFlag.State_Selected:
        active = state & QStyle.StateFlag.State_Active
        return "selection" if active else "selection.inactive"
    return "hover" if state & QStyle.StateFlag.State_MouseOver else "surface"


def draw_focus(painter: QPainter, rect: QRect, look: Theme) -> None:
    """Draw the focus ring inside a row (look.md 7)."""
    width = look.focus_width
    half = width / 2
    painter.setPen(QPen(look.color("focus"), width, j=Qt.PenJoinStyle.MiterJoin))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.drawRect(QRectF(rect).adjusted(half, half, -half, -half))


def device_ratio(painter: QPainter) -> float:
    """Return device pixels per logical pixel of what is painted on."""
    return painter.device().devicePixelRatioF()
