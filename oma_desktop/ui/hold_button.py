"""The one button that acts on the world: hold it for 1.2 s (ux.md C7, look.md 7 and 8)."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QEvent, QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import (
    QFocusEvent,
    QFontMetrics,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
)
from PySide6.QtWidgets import QAbstractButton, QSizePolicy, QWidget
from typing_extensions import override

from oma_desktop.base.clock import Clock
from oma_desktop.ui.icons import icon_pixmap
from oma_desktop.ui.review_parts import RADIUS
from oma_desktop.ui.theme import theme, theme_host

HOLD_S: Final = 1.2
DRAIN_S: Final = 0.12
FRAME_MS: Final = 16
WIDTH: Final = 208


class HoldButton(QAbstractButton):
    """Emits `held` after an uninterrupted press of `HOLD_S`, or `pressed_once` where a press is
    enough.

    Invariants: a press counts only if it began while armed; losing the arm, the focus or the
    pointer empties it; a click (press and release) never emits `held`; Enter does nothing; the
    repeats of a held key do not start a press.
    """

    held = Signal()
    pressed_once = Signal()

    def __init__(self, *, clock: Clock, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._clock = clock
        self._began: float | None = None
        self._released: tuple[float, float] | None = None
        self._key_down = False
        self._armed = False
        self._needs_hold = True
        self._reason = ""
        self.reduced_motion = False
        self.is_narrow = False
        self._frames = QTimer(self)
        self._frames.setInterval(FRAME_MS)
        self._frames.timeout.connect(self._on_frame)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setCursor(Qt.CursorShape.ArrowCursor)
        theme_host().theme_changed.connect(self._on_theme_changed)

    def _on_theme_changed(self) -> None:
        self.updateGeometry()
        self.update()

    @property
    def is_armed(self) -> bool:
        """Whether a press would count now."""
        return self._armed

    @property
    def reason(self) -> str:
        """Why it is not armed, as shown on the button."""
        return self._reason

    def set_state(self, *, armed: bool, reason: str, label: str, needs_hold: bool) -> None:
        """Arm or disarm; `reason` stands on the button while it is not armed."""
        if not armed:
            self._cancel()
        changed = (armed, reason, label, needs_hold) != (
            self._armed,
            self._reason,
            self.text(),
            self._needs_hold,
        )
        self._armed, self._reason, self._needs_hold = armed, reason, needs_hold
        if changed:
            self.setText(label)
            self.setAccessibleName(label)
            self.setAccessibleDescription(reason)
            self.setToolTip(reason)
            self.update()

    # -- pressing ------------------------------------------------------------------------------

    @property
    def progress(self) -> float:
        """How full the button is, 0 to 1."""
        now = self._clock.monotonic()
        if self._began is not None:
            return min(1.0, (now - self._began) / HOLD_S)
        if self._released is not None:
            at, full = self._released
            return max(0.0, full - (now - at) / DRAIN_S)
        return 0.0

    def _begin(self) -> None:
        if not self._armed or self._began is not None:
            return
        self._released = None
        self._began = self._clock.monotonic()
        self._frames.start()
        self.update()

    def _end(self) -> None:
        """The finger went up: only a press button cares, a hold that is not full empties."""
        pressed = self._began is not None
        self._cancel()
        if pressed and self._armed and not self._needs_hold:
            self.pressed_once.emit()

    def _cancel(self) -> None:
        if self._began is not None:
            self._released = (self._clock.monotonic(), self.progress)
            self._began = None
            self.update()

    def _on_frame(self) -> None:
        if self._needs_hold and self._began is not None and self.progress >= 1.0:
            self._began = None
            self._key_down = False
            self._frames.stop()
            self.held.emit()
        elif self._began is None and self.progress <= 0.0:
            self._released = None
            self._frames.stop()
        self.update()

    @override
    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() is Qt.MouseButton.LeftButton:
            self._begin()

    @override
    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if not self.rect().contains(event.position().toPoint()):
            self._cancel()

    @override
    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() is Qt.MouseButton.LeftButton:
            self._end()

    @override
    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """The second press of a double click is no new press."""

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() != Qt.Key.Key_Space:
            event.ignore()
        elif not event.isAutoRepeat():
            self._key_down = True
            self._begin()

    @override
    def keyReleaseEvent(self, event: QKeyEvent) -> None:
        if event.key() != Qt.Key.Key_Space:
            event.ignore()
        elif not event.isAutoRepeat() and self._key_down:
            self._key_down = False
            self._end()

    @override
    def focusOutEvent(self, event: QFocusEvent) -> None:
        self._key_down = False
        self._cancel()
        super().focusOutEvent(event)

    @override
    def changeEvent(self, event: QEvent) -> None:
        if event.type() is QEvent.Type.ActivationChange and not self.isActiveWindow():
            self._cancel()
        super().changeEvent(event)

    # -- drawing -------------------------------------------------------------------------------

    @override
    def sizeHint(self) -> QSize:
        now = theme()
        metrics = QFontMetrics(now.font("name"))
        widest = max(metrics.horizontalAdvance(t) for t in (self.text(), self._reason))
        least = 0 if self.is_narrow else now.px(WIDTH)
        return QSize(max(least, widest + now.px(40)), now.height("button"))

    @override
    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        now, painter = theme(), QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        area = QRectF(self.rect()).adjusted(2.5, 0.5, -2.5, -0.5)
        painter.setBrush(now.color("surface" if self._armed else "window"))
        painter.setPen(QPen(now.color("accent" if self._armed else "border"), 1))
        painter.drawRoundedRect(area, RADIUS, RADIUS)
        self._paint_label(painter, "link" if self._armed else "text.disabled")
        full = self._drawn_progress()
        if full > 0:
            painter.save()
            painter.setClipRect(QRectF(area.x(), 0, area.width() * full, self.height()))
            painter.setBrush(now.color("accent"))
            painter.drawRoundedRect(area, RADIUS, RADIUS)
            self._paint_label(painter, "on.accent")
            painter.restore()
        if self.hasFocus():
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(now.color("focus"), now.focus_width))
            ring = QRectF(self.rect()).adjusted(1, 1, -1, -1)
            painter.drawRoundedRect(ring, RADIUS + 2, RADIUS + 2)
        painter.end()

    def _drawn_progress(self) -> float:
        if not self._needs_hold:
            return 1.0 if self._began is not None else 0.0
        return int(self.progress * 10) / 10 if self.reduced_motion else self.progress

    def _paint_label(self, painter: QPainter, role: str) -> None:
        now = theme()
        font = now.font("name" if self._armed else "body")
        text = self.text() if self._armed or not self._reason else self._reason
        size, gap = now.px(14), now.px(6)
        metrics = QFontMetrics(font)
        width = size + gap + metrics.horizontalAdvance(text)
        left = max(now.px(8), (self.width() - width) // 2)
        meaning = "hash.ok" if self._armed else "bound"
        pixmap = icon_pixmap(meaning, size=size, role=role, dpr=self.devicePixelRatioF())
        painter.drawPixmap(left, (self.height() - size) // 2, pixmap)
        painter.setFont(font)
        painter.setPen(now.color(role))
        rest = QRectF(left + size + gap, 0, self.width() - left - size - gap, self.height())
        painter.drawText(rest, int(Qt.AlignmentFlag.AlignVCenter), text)
