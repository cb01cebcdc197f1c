"""First start: what this program is for, and three ways to begin (ux.md C15, C16; look.md h)."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QPointF, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QPainter, QPainterPath, QPaintEvent, QPen
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from oma_desktop.base.text import N_, tr
from oma_desktop.ui import icons, states
from oma_desktop.ui.labels import Label, dress
from oma_desktop.ui.language import Retranslated
from oma_desktop.ui.theme import Theme, theme, theme_host

# name, icon, title, text, button, line below
_CARDS: Final = (
    (
        "sample",
        "sample",
        N_("Play the sample"),
        N_("A real run of about 12 tasks with a scripted model: branches, a failing tool, a gate."),
        N_("Play the sample"),
        N_("Under 3 minutes, no network, no key"),
    ),
    (
        "folder",
        "open",
        N_("Open a folder"),
        N_("Watch runs that are already there, from this program or from the TypeScript engine."),
        N_("Choose folder…"),
        N_("Reads only, never writes"),
    ),
    (
        "project",
        "connect",
        N_("Connect my project"),
        N_("Pick a run file with a team and a model provider, then start the first run."),
        N_("Choose run file…"),
        N_("Keys are optional"),
    ),
)


class Card(QFrame):
    """One way to begin: icon, title, text, one button."""

    pressed = Signal(str)

    def __init__(self, number: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._number = number
        self._name, self._icon = _CARDS[number][:2]
        self._is_first = number == 0
        self.setProperty("card", "accent" if self._is_first else "true")
        self._picture = QLabel()
        self._title = Label("heading")
        self._text = Label("body", "text.2", wrap=True)
        self.button = dress(QPushButton(), "strong")
        if self._is_first:
            self.button.setProperty("kind", "primary")
        self._note = Label("secondary", "text.muted")
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 20, 20, 20)
        column.setSpacing(6)
        column.addWidget(self._picture)
        column.addSpacing(8)
        column.addWidget(self._title)
        column.addWidget(self._text)
        column.addStretch(1)
        column.addSpacing(8)
        column.addWidget(self.button)
        column.addSpacing(2)
        column.addWidget(self._note)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Minimum)
        self.button.clicked.connect(self._on_button_clicked)

    def restyle(self) -> None:
        """Follow theme and language."""
        look = theme()
        title, text, button, note = _CARDS[self._number][2:]
        role = "accent" if self._is_first else "text.2"
        if self._is_first and look.is_dark:
            role = "link"
        picture = icons.icon_pixmap(self._icon, look.px(28), role, self.devicePixelRatioF())
        self._picture.setPixmap(picture)
        self._title.setText(tr(title))
        self._text.setText(tr(text))
        self.button.setText(tr(button))
        self._note.setText(tr(note))
        self.setFixedWidth(look.px(280))
        self.setMinimumHeight(look.px(238))

    def _on_button_clicked(self) -> None:
        self.pressed.emit(self._name)


class FirstStart(Retranslated):
    """The page shown while nothing is watched."""

    chosen = Signal(str)  # "sample" | "folder" | "project"

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._drawing = Drawing()
        self._title = Label("title")
        self._text = Label("body", "text.2", wrap=True)
        for line in (self._title, self._text):
            line.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.cards = [Card(i) for i in range(len(_CARDS))]
        row = QHBoxLayout()
        row.setSpacing(16)
        row.addStretch(1)
        for card in self.cards:
            row.addWidget(card)
            card.pressed.connect(self.chosen)
        row.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 20, 20, 20)
        column.addStretch(3)
        column.addWidget(self._drawing, alignment=Qt.AlignmentFlag.AlignHCenter)
        column.addSpacing(20)
        column.addWidget(self._title)
        column.addWidget(self._text)
        column.addSpacing(24)
        column.addLayout(row)
        column.addStretch(4)
        self.setProperty("ground", "canvas")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        theme_host().theme_changed.connect(self.retranslate)
        self.retranslate()

    @override
    def retranslate(self) -> None:
        self._title.setText(tr("See, steer and rescue long agent runs"))
        self._text.setText(
            tr(
                "Everything stays in files on this computer."
                " No account, no network, no key needed to begin."
            )
        )
        for card in self.cards:
            card.restyle()
        self._drawing.update()


def scrolled(page: FirstStart) -> QScrollArea:
    """Return the page in an area that scrolls, so that it never holds the window wide."""
    area = QScrollArea()
    area.setWidgetResizable(True)
    area.setFrameShape(QFrame.Shape.NoFrame)
    area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    area.setWidget(page)
    return area


# x, y of boxes 46 x 24 in a 254 x 92 picture, and the state drawn in each
_BOXES: Final = (
    (0, 34, "done"),
    (82, 0, "done"),
    (82, 34, "running"),
    (82, 68, "done"),
    (164, 34, "needsyou"),
    (228, 34, ""),
)
_EDGES: Final = ((0, 1), (0, 2), (0, 3), (1, 4), (2, 4), (3, 4), (4, 5))
_BOX: Final = (46, 24)


class Drawing(QWidget):
    """A small run, drawn with our own shapes."""

    @override
    def sizeHint(self) -> QSize:
        look = theme()
        return QSize(look.px(254), look.px(94))

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        look = theme()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for a, b in _EDGES:
            _paint_edge(painter, _rect(a, look), _rect(b, look), look, is_open=not _BOXES[b][2])
        for i, (_x, _y, state) in enumerate(_BOXES):
            self._paint_box(painter, _rect(i, look), state, look)
        painter.end()

    def _paint_box(self, painter: QPainter, rect: QRectF, state: str, look: Theme) -> None:
        quiet = state in ("", "done")
        edge = "border.strong" if quiet else states.edge_role(state)
        pen = QPen(look.color(edge), 1)
        if not state:
            pen.setDashPattern([2, 2])
        painter.setPen(pen)
        painter.setBrush(look.color("surface" if quiet else states.tint_role(state)))
        painter.drawRoundedRect(rect, 4, 4)
        if state:
            size = look.px(16)
            at = rect.center() - QPointF(size / 2, size / 2)
            picture = icons.state_pixmap(state, size, dpr=self.devicePixelRatioF())
            painter.drawPixmap(QRect(round(at.x()), round(at.y()), size, size), picture)


def _rect(i: int, look: Theme) -> QRectF:
    x, y, state = _BOXES[i]
    width = _BOX[0] if state else _BOX[1]
    return QRectF(look.px(x) + 0.5, look.px(y) + 0.5, look.px(width), look.px(_BOX[1]))


def _paint_edge(painter: QPainter, a: QRectF, b: QRectF, look: Theme, *, is_open: bool) -> None:
    start = QPointF(a.right(), a.center().y())
    end = QPointF(b.left(), b.center().y())
    half = (end.x() - start.x()) / 2
    path = QPainterPath(start)
    path.cubicTo(start + QPointF(half, 0), end - QPointF(half, 0), end)
    pen = QPen(look.color("border.strong"), 1.25)
    if is_open:
        pen.setDashPattern([2, 3])
    painter.setPen(pen)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.drawPath(path)
