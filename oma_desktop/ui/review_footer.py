"""Bottom of the review window: note, reject, not now, approve, and the seconds to take it back."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import (
    QBoxLayout,
    QHBoxLayout,
    QLineEdit,
    QSizePolicy,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from oma_desktop.base.clock import Clock
from oma_desktop.base.sentences import describe
from oma_desktop.base.text import tr
from oma_desktop.ui import review_words as words
from oma_desktop.ui.flow import FlowLayout
from oma_desktop.ui.hold_button import WIDTH, HoldButton
from oma_desktop.ui.review_header import plain
from oma_desktop.ui.review_parts import RADIUS, Chip, Panel, Picture, Text, make_button
from oma_desktop.ui.theme import theme
from oma_desktop.viewmodel.review import CODE_LENGTH, Bar, Phase, Verdict, needs_hold
from oma_desktop.viewmodel.review_model import ReviewModel


class Footer(Panel):
    """Shows what may be done and why not; every act goes through the model."""

    not_now = Signal()
    next_wanted = Signal()
    start_over_wanted = Signal()

    def __init__(self, model: ReviewModel, *, clock: Clock) -> None:
        super().__init__(ground="window", top=True)
        self._model = model
        self._confirming = False
        self.note = QLineEdit()
        self.who = Chip()
        self.reject = make_button("", kind="danger", meaning="clear", role="danger.text")
        self.hint = Text(use="secondary", role="text.2", wrap=True)
        self.hint_shape = Picture(state="approved", size=16)
        self.code = QLineEdit()
        self.code.setMaxLength(CODE_LENGTH)
        self.close_button = make_button("")
        self.close_button.setStyleSheet("text-align: left;")
        self.esc = KeyCap("Esc")
        self.approve = HoldButton(clock=clock)
        self.recording = Recording()
        self.next = make_button("")
        self.restart = make_button("")
        self.back = make_button("")
        self.really = make_button("", kind="dangerfill")
        self._lay_out()
        self.retranslate()
        self._connect()

    def _lay_out(self) -> None:
        self.note_row = QWidget()
        first = QHBoxLayout(self.note_row)
        first.setContentsMargins(20, 0, 20, 0)
        first.setSpacing(12)
        self._note_label = Text(use="secondary", role="text.muted")
        self._note_label.setMinimumWidth(theme().px(60))
        self._who_label = Text(use="secondary", role="text.muted")
        first.addWidget(self._note_label)
        first.addWidget(self.note, 1)
        first.addWidget(self._who_label)
        first.addWidget(self.who)
        self.last = QStackedWidget()
        self.last.addWidget(self.approve)
        self.last.addWidget(self.recording)
        left = QHBoxLayout()
        left.setSpacing(12)
        left.addWidget(self.reject)
        left.addWidget(self.hint_shape)
        left.addWidget(self.hint, 1)
        acts = FlowLayout(spacing=12)
        acts.split()
        for part in (
            self.code,
            self.back,
            self.really,
            self.close_button,
            self.restart,
            self.next,
            self.last,
        ):
            acts.addWidget(part)
        self._acts = QWidget()
        self._acts.setLayout(acts)
        acts.setContentsMargins(0, 0, 0, 0)
        self._second = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._second.setContentsMargins(20, 0, 20, 0)
        self._second.setSpacing(12)
        self._second.addLayout(left, 1)
        self._second.addWidget(self._acts)
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 12, 0, 12)
        self._column.setSpacing(12)
        self._column.addWidget(self.note_row)
        self._column.addLayout(self._second)
        key = QHBoxLayout(self.close_button)
        key.setContentsMargins(0, 0, 10, 0)
        key.addStretch(1)
        key.addWidget(self.esc, 0, Qt.AlignmentFlag.AlignVCenter)
        self.code.setFixedWidth(theme().px(96))

    def set_compact(self, *, compact: bool) -> None:
        """With little room: buttons below the hint, and the note is the window's to place."""
        way = QBoxLayout.Direction
        wanted = way.TopToBottom if compact else way.LeftToRight
        if self._second.direction() is not wanted:
            self._second.setDirection(wanted)
        self.approve.is_narrow = compact
        self._fit_last()

    def _fit_last(self) -> None:
        size = self.approve.sizeHint().expandedTo(self.recording.minimumSizeHint())
        self.last.setFixedSize(size.width(), theme().height("button"))

    def take_note_back(self) -> None:
        """Put the note row into its usual place."""
        self._column.insertWidget(0, self.note_row)

    @property
    def acts_width(self) -> int:
        """Width the buttons would like to have in one line."""
        return self._acts.sizeHint().width() + self.reject.sizeHint().width()

    def _connect(self) -> None:
        self.note.textEdited.connect(self._on_note_edited)
        self.code.textEdited.connect(self._on_code_edited)
        for field in (self.note, self.code):
            field.installEventFilter(self)
        self.reject.clicked.connect(self._on_reject)
        self.back.clicked.connect(self._on_back)
        self.really.clicked.connect(self._on_really)
        self.close_button.clicked.connect(self.not_now)
        self.next.clicked.connect(self.next_wanted)
        self.restart.clicked.connect(self.start_over_wanted)
        self.approve.held.connect(self._on_held)
        self.approve.pressed_once.connect(self._on_pressed_once)
        self.recording.undo.clicked.connect(self._model.undo)

    @override
    def _on_theme_changed(self) -> None:
        super()._on_theme_changed()
        self.code.setFixedWidth(theme().px(96))
        self.refresh()

    def retranslate(self) -> None:
        """Set the fixed words."""
        self.note.setPlaceholderText(tr("Kept in this app, not in the run"))
        self.note.setAccessibleName(tr("My note"))
        self._note_label.setText(tr("My note"))
        self._who_label.setText(tr("you decide as"))
        self.code.setPlaceholderText(tr("code"))
        self.next.setText(tr("Next request"))
        self.restart.setText(tr("Start over with the new content"))
        self.back.setText(tr("Keep it open"))
        self.recording.undo.setText(tr("Undo"))

    # -- acts ------------------------------------------------------------------------------------

    def _on_note_edited(self, text: str) -> None:
        self._model.set_note(text)
        self._model.typed()

    def _on_code_edited(self, text: str) -> None:
        self._model.set_code(text)

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self.note:
            if event.type() is QEvent.Type.FocusIn:
                self._model.field_focus(inside=True)
            elif event.type() is QEvent.Type.FocusOut:
                self._model.field_focus(inside=False)
        if event.type() is QEvent.Type.KeyPress:
            self._model.typed()
        return super().eventFilter(watched, event)

    def _on_reject(self) -> None:
        if self._may_ask(self._model.review.bar("reject", self._model.now)):
            self._confirming = True
            self._model.settle()
            self.back.setFocus(Qt.FocusReason.OtherFocusReason)

    def _may_ask(self, bar: Bar | None) -> bool:
        """The question before a rejection decides nothing: a field or a moment does not bar it.

        A button that is off while the field before it has the focus is one that Tab never finds.
        """
        return bar in {None, Bar.TYPING, Bar.TOO_SOON}

    def _on_back(self) -> None:
        self.stop_confirming()

    def stop_confirming(self) -> bool:
        """Leave the question about rejecting; false when it was not asked."""
        was = self._confirming
        self._confirming = False
        self.refresh()
        return was

    def _on_really(self) -> None:
        if self._model.press("reject"):
            self._confirming = False
        self.refresh()

    def _on_held(self) -> None:
        self._model.press("approve", held=True)

    def _on_pressed_once(self) -> None:
        self._model.press("approve")

    # -- showing ---------------------------------------------------------------------------------

    def show_request(self) -> None:
        """Show another request: its note, no code, no question."""
        self._confirming = False
        self.note.setText(self._model.note)
        self.code.clear()
        self.refresh()

    def refresh(self) -> None:
        """Show what may be done now."""
        model, review, now = self._model, self._model.review, self._model.now
        approve, reject = review.bar("approve", now), review.bar("reject", now)
        if self._confirming and not self._may_ask(reject):
            self._confirming = False
        self.who.fill(plain(model.reviewer.id) or tr("nobody"), meaning="person")
        recording = review.phase is not Phase.READING
        over = approve in {Bar.DECIDED, Bar.GONE}
        asking = self._confirming
        self.reject.setText(words.reject_label(review.shown))
        self.reject.setVisible(not over and not asking and not recording)
        self.reject.setEnabled(self._may_ask(reject))
        self.back.setVisible(asking)
        self.really.setVisible(asking)
        self.really.setEnabled(reject is None)
        self.really.setText(words.reject_label(review.shown).rstrip("…"))
        self.close_button.setVisible(not asking)
        self.close_button.setText(tr("Close") if over else tr("Not now"))
        self.close_button.setMinimumWidth(
            self.close_button.fontMetrics().horizontalAdvance(self.close_button.text())
            + self.esc.sizeHint().width()
            + theme().px(36)
        )
        self.next.setVisible(over and model.neighbour(1) is not None)
        self.restart.setVisible(approve is Bar.CHANGED)
        self.last.setVisible(not over and not asking and approve is not Bar.CHANGED)
        self.last.setCurrentWidget(self.recording if recording else self.approve)
        self._refresh_approve(approve)
        self.recording.show_seconds(
            review.verdict, review.phase, review.remaining(now), review.undo_s
        )
        self._refresh_hint(approve, reject)

    def _refresh_approve(self, bar: Bar | None) -> None:
        review = self._model.review
        hold = needs_hold(review.shown)
        plainly = not hold or review.code_matches
        self.approve.set_state(
            armed=bar is None,
            reason=words.short_reason(bar) if bar is not None else "",
            label=tr("Approve") if plainly else tr("Hold to approve"),
            needs_hold=not plainly,
        )
        self.code.setVisible(
            hold
            and not self._confirming
            and review.phase is Phase.READING
            and bar not in {Bar.DECIDED, Bar.GONE, Bar.CHANGED}
        )
        self.code.setToolTip(
            tr(
                "Instead of holding: type the first four characters of the hash, then press"
                " Approve."
            )
        )
        self.code.setAccessibleName(
            tr("Code: the first four characters of the hash, instead of holding the button")
        )
        self._fit_last()

    def _refresh_hint(self, approve: Bar | None, reject: Bar | None) -> None:
        review = self._model.review
        text, role, shape = self._hint(approve, reject)
        if review.failure is not None and approve not in {Bar.DECIDED, Bar.GONE}:
            text = describe(review.failure.code, review.failure.facts).whole
            role, shape = "danger.text", ""
        self.hint.setText(text)
        self.hint.set_role(role)
        self.hint_shape.setVisible(bool(shape))
        if shape:
            self.hint_shape.show_state(shape)

    def _hint(self, approve: Bar | None, reject: Bar | None) -> tuple[str, str, str]:
        review = self._model.review
        current = review.current
        if self._confirming:
            return words.if_rejected(review.shown), "text", ""
        if approve is Bar.DECIDED and current is not None:
            shape = "approved" if current.request.state == "approved" else "denied"
            return words.verdict_sentence(current.request), "text", shape
        if review.phase is Phase.SENT:
            return tr("Sent. Waiting until the file shows it."), "text.2", ""
        if review.phase is Phase.RECORDING:
            return tr("Closing this window now records nothing."), "text.2", ""
        if approve is None:
            return (
                tr("Enter and Space do nothing until you move to a button with Tab."),
                "text.2",
                "",
            )
        soft = {Bar.NOT_SHOWN, Bar.TOO_SOON, Bar.TYPING, Bar.NOT_ACTIVATED}
        role = "text.2" if approve in soft else "danger.text"
        return words.long_reason(approve, current or review.shown), role, ""


