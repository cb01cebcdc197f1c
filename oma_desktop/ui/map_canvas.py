"""The map as a widget: pan, zoom, pick, walk by keyboard (ux.md C5, C13).

It owns the camera and nothing else: what is selected is in `Selection`, what is drawn in
`GraphModel`. One painter draws everything: with an item per node the same picture costs ten times
as much (feasibility 5).
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Final

from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QAccessible,
    QAccessibleEvent,
    QContextMenuEvent,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QApplication, QToolTip, QWidget
from typing_extensions import override

from oma_desktop.model.view import TaskState
from oma_desktop.ui import map_keys
from oma_desktop.ui.map_camera import STEP, Camera, Level, fitted
from oma_desktop.ui.map_legend import HEIGHT as LEGEND_HEIGHT
from oma_desktop.ui.map_legend import Legend
from oma_desktop.ui.map_overview import HEIGHT as OVERVIEW_HEIGHT
from oma_desktop.ui.map_overview import Overview
from oma_desktop.ui.map_scene import Scene
from oma_desktop.ui.map_words import map_sentence, node_hint, node_sentence
from oma_desktop.ui.painting import draw_focus
from oma_desktop.ui.theme import theme, theme_host
from oma_desktop.viewmodel.graph import GraphModel
from oma_desktop.viewmodel.graph_geometry import Box, Direction
from oma_desktop.viewmodel.selection import Selection

_MARGIN: Final = 12.0
_INSET: Final = 12
_TICKING: Final = frozenset({TaskState.RUNNING, TaskState.NEEDS_YOU, TaskState.UNKNOWN})
_WHEEL_NOTCH: Final = 120.0
_DIRECTIONS: Final[dict[str, Direction]] = {
    "left": "left",
    "right": "right",
    "up": "up",
    "down": "down",
}


class MapCanvas(QWidget):
    """Draws and is walked on. `opened` asks for the details of the selected task; `menu_wanted`
    carries a place on the screen; `typed` what begins a search.
    """

    camera_changed = Signal()
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
        super().__init__(parent)
        self._model = model
        self._selection = selection
        self._now = now
        self._scene = Scene(model, now=now)
        self._camera = Camera(scale=theme().scale)
        self._is_fitted = True  # until the operator moves the camera
        self._run = model.picture.ref
        self._hovered: str | None = None
        self._pressed_at: QPointF | None = None
        self._is_dragging = False
        self.overview = Overview(self)
        self.legend = Legend(self)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setMinimumSize(160, 120)

        self.overview.place_pressed.connect(self._on_overview_pressed)
        model.rearranged.connect(self._on_model_rearranged)
        model.changed.connect(self._on_model_changed)
        model.described.connect(self._describe)
        selection.task_changed.connect(self._on_task_changed)
        theme_host().theme_changed.connect(self._on_theme_changed)
        self._on_model_rearranged()
        self._describe()

    # -- for the view -----------------------------------------------------------------------

    @property
    def camera(self) -> Camera:
        return self._camera

    def retranslate(self) -> None:
        """Say everything again in the language of now."""
        self.legend.retranslate()
        self.overview.retranslate()
        self._describe()
        self.update()

    def fit(self) -> None:
        """Show the whole graph, at most at 100 %."""
        placed = self._model.picture.placed
        if placed is not None:
            self._is_fitted = True
            self._look_with(self._fitting(placed.geometry.bounds))

    def full_size(self) -> None:
        """Go to 100 %, around the selected node or the middle."""
        self._zoom_to(1.0)

    def zoom_in(self) -> None:
        self._zoom_to(self._camera.zoom * STEP)

    def zoom_out(self) -> None:
        self._zoom_to(self._camera.zoom / STEP)

    def show_node(self, key: str) -> None:
        """Move as little as needed to have a node in view."""
        placed = self._model.picture.placed
        box = placed.geometry.boxes.get(key) if placed else None
        if box is None:
            return
        within = Box(0, 0, self.width(), self.height()).grown(-_MARGIN)
        moved = self._camera.showing(box, within=within)
        if moved != self._camera:
            self._is_fitted = False
            self._look_with(moved)

    def node_place(self, key: str) -> QPoint:
        """Return a point on the screen at a node, for a menu."""
        box = self._scene.shown_box(key, self._camera)
        if box is None:
            return self.mapToGlobal(self.rect().center())
        return self.mapToGlobal(QPoint(round(box.x + box.width / 2), round(box.bottom)))

    def tick(self) -> None:
        """Draw again the nodes that count seconds."""
        if self._camera.level is not Level.NEAR:
            return
        placed = self._model.picture.placed
        seen = self._camera.seen(self.width(), self.height())
        for key in placed.geometry.keys_in(seen) if placed else ():
            box = self._scene.shown_box(key, self._camera)
            if box and self._model.picture.nodes[key].state in _TICKING:
                self.update(QRectF(*box).toAlignedRect())

    # -- camera -----------------------------------------------------------------------------

    def _fitting(self, bounds: Box) -> Camera:
        look = theme()
        high = look.px(LEGEND_HEIGHT) + _INSET
        camera = self._fitting_above(bounds, high)
        corner = Box(0, self.overview.y(), self.overview.geometry().right(), 10_000)
        x, y = camera.to_scene(corner.x, corner.y)
        hidden = Box(x, y, corner.width / camera.factor, corner.height / camera.factor)
        placed = self._model.picture.placed
        if placed is not None and any(True for _ in placed.geometry.keys_in(hidden)):
            return self._fitting_above(bounds, look.px(OVERVIEW_HEIGHT) + _INSET)
        return camera

    def _fitting_above(self, bounds: Box, height: float) -> Camera:
        within = Box(
            _MARGIN,
            _MARGIN,
            max(1.0, self.width() - 2 * _MARGIN),
            max(1.0, self.height() - 2 * _MARGIN - height),
        )
        return fitted(bounds, within=within, scale=theme().scale)

    def _zoom_to(self, zoom: float, at: QPointF | None = None) -> None:
        if at is None:
            current = self._model.current
            box = self._scene.shown_box(current, self._camera) if current else None
            inside = box is not None and QRectF(self.rect()).contains(box.x, box.middle)
            middle = QRectF(self.rect()).center()
            at = QPointF(box.x, box.middle) if box is not None and inside else middle
        placed = self._model.picture.placed
        least = self._fitting(placed.geometry.bounds).zoom if placed else 1.0
        self._is_fitted = False
        self._look_with(self._camera.zoomed(zoom, at=(at.x(), at.y()), least=min(0.05, least)))

    def _look_with(self, camera: Camera) -> None:
        if camera != self._camera:
            self._camera = camera
            QToolTip.hideText()
            self.update()
        self.overview.set_seen(camera.seen(self.width(), self.height()))
        self.camera_changed.emit()

    # -- model and selection ----------------------------------------------------------------

    def _on_model_rearranged(self) -> None:
        picture = self._model.picture
        self._scene.take()
        self.overview.set_picture(picture)
        self._hovered = None
        if picture.ref != self._run:
            self._run = picture.ref
            self._is_fitted = True
        if self._is_fitted:
            self.fit()
        self.overview.setVisible(picture.placed is not None)
        self.update()

    def _on_model_changed(self) -> None:
        self._scene.take()
        self.overview.set_picture(self._model.picture)
        self._tell_current()
        self.update()

    def _on_task_changed(self) -> None:
        current = self._model.current
        if current is not None:
            self.show_node(current)
        self._tell_current()
        self.update()

    def _describe(self) -> None:
        self.legend.set_counts(self._model.picture.counts)
        self.setAccessibleName(map_sentence(self._model.picture.n_tasks))
        self._place_corners()
        self._tell_current()

    def _tell_current(self) -> None:
        """Keep the sentence of the selected node as the description of the map."""
        current = self._model.current
        node = self._model.picture.nodes.get(current) if current else None
        sentence = node_sentence(node) if node else ""
        if sentence != self.accessibleDescription():
            self.setAccessibleDescription(sentence)
            if QAccessible.isActive():
                event = QAccessibleEvent(self, QAccessible.Event.DescriptionChanged)
                QAccessible.updateAccessibility(event)

    # -- painting and size ------------------------------------------------------------------

    @override
    def sizeHint(self) -> QSize:
        return QSize(800, 480)

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        self._scene.paint(painter, self._camera, QRectF(event.rect()), self._hovered)
        if self.hasFocus() and self._model.current is None:
            draw_focus(painter, self.rect(), theme())
        painter.end()

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place_corners()
        if self._is_fitted:
            self.fit()
        else:
            dx = (self.width() - event.oldSize().width()) / 2
            dy = (self.height() - event.oldSize().height()) / 2
            self._look_with(self._camera.moved(round(dx), round(dy)))

    def _place_corners(self) -> None:
        inset = theme().px(_INSET)
        small = self.overview
        small.move(inset, self.height() - inset - small.height())
        self.legend.set_room(max(0, self.width() - small.width() - 3 * inset))
        at = self.legend
        at.move(self.width() - inset - at.width(), self.height() - inset - at.height())

    def _on_theme_changed(self) -> None:
        old, scale = self._camera, theme().scale
        middle = old.to_scene(self.width() / 2, self.height() / 2)
        new = Camera(old.zoom, scale=scale).centred(
            *middle, width=self.width(), height=self.height()
        )
        self._place_corners()
        self._look_with(new if scale != old.scale else old)
        if self._is_fitted:
            self.fit()
        self.update()

    def _on_overview_pressed(self, x: float, y: float) -> None:
        self._is_fitted = False
        self._look_with(self._camera.centred(x, y, width=self.width(), height=self.height()))

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
            self.update()

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
