"""The review window's model: walks the open requests, keeps the machine fed, sends decisions."""

from __future__ import annotations

from typing import Protocol

from PySide6.QtCore import QObject, Signal

from oma_desktop.base.clock import Clock
from oma_desktop.model.view import ConversationView, MessageView, RunRef
from oma_desktop.viewmodel.approvals import Group, Inbox, RequestKey, RequestRow
from oma_desktop.viewmodel.commands import Commands
from oma_desktop.viewmodel.feed import DecisionOutcome, Feed
from oma_desktop.viewmodel.review import UNDO_S, Docket, Review, Reviewer, Verdict

N_MESSAGES = 3
TICK_MS = 100
"""How often a window must call `ReviewModel.tick`."""


class Notes(Protocol):
    """The reviewer's own notes, kept in the app and never in a run."""

    def note(self, key: RequestKey) -> str:
        """Return the note of a request, or an empty text."""
        ...

    def set_note(self, key: RequestKey, text: str) -> None:
        """Keep the note of a request."""
        ...


class SessionNotes:
    """Notes that live as long as the program."""

    def __init__(self) -> None:
        self._notes: dict[RequestKey, str] = {}

    def note(self, key: RequestKey) -> str:
        """Return the note of a request, or an empty text."""
        return self._notes.get(key, "")

    def set_note(self, key: RequestKey, text: str) -> None:
        """Keep the note of a request."""
        self._notes[key] = text


