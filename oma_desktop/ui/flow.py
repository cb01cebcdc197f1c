"""A row that breaks into several where it does not fit: nothing scrolls sideways out of sight."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRect, QSize, Qt
from PySide6.QtWidgets import QLayout, QLayoutItem, QWidget
from typing_extensions import override


class FlowLayout(QLayout):
    """Items keep their size hint, at most the width there is; lines are centred vertically.

    Items added after `split` stand at the right end of their line.
    """

    def __init__(self, parent: QWidget | None = None, *, spacing: int = 8) -> None:
        super().__init__(parent)
        self._items: list[QLayoutItem] = []
        self._split: int | None = None
        self.setSpacing(spacing)

    def split(self) -> None:
        """Put what is added from now on at the right."""
        self._split = len(self._items)

    @override
    def addItem(self, item: QLayoutItem) -> None:
        self._items.append(item)

    @override
    def count(self) -> int:
        return len(self._items)

    @override
    def itemAt(self, index: int) -> QLayoutItem | None:
        return self._items[index] if 0 <= index < len(self._items) else None

    @override
    def takeAt(self, index: int) -> QLayoutItem | None:
        return self._items.pop(index) if 0 <= index < len(self._items) else None

    @override
    def expandingDirections(self) -> Qt.Orientation:
        return Qt.Orientation(0)

    @override
    def hasHeightForWidth(self) -> bool:
        return True

    @override
    def heightForWidth(self, width: int) -> int:
        return self._arrange(QRect(0, 0, width, 0), move=False)

    @override
    def setGeometry(self, rect: QRect) -> None:
        super().setGeometry(rect)
        self._arrange(rect, move=True)

    @override
    def sizeHint(self) -> QSize:
        shown = [item.sizeHint() for item in self._items if not item.isEmpty()]
        left, top, right, bottom = self._margins()
        width = sum(s.width() for s in shown) + self.spacing() * max(len(shown) - 1, 0)
        height = max((s.height() for s in shown), default=0)
        return QSize(width + left + right, height + top + bottom)

    @override
    def minimumSize(self) -> QSize:
        left, top, right, bottom = self._margins()
        height = max((i.sizeHint().height() for i in self._items if not i.isEmpty()), default=0)
        return QSize(left + right, height + top + bottom)

    def _margins(self) -> tuple[int, int, int, int]:
        m = self.contentsMargins()
        return m.left(), m.top(), m.right(), m.bottom()

    def _arrange(self, rect: QRect, *, move: bool) -> int:
        """Place the items (when `move`) and return the height they need."""
        left, top, right, bottom = self._margins()
        area = rect.adjusted(left, top, -right, -bottom)
        y = area.y()
        for line in self._lines(max(area.width(), 1)):
            height = max(size.height() for _, size in line)
            width = sum(size.width() for _, size in line) + self.spacing() * (len(line) - 1)
            x, spare = area.x(), max(area.width() - width, 0)
            for item, size in line:
                if self._is_right(item):
                    x, spare = x + spare, 0
                if move:
                    spot = QPoint(x, y + (height - size.height()) // 2)
                    item.setGeometry(QRect(spot, size))
                x += size.width() + self.spacing()
            y += height + self.spacing()
        used = y - self.spacing() if y > area.y() else y
        return used - rect.y() + bottom

    def _is_right(self, item: QLayoutItem) -> bool:
        return self._split is not None and self._items.index(item) >= self._split

    def _lines(self, width: int) -> list[list[tuple[QLayoutItem, QSize]]]:
        lines: list[list[tuple[QLayoutItem, QSize]]] = []
        room = -1
        for item in self._items:
            if item.isEmpty():
                continue
            size = item.sizeHint()
            size.setWidth(min(size.width(), width))
            if not lines or size.width() > room:
                lines.append([])
                room = width
            lines[-1].append((item, size))
            room -= size.width() + self.spacing()
        return lines
