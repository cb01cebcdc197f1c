"""One ring around the button that has the focus: 2 px, a gap of 1, 3:1 on every ground (ux.md C18).

QSS cannot draw outside a box (look.md 10.3), so the ring is a widget above the button.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import shiboken6
from PySide6.QtCore import QEvent, QObject, QPoint, QRect, QRectF, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import (
    QAbstractScrollArea,
    QApplication,
    QPushButton,
    QToolButton,
    QWidget,
)
from typing_extensions import override

from oma_desktop.ui.theme import theme

_GAP: Final = 1
_RADIUS: Final = 4
_MOVES: Final = frozenset({QEvent.Type.Move, QEvent.Type.Resize, QEvent.Type.Show})


class FocusRing(QObject):
    """Follows the focus of the application.

    The ring is a sibling of the button, or of the parent that fills its own: cut off by the edge
    of a row it would be no ring.

    Check boxes, fields and painted rows draw their own mark.
    """

    def __init__(self, app: QApplication) -> None:
        super().__init__(app)
        self._button: QWidget | None = None
        self._ring: Ring | None = None
        self._watched: list[QWidget] = []
        app.focusChanged.connect(self._on_focus_changed)

    def _on_focus_changed(self, _old: QWidget | None, now: QWidget | None) -> None:
        self._leave()
        rooms = list(_up_to_room(now)) if isinstance(now, QPushButton | QToolButton) else []
        if rooms:
            self._button = now
            self._watched = rooms
            for widget in self._watched:
                widget.installEventFilter(self)
            self._ring = Ring(rooms[-1].parentWidget())
            self._place()

    def _leave(self) -> None:
        for widget in self._watched:
            if shiboken6.isValid(widget):
                widget.removeEventFilter(self)
        self._watched = []
        if self._ring is not None and shiboken6.isValid(self._ring):
            self._ring.hide()
            self._ring.deleteLater()
        self._button = self._ring = None

    def _place(self) -> None:
        if self._button is None or self._ring is None or not shiboken6.isValid(self._ring):
            return
        host = self._ring.parentWidget()
        if host is None:
            return
        place = QRect(self._button.mapTo(host, QPoint(0, 0)), self._button.size())
        self._ring.setGeometry(_around(place))
        self._ring.setVisible(not self._button.isHidden())
        self._ring.raise_()

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in _MOVES:
            self._place()
        elif event.type() == QEvent.Type.Hide and self._ring is not None:
            self._leave()
        return False


def _around(place: QRect) -> QRect:
    out = _GAP + theme().focus_width
    return place.adjusted(-out, -out, out, out)


def _up_to_room(button: QWidget) -> Iterator[QWidget]:
    """Yield the button and its parents, up to the one beside which a whole ring can be drawn."""
    at, host = button, button.parentWidget()
    while host is not None:
        yield at
        place = QRect(button.mapTo(host, QPoint(0, 0)), button.size())
        above = host.parentWidget()
        if host.isWindow() or host.rect().contains(_around(place)):
            return
        if isinstance(above, QAbstractScrollArea):  # beyond it the ring would not scroll along
            return
        at, host = host, above


def watch_focus(app: QApplication) -> None:
    """Draw rings in all windows of the application; a second call changes nothing."""
    if app.findChild(FocusRing) is None:
        FocusRing(app)


class Ring(QWidget):
    """The picture of the ring; takes neither mouse nor focus, and is not read out."""

    def __init__(self, parent: QWidget | None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        look = theme()
        width = look.focus_width
        half = width / 2
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(look.color("focus"), width))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        radius = _RADIUS + _GAP + half
        box = QRectF(self.rect()).adjusted(half, half, -half, -half)
        painter.drawRoundedRect(box, radius, radius)
        painter.end()
