"""Small themed parts of the deciding windows: text, pictures, chips, panels and buttons.

They ask the theme at paint time and again when it changes; none of them holds a colour.
"""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPainter, QPaintEvent, QPalette, QPen, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QSizePolicy, QWidget
from typing_extensions import override

from oma_desktop.ui.fonts import FontUse
from oma_desktop.ui.icons import icon, icon_pixmap, state_pixmap
from oma_desktop.ui.theme import theme, theme_host

RADIUS: Final = 4


class Text(QLabel):
    """Plain text (never markup) in a font use and a colour role."""

    def __init__(
        self,
        text: str = "",
        *,
        use: FontUse = "body",
        role: str = "text",
        wrap: bool = False,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._use: FontUse = use
        self._role = role
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setWordWrap(wrap)
        if wrap:
            self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum)
        self.setText(text)
        self._on_theme_changed()
        theme_host().theme_changed.connect(self._on_theme_changed)

    def set_role(self, role: str) -> None:
        """Change the colour role."""
        if role != self._role:
            self._role = role
            self._on_theme_changed()

    def set_use(self, use: FontUse) -> None:
        """Change the font use."""
        if use != self._use:
            self._use = use
            self._on_theme_changed()

    def say(self, text: str) -> None:
        """Show `text`; an empty text hides the label."""
        if text != self.text():
            self.setText(text)
        self.setVisible(bool(text))

    def _on_theme_changed(self) -> None:
        now = theme()
        self.setFont(now.font(self._use))
        palette = self.palette()
        palette.setColor(QPalette.ColorRole.WindowText, now.color(self._role))
        self.setPalette(palette)


class ElidedText(Text):
    """One line that is cut in the middle where it does not fit; the whole is in the tooltip."""

    def __init__(self, *, use: FontUse = "body", role: str = "text", middle: bool = True) -> None:
        self._whole = self._hint = ""
        self._mode = Qt.TextElideMode.ElideMiddle if middle else Qt.TextElideMode.ElideRight
        super().__init__(use=use, role=role)
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)

    def set_whole(self, text: str, *, hint: str = "") -> None:
        """Show `text`, as much as fits; the tooltip is `hint`, or the text where it is cut."""
        self._whole, self._hint = text, hint
        self.setAccessibleName(text)
        self._fit()
        self.updateGeometry()

    @override
    def sizeHint(self) -> QSize:
        metrics = QFontMetrics(self.font())
        return QSize(metrics.horizontalAdvance(self._whole) + 2, metrics.height())

    @override
    def minimumSizeHint(self) -> QSize:
        return QSize(theme().px(48), QFontMetrics(self.font()).height())

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        shown = QFontMetrics(self.font()).elidedText(self._whole, self._mode, self.width())
        self.setText(shown)
        self.setToolTip(self._hint or (self._whole if shown != self._whole else ""))

    @override
    def _on_theme_changed(self) -> None:
        super()._on_theme_changed()
        self._fit()
        self.updateGeometry()


class Picture(QLabel):
    """A state shape or a general icon, tinted again when the theme changes."""

    def __init__(
        self,
        *,
        state: str | None = None,
        meaning: str | None = None,
        size: int = 16,
        role: str | None = None,
    ) -> None:
        super().__init__()
        self._state, self._meaning, self._size, self._role = state, meaning, size, role
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self._on_theme_changed()
        theme_host().theme_changed.connect(self._on_theme_changed)

    def show_state(self, state: str) -> None:
        """Show another state shape."""
        self._state, self._meaning = state, None
        self._on_theme_changed()

    def show_icon(self, meaning: str, role: str) -> None:
        """Show a general icon."""
        self._state, self._meaning, self._role = None, meaning, role
        self._on_theme_changed()

    def _on_theme_changed(self) -> None:
        size, dpr = theme().px(self._size), self.devicePixelRatioF()
        if self._state is not None:
            self.setPixmap(state_pixmap(self._state, size=size, role=self._role, dpr=dpr))
        elif self._meaning is not None:
            role = self._role or "text.2"
            self.setPixmap(icon_pixmap(self._meaning, size=size, role=role, dpr=dpr))


class Panel(QWidget):
    """An area with a ground, and lines or a rounded outline around it."""

    def __init__(
        self,
        *,
        ground: str = "surface",
        line: str = "border",
        top: bool = False,
        bottom: bool = False,
        box: bool = False,
        width: int = 1,
    ) -> None:
        super().__init__()
        self._ground, self._line, self._width = ground, line, width
        self._top, self._bottom, self._box = top, bottom, box
        theme_host().theme_changed.connect(self._on_theme_changed)

    def set_ground(self, ground: str, line: str, *, width: int = 1) -> None:
        """Change ground and line."""
        self._ground, self._line, self._width = ground, line, width
        self.update()

    def _on_theme_changed(self) -> None:
        self.update()

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        now, painter = theme(), QPainter(self)
        if self._box:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setBrush(now.color(self._ground))
            painter.setPen(QPen(now.color(self._line), self._width))
            inset = self._width / 2
            area = QRectF(self.rect()).adjusted(inset, inset, -inset, -inset)
            painter.drawRoundedRect(area, RADIUS, RADIUS)
        else:
            painter.fillRect(self.rect(), now.color(self._ground))
            if self._top:
                painter.fillRect(0, 0, self.width(), 1, now.color(self._line))
            if self._bottom:
                painter.fillRect(0, self.height() - 1, self.width(), 1, now.color(self._line))
        painter.end()


class Page(Panel):
    """The page inside a scroll area: it never asks for more width than there is."""

    @override
    def minimumSizeHint(self) -> QSize:
        return QSize(0, super().minimumSizeHint().height())


class Chip(Panel):
    """20 px high: icon and a short text with an outline (look.md 7)."""

    def __init__(self) -> None:
        super().__init__(box=True)
        self._picture = Picture(size=14)
        self._text = Text(use="secondary")
        row = QHBoxLayout(self)
        row.setContentsMargins(8, 0, 8, 0)
        row.setSpacing(6)
        row.addWidget(self._picture)
        row.addWidget(self._text)
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)

    def fill(self, text: str, *, meaning: str, role: str = "text.2", line: str = "border") -> None:
        """Show icon and text in one colour role; `line` is the outline."""
        self._picture.show_icon(meaning, role)
        self._text.setText(text)
        self._text.set_role(role)
        self._text.set_use("state" if role.endswith(".text") else "secondary")
        self.set_ground("surface", line)

    @override
    def sizeHint(self) -> QSize:
        return QSize(super().sizeHint().width(), theme().px(20))


def make_button(text: str, *, kind: str = "", meaning: str = "", role: str = "text") -> QPushButton:
    """Return a button that Enter never presses and a click never focuses (ux.md C7)."""
    button = QPushButton(text)
    button.setAutoDefault(False)
    button.setDefault(False)
    button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    if kind:
        button.setProperty("kind", kind)
    if meaning:
        button.setIcon(icon(meaning, role=role))
        button.setIconSize(QSize(theme().px(14), theme().px(14)))
    return button
