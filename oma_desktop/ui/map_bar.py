"""The view bar of the map: focus, what is hidden, how near (look.md 3: 36 high)."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QSignalBlocker, Signal
from PySide6.QtWidgets import QCheckBox, QComboBox, QHBoxLayout, QPushButton, QToolButton, QWidget
from typing_extensions import override

from oma_desktop.base.text import N_, tr
from oma_desktop.ui import icons
from oma_desktop.ui.flow import FlowLayout
from oma_desktop.ui.labels import Label, dress
from oma_desktop.ui.language import Retranslated
from oma_desktop.ui.map_words import hidden_text
from oma_desktop.ui.painting import text_width
from oma_desktop.ui.theme import theme, theme_host
from oma_desktop.viewmodel.graph import GraphModel
from oma_desktop.viewmodel.graph_focus import Focus

_FOCUS: Final[dict[Focus, str]] = {
    Focus.EVERYTHING: N_("Everything"),
    Focus.UNFINISHED: N_("Unfinished"),
    Focus.AROUND_1: N_("Around selection, 1 step"),
    Focus.AROUND_2: N_("Around selection, 2 steps"),
    Focus.AROUND_3: N_("Around selection, 3 steps"),
    Focus.CRITICAL_PATH: N_("Critical path"),
    Focus.FAILED: N_("Failed and what they block"),
}


def focus_word(focus: Focus) -> str:
    """Return the name of a focus."""
    return tr(_FOCUS[focus])


class MapBar(Retranslated):
    """Shows what the model was told and tells it what was chosen; zoom is only asked for."""

    zoom_in_pressed = Signal()
    zoom_out_pressed = Signal()
    full_size_pressed = Signal()
    fit_pressed = Signal()

    def __init__(self, model: GraphModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._model = model
        self._zoom = 1.0
        self._label = Label("secondary", "text.2")
        self.focus = dress(QComboBox(), "secondary")
        self.focus.setSizeAdjustPolicy(
            QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
        )
        self.hide_done = dress(QCheckBox(), "secondary")
        self.grouping = dress(QCheckBox(), "secondary")
        self._counts = Label("secondary", "text.muted")
        self.zoom_out = QToolButton()
        self.zoom_label = dress(QToolButton(), "secondary", figures=True)
        self.zoom_in = QToolButton()
        self.fit = dress(QPushButton(), "name")
        self._label.setBuddy(self.focus)

        # Small groups: in a narrow window each may take a line, none is squeezed over another
        flow = FlowLayout(self, spacing=8)
        flow.setContentsMargins(12, 4, 12, 4)
        flow.addWidget(_group((self._label, self.focus), spacing=8, after=8))
        flow.addWidget(_group((self.hide_done,), spacing=8, after=8))
        flow.addWidget(self.grouping)
        flow.split()
        flow.addWidget(self._counts)
        flow.addWidget(_group((self.zoom_out, self.zoom_label, self.zoom_in, self.fit), spacing=4))
        self.setProperty("ground", "bar")

        self.focus.activated.connect(self._on_focus_chosen)
        self.hide_done.toggled.connect(model.set_hide_done)
        self.grouping.toggled.connect(model.set_grouping)
        self.zoom_out.clicked.connect(self.zoom_out_pressed)
        self.zoom_label.clicked.connect(self.full_size_pressed)
        self.zoom_in.clicked.connect(self.zoom_in_pressed)
        self.fit.clicked.connect(self.fit_pressed)
        model.rearranged.connect(self.refresh)
        model.described.connect(self.refresh)
        theme_host().theme_changed.connect(self._on_theme_changed)
        self._on_theme_changed()
        self.retranslate()

    @override
    def retranslate(self) -> None:
        self._label.setText(tr("Focus"))
        with QSignalBlocker(self.focus):
            self.focus.clear()
            for focus in Focus:
                self.focus.addItem(focus_word(focus), focus)
        self.focus.setAccessibleName(tr("Focus"))
        self.hide_done.setText(tr("Hide done"))
        self.hide_done.setToolTip(tr("Hide done (H)"))
        self.grouping.setText(tr("Group more than 8"))
        self.fit.setText(tr("Fit"))
        self.fit.setToolTip(tr("Show the whole map (Z)"))
        self.zoom_out.setToolTip(tr("Zoom out (-)"))
        self.zoom_in.setToolTip(tr("Zoom in (+)"))
        self.zoom_label.setToolTip(tr("Back to 100 % (Shift+Z)"))
        for button in (self.zoom_out, self.zoom_in):
            button.setAccessibleName(button.toolTip())
        self.set_zoom(self._zoom)
        self.refresh()

    def set_zoom(self, zoom: float) -> None:
        """Show the zoom."""
        self._zoom = zoom
        text = tr("{n} %", n=round(zoom * 100))
        self.zoom_label.setText(text)
        self.zoom_label.setAccessibleName(tr("Zoom {percent}", percent=text))

    def refresh(self) -> None:
        """Follow the model."""
        view, picture = self._model.view, self._model.picture
        with QSignalBlocker(self.focus), QSignalBlocker(self.hide_done):
            self.focus.setCurrentIndex(self.focus.findData(view.focus))
            self._fit_focus()
            self.hide_done.setChecked(view.hide_done)
        with QSignalBlocker(self.grouping):
            self.grouping.setChecked(view.grouping)
        self._counts.setText(hidden_text(picture.n_tasks, picture.n_hidden))
        self._counts.setVisible(bool(picture.n_tasks))
        for part in (self.zoom_out, self.zoom_label, self.zoom_in, self.fit):
            part.setEnabled(picture.placed is not None)

    def _fit_focus(self) -> None:
        """As wide as what is chosen; the list as wide as its longest entry."""
        font, px = self.focus.font(), theme().px
        widths = [text_width(self.focus.itemText(i), font) for i in range(self.focus.count())]
        self.focus.setFixedWidth(text_width(self.focus.currentText(), font) + px(40))
        self.focus.view().setMinimumWidth(max(widths, default=0) + px(32))

    def _on_focus_chosen(self, index: int) -> None:
        focus = self.focus.itemData(index)
        if isinstance(focus, Focus):
            self._model.set_focus(focus)

    def _on_theme_changed(self) -> None:
        size = theme().px(24)
        self.zoom_out.setIcon(icons.icon("zoom.out"))
        self.zoom_in.setIcon(icons.icon("zoom.in"))
        for button in (self.zoom_out, self.zoom_in):
            button.setFixedSize(size, size)
        self._fit_focus()


def _group(parts: tuple[QWidget, ...], *, spacing: int, after: int = 0) -> QWidget:
    """Return widgets that stay side by side."""
    group = QWidget()
    row = QHBoxLayout(group)
    row.setContentsMargins(0, 0, after, 0)
    row.setSpacing(spacing)
    for part in parts:
        row.addWidget(part)
    return group
