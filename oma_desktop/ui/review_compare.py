"""Two versions of a value side by side, differing lines tinted (ux.md C7: raw input, stale)."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from oma_desktop.ui.exact_view import ExactView
from oma_desktop.ui.review_parts import Text
from oma_desktop.viewmodel.review_paper import Beside


class Compare(QWidget):
    """Left the older or raw value, right the newer or checked one.

    Both viewers are made when they are first needed: most reviews need none.
    """

    shown_whole = Signal()
    laid_out = Signal()
    typing = Signal(bool)

    def __init__(self) -> None:
        super().__init__()
        self._views: tuple[ExactView, ExactView] | None = None
        self._heads: tuple[Text, Text] | None = None
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(0, 0, 0, 0)
        self._row.setSpacing(8)

    @property
    def left(self) -> ExactView:
        """The older or raw value."""
        return self._made()[0]

    @property
    def right(self) -> ExactView:
        """The newer or checked value."""
        return self._made()[1]

    def _made(self) -> tuple[ExactView, ExactView]:
        if self._views is None:
            self._views = ExactView(), ExactView()
            self._heads = (
                Text(use="section", role="text.muted"),
                Text(use="section", role="text.muted"),
            )
            for head, view in zip(self._heads, self._views, strict=True):
                self._add(head, view)
        return self._views

    def _add(self, head: Text, view: ExactView) -> None:
        column = QVBoxLayout()
        column.setSpacing(4)
        column.addWidget(head)
        column.addWidget(view, 1)
        self._row.addLayout(column, 1)
        view.shown_whole.connect(self.shown_whole)
        view.laid_out.connect(self.laid_out)
        view.typing.connect(self.typing)

    def retranslate(self) -> None:
        """Set every word again."""
        for view in self._views or ():
            view.retranslate()

    def show_values(self, beside: Beside, heads: tuple[str, str]) -> None:
        """Show both, what differs tinted."""
        self._made()
        for head, text in zip(self._heads or (), heads, strict=True):
            head.setText(text)
        self.left.show_value(beside.left)
        self.right.show_value(beside.right)
        self.left.text.tint_lines(beside.lost, "diff.removed.bg")
        self.right.text.tint_lines(beside.new, "diff.added.bg")

    def show_reading(self) -> None:
        """Show that both are being prepared."""
        self.left.show_reading()
        self.right.show_reading()

    def wanted_height(self) -> int:
        """Height that shows both without scrolling."""
        return max(v.wanted_height() for v in self._made()) + self._head_height()

    def least_height(self) -> int:
        """Height below which reading makes no sense."""
        return self.left.least_height() + self._head_height()

    def _head_height(self) -> int:
        return self._heads[0].sizeHint().height() + 4 if self._heads is not None else 0
