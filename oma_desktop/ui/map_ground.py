"""The map as a picture that can be looked at from near and far; `map_canvas` adds hands to it.

It owns the camera and nothing else: what is selected is in `Selection`, what is drawn in
`GraphModel`. One painter draws everything: with an item per node the same picture costs ten times
as much (feasibility 5).
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Final

from PySide6.QtCore import QPoint, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QAccessible,
    QAccessibleEvent,
    QPainter,
    QPaintEvent,
    QPixmap,
    QResizeEvent,
)
from PySide6.QtWidgets import QToolTip, QWidget
from typing_extensions import override

from oma_desktop.model.view import TaskState
from oma_desktop.ui.map_camera import STEP, Camera, Level, fitted
from oma_desktop.ui.map_legend import HEIGHT as LEGEND_HEIGHT
from oma_desktop.ui.map_legend import Legend
from oma_desktop.ui.map_overview import Overview
from oma_desktop.ui.map_scene import Scene
from oma_desktop.ui.map_words import map_sentence, node_sentence
from oma_desktop.ui.painting import draw_focus
from oma_desktop.ui.theme import theme, theme_host
from oma_desktop.viewmodel.graph import GraphModel
from oma_desktop.viewmodel.graph_geometry import Box
from oma_desktop.viewmodel.selection import Selection

_MARGIN: Final = 12.0
_INSET: Final = 12
_ROOMY: Final = 2.5
_TINY: Final = 1e-3
_RING: Final = 16  # marks stand out this far at most, pixels
_TICKING: Final = frozenset({TaskState.RUNNING, TaskState.NEEDS_YOU, TaskState.UNKNOWN})


class MapGround(QWidget):
    """Shows the picture of the model through a camera, with overview and legend in its corners."""

    camera_changed = Signal()

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
        self._kept = QPixmap()
        self._kept_camera = self._camera
        self._is_stale = True
        self._dirty: list[QRectF] = []
        self.overview = Overview(self)
        self.legend = Legend(self)
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
        self._redraw()

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
                area = QRectF(*box).adjusted(-_RING, -_RING, _RING, _RING)
                self._dirty.append(QRectF(area.toAlignedRect()))
                self.update(area.toAlignedRect())

    # -- camera -----------------------------------------------------------------------------

    def _fitting(self, bounds: Box) -> Camera:
        look = theme()
        high = max(look.px(LEGEND_HEIGHT), self.legend.height()) + _INSET
        camera = self._fitting_above(bounds, high)
        if self.overview.isHidden():
            return camera
        corner = Box(0, self.overview.y(), self.overview.geometry().right(), 10_000)
        x, y = camera.to_scene(corner.x, corner.y)
        hidden = Box(x, y, corner.width / camera.factor, corner.height / camera.factor)
        placed = self._model.picture.placed
        if placed is not None and any(True for _ in placed.geometry.keys_in(hidden)):
            return self._fitting_above(bounds, self.overview.height() + _INSET)
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
        self._place_corners()
        if self._is_fitted:
            self.fit()
        self._redraw()

    def _on_model_changed(self) -> None:
        self._scene.take()
        self.overview.set_picture(self._model.picture)
        self._tell_current()
        self._redraw()

    def _on_task_changed(self) -> None:
        current = self._model.current
        if current is not None:
            self.show_node(current)
        self._tell_current()
        self._redraw()

    def _describe(self) -> None:
        was = self.legend.height()
        self.legend.set_counts(self._model.picture.counts)
        self.setAccessibleName(map_sentence(self._model.picture.n_tasks))
        self._place_corners()
        if self._is_fitted and self.legend.height() != was:
            self.fit()  # in two rows it stands higher
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
        self._draw_kept()
        painter.drawPixmap(0, 0, self._kept)
        if self.hasFocus() and self._model.current is None:
            draw_focus(painter, self.rect(), theme())
        painter.end()

    def _draw_kept(self) -> None:
        """Bring the kept picture up to date: all of it, what a pan uncovered, or what ticks."""
        camera, old = self._camera, self._kept_camera
        ratio = self.devicePixelRatioF()
        dx, dy = (camera.x - old.x) * ratio, (camera.y - old.y) * ratio
        steps = round(dx), round(dy)  # whole device pixels, or the kept picture would blur
        whole = QRectF(self.rect())
        if (
            self._is_stale
            or self._kept.size() != self.size() * ratio
            or camera.factor != old.factor
            or abs(dx - steps[0]) + abs(dy - steps[1]) > _TINY
        ):
            self._kept = QPixmap(self.size() * ratio)
            self._kept.setDevicePixelRatio(ratio)
            areas = [whole]
        else:
            areas = self._moved_by(steps[0] / ratio, steps[1] / ratio) + self._dirty
        painter = QPainter(self._kept)
        for area in areas:
            painter.setClipRect(area)
            self._scene.paint(painter, camera, area.intersected(whole), self._hovered)
        painter.end()
        self._kept_camera = camera
        self._is_stale = False
        self._dirty = []

    def _moved_by(self, dx: float, dy: float) -> list[QRectF]:
        """Shift the kept picture; return the strips that have to be drawn."""
        if not dx and not dy:
            return []
        shifted = QPixmap(self._kept.size())
        shifted.setDevicePixelRatio(self._kept.devicePixelRatioF())
        painter = QPainter(shifted)
        painter.drawPixmap(QPointF(dx, dy), self._kept)
        painter.end()
        self._kept = shifted
        wide, high = self.width(), self.height()
        side = QRectF(0, 0, dx, high) if dx > 0 else QRectF(wide + dx, 0, -dx, high)
        end = QRectF(0, 0, wide, dy) if dy > 0 else QRectF(0, high + dy, wide, -dy)
        self._dirty = [r.translated(dx, dy) for r in self._dirty]
        return [area for area in (side, end) if not area.isEmpty()]

    def _redraw(self) -> None:
        """Draw everything again: what nodes say, who is marked or the theme changed."""
        self._is_stale = True
        self.update()

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
        small.refit()
        small.move(inset, self.height() - inset - small.height())
        # on a small map the overview would hide what it is an overview of
        roomy = self.width() >= _ROOMY * small.width() and self.height() >= _ROOMY * small.height()
        small.setVisible(roomy and self._model.picture.placed is not None)
        taken = small.width() + inset if roomy else 0
        self.legend.set_room(max(0, self.width() - taken - 2 * inset))
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
        self._redraw()

    def _on_overview_pressed(self, x: float, y: float) -> None:
        self._is_fitted = False
        self._look_with(self._camera.centred(x, y, width=self.width(), height=self.height()))
