"""The Map: view bar, canvas, and what stands there when nothing can be drawn (ux.md C5).

Everything shown comes from `GraphModel`, what is selected from `Selection`; verbs are only asked
for by signal.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Final

from PySide6.QtCore import QPoint, Qt, QTimer, Signal
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QMenu, QStackedLayout, QVBoxLayout, QWidget
from typing_extensions import override

from oma_desktop.base.text import tr
from oma_desktop.ui import icons
from oma_desktop.ui.language import Retranslated
from oma_desktop.ui.map_bar import MapBar
from oma_desktop.ui.map_canvas import MapCanvas
from oma_desktop.ui.map_empty import FaultList, NoMap
from oma_desktop.ui.map_find import FindTask
from oma_desktop.viewmodel.feed import Feed
from oma_desktop.viewmodel.graph import GraphModel, Offload
from oma_desktop.viewmodel.graph_checks import Why
from oma_desktop.viewmodel.selection import Selection
from oma_desktop.viewmodel.verbs import open_request_of

_SECOND_MS: Final = 1_000
_READ_ALONG_MS: Final = 200


class MapView(Retranslated):
    """A centre tab.

    `opened` asks for the details of the selected task, `conversation_requested` for its messages,
    `review_requested` carries (store path, request id), `outline_requested` asks for the twin.
    """

    opened = Signal()
    conversation_requested = Signal()
    review_requested = Signal(object)
    outline_requested = Signal()

    def __init__(
        self,
        feed: Feed,
        selection: Selection,
        *,
        now: Callable[[], datetime],
        offload: Offload | None = None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._feed = feed
        self._selection = selection
        self._now = now
        self.model = GraphModel(feed, selection, now=now, offload=offload, parent=self)
        self.canvas = MapCanvas(self.model, selection, now=now)
        self.bar = MapBar(self.model)
        self.finder = FindTask(self.model, selection, self.canvas)
        self._nothing = NoMap()
        self._faults = FaultList()
        self._menu: QMenu | None = None
        self._tick = QTimer(self)
        self._tick.setInterval(_SECOND_MS)
        pages = QWidget()
        self._pages = QStackedLayout(pages)
        for page in (self.canvas, self._nothing, self._faults):
            self._pages.addWidget(page)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.bar)
        column.addWidget(pages, 1)
        self.setProperty("ground", "canvas")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.bar.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setFocusProxy(self.canvas)

        self._tick.timeout.connect(self._on_tick)
        self.bar.zoom_in_pressed.connect(self.canvas.zoom_in)
        self.bar.zoom_out_pressed.connect(self.canvas.zoom_out)
        self.bar.full_size_pressed.connect(self.canvas.full_size)
        self.bar.fit_pressed.connect(self.canvas.fit)
        self.canvas.camera_changed.connect(self._on_camera_changed)
        self.canvas.opened.connect(self.opened)
        self.canvas.menu_wanted.connect(self.show_menu)
        self.canvas.typed.connect(self.finder.open)
        self.finder.closed.connect(self._on_find_closed)
        self._nothing.pressed.connect(self.outline_requested)
        self._faults.outline_pressed.connect(self.outline_requested)
        self._faults.chosen.connect(selection.select_task)
        self.model.rearranged.connect(self._choose_page)
        self.model.described.connect(self._choose_page)
        self._on_camera_changed()
        self.retranslate()

    @override
    def retranslate(self) -> None:
        self.canvas.retranslate()
        self._choose_page()

    @override
    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._tick.start()

    @override
    def hideEvent(self, event: QHideEvent) -> None:
        self._tick.stop()
        super().hideEvent(event)

    def _on_tick(self) -> None:
        if self._pages.currentWidget() is self.canvas:
            self.canvas.tick()
        elif self._pages.currentWidget() is self._nothing:
            self._nothing.tell(self.model, self._now())
        # text that streams is read along; seconds are counted once a second
        self._tick.setInterval(_READ_ALONG_MS if self._is_planning() else _SECOND_MS)

    def _is_planning(self) -> bool:
        return self._pages.currentWidget() is self._nothing and bool(self.model.plan_text)

    def show_menu(self, at: QPoint) -> None:
        """Offer what can be done with the selected node, and with the map."""
        if self._menu is not None:
            self._menu.deleteLater()
        menu = self._menu = QMenu(self)
        current = self.model.current
        if current is not None:
            self._add_verbs(menu, current)
        menu.addAction(tr("Tidy the map"), self.model.tidy)
        menu.addAction(tr("Show as a list"), self.outline_requested.emit)
        menu.popup(at)

    def _add_verbs(self, menu: QMenu, current: str) -> None:
        task_id = self._selection.task_id or ""
        if self.model.picture.nodes[current].is_stack:
            menu.addAction(icons.icon("layers"), tr("Open the stack"), self._toggle_stack)
        else:
            menu.addAction(tr("Show details"), self.opened.emit)
            conversation = menu.addAction(icons.icon("conversation"), tr("Open conversation"))
            conversation.triggered.connect(self.conversation_requested)
        if self.model.opened_stack_of(task_id) is not None:
            menu.addAction(icons.icon("layers"), tr("Close the stack"), self._toggle_stack)
        if self._request() is not None:
            menu.addAction(icons.icon("review"), tr("Review request"), self._review)
        menu.addSeparator()

    def _toggle_stack(self) -> None:
        current = self.model.current
        opened = self.model.opened_stack_of(self._selection.task_id or "")
        if opened is not None or current is not None:
            self.model.toggle_stack(opened or current or "")

    def _request(self) -> tuple[str, str] | None:
        ref, task_id = self._selection.run, self._selection.task_id
        store = self._feed.store(ref.store) if ref is not None else None
        run = self._feed.run(ref) if ref is not None else None
        if store is None or run is None or task_id is None:
            return None
        found = open_request_of(store, run, task_id=task_id)
        return (store.path, found.id) if found is not None else None

    def _review(self) -> None:
        target = self._request()
        if target is not None:
            self.review_requested.emit(target)

    def _choose_page(self) -> None:
        picture = self.model.picture
        if picture.placed is not None:
            self._pages.setCurrentWidget(self.canvas)
            return
        refusal = picture.refusal
        if refusal is not None and refusal.why is Why.FAULTY and picture.run is not None:
            self._faults.tell(refusal, picture.run)
            self._pages.setCurrentWidget(self._faults)
            return
        self._nothing.tell(self.model, self._now())
        self._pages.setCurrentWidget(self._nothing)

    def _on_camera_changed(self) -> None:
        self.bar.set_zoom(self.canvas.camera.zoom)

    def _on_find_closed(self) -> None:
        self.canvas.setFocus(Qt.FocusReason.OtherFocusReason)
