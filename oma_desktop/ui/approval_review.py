"""The review window (ux.md C7): never opens by itself, never modal, no default button.

It shows exactly what the hash covers and proves that it was on screen; what may be pressed and why
not is decided by `viewmodel.review` alone.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from PySide6.QtCore import QEvent, QObject, QPoint, Qt, QTimer, Signal
from PySide6.QtGui import (
    QCloseEvent,
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QResizeEvent,
    QShortcut,
    QShowEvent,
)
from PySide6.QtWidgets import QFrame, QLayout, QScrollArea, QVBoxLayout, QWidget
from typing_extensions import override

from oma_desktop.base.text import tr
from oma_desktop.ui import review_words as words
from oma_desktop.ui.icons import app_icon
from oma_desktop.ui.review_body import Body, shows_input_only
from oma_desktop.ui.review_compare import Compare
from oma_desktop.ui.review_context import Context
from oma_desktop.ui.review_facts import Facts, HashLine, covered_pairs
from oma_desktop.ui.review_footer import Footer
from oma_desktop.ui.review_header import Band, Consequences, Header
from oma_desktop.ui.review_notice import Notice
from oma_desktop.ui.review_parts import Page, Panel
from oma_desktop.ui.theme import theme, theme_host
from oma_desktop.viewmodel.approvals import RequestRow
from oma_desktop.viewmodel.offload import Offload, at_once, is_small
from oma_desktop.viewmodel.review import FINAL_BARS, Bar, Phase
from oma_desktop.viewmodel.review_model import TICK_MS, ReviewModel
from oma_desktop.viewmodel.review_paper import Beside, make_beside
from oma_desktop.viewmodel.review_report import report_of

DELIBERATE_KEYS: Final = frozenset(
    {
        Qt.Key.Key_Tab,
        Qt.Key.Key_Backtab,
        Qt.Key.Key_PageDown,
        Qt.Key.Key_PageUp,
        Qt.Key.Key_Up,
        Qt.Key.Key_Down,
        Qt.Key.Key_Home,
        Qt.Key.Key_End,
    }
)
"""Keys that nobody types into a text by accident when a window comes to the front."""


WITH_REPORT: Final = frozenset({Bar.HASH, Bar.CHECKPOINT, Bar.DAMAGED})
"""What is wrong with the request itself; the report says everything about it."""


class ReviewWindow(QWidget):
    """One request at a time, in its own window. `closed` comes when it is gone."""

    closed = Signal(object)  # the window

    def __init__(
        self,
        model: ReviewModel,
        *,
        offload: Offload = at_once,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent, Qt.WindowType.Window)
        self._offload = offload
        self._report_copied = False
        self._compared: tuple[RequestRow, RequestRow] | None = None
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowIcon(app_icon())
        self.model = model
        model.setParent(self)
        self._opened_by_user = False
        self._pointer: QPoint | None = None
        self.header, self.consequences = Header(model), Consequences()
        self.notice = Notice()
        self.covered, self.facts, self.body = Band("bound"), Facts(), Body(offload)
        self.hash, self.beside, self.context = HashLine(), Band("unbound"), Context(model)
        self.changed = Compare()
        self.footer = Footer(model, clock=model.clock)
        self._lay_out()
        self._connect()
        self._show_request()
        self.resize(theme().px(1080), theme().px(768))
        self.setMinimumSize(480, 360)

    def _lay_out(self) -> None:
        inner = Page()
        column = QVBoxLayout(inner)
        column.setSizeConstraint(QLayout.SizeConstraint.SetNoConstraint)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        self._changed_frame = QWidget()
        frame = QVBoxLayout(self._changed_frame)
        frame.setContentsMargins(20, 8, 20, 8)
        frame.addWidget(self.changed)
        for part in (
            self.consequences,
            self._changed_frame,
            self.covered,
            self.facts,
            self.body,
            self.hash,
            self.beside,
            self.context,
        ):
            column.addWidget(part)
        self._note_place = QVBoxLayout()
        column.addLayout(self._note_place)
        column.addStretch(1)
        self.scroller = QScrollArea()
        self.scroller.setWidgetResizable(True)
        self.scroller.setFrameShape(QFrame.Shape.NoFrame)
        self.scroller.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.scroller.setWidget(inner)
        self.scroller.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        top = Panel()
        head = QVBoxLayout(top)
        head.setContentsMargins(0, 0, 0, 0)
        head.setSpacing(0)
        head.addWidget(self.header)
        head.addWidget(self.notice)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.setSpacing(0)
        whole.addWidget(top)
        whole.addWidget(self.scroller, 1)
        whole.addWidget(self.footer)
        self._inner = inner

    def _connect(self) -> None:
        self.model.moved.connect(self._show_request)
        self.model.changed.connect(self._refresh)
        self.body.shown_whole.connect(self.model.content_shown)
        self.body.laid_out.connect(self._on_laid_out)
        self.body.text.typing.connect(self._on_typing)
        self.body.compare.typing.connect(self._on_typing)
        self.changed.typing.connect(self._on_typing)
        self.changed.laid_out.connect(self._on_laid_out)
        self.header.back.clicked.connect(self._on_back)
        self.header.next.clicked.connect(self._on_next)
        self.footer.not_now.connect(self.close)
        self.footer.next_wanted.connect(self._on_next)
        self.footer.start_over_wanted.connect(self.model.start_over)
        self.notice.followed.connect(self._on_notice_followed)
        QShortcut(QKeySequence("Alt+J"), self).activated.connect(self._on_next)
        QShortcut(QKeySequence("Alt+N"), self).activated.connect(self.close)
        theme_host().theme_changed.connect(self._on_theme_changed)
        self._clock_timer = QTimer(self)
        self._clock_timer.setInterval(TICK_MS)
        self._clock_timer.timeout.connect(self.model.tick)
        self._clock_timer.start()
        self._age_timer = QTimer(self)
        self._age_timer.setInterval(1000)
        self._age_timer.timeout.connect(self.header.refresh_age)
        self._age_timer.start()
        self._fit_timer = QTimer(self)
        self._fit_timer.setSingleShot(True)
        self._fit_timer.setInterval(0)
        self._fit_timer.timeout.connect(self._fit)

    # -- opening and turning to it ---------------------------------------------------------------

    def open_by_user(self) -> None:
        """Show the window because the reader asked for it just now."""
        self._opened_by_user = True
        self.show()
        self.raise_()
        self.activateWindow()

    @override
    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        handle = self.windowHandle()
        if handle is not None:
            handle.installEventFilter(self)
        self.body.take_focus()
        self._fit_timer.start()

    @override
    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() is QEvent.Type.LanguageChange:
            self._retranslate()
        if event.type() is not QEvent.Type.ActivationChange:
            return
        if not self.isActiveWindow():
            self._pointer = None
            self.model.deactivate()
        elif self._opened_by_user:
            self._opened_by_user = False
            self.model.activate()

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """A window that came to the front by itself is not read yet: wait for a deliberate act."""
        if watched is self.windowHandle() and self._is_deliberate(event):
            self.model.activate()
        return super().eventFilter(watched, event)

    def _is_deliberate(self, event: QEvent) -> bool:
        if not self.isActiveWindow():
            return False
        kind = event.type()
        if kind in {QEvent.Type.MouseButtonPress, QEvent.Type.Wheel, QEvent.Type.TouchBegin}:
            return True
        if isinstance(event, QMouseEvent) and kind is QEvent.Type.MouseMove:
            here = event.globalPosition().toPoint()
            moved = self._pointer is not None and here != self._pointer
            self._pointer = here
            return moved
        return (
            isinstance(event, QKeyEvent)
            and kind is QEvent.Type.KeyPress
            and event.key() in DELIBERATE_KEYS
        )

    # -- showing -----------------------------------------------------------------------------------

    def _show_request(self) -> None:
        self.context.forget()
        self._report_copied = False
        self._say()
        self._changed_frame.hide()
        self.body.show_request(self.model.review.shown)
        self.footer.show_request()
        self.scroller.verticalScrollBar().setValue(0)
        self.body.take_focus()
        self._refresh()

    def _say(self) -> None:
        """Set every word that does not change while a request is shown."""
        row = self.model.review.shown
        self.header.refresh()
        self.consequences.refresh(row)
        self.covered.head.setText(tr("Covered by the hash"))
        self.covered.tail.setText(tr("this is everything that the decision binds"))
        self.beside.head.setText(tr("Not covered by the hash"))
        self.beside.tail.setText(tr("context only"))
        self.facts.show_pairs(covered_pairs(row))
        self.hash.refresh(row)
        self.context.refresh()

    def _retranslate(self) -> None:
        self._say()
        self.body.retranslate()
        self.footer.retranslate()
        self._refresh()

    def _refresh(self) -> None:
        model, review = self.model, self.model.review
        place, n = model.position
        self.setWindowTitle(
            tr("Review request {place} of {n}", place=place, n=n) if place else tr("Review")
        )
        bar = review.bar("reject", model.now)
        self._refresh_notice(bar)
        self._refresh_changed(bar)
        self.header.refresh()
        self._refresh_shape(bar)
        if review.current is not None and bar in {Bar.HASH, Bar.CHECKPOINT}:
            self.hash.refresh(review.current)
        self.footer.refresh()

    def _refresh_notice(self, bar: Bar | None) -> None:
        review = self.model.review
        loud = bar is not None and bar in FINAL_BARS and bar is not Bar.DECIDED
        if not loud or bar is None:
            self.notice.clear()
            return
        link = ""
        if bar is Bar.GONE and self.model.successor is not None:
            link = tr("Review the request that took its place")
        elif bar in WITH_REPORT:
            link = tr("Report copied") if self._report_copied else tr("Copy report")
        text = words.long_reason(bar, review.current or review.shown)
        self.notice.say(
            text, level="warning" if bar in {Bar.GONE, Bar.OWNED} else "error", link=link
        )

    def _refresh_changed(self, bar: Bar | None) -> None:
        review = self.model.review
        if bar is not Bar.CHANGED or review.current is None:
            self._changed_frame.hide()
            self._compared = None
        elif self._changed_frame.isHidden():
            self._compare(review.shown, review.current)

    def _compare(self, old: RequestRow, new: RequestRow) -> None:
        self._compared = old, new
        work = partial(_work_of_comparing, old, new)
        if is_small(old.request.content, new.request.content):
            self._on_compared(work())
        else:
            self.changed.show_reading()
            self._offload(work, self._on_compared)
        self._changed_frame.show()
        self.scroller.verticalScrollBar().setValue(0)

    def _on_compared(self, done: tuple[RequestRow, RequestRow, Beside]) -> None:
        old, new, beside = done
        if self._compared is not None and (old, new) == self._compared:
            self.changed.show_values(beside, (tr("what you read"), tr("what is there now")))

    def _refresh_shape(self, bar: Bar | None) -> None:
        current = self.model.review.current
        shape = "needsyou"
        if bar is Bar.DECIDED and current is not None:
            shape = "approved" if current.request.state == "approved" else "denied"
        elif bar is Bar.GONE:
            shape = "skipped"
        self.header.shape.show_state(shape)

    def _on_typing(self, inside: bool) -> None:
        self.model.field_focus(inside=inside)
        self.model.typed()

    def _on_notice_followed(self) -> None:
        review, successor = self.model.review, self.model.successor
        bar = review.bar("reject", self.model.now)
        if bar in WITH_REPORT:
            QGuiApplication.clipboard().setText(report_of(review.current or review.shown))
            self._report_copied = True
            self._refresh()
        elif successor is not None:
            self.model.show(successor.key)

    def _on_next(self) -> None:
        self.model.go(1)

    def _on_back(self) -> None:
        self.model.go(-1)

    # -- size

    def _on_theme_changed(self) -> None:
        self._fit_timer.start()

    def _on_laid_out(self) -> None:
        self._fit_timer.start()

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_timer.start()

    def _fit(self) -> None:
        """Give the exact text the room that is left, and never more than can be seen at once."""
        self._fit_footer()
        viewport = self.scroller.viewport().height()
        others = self._inner.sizeHint().height() - self.body.sizeHint().height()
        left = viewport - others - theme().px(40)
        most = viewport - theme().px(36)
        self.body.fit(max(left, min(most, theme().px(240))))
        if not self._changed_frame.isHidden():
            wanted = self.changed.wanted_height()
            self.changed.setFixedHeight(max(min(wanted, most), self.changed.least_height()))

    def _fit_footer(self) -> None:
        """With little room the note moves into the page and the buttons below their reason."""
        now, footer = theme(), self.footer
        footer.set_compact(compact=self.width() < footer.acts_width + now.px(260))
        low = self.height() < now.px(480)
        if low and self._note_place.isEmpty():
            self._note_place.addWidget(footer.note_row)
        elif not low and not self._note_place.isEmpty():
            self._note_place.removeWidget(footer.note_row)
            footer.take_note_back()

    # -- leaving

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self._on_escape()
        else:
            super().keyPressEvent(event)

    def _on_escape(self) -> None:
        """Not now: leave the question, then the countdown, then the window; it never denies."""
        if self.footer.stop_confirming():
            return
        if self.model.review.phase is Phase.RECORDING:
            self.model.undo()
            return
        self.close()

    @override
    def closeEvent(self, event: QCloseEvent) -> None:
        self._clock_timer.stop()
        self._age_timer.stop()
        self._fit_timer.stop()
        self._compared = None
        self.body.forget()
        self.model.close()
        self.closed.emit(self)
        super().closeEvent(event)


def _work_of_comparing(old: RequestRow, new: RequestRow) -> tuple[RequestRow, RequestRow, Beside]:
    return old, new, make_beside(old, new, input_only=shows_input_only(old))
