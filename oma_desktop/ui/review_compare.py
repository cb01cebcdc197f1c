"""Two versions of a value side by side, differing lines tinted (ux.md C7: raw input, stale)."""

from __future__ import annotations

from difflib import SequenceMatcher

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from oma_desktop.model.visible_json import VisibleLine, VisibleText
from oma_desktop.ui.exact_view import ExactView
from oma_desktop.ui.review_parts import Text


def differing(
    left: tuple[VisibleLine, ...], right: tuple[VisibleLine, ...]
) -> tuple[frozenset[int], frozenset[int], int]:
    """Return the numbers of lines that differ on each side, and the number of differing places."""
    a, b = [line.text for line in left], [line.text for line in right]
    lost: set[int] = set()
    new: set[int] = set()
    places = 0
    for tag, a1, a2, b1, b2 in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if tag != "equal":
            places += 1
            lost.update(range(a1 + 1, a2 + 1))
            new.update(range(b1 + 1, b2 + 1))
    return frozenset(lost), frozenset(new), places


class Compare(QWidget):
    """Left the older or raw value, right the newer or checked one."""

    laid_out = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.left, self.right = ExactView(), ExactView()
        self._heads = Text(use="section", role="text.muted"), Text(use="section", role="text.muted")
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(8)
        for head, view in zip(self._heads, (self.left, self.right), strict=True):
            column = QVBoxLayout()
            column.setSpacing(4)
            column.addWidget(head)
            column.addWidget(view, 1)
            row.addLayout(column, 1)
            view.laid_out.connect(self.laid_out)

    def show_values(self, left: VisibleText, right: VisibleText, heads: tuple[str, str]) -> int:
        """Show both; return the number of places where they differ."""
        lost, new, places = differing(left.lines, right.lines)
        for head, text in zip(self._heads, heads, strict=True):
            head.setText(text)
        self.left.show_value(left)
        self.right.show_value(right)
        self.left.text.tint_lines(lost, "diff.removed.bg")
        self.right.text.tint_lines(new, "diff.added.bg")
        return places

    def wanted_height(self) -> int:
        """Height that shows both without scrolling."""
        head = self._heads[0].sizeHint().height() + 4
        return max(self.left.wanted_height(), self.right.wanted_height()) + head

    def least_height(self) -> int:
        """Height below which reading makes no sense."""
        return self.left.least_height() + self._heads[0].sizeHint().height() + 4
