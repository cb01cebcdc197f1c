"""The messages of the selected task, folded to what fits on a screen (ux.md C5 Conversation).

Asks for a conversation when the selection or the file moves; what an embedded run streams is kept
apart as a draft until the file holds it (ux.md C2: drawn lighter until the checkpoint confirms).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from PySide6.QtCore import QObject, Signal

from oma_desktop.model.conversation import ANSWER, COORDINATOR
from oma_desktop.model.view import (
    BlockKind,
    BlockView,
    CallState,
    ConversationView,
    MessageView,
    RunRef,
    RunView,
    TaskView,
)
from oma_desktop.viewmodel.commands import Commands
from oma_desktop.viewmodel.feed import Feed, LiveActivity
from oma_desktop.viewmodel.selection import Selection

FOLD_LINES: Final = 40
WINDOW: Final = 500
"""So many messages are smooth on a page (ux.md D2); earlier ones come when asked for."""
_MAX_LINE: Final = 2_000
_MAX_DRAFT: Final = 24_000
"""Of text that streams, the end is drawn, thirty times a second; saved text is shown whole."""

Situation = Literal["nothing_selected", "loading", "empty", "shown"]


@dataclass(frozen=True, slots=True)
class Part:
    """One block, cut to what is shown. `n_hidden` lines are folded away; `cut` means the rest was
    not even read (`size` bytes in all). Call parts carry tool, id and commit state.
    """

    kind: BlockKind
    text: str
    size: int
    n_hidden: int = 0
    cut: bool = False
    tool: str | None = None
    call_id: str | None = None
    call_state: CallState | None = None
    is_error: bool = False
    media_type: str | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """One message. `number` counts from 0 and names it for unfolding."""

    number: int
    role: str
    turn: int
    parts: tuple[Part, ...]
    saved: bool = True


def entries(
    conversation: ConversationView, *, unfolded: frozenset[int], first: int = 0
) -> tuple[Entry, ...]:
    """Return the messages from number `first` on, long text folded except in `unfolded` ones."""
    return tuple(
        entry(number, message, folded=number not in unfolded)
        for number, message in enumerate(conversation.messages[first:], start=first)
    )


def entry(number: int, message: MessageView, *, folded: bool) -> Entry:
    """Return one message; text and tool output over 40 lines fold, counts stay."""
    return Entry(
        number=number,
        role=message.role,
        turn=message.turn,
        parts=tuple(part(block, folded=folded) for block in message.blocks),
        saved=message.saved,
    )


def part(block: BlockView, *, folded: bool) -> Part:
    """Return one block: text folds after 40 lines, calls become one line."""
    if block.kind == "tool_use":
        text, n_hidden = " ".join(block.text.split())[:_MAX_LINE], 0
    else:
        text, n_hidden = fold(block.text) if folded else (block.text, 0)
    return Part(
        kind=block.kind,
        text=text,
        size=block.size,
        n_hidden=n_hidden,
        cut=block.truncated,
        tool=block.tool,
        call_id=block.call_id,
        call_state=block.call_state,
        is_error=block.is_error,
        media_type=block.media_type,
    )


def fold(text: str, *, lines: int = FOLD_LINES) -> tuple[str, int]:
    """Return the first lines of a text and how many are hidden; very long lines count as several.

    One hidden line is not worth a fold: up to `lines` + 1 lines stay whole.
    """
    pieces = text.split("\n")
    room = lines * _MAX_LINE // 20
    if len(pieces) <= lines + 1 and len(text) <= room:
        return text, 0
    shown = "\n".join(pieces[:lines])[:room]
    return shown, max(1, len(pieces) - shown.count("\n") - 1)


@dataclass(frozen=True, slots=True)
class Draft:
    """Text that streams now and is in no file yet.

    `agent` is None for the task's own agent, else somebody who works inside the task; what they
    say is kept nowhere but in what the task is given back (engine.md 9).
    """

    text: str
    agent: str | None = None
    judging: bool = False


class Conversation(QObject):
    """What the conversation view shows now.

    `changed`: the saved messages or the situation moved; `draft_changed`: only the unsaved text.
    """

    changed = Signal()
    draft_changed = Signal()

    def __init__(
        self, feed: Feed, commands: Commands, selection: Selection, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._feed = feed
        self._commands = commands
        self._selection = selection
        self._view: ConversationView | None = None
        self._unfolded: frozenset[int] = frozenset()
        self._first = 0
        self._drafts: dict[tuple[RunRef, str], dict[str | None, Draft]] = {}
        self._asked: tuple[RunRef, TaskView | RunView] | None = None
        self._active = True
        selection.task_changed.connect(self._on_selection_task_changed)
        feed.changed.connect(self._on_feed_changed)
        feed.conversation_loaded.connect(self._on_feed_conversation_loaded)
        feed.activity.connect(self._on_feed_activity)
        self._ask()

    @property
    def about_run(self) -> RunView | None:
        """The run whose goal and closing answer are shown: no task of it is selected."""
        ref = self._selection.run
        run = self._feed.run(ref) if ref is not None else None
        return run if run is not None and run.goal and self._selection.task_id is None else None

    @property
    def subject(self) -> str | None:
        """Whose messages are shown: the id of a task, or `ANSWER`."""
        return ANSWER if self.about_run is not None else self._selection.task_id

    @property
    def task(self) -> TaskView | None:
        """The selected task as the feed knows it."""
        ref, task_id = self._selection.run, self._selection.task_id
        run = self._feed.run(ref) if ref is not None else None
        if run is None or task_id is None:
            return None
        return next((t for t in run.tasks if t.id == task_id), None)

    @property
    def situation(self) -> Situation:
        """Which of the four pictures to show."""
        if self.task is None and self.about_run is None:
            return "nothing_selected"
        if self._view is None:
            return "loading"
        return "shown" if self._view.messages or self.drafts else "empty"

    @property
    def agent(self) -> str | None:
        """Who speaks."""
        if self._view is not None and self._view.agent:
            return self._view.agent
        return self.task.assignee if self.task is not None else COORDINATOR

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The saved messages, without those that are still folded away at the beginning."""
        if self._view is None:
            return ()
        return entries(self._view, unfolded=self._unfolded, first=self._first)

    @property
    def n_earlier(self) -> int:
        """How many messages at the beginning are folded away."""
        return self._first

    def show_earlier(self) -> None:
        """Show the next lot of earlier messages."""
        self._first = max(0, self._first - WINDOW)
        self.changed.emit()

    @property
    def draft(self) -> str:
        """What the task's own agent is writing."""
        return next((d.text for d in self.drafts if d.agent is None), "")

    @property
    def drafts(self) -> tuple[Draft, ...]:
        """What is being written in the task: its own agent first, each voice by itself."""
        ref, task_id = self._selection.run, self.subject
        if ref is None or task_id is None:
            return ()
        found = self._drafts.get((ref, task_id), {}).values()
        return tuple(sorted((d for d in found if d.text), key=lambda d: d.agent is not None))

    def unfold(self, number: int) -> None:
        """Show one message whole."""
        self._unfolded |= {number}
        self.changed.emit()

    def set_active(self, *, active: bool) -> None:
        """Ask for messages only while somebody looks."""
        self._active = active
        if active:
            self._ask()

    def _on_selection_task_changed(self, _task_id: str | None) -> None:
        self._view = None
        self._unfolded = frozenset()
        self._asked = None
        self._ask()
        self.changed.emit()

    def _on_feed_changed(self, paths: frozenset[str]) -> None:
        ref = self._selection.run
        if ref is not None and ref.store in paths:
            self._ask()

    def _ask(self) -> None:
        ref, subject, told = self._selection.run, self.subject, self.task or self.about_run
        if not self._active or ref is None or subject is None or told is None:
            return
        if self._asked == (ref, told):
            return
        self._asked = (ref, told)
        if isinstance(told, RunView) and not told.answer:
            self._view = ConversationView(ANSWER, None, (), "none")  # no file holds one
            self.changed.emit()
        else:
            self._commands.load_conversation(ref, subject)

    def _on_feed_conversation_loaded(self, loaded: tuple[RunRef, ConversationView]) -> None:
        ref, view = loaded
        if ref != self._selection.run or view.task_id != self.subject:
            return
        if view != self._view:
            self._drop_saved_draft(ref, view)
            n = len(view.messages)
            if self._view is None or self._first > n:
                self._first = max(0, n - WINDOW)  # then it stays, so that lines do not move
            self._view = view
            self.changed.emit()

    def _drop_saved_draft(self, ref: RunRef, view: ConversationView) -> None:
        drafts = self._drafts.get((ref, view.task_id), {})
        own = drafts[None].text.strip() if None in drafts else ""
        if not own:
            return
        saved = (b.text for m in view.messages[-3:] for b in m.blocks if b.kind == "text")
        if any(own in text for text in saved):
            del drafts[None]

    def _on_feed_activity(self, activity: LiveActivity) -> None:
        """Take a piece of live text: "text" adds to the draft, "model" begins a new one.

        When the task's own agent goes on, nobody works inside the task any more.
        """
        key, who = (activity.run, activity.task_id), activity.agent
        drafts = self._drafts.setdefault(key, {})
        before = dict(drafts)
        if activity.kind == "text":
            text = drafts[who].text if who in drafts else ""
            longer = (text + activity.text)[-_MAX_DRAFT:]
            drafts[who] = Draft(longer, who, activity.judging)
        elif activity.kind == "model" or (activity.kind == "idle" and who is None):
            drafts.pop(who, None)
        if who is None:
            for other in [agent for agent in drafts if agent is not None]:
                del drafts[other]
        mine = key == (self._selection.run, self.subject)
        if mine and drafts != before:
            self.draft_changed.emit()
        if not drafts:
            del self._drafts[key]
