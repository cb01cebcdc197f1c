"""The map under the hand: drag, wheel, pick, and the whole walk by keyboard (ux.md C5, C13)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Final

from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QHelpEvent, QKeyEvent, QMouseEvent, QWheelEvent
from PySide6.QtWidgets import QApplication, QToolTip, QWidget
from typing_extensions import override

from oma_desktop.ui import map_keys
from oma_desktop.ui.map_camera import STEP
from oma_desktop.ui.map_ground import MapGround
from oma_desktop.ui.map_words import node_hint
from oma_desktop.viewmodel.graph import GraphModel
from oma_desktop.viewmodel.graph_geometry import Direction
from oma_desktop.viewmodel.selection import Selection

_WHEEL_NOTCH: Final = 120.0
_DIRECTIONS: Final[dict[str, Direction]] = {
    "left": "left",
    "right": "right",
    "up": "up",
    "down": "down",
}


class MapCanvas(MapGround):
    """Draws and is walked on. `opened` asks for the details of the selected task; `menu_wanted`
    carries a place on the screen; `typed` what begins a search.
    """

    opened = Signal()
    menu_wanted = Signal(QPoint)
    typed = Signal(str)

    def __init__(
        self,
        model: GraphModel,
        selection: Selection,
        *,
        now: Callable[[], datetime],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(model, selection, now=now, parent=parent)
        self._pressed_at: QPointF | None = None
        self._is_dragging = False
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)

    # -- mouse ------------------------------------------------------------------------------

    def _key_at(self, at: QPointF) -> str | None:
        placed = self._model.picture.placed
        if placed is None:
            return None
        return placed.geometry.key_at(*self._camera.to_scene(at.x(), at.y()))

    @override
    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() in (Qt.MouseButton.LeftButton, Qt.MouseButton.MiddleButton):
            self._pressed_at = event.position()
            self._is_dragging = False

    @override
    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        at = event.position()
        if self._pressed_at is None:
            self._hover(self._key_at(at))
            return
        moved = at - self._pressed_at
        if self._is_dragging or moved.manhattanLength() >= QApplication.startDragDistance():
            self._is_dragging = True
            self._is_fitted = False
            self.setCursor(Qt.CursorShape.ClosedHandCursor)
            self._pressed_at = at
            self._look_with(self._camera.moved(moved.x(), moved.y()))

    @override
    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        was_click = self._pressed_at is not None and not self._is_dragging
        self._pressed_at = None
        self._is_dragging = False
        self.unsetCursor()
        if was_click and event.button() is Qt.MouseButton.LeftButton:
            key = self._key_at(event.position())
            if key is not None:
                self._pick(key)

    @override
    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        key = self._key_at(event.position())
        if key is not None:
            self._pick(key)
            self._open()

    @override
    def wheelEvent(self, event: QWheelEvent) -> None:
        held = event.modifiers()
        turned = event.angleDelta()
        if held & Qt.KeyboardModifier.ShiftModifier:
            step = (turned.y() or turned.x()) / 2
            self._is_fitted = False
            self._look_with(self._camera.moved(step, 0))
        elif turned.y():
            zoom = self._camera.zoom * STEP ** (turned.y() / _WHEEL_NOTCH)
            self._zoom_to(zoom, event.position())
        event.accept()

    @override
    def leaveEvent(self, event: QEvent) -> None:
        self._hover(None)
        super().leaveEvent(event)

    @override
    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        if event.reason() is QContextMenuEvent.Reason.Keyboard:
            return  # the key itself is handled: it must work where no platform sends this
        key = self._key_at(QPointF(event.pos()))
        if key is not None:
            self._pick(key)
        self.menu_wanted.emit(event.globalPos())

    def _hover(self, key: str | None) -> None:
        if key != self._hovered:
            self._hovered = key
            self._redraw()

    # -- keyboard ---------------------------------------------------------------------------

    @override
    def event(self, event: QEvent) -> bool:
        if map_keys.wants(event):
            event.accept()
            return True
        if event.type() is QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            self._show_hint(event)
            return True
        return super().event(event)

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        verb = map_keys.verb_of(event)
        if verb in _DIRECTIONS:
            self._walk(_DIRECTIONS[verb])
        elif verb in ("parent", "child"):
            self._follow_link(to_child=verb == "child")
        elif verb == "type":
            self.typed.emit(event.text())
        elif verb == "find":
            self.typed.emit("")
        elif verb == "open":
            self._open()
        elif verb == "menu":
            current = self._model.current
            center = self.mapToGlobal(self.rect().center())
            self.menu_wanted.emit(self.node_place(current) if current else center)
        elif verb == "hide_done":
            self._model.set_hide_done(not self._model.view.hide_done)
        elif verb:
            {
                "fit": self.fit,
                "full_size": self.full_size,
                "zoom_in": self.zoom_in,
                "zoom_out": self.zoom_out,
            }[verb]()
        else:
            super().keyPressEvent(event)

    def _walk(self, direction: Direction) -> None:
        placed = self._model.picture.placed
        if placed is None:
            return
        current = self._model.current
        found = placed.geometry.next_to(current, direction) if current else placed.geometry.first()
        if found is not None:
            self._pick(found)

    def _follow_link(self, *, to_child: bool) -> None:
        """Go to the first task that needs this one, or that this one needs."""
        current = self._model.current
        ends = [
            edge.target if to_child else edge.source
            for edge in self._model.picture.edges
            if current == (edge.source if to_child else edge.target)
        ]
        if ends:
            self._pick(ends[0])

    def _pick(self, key: str) -> None:
        node = self._model.picture.nodes.get(key)
        if node is not None and self._model.current != key:
            self._selection.select_task(node.task.id)
        self.show_node(key)

    def _open(self) -> None:
        current = self._model.current
        if current is None:
            return
        if self._model.picture.nodes[current].is_stack:
            self._model.toggle_stack(current)
            shown = self._model.current
            if shown is not None:
                self.show_node(shown)
        else:
            self.opened.emit()

    def _show_hint(self, event: QHelpEvent) -> None:
        key = self._key_at(QPointF(event.pos()))
        node = self._model.picture.nodes.get(key) if key else None
        if key is None or node is None:
            QToolTip.hideText()
            return
        box = self._scene.shown_box(key, self._camera)
        area = QRectF(*box).toAlignedRect() if box else self.rect()
        heard = self._model.heard(node.task.id)
        QToolTip.showText(event.globalPos(), node_hint(node, heard, self._now()), self, area)
