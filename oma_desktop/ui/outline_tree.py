"""The tree of the outline: how it is drawn and walked by keyboard (ux.md C13)."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPoint, QRect, Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QKeyEvent, QPainter, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QHeaderView,
    QStyleOptionViewItem,
    QTreeView,
    QWidget,
)
from typing_extensions import override

from oma_desktop.ui import icons
from oma_desktop.ui.labels import dress
from oma_desktop.ui.outline_delegate import OutlineDelegate
from oma_desktop.ui.painting import device_ratio, draw_focus, ground_role
from oma_desktop.ui.theme import theme
from oma_desktop.viewmodel.outline import PLAN_ORDER, OutlineModel
from oma_desktop.viewmodel.outline_rows import Column, Kind

Index = QModelIndex | QPersistentModelIndex
_WIDTHS: Final = {
    Column.STATE: 148,
    Column.AGENT: 116,
    Column.TURNS: 64,
    Column.CALLS: 124,
    Column.TOKENS: 76,
    Column.SINCE: 88,
}
_TITLE_LEAST: Final = 180


class OutlineTree(QTreeView):
    """The tree itself. `J` `K` go down and up, `[` `]` to parent and first child."""

    opened = Signal()
    menu_wanted = Signal(QPoint)

    def __init__(self, model: OutlineModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._outline = model
        self.setItemDelegate(OutlineDelegate(self))
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setUniformRowHeights(True)
        self.setAllColumnsShowFocus(True)
        self.setExpandsOnDoubleClick(False)
        self.setMouseTracking(True)
        self.setModel(model)
        head = dress(self.header(), "caption")
        head.setStretchLastSection(False)
        head.setSectionsClickable(True)
        head.setSortIndicatorClearable(True)
        head.setSortIndicator(PLAN_ORDER, Qt.SortOrder.AscendingOrder)
        head.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        self.setSortingEnabled(True)
        self.doubleClicked.connect(self._on_double_clicked)

    def lay_columns(self) -> None:
        """Give columns their widths and rows their height at this text size and density."""
        look = theme()
        head = self.header()
        head.setFixedHeight(look.height("header"))
        head.setMinimumSectionSize(look.px(40))
        head.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        for column, width in _WIDTHS.items():
            self.setColumnWidth(column, look.px(width))
        self.fit_title()
        self.setIndentation(look.px(18))
        self.scheduleDelayedItemsLayout()
        self.viewport().update()

    def fit_title(self) -> None:
        """Give the title what the other columns leave."""
        rest = self.viewport().width() - sum(self.columnWidth(c) for c in _WIDTHS)
        self.setColumnWidth(Column.TITLE, max(theme().px(_TITLE_LEAST), rest))

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.fit_title()

    @override
    def drawRow(self, painter: QPainter, options: QStyleOptionViewItem, index: Index) -> None:
        super().drawRow(painter, options, index)
        if self.hasFocus() and index.row() == self.currentIndex().row():
            current = self.currentIndex()
            if current.internalId() == index.internalId():
                row: QRect = options.rect
                draw_focus(
                    painter, QRect(0, row.y(), self.header().length(), row.height()), theme()
                )

    @override
    def drawBranches(self, painter: QPainter, rect: QRect, index: Index) -> None:
        look = theme()
        option = QStyleOptionViewItem()
        self.initViewItemOption(option)
        model = self.selectionModel()
        if model is not None and model.isSelected(
            self.model().index(index.row(), 0, index.parent())
        ):
            option.state |= option.state.State_Selected
        painter.fillRect(rect, look.color(ground_role(option)))
        if self.model().hasChildren(index):
            size = look.px(12)
            name = "chevron.down" if self.isExpanded(index) else "chevron.right"
            picture = icons.icon_pixmap(name, size, "text.muted", device_ratio(painter))
            x = rect.right() - (self.indentation() + size) // 2
            painter.drawPixmap(x, rect.center().y() - size // 2 + 1, picture)

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        held = event.modifiers()
        plain = held == Qt.KeyboardModifier.NoModifier
        current = self.currentIndex()
        key = event.key()
        if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.opened.emit()
        elif plain and key in (Qt.Key.Key_J, Qt.Key.Key_K):
            step = self.indexBelow(current) if key == Qt.Key.Key_J else self.indexAbove(current)
            self._go(step)
        elif plain and key == Qt.Key.Key_BracketLeft:
            self._go(current.parent())
        elif plain and key == Qt.Key.Key_BracketRight:
            self.expand(current)
            self._go(self.model().index(0, 0, current.siblingAtColumn(0)))
        elif key == Qt.Key.Key_Menu or (
            key == Qt.Key.Key_F10 and held == Qt.KeyboardModifier.ShiftModifier
        ):
            self.menu_wanted.emit(self._menu_place())
        else:
            super().keyPressEvent(event)

    @override
    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        if event.reason() is not QContextMenuEvent.Reason.Keyboard:
            self.menu_wanted.emit(event.globalPos())

    def _menu_place(self) -> QPoint:
        rect = self.visualRect(self.currentIndex())
        return self.viewport().mapToGlobal(rect.bottomLeft())

    def _go(self, index: QModelIndex) -> None:
        if index.isValid():
            self.setCurrentIndex(index)
            self.scrollTo(index)

    def _on_double_clicked(self, index: QModelIndex) -> None:
        row = self._outline.row_at(index)
        if row is not None and row.kind in (Kind.RUN, Kind.TURN):
            self.setExpanded(
                index.siblingAtColumn(0), not self.isExpanded(index.siblingAtColumn(0))
            )
        elif row is not None:
            self.opened.emit()
