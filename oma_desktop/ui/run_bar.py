"""The run bar: which run, who writes it, how far it is, and the verbs (look.md 7: 44 high)."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QAction, QResizeEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QWidget
from typing_extensions import override

from oma_desktop.base.text import ntr, tr
from oma_desktop.model.view import OwnerKind, RunState
from oma_desktop.ui import icons, words
from oma_desktop.ui.actions import Actions, plain
from oma_desktop.ui.badges import Chip
from oma_desktop.ui.labels import Label, dress
from oma_desktop.ui.language import Retranslated
from oma_desktop.ui.strip import StateStrip
from oma_desktop.ui.theme import theme, theme_host
from oma_desktop.viewmodel.feed import Feed, LiveRun
from oma_desktop.viewmodel.runs import RunRow, run_row
from oma_desktop.viewmodel.selection import Selection
from oma_desktop.viewmodel.verbs import Verbs, Why, verbs_for

_OWNER_ICONS = {
    OwnerKind.THIS_APP: "this.app",
    OwnerKind.OTHER_PROCESS: "other.process",
    OwnerKind.NO_WRITER: "no.writer",
    OwnerKind.NOT_KNOWN: "not.known",
}
# Reasons worth a line beside the buttons; the others are plain from the state word
_SPOKEN = (Why.OTHER_WRITER, Why.UNREADABLE, Why.SUSPENDING)

_MAX_NAME = 280
# What the bar gives up when it is narrow, first to last
_GIVE_UP = (
    frozenset({"reason"}),
    frozenset({"attempt"}),
    frozenset({"strip"}),
    frozenset({"words"}),
    frozenset({"owner"}),
    frozenset({"progress"}),
)


class ActionButton(QPushButton):
    """A button that shows an action: its text, icon, state and reason."""

    def __init__(self, action: QAction, icon: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._action = action
        self._icon = icon
        self._short = False
        dress(self, "name")
        self.clicked.connect(action.trigger)
        action.changed.connect(self.refresh)
        theme_host().theme_changed.connect(self.refresh)
        self.refresh()

    def set_kind(self, kind: str) -> None:
        """Make the button primary or secondary."""
        if self.property("kind") != kind:
            self.setProperty("kind", kind)
            self.style().unpolish(self)
            self.style().polish(self)
            self.refresh()

    def set_short(self, *, short: bool) -> None:
        """Show only the icon where there is no room; name and tooltip stay."""
        if short != self._short:
            self._short = short
            self.refresh()

    def refresh(self) -> None:
        """Follow the action."""
        text = plain(self._action.text())
        reason = "" if self._action.isEnabled() else self._action.toolTip()
        self.setText("" if self._short else text)
        self.setEnabled(self._action.isEnabled())
        self.setToolTip(reason or self._action.toolTip())
        self.setAccessibleName(text)
        self.setAccessibleDescription(reason)
        role = "on.accent" if self.property("kind") == "primary" else "text"
        self.setIcon(icons.icon(self._icon, role))


class RunBar(Retranslated):
    """One line about the selected run. Shows only what the feed says; a press edits nothing."""

    needs_you_pressed = Signal()

    def __init__(
        self,
        feed: Feed,
        selection: Selection,
        actions: Actions,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._feed = feed
        self._selection = selection
        self._actions = actions
        self._n_waiting = 0

        self._shape = QLabel()
        self._name = Label("heading")
        self._attempt = Label("secondary", "text.muted")
        self._owner = Chip()
        self._strip = StateStrip()
        self._progress = Label("secondary", "text.2", figures=True)
        self._needs_you = NeedsYouChip()
        self._reason = Label("secondary", "text.muted")
        self._nothing = Label("body", "text.muted")
        self.suspend = ActionButton(actions["suspend"], "suspend")
        self.cancel = ActionButton(actions["cancel"], "cancel")
        self._line = QFrame()
        self._line.setProperty("role", "line")
        self.restore = ActionButton(actions["restore"], "restore")
        self.open = ActionButton(actions["open_folder"], "open")
        self.new = ActionButton(actions["new"], "new")
        self._run_parts = (
            self._shape,
            self._name,
            self._attempt,
            self._owner,
            self._strip,
            self._progress,
            self.suspend,
            self.cancel,
            self._line,
            self.restore,
        )

        self._buttons = (self.suspend, self.cancel, self.restore, self.open, self.new)
        self._row = row = QHBoxLayout(self)
        row.setContentsMargins(12, 0, 12, 0)
        row.setSpacing(8)
        row.addWidget(self._nothing)
        row.addWidget(self._shape)
        row.addSpacing(2)
        row.addWidget(self._name)
        row.addSpacing(6)
        row.addWidget(self._attempt)
        row.addSpacing(4)
        row.addWidget(self._owner)
        row.addSpacing(8)
        row.addWidget(self._strip)
        row.addWidget(self._progress)
        row.addSpacing(8)
        row.addWidget(self._needs_you)
        row.addStretch(1)
        row.addWidget(self._reason)
        for button in (self.suspend, self.cancel, self._line, self.restore, self.open, self.new):
            row.addWidget(button)

        self._needs_you.pressed.connect(self.needs_you_pressed)
        feed.changed.connect(self._on_feed_changed)
        feed.live_changed.connect(self.refresh)
        selection.run_changed.connect(self.refresh)
        theme_host().theme_changed.connect(self.restyle)
        self.restyle()

    def refresh(self) -> None:
        """Show the selected run as the feed has it now."""
        ref = self._selection.run
        run = self._feed.run(ref) if ref is not None else None
        store = self._feed.store(ref.store) if ref is not None else None
        verbs = verbs_for(self._feed, ref)
        self._actions.apply(verbs)
        shown = run is not None and store is not None
        for part in self._run_parts:
            part.setVisible(shown)
        self._nothing.setVisible(not shown)
        self.open.setVisible(not shown)
        self._needs_you.set_count(0)
        self._reason.clear()
        self.new.set_kind("secondary" if self._has_waiting() or not shown else "primary")
        if ref is None or run is None or store is None:
            return
        live = self._feed.live(ref)
        row = run_row(store, run, suspending=live is not None and live.suspending)
        size = theme().px(20)
        ratio = self.devicePixelRatioF()
        self._shape.setPixmap(icons.state_pixmap(row.state.value, size, dpr=ratio))
        self._shape.setToolTip(words.run_word(row.state))
        self._shape.setAccessibleName(words.run_word(row.state))
        metrics = self._name.fontMetrics()
        room = theme().px(_MAX_NAME)
        self._name.setText(metrics.elidedText(row.name, Qt.TextElideMode.ElideRight, room))
        self._name.setToolTip("\n".join(p for p in (row.name, run.goal, store.path) if p))
        self._attempt.setText(tr("attempt {n}", n=run.attempt))
        self._show_owner()
        self._strip.set_tasks(row.tasks)
        self._progress.setText(_progress_text(row, answering=_is_answering(live)))
        self._needs_you.set_count(row.n_waiting)
        self._show_reason(verbs)
        self._fit()

    def _show_reason(self, verbs: Verbs) -> None:
        reasons = [w for w in (verbs.suspend, verbs.restore) if w in _SPOKEN]
        self._reason.setText(words.why_sentence(reasons[0]) if reasons else "")

    @override
    def minimumSizeHint(self) -> QSize:
        return QSize(theme().px(300), theme().px(44))

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """Give up parts, the least needed first, until the rest fits (ux.md C18: 200 %)."""
        shown = not self._nothing.isVisibleTo(self)
        for level in range(len(_GIVE_UP) + 1):
            gone = frozenset[str]().union(*_GIVE_UP[:level])
            self._attempt.setVisible(shown and "attempt" not in gone)
            self._strip.setVisible(shown and "strip" not in gone)
            self._owner.setVisible(shown and "owner" not in gone)
            self._progress.setVisible(shown and "progress" not in gone)
            self._reason.setVisible("reason" not in gone and bool(self._reason.text()))
            for button in self._buttons:
                button.set_short(short="words" in gone)
            if self._row.minimumSize().width() <= self.width():
                return

    def _show_owner(self) -> None:
        ref = self._selection.run
        store = self._feed.store(ref.store) if ref is not None else None
        if store is None or ref is None:
            return
        owner = store.owner_of(ref.key)
        dashed = owner.kind in (OwnerKind.NO_WRITER, OwnerKind.NOT_KNOWN)
        self._owner.show_fact(
            words.owner_word(owner),
            icon=_OWNER_ICONS[owner.kind],
            kind="dashed" if dashed else "plain",
            sentence=words.owner_sentence(owner),
        )

    def _has_waiting(self) -> bool:
        return any(r.n_open_approvals for s in self._feed.stores() for r in s.runs)

    @override
    def retranslate(self) -> None:
        self._nothing.setText(tr("No run is open"))
        self.setAccessibleName(tr("Run bar"))
        self.refresh()

    def restyle(self) -> None:
        """Follow the theme."""
        look = theme()
        self.setFixedHeight(look.px(44))
        self._line.setFixedSize(1, look.px(20))
        self.retranslate()

    def _on_feed_changed(self, paths: frozenset[str]) -> None:
        ref = self._selection.run
        if ref is None or ref.store in paths or self._has_waiting() != bool(self._n_waiting):
            self._n_waiting = int(self._has_waiting())
            self.refresh()


def _is_answering(live: LiveRun | None) -> bool:
    return live is not None and live.answering_since is not None


def _progress_text(row: RunRow, *, answering: bool) -> str:
    """How far the run is; what the coordinator does at either end is said in words."""
    if not row.tasks and row.state is RunState.RUNNING:
        return tr("the plan is being made")
    if answering:
        return tr("{n} done, the answer is being made", n=row.n_done)
    return tr("{done} of {total} done", done=row.n_done, total=len(row.tasks))


class NeedsYouChip(QPushButton):
    """The chip that leads to what waits; a button, so that the keyboard reaches it."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._n = 0
        self.setProperty("kind", "needsyou")
        dress(self, "secondary.strong")
        self.hide()
        theme_host().theme_changed.connect(self._on_theme_changed)
        self._on_theme_changed()

    def set_count(self, n: int) -> None:
        """Show how many decisions of this run wait; zero hides the chip."""
        self._n = n
        self.setVisible(n > 0)
        self.setText(ntr("{n} needs you", "{n} need you", n))
        self.setAccessibleName(ntr("{n} decision waits for you", "{n} decisions wait for you", n))
        self.setToolTip(self.accessibleName())

    def _on_theme_changed(self) -> None:
        look = theme()
        self.setIcon(icons.state_icon("needsyou", look.px(14), self.devicePixelRatioF()))
