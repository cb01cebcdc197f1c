"""The content as a tree: for finding one's way; evidence is the exact text beside it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from PySide6.QtWidgets import QTreeWidget, QTreeWidgetItem

from oma_desktop.base.text import ntr, tr
from oma_desktop.model.json_value import JsonObject, JsonValue
from oma_desktop.model.visible_json import draw, string_lines
from oma_desktop.ui.slices import Slices

_ITEM: Final = 60
_CELL: Final = 400
_OPEN: Final = 2


class ContentTree(QTreeWidget):
    """Filled when it is first looked at, in slices, the outer levels first."""

    def __init__(self) -> None:
        super().__init__()
        self.setColumnCount(2)
        self.setHeaderLabels([tr("Key"), tr("Value")])
        self.setUniformRowHeights(True)
        self.setWordWrap(False)
        self.setTabKeyNavigation(False)
        self._content: JsonObject | None = None
        self._slices = Slices(self)
        self._slices.finished.connect(self._on_filled)

    def show_content(self, content: JsonObject) -> None:
        """Show a content; the same one again stays as it is."""
        if content is self._content:
            return
        self._content = content
        self.clear()
        self._slices.start(self._filling(content))

    def _filling(self, content: JsonObject) -> Iterator[int]:
        root = self.invisibleRootItem()
        level: list[tuple[QTreeWidgetItem, JsonValue]] = [(root, content)]
        for depth in range(_DEEPEST):
            below: list[tuple[QTreeWidgetItem, JsonValue]] = []
            for parent, value in level:
                for key, member in _members(value):
                    item = QTreeWidgetItem([_one_line(str(key)), _summary(member)])
                    parent.addChild(item)
                    if isinstance(member, dict | list) and member:
                        below.append((item, member))
                    yield _ITEM
                if parent is not root and depth < _OPEN:
                    parent.setExpanded(True)
            if not below:
                return
            level = below

    def _on_filled(self) -> None:
        self.resizeColumnToContents(0)


_DEEPEST: Final = 1_000


def _members(value: JsonValue) -> Iterable[tuple[object, JsonValue]]:
    if isinstance(value, dict):
        return value.items()
    return enumerate(value) if isinstance(value, list) else ()


def _one_line(text: str) -> str:
    shown = "".join(p.text for line in string_lines(text[:_CELL]) for p in line)[1:-1]
    return shown if len(text) <= _CELL else shown + "\N{HORIZONTAL ELLIPSIS}"


def _summary(value: JsonValue) -> str:
    if isinstance(value, dict):
        return ntr("{n} member", "{n} members", len(value))
    if isinstance(value, list):
        return ntr("{n} item", "{n} items", len(value))
    return draw(value).lines[0].text if not isinstance(value, str) else _one_line(value)
