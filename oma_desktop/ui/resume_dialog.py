"""Before a resume: what is kept, replayed, asked, run, and what may happen twice (ux.md C8).

Nothing runs until Resume is pressed; there is no default button, and Escape is "not now".
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt, QTimer, Signal
from PySide6.QtGui import QCloseEvent, QResizeEvent
from PySide6.QtWidgets import (
    QDialog,
    QFrame,
    QHBoxLayout,
    QLayout,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from oma_desktop.base.clock import Clock
from oma_desktop.base.sentences import describe
from oma_desktop.base.text import ntr, paragraph, tr
from oma_desktop.model.resume import CallItem, ResumePlan
from oma_desktop.model.view import OwnerKind, RunView, TaskState
from oma_desktop.ui import resume_words as words
from oma_desktop.ui import review_words
from oma_desktop.ui.flow import FlowLayout
from oma_desktop.ui.icons import app_icon
from oma_desktop.ui.resume_choice import ChoiceCard
from oma_desktop.ui.resume_rows import SummaryRow
from oma_desktop.ui.review_footer import KeyCap
from oma_desktop.ui.review_header import plain
from oma_desktop.ui.review_notice import Notice
from oma_desktop.ui.review_parts import Chip, ElidedText, Page, Panel, Picture, Text, make_button
from oma_desktop.ui.strip import StateStrip
from oma_desktop.ui.theme import theme
from oma_desktop.viewmodel.approvals import RequestKey
from oma_desktop.viewmodel.offload import Offload, at_once
from oma_desktop.viewmodel.resume import (
    Line,
    Obstacle,
    ResumeModel,
    Summary,
    summaries,
)
from oma_desktop.viewmodel.runs import run_name


class ResumeDialog(QDialog):
    """The resume plan of one run. `review_wanted` asks for the review of an open request."""

    review_wanted = Signal(object)  # RequestKey

    def __init__(
        self,
        model: ResumeModel,
        *,
        clock: Clock,
        offload: Offload = at_once,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._offload = offload
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowIcon(app_icon())
        self.setSizeGripEnabled(False)
        self.model = model
        model.setParent(self)
        self._clock = clock
        self.rows: list[SummaryRow] = []
        self.cards: list[ChoiceCard] = []
        self.shape = Picture(state="interrupted", size=28)
        self.name = ElidedText(use="title")
        self.stopped = Text(use="secondary", role="text.2", wrap=True)
        self.strip = StateStrip(width=232, height=8)
        self.counts = Text(use="caption", role="text.muted")
        self.counts_below = Text(use="caption", role="text.muted")
        self.checkpoint, self.journal = Chip(), Chip()
        self.notice = Notice()
        self.after = Text(use="secondary", role="text.2")
        self.why = Text(use="state", role="state.unknown.text")
        self.why_shape = Picture(state="outcome", size=16)
        self.not_now = make_button("")
        self.resume = make_button("", meaning="play")
        self._lay_out()
        self._connect()
        self._show_plan()
        self.resize(theme().px(1120), theme().px(752))
        self.setMinimumSize(480, 360)

    def _lay_out(self) -> None:
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self._head())
        column.addWidget(self.notice)
        self.scroller = QScrollArea()
        self.scroller.setWidgetResizable(True)
        self.scroller.setFrameShape(QFrame.Shape.NoFrame)
        self.scroller.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        column.addWidget(self.scroller, 1)
        column.addWidget(self._foot())

    def _head(self) -> QWidget:
        head = Panel(bottom=True)
        names = QVBoxLayout()
        names.setSpacing(4)
        names.addWidget(self.name)
        names.addWidget(self.stopped)
        right = QVBoxLayout()
        right.setSpacing(4)
        right.addWidget(self.strip, 0, Qt.AlignmentFlag.AlignRight)
        right.addWidget(self.counts, 0, Qt.AlignmentFlag.AlignRight)
        right.addStretch(1)
        top = QHBoxLayout()
        top.setSpacing(14)
        top.addWidget(self.shape, 0, Qt.AlignmentFlag.AlignTop)
        top.addLayout(names, 1)
        top.addLayout(right)
        chips = FlowLayout(spacing=8)
        chips.addWidget(self.counts_below)
        chips.addWidget(self.checkpoint)
        chips.addWidget(self.journal)
        column = QVBoxLayout(head)
        column.setContentsMargins(20, 16, 20, 16)
        column.setSpacing(12)
        column.addLayout(top)
        column.addLayout(chips)
        return head

    def _foot(self) -> QWidget:
        foot = Panel(ground="window", top=True)
        buttons = FlowLayout(spacing=12)
        buttons.addWidget(self.after)
        buttons.split()
        for part in (self.why_shape, self.why, self.not_now, self.resume):
            buttons.addWidget(part)
        self.not_now.setStyleSheet("text-align: left;")
        cap = KeyCap("Esc")
        key = QHBoxLayout(self.not_now)
        key.setContentsMargins(0, 0, 10, 0)
        key.addStretch(1)
        key.addWidget(cap, 0, Qt.AlignmentFlag.AlignVCenter)
        self._cap = cap
        column = QVBoxLayout(foot)
        column.setContentsMargins(20, 12, 20, 12)
        column.addLayout(buttons)
        return foot

    def _connect(self) -> None:
        self.model.plan_changed.connect(self._show_plan)
        self.model.changed.connect(self._refresh)
        self.not_now.clicked.connect(self.reject)
        self.resume.clicked.connect(self._on_resume)
        self._ages = QTimer(self)
        self._ages.setInterval(10_000)
        self._ages.timeout.connect(self._refresh_head)
        self._ages.start()

    # -- showing ---------------------------------------------------------------------------------

    @override
    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() is QEvent.Type.LanguageChange:
            self._show_plan()

    def _say(self) -> None:
        """Set the fixed words."""
        self.setWindowTitle(tr("Resume"))
        self.resume.setText(tr("Resume"))
        self.not_now.setText(tr("Not now"))
        width = self.not_now.fontMetrics().horizontalAdvance(self.not_now.text())
        self.not_now.setMinimumWidth(width + self._cap.sizeHint().width() + theme().px(36))

    def _show_plan(self) -> None:
        self._say()
        plan = self.model.plan
        inner = Page()
        column = QVBoxLayout(inner)
        column.setSizeConstraint(QLayout.SizeConstraint.SetNoConstraint)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        for card in self.cards:
            card.forget()
        self.rows, self.cards = [], []
        for summary in summaries(plan) if plan is not None else ():
            self._add_row(column, summary)
        cards = QVBoxLayout()
        cards.setContentsMargins(20, 12, 20, 12)
        cards.setSpacing(12)
        for item in plan.may_run_twice if plan is not None else ():
            self._add_card(cards, item)
        column.addLayout(cards)
        column.addStretch(1)
        self.scroller.setWidget(inner)
        self._refresh()

    def _add_row(self, column: QVBoxLayout, summary: Summary) -> None:
        row = SummaryRow(summary)
        row.review_wanted.connect(self._on_review)
        self.rows.append(row)
        column.addWidget(row)

    def _add_card(self, column: QVBoxLayout, item: CallItem) -> None:
        card = ChoiceCard(item, again=self.model.runs_again(item), offload=self._offload)
        card.chosen.connect(self._on_chosen)
        self.cards.append(card)
        column.addWidget(card)

    def _refresh(self) -> None:
        self._refresh_head()
        self._refresh_notice()
        obstacle = self.model.obstacle
        n = len(self.model.undecided)
        for row in self.rows:
            row.show_undecided(n if row.line is Line.MAY_RUN_TWICE else 0)
        self.resume.setEnabled(obstacle is None)
        store = self.model.store
        text = ""
        if obstacle is not None and store is not None:
            text = words.obstacle(obstacle, store.owner_of(self.model.run.key), n)
        elif obstacle is not None:
            text = tr("This run is no longer there.")
        self.why.say(text)
        self.why_shape.setVisible(obstacle is Obstacle.UNDECIDED)
        quiet = {Obstacle.NO_PLAN, Obstacle.STALE, Obstacle.SENT}
        role = "text.2" if obstacle in quiet else "danger.text"
        self.why.set_role("state.unknown.text" if obstacle is Obstacle.UNDECIDED else role)
        self.resume.setAccessibleDescription(text)
        self.resume.setToolTip(text)

    def _refresh_head(self) -> None:
        run, store, plan = self.model.view, self.model.store, self.model.plan
        if run is None or store is None:
            return
        self.name.set_whole(plain(run_name(store, run)))
        self.shape.show_state(run.state.value)
        at = run.end.at if run.end is not None and run.end.at is not None else run.saved_at
        age = review_words.age(at, self._clock.now())
        next_attempt = plan.next_attempt if plan is not None else run.attempt + 1
        elsewhere = store.owner.kind is OwnerKind.OTHER_PROCESS
        self.stopped.setText(words.stopped(run, next_attempt, age, running_elsewhere=elsewhere))
        self.strip.set_tasks([task.state for task in run.tasks])
        self.counts.setText(_counts(run))
        self.counts_below.setText(_counts(run))
        self._fit_head()
        saved = review_words.local_time(run.saved_at)
        self.checkpoint.fill(
            tr("checkpoint v{n}, {time}", n=run.version, time=saved), meaning="checkpoint"
        )
        self.journal.fill(tr("no journal: cannot tell what started"), meaning="journal")
        self.after.say(_after(plan))

    def _fit_head(self) -> None:
        """Without room for the strip its counts stand among the facts."""
        wide = self.width() >= theme().px(640)
        self.strip.setVisible(wide)
        self.counts.setVisible(wide)
        self.counts_below.setVisible(not wide)

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_head()

    def _refresh_notice(self) -> None:
        plan = self.model.plan
        problems = plan.problems if plan is not None else ()
        if not problems:
            self.notice.clear()
            return
        text = paragraph(describe(p.code, {"where": p.where, **p.facts}).whole for p in problems)
        serious = any(p.severity == "error" for p in problems)
        self.notice.say(text, level="error" if serious else "warning")

    # -- acts --------------------------------------------------------------------------------------

    def _on_chosen(self, item: CallItem, again: bool) -> None:
        self.model.choose(item, again=again)

    def _on_review(self, request_id: str) -> None:
        self.review_wanted.emit(RequestKey(self.model.run.store, request_id))

    def _on_resume(self) -> None:
        if self.model.resume():
            self.accept()

    @override
    def done(self, result: int) -> None:
        self._stop()
        super().done(result)

    @override
    def closeEvent(self, event: QCloseEvent) -> None:
        self._stop()
        super().closeEvent(event)

    def _stop(self) -> None:
        if self._ages.isActive():
            self._ages.stop()
            self.model.close()


def _counts(run: RunView) -> str:
    n, done = len(run.tasks), run.n_done
    unknown = sum(task.state is TaskState.UNKNOWN for task in run.tasks)
    if unknown:
        return tr("{done} of {n} done, {unknown} unknown", done=done, n=n, unknown=unknown)
    return tr("{done} of {n} done", done=done, n=n)


def _after(plan: ResumePlan | None) -> str:
    if plan is None:
        return ""
    left = {item.task_id for item in (*plan.asked, *plan.will_run, *plan.tasks_run_again)}
    left |= {item.task_id for item in (*plan.may_run_twice, *plan.calls_will_run, *plan.denied)}
    left |= {item.task_id for item in plan.replayed}
    return ntr("After resume: {n} task left", "After resume: {n} tasks left", len(left))
