"""Paints nodes of the map at three levels: near says all, middle name and state, far only the
state as a block (look.md 7, Map node, Stack). Reads roles at paint time, keeps no colours.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QFont, QFontMetricsF, QPainter, QPen, QPixmap

from oma_desktop.base.text import tr
from oma_desktop.model.view import TaskState
from oma_desktop.ui import icons, states, words
from oma_desktop.ui.fonts import FontUse
from oma_desktop.ui.map_words import NodeText
from oma_desktop.ui.strip import paint_strip
from oma_desktop.ui.theme import Theme, theme
from oma_desktop.viewmodel.graph_geometry import STACK_EDGE
from oma_desktop.viewmodel.graph_nodes import MapNode

RADIUS: Final = 4
_LINE: Final = Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine
_LEFT: Final = int(_LINE | Qt.AlignmentFlag.AlignLeft)
_RIGHT: Final = int(_LINE | Qt.AlignmentFlag.AlignRight)
MIDDLE_HEIGHT: Final = 44
_DASHED: Final = frozenset({TaskState.REPLACED, TaskState.UNKNOWN})
_TINTED: Final = frozenset(
    {TaskState.RUNNING, TaskState.FAILED, TaskState.NEEDS_YOU, TaskState.UNKNOWN}
)
_DIM: Final = frozenset({TaskState.WAITING, TaskState.BLOCKED, TaskState.SKIPPED})


@dataclass(frozen=True, slots=True)
class Brushes:
    """What all nodes of one paint share: the theme, device pixels per unit, who is marked."""

    look: Theme
    ratio: float
    current: str | None = None
    hovered: str | None = None


def paint_near(
    painter: QPainter, box: QRectF, node: MapNode, text: NodeText, with_: Brushes
) -> None:
    """Draw a node with all it says; `box` is at 100 % zoom."""
    if node.is_stack:
        _paint_stack(painter, box, node, text, with_)
        return
    look = with_.look
    px = look.px
    _paint_card(painter, box, node, with_)
    x, y = box.x(), box.y()
    size = px(16)
    shape = icons.state_pixmap(node.state.value, size, dpr=with_.ratio)
    painter.drawPixmap(QPointF(x + px(8), y + px(8)), shape)
    wide = box.width() - px(34)
    _paint_name(painter, QRectF(x + px(30), y + px(7), wide, px(18)), node, text.name, look)
    line = QRectF(x + px(30), y + px(24), wide, px(16))
    _paint_line(painter, line, text.second, use="caption", role="text.2", look=look)
    role = "text.muted" if text.is_live else "text.2"
    _paint_line(
        painter, line.translated(0, px(16)), text.third, use="caption", role=role, look=look
    )
    if node.task.added_by is not None:
        _paint_revision(painter, box, node.task.added_by, look)


def paint_middle(painter: QPainter, box: QRectF, node: MapNode, name: str, with_: Brushes) -> None:
    """Draw name and state; `box` is on the screen. Too low for two lines, the word goes."""
    look = with_.look
    px = look.px
    face = _face(box, with_) if node.is_stack else box
    if node.is_stack:
        _paint_backs(painter, box, face, look)
    _paint_card(painter, face, node, with_)
    two = face.height() >= px(34)
    roomy = face.width() >= px(110)
    size = px(16) if two and roomy else px(12)
    left = px(8) if roomy else px(5)
    line = px(17) if two else face.height()
    y = face.y() + ((face.height() - 2 * line) / 2 if two else 0)
    if node.is_stack:
        picture = icons.icon_pixmap("layers", size, "text", with_.ratio)
    else:
        picture = icons.state_pixmap(node.state.value, size, dpr=with_.ratio)
    painter.drawPixmap(QPointF(face.x() + left, round(y + (line - size) / 2)), picture)
    x = face.x() + left + size + px(6 if roomy else 4)
    wide = face.right() - px(4) - x
    use: FontUse = "secondary.strong" if roomy else "section"
    _paint_name(painter, QRectF(x, y, wide, line), node, name, look, use=use)
    if two:
        word = str(len(node.tasks)) if node.is_stack else words.task_word(node.state)
        rest = QRectF(x, y + line, wide, line)
        _paint_line(painter, rest, word, use="caption", role="text.2", look=look)


def paint_ring(painter: QPainter, box: QRectF, look: Theme, *, unit: float = 1.0) -> None:
    """Draw the mark of the selected node: focus colour, 1 px outside (look.md 7)."""
    width = look.focus_width * unit
    out = unit + width / 2
    painter.setPen(QPen(look.color("focus"), width))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    radius = RADIUS + out
    painter.drawRoundedRect(box.adjusted(-out, -out, out, out), radius, radius)


# -- parts --------------------------------------------------------------------------------------


def _paint_card(painter: QPainter, box: QRectF, node: MapNode, with_: Brushes) -> None:
    look, state = with_.look, node.state
    fill = "surface" if node.is_stack or state not in _TINTED else states.tint_role(state.value)
    pen = _edge(node, with_)
    half = pen.widthF() / 2
    inner = box.adjusted(half, half, -half, -half)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(look.color(fill))
    painter.drawRoundedRect(inner, RADIUS, RADIUS)
    if state is TaskState.BLOCKED and not node.is_stack:
        painter.setBrushOrigin(box.topLeft())  # or the lines would swim while the map is moved
        painter.setBrush(QBrush(_hatch_tile(look.color("sunken").rgba(), 11)))
        painter.drawRoundedRect(inner, RADIUS, RADIUS)
    painter.setPen(pen)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.drawRoundedRect(inner, RADIUS, RADIUS)


def _edge(node: MapNode, with_: Brushes) -> QPen:
    look, state = with_.look, node.state
    loud = state in _TINTED or state is TaskState.REPLACED
    role = states.edge_role(state.value) if loud else "border"
    if node.is_stack or state is TaskState.BLOCKED or (with_.hovered == node.key and not loud):
        role = "border.strong"
    wide = 2 if look.scheme == "contrast" or (state is TaskState.NEEDS_YOU and loud) else 1
    pen = QPen(look.color(role), 1 if node.is_stack else wide)
    if state in _DASHED and not node.is_stack:
        pen.setDashPattern([4 / wide, 3 / wide])
    return pen


@lru_cache(maxsize=16)
def _hatch_tile(color: int, size: int) -> QPixmap:
    """2 px lines at 45 degrees; 11 px along the edge are 8 px between the lines."""
    tile = QPixmap(size, size)
    tile.fill(Qt.GlobalColor.transparent)
    painter = QPainter(tile)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(QColor.fromRgba(color), 2))
    for shift in (-size, 0, size):
        painter.drawLine(QPointF(shift - 2, size + 2), QPointF(shift + size + 2, -2))
    painter.end()
    return tile


def _paint_name(
    painter: QPainter,
    line: QRectF,
    node: MapNode,
    name: str,
    look: Theme,
    *,
    use: FontUse = "secondary.strong",
) -> None:
    struck = node.state is TaskState.REPLACED and not node.is_stack
    role = "text.2" if node.state in _DIM and not node.is_stack else "text"
    role = "text.muted" if struck else role
    _paint_line(painter, line, name, use=use, role=role, look=look, struck=struck)


def _paint_line(
    painter: QPainter,
    line: QRectF,
    text: str,
    *,
    use: FontUse,
    role: str,
    look: Theme,
    right: bool = False,
    struck: bool = False,
) -> None:
    if not text or line.width() < 4:
        return
    font = look.font(use)
    if struck:
        font = QFont(font)
        font.setStrikeOut(True)
    fitted = _fit(text, use, look.scale, line.width())
    painter.setFont(font)
    painter.setPen(look.color(role))
    painter.drawText(line, _RIGHT if right else _LEFT, fitted)


@lru_cache(maxsize=8192)
def _fit(text: str, use: FontUse, scale: float, width: float) -> str:
    assert theme().scale == scale
    metrics = QFontMetricsF(theme().font(use))
    return metrics.elidedText(text, Qt.TextElideMode.ElideRight, width)


def _paint_revision(painter: QPainter, box: QRectF, number: int, look: Theme) -> None:
    pen = QPen(look.color("accent"), 1)
    pen.setDashPattern([4, 3])
    painter.setPen(pen)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.drawRoundedRect(box.adjusted(-2.5, -2.5, 2.5, 2.5), RADIUS + 2, RADIUS + 2)
    text = tr("revision {n}", n=number)
    wide = _width(text, "caption", look) + 8
    label = QRectF(box.right() - wide - 2, box.bottom() - look.px(6), wide, look.px(14))
    painter.fillRect(label, look.color("canvas"))
    _paint_line(painter, label.adjusted(4, 0, 0, 0), text, use="caption", role="link", look=look)


def _width(text: str, use: FontUse, look: Theme) -> float:
    return QFontMetricsF(look.font(use)).horizontalAdvance(text)


def _face(box: QRectF, with_: Brushes) -> QRectF:
    edge = with_.look.px(STACK_EDGE) if box.height() > with_.look.px(40) else 4
    return box.adjusted(0, 0, -edge, -edge)


def _paint_backs(painter: QPainter, box: QRectF, face: QRectF, look: Theme) -> None:
    """Draw the two cards behind the first."""
    half = (box.right() - face.right()) / 2
    painter.setPen(QPen(look.color("border.strong"), 1))
    painter.setBrush(look.color("surface"))
    for step in (2, 1):
        back = face.translated(step * half, step * half).adjusted(0.5, 0.5, -0.5, -0.5)
        painter.drawRoundedRect(back, RADIUS, RADIUS)


def _paint_stack(
    painter: QPainter, box: QRectF, node: MapNode, text: NodeText, with_: Brushes
) -> None:
    look = with_.look
    px = look.px
    face = _face(box, with_)
    _paint_backs(painter, box, face, look)
    _paint_card(painter, face, node, with_)
    x, y = face.x(), face.y()
    picture = icons.icon_pixmap("layers", px(16), "text", with_.ratio)
    painter.drawPixmap(QPointF(x + px(8), y + px(8)), picture)
    number = str(len(node.tasks))
    line = QRectF(x + px(30), y + px(7), face.width() - px(38), px(18))
    _paint_line(painter, line, number, use="secondary", role="text.muted", look=look, right=True)
    wide = _width(number, "secondary", look)
    _paint_name(painter, line.adjusted(0, 0, -wide - px(6), 0), node, text.name, look)
    strip = QRectF(line.x(), y + px(29), line.width(), px(6)).toAlignedRect()
    paint_strip(painter, strip, [t.state for t in node.tasks], look=look)
    _paint_counts(painter, QRectF(line.x(), y + px(39), line.width(), px(16)), node, with_)


def _paint_counts(painter: QPainter, line: QRectF, node: MapNode, with_: Brushes) -> None:
    look = with_.look
    px = look.px
    x = line.x()
    for state, n in node.counts():
        number = str(n)
        wide = _width(number, "caption", look)
        if x + px(16) + wide > line.right():
            break
        picture = icons.state_pixmap(state.value, px(12), dpr=with_.ratio)
        painter.drawPixmap(QPointF(x, line.y() + px(2)), picture)
        area = QRectF(x + px(16), line.y(), wide + 1, line.height())
        _paint_line(painter, area, number, use="caption", role="text.2", look=look)
        x += px(16) + wide + px(12)