class ReviewModel(QObject):
    """One review window's state.

    `moved` says that another request is shown (or the same one anew): views start from the top.
    `changed` says that buttons, reasons or counters may look different.
    """

    moved = Signal()
    changed = Signal()
    messages_read = Signal()

    def __init__(
        self,
        key: RequestKey,
        *,
        feed: Feed,
        inbox: Inbox,
        commands: Commands,
        clock: Clock,
        docket: Docket,
        reviewer: Reviewer,
        notes: Notes,
        undo_s: float = UNDO_S,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        row = inbox.row(key)
        if row is None:
            raise LookupError(key)
        self.reviewer = reviewer
        self._feed = feed
        self._inbox = inbox
        self._commands = commands
        self._clock = clock
        self._docket = docket
        self._notes = notes
        self._undo_s = min(max(undo_s, 0.0), 30.0)
        self.review = self._begin(row)
        self._last_face: tuple[object, ...] = ()
        self._messages: tuple[MessageView, ...] | None = None
        inbox.changed.connect(self._on_inbox_changed)
        feed.decided.connect(self._on_feed_decided)
        feed.conversation_loaded.connect(self._on_feed_conversation_loaded)

    def _begin(self, row: RequestRow) -> Review:
        return Review(
            row,
            docket=self._docket,
            reviewer=self.reviewer,
            now=self._clock.monotonic(),
            undo_s=self._undo_s,
        )

    # -- where we are ----------------------------------------------------------------------------

    @property
    def now(self) -> float:
        """Monotonic seconds, as all rules count them."""
        return self._clock.monotonic()

    @property
    def clock(self) -> Clock:
        """For ages on screen."""
        return self._clock

    @property
    def position(self) -> tuple[int, int]:
        """Return place and number of open requests; place 0 when this one is not among them."""
        keys = self._inbox.open_keys()
        key = self.review.shown.key
        return (keys.index(key) + 1 if key in keys else 0), len(keys)

    def neighbour(self, step: int) -> RequestKey | None:
        """Return the next (1) or previous (-1) open request, or None at the end."""
        keys = self._inbox.open_keys()
        place = self.position[0]
        index = place - 1 + step if place else (0 if step > 0 else len(keys) - 1)
        return keys[index] if 0 <= index < len(keys) else None

    def go(self, step: int) -> bool:
        """Show the next or previous open request; a press that is not sent yet is taken back."""
        key = self.neighbour(step)
        return key is not None and self.show(key)

    def show(self, key: RequestKey) -> bool:
        """Show one request from its beginning; arming starts over."""
        row = self._inbox.row(key)
        if row is None:
            return False
        self.review.leave()
        self.review = self._begin(row)
        self._messages = None
        self.moved.emit()
        self._announce()
        return True

    @property
    def successor(self) -> RequestRow | None:
        """The open request that took the place of one that is no longer open, if there is one."""
        shown = self.review.shown
        return next(
            (
                row
                for row in self._inbox.rows()
                if row.group in {Group.NEEDS_YOU, Group.NOT_HERE}
                and row.key.store == shown.key.store
                and row.key != shown.key
                and row.request.run_id == shown.request.run_id
                and row.request.scope == shown.request.scope
                and row.request.boundary == shown.request.boundary
            ),
            None,
        )

    @property
    def similar_rows(self) -> tuple[RequestRow, ...]:
        """The decided requests of this tool (or kind), newest first."""
        shown = self.review.shown.request
        return tuple(
            row
            for row in self._inbox.rows()
            if row.group is Group.DECIDED
            and row.request.scope == shown.scope
            and row.request.tool == shown.tool
        )

    @property
    def similar(self) -> tuple[int, int]:
        """How many of them were approved and rejected."""
        states = [row.request.state for row in self.similar_rows]
        return states.count("approved"), states.count("rejected")

    # -- what was said before ----------------------------------------------------------------------

    @property
    def can_read_messages(self) -> bool:
        """Whether a conversation belongs to this request."""
        shown = self.review.shown
        return shown.run is not None and shown.request.task_id is not None

    @property
    def messages(self) -> tuple[MessageView, ...] | None:
        """The last messages before the request, or None as long as they were not read."""
        return self._messages

    def read_messages(self) -> None:
        """Ask for them; `messages_read` comes when they are there."""
        shown = self.review.shown
        if shown.run is not None and shown.request.task_id is not None:
            ref = RunRef(shown.key.store, shown.run.key)
            self._commands.load_conversation(ref, shown.request.task_id)

    def _on_feed_conversation_loaded(self, loaded: tuple[RunRef, ConversationView]) -> None:
        ref, view = loaded
        shown = self.review.shown
        run = shown.run
        mine = run is not None and ref == RunRef(shown.key.store, run.key)
        if mine and view.task_id == shown.request.task_id:
            self._messages = view.messages[-N_MESSAGES:]
            self.messages_read.emit()

    # -- what the window reports -----------------------------------------------------------------

    def activate(self) -> None:
        self.review.activated(self.now)
        self._announce()

    def deactivate(self) -> None:
        self.review.deactivated()
        self._announce()

    def content_shown(self) -> None:
        self.review.content_shown()
        self._announce()

    def field_focus(self, *, inside: bool) -> None:
        self.review.field_focus(inside=inside)
        self._announce()

    def typed(self) -> None:
        self.review.typed(self.now)
        self._announce()

    def settle(self) -> None:
        """Something moved under the pointer: the next press must wait again."""
        self.review.settle(self.now)
        self._announce()

    def set_code(self, text: str) -> None:
        self.review.code = text
        self._announce()

    @property
    def note(self) -> str:
        """The reviewer's note on this request."""
        return self._notes.note(self.review.shown.key)

    def set_note(self, text: str) -> None:
        self._notes.set_note(self.review.shown.key, text)

    # -- acts ------------------------------------------------------------------------------------

    def press(self, verdict: Verdict, *, held: bool = False) -> bool:
        """Begin to record; the file is looked at again meanwhile."""
        pressed = self.review.press(verdict, self.now, held=held)
        if pressed:
            self._commands.look_again()
            self.tick()
        return pressed

    def undo(self) -> None:
        self.review.undo(self.now)
        self._announce()

    def start_over(self) -> None:
        self.review.start_over(self.now)
        self.moved.emit()
        self._announce()

    def close(self) -> None:
        """Stop listening; nothing that is not sent yet will be."""
        self.review.leave()
        self._inbox.changed.disconnect(self._on_inbox_changed)
        self._feed.decided.disconnect(self._on_feed_decided)
        self._feed.conversation_loaded.disconnect(self._on_feed_conversation_loaded)

    def tick(self) -> None:
        """Look at the clock: send what is due, let the window show reasons and seconds."""
        intent = self.review.tick(self.now)
        if intent is not None:
            self._commands.decide(intent)
        if self._face() != self._last_face:
            self._announce()

    def _announce(self) -> None:
        self._last_face = self._face()
        self.changed.emit()

    def _face(self) -> tuple[object, ...]:
        """What can change with time alone."""
        review, now = self.review, self.now
        bars = review.bar("approve", now), review.bar("reject", now)
        return (*bars, review.phase, round(review.remaining(now), 1))

    def _on_inbox_changed(self) -> None:
        self.review.observe(self._inbox.row(self.review.shown.key), self.now)
        self._announce()

    def _on_feed_decided(self, outcome: DecisionOutcome) -> None:
        if outcome.store == self.review.shown.key.store:
            self.review.outcome(outcome, self.now)
            self._announce()