class Recording(QWidget):
    """ "Recording in 5 s" with a bar below and Undo at its right end (look.md 7)."""

    def __init__(self) -> None:
        super().__init__()
        self.text = Text(use="body")
        self.undo = make_button("")
        self.undo.setStyleSheet("min-height: 18px; max-height: 18px; padding: 0 8px;")
        self._full = 0.0
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 0, 6, 2)
        row.addWidget(self.text, 1)
        row.addWidget(self.undo)

    def show_seconds(
        self, verdict: Verdict | None, phase: Phase, remaining: float, whole: float
    ) -> None:
        """Show how long the press can still be taken back."""
        self._full = remaining / whole if whole > 0 else 0.0
        self.undo.setVisible(phase is Phase.RECORDING)
        seconds = max(1, -int(-remaining // 1))
        if phase is Phase.SENT:
            self.text.setText(tr("Recording…"))
        elif verdict == "reject":
            self.text.setText(tr("Rejecting in {n} s", n=seconds))
        else:
            self.text.setText(tr("Approving in {n} s", n=seconds))
        self.update()

    @override
    def sizeHint(self) -> QSize:
        return QSize(theme().px(WIDTH), theme().height("button"))

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        now, painter = theme(), QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setBrush(now.color("surface"))
        painter.setPen(QPen(now.color("border.strong"), 1))
        area = QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5)
        painter.drawRoundedRect(area, RADIUS, RADIUS)
        width = int(self.width() * self._full)
        painter.fillRect(0, self.height() - 2, width, 2, now.color("accent"))
        painter.end()


class KeyCap(QWidget):
    """A key cap on a button."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._text = Text(name, use="caption", role="text.muted")
        row = QHBoxLayout(self)
        row.setContentsMargins(5, 1, 5, 1)
        row.addWidget(self._text)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        now, painter = theme(), QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setBrush(now.color("window"))
        painter.setPen(QPen(now.color("border"), 1))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), 3, 3)
        painter.end()
