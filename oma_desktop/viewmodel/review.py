"""The rules between a reader and a recorded decision (ux.md C7): frozen content, arming, undo.

`Review` is a pure machine over explicit times; `ReviewModel` feeds it from feed, clock and window.
Invariants: a decision is sent only for the id and hash that were shown, at most once per review,
only after a deliberate press while armed, and never after anything about the request moved.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Literal

from oma_desktop.model.view import Effect
from oma_desktop.viewmodel.approvals import RequestKey, RequestRow, owned_elsewhere
from oma_desktop.viewmodel.commands import DecisionIntent
from oma_desktop.viewmodel.feed import DecisionOutcome

Verdict = Literal["approve", "reject"]

SETTLE_S: Final = 1.0
"""How long content must stand still before a press counts."""
TYPING_S: Final = 1.0
"""How long after the last key in a field the hands may still be typing."""
UNDO_S: Final = 5.0
UNDO_GUARD_S: Final = 0.5
"""A double click must not press Undo, which stands where the button was (case s38)."""
CODE_LENGTH: Final = 4


class Phase(StrEnum):
    """How far this review has come."""

    READING = "reading"
    RECORDING = "recording"
    SENT = "sent"


class Bar(StrEnum):
    """Why a verdict is not possible now, the reason to show first."""

    GONE = "gone"
    DECIDED = "decided"
    CHANGED = "changed"
    HASH = "hash"
    CHECKPOINT = "checkpoint"
    DAMAGED = "damaged"
    OWNED = "owned"
    NO_REVIEWER = "no_reviewer"
    SENT = "sent"
    RECORDING = "recording"
    OTHER_WINDOW = "other_window"
    NOT_SHOWN = "not_shown"
    NOT_ACTIVATED = "not_activated"
    TYPING = "typing"
    TOO_SOON = "too_soon"


FINAL_BARS: Final = frozenset(
    {Bar.GONE, Bar.DECIDED, Bar.CHANGED, Bar.HASH, Bar.CHECKPOINT, Bar.DAMAGED, Bar.OWNED}
)
"""Bars that waiting or reading on will not lift; they stop a running countdown."""


@dataclass(frozen=True, slots=True)
class Reviewer:
    """Who decides, as the ledger records it."""

    id: str
    name: str | None = None


@dataclass(slots=True)
class Docket:
    """Which review holds which request, so that two windows cannot both be deciding one."""

    _holders: dict[RequestKey, object] = field(default_factory=dict)

    def claim(self, key: RequestKey, holder: object) -> bool:
        """Take `key`; false when somebody else has it."""
        return self._holders.setdefault(key, holder) is holder

    def release(self, key: RequestKey, holder: object) -> None:
        """Give `key` back; nothing happens when it is not held by `holder`."""
        if self._holders.get(key) is holder:
            del self._holders[key]

    def taken_by_other(self, key: RequestKey, holder: object) -> bool:
        """Say whether another review is deciding `key`."""
        return self._holders.get(key, holder) is not holder


def needs_hold(row: RequestRow) -> bool:
    """A tool call asks for a long press unless its tool is known to be harmless to repeat."""
    if row.acts_on_world:
        return True
    harmless = {Effect.READ_ONLY, Effect.REPEATABLE}
    return row.request.scope == "tool_call" and row.request.effect not in harmless


def same_content(a: RequestRow, b: RequestRow) -> bool:
    """Say whether both show the same thing to decide about: id, hash and every hashed value."""
    left, right = a.request, b.request
    return (
        left.id == right.id
        and left.request_hash == right.request_hash
        and left.scope == right.scope
        and left.boundary == right.boundary
        and left.run_id == right.run_id
        and _same_json(left.content, right.content)
    )


def _what_counts(row: RequestRow | None) -> object:
    """What a change of must start the settling time anew; beats of the owner do not count."""
    return None if row is None else (row.request, owned_elsewhere(row.owner))


def _same_json(a: object, b: object) -> bool:
    """Equality that tells `1` from `true` and minds key order, as the drawing does."""
    return a is b or repr(a) == repr(b)


class Review:
    """One request in front of one reader. All times are monotonic seconds given by the caller."""

    def __init__(
        self, row: RequestRow, *, docket: Docket, reviewer: Reviewer, now: float, undo_s: float
    ) -> None:
        self.shown = row
        self.current: RequestRow | None = row
        self.phase = Phase.READING
        self.verdict: Verdict | None = None
        self.failure: DecisionOutcome | None = None
        self.code = ""
        self.undo_s = undo_s
        self._docket = docket
        self._reviewer = reviewer
        self._changed = False
        self._all_shown = False
        self._activated = False
        self._in_field = False
        self._settled_at = now
        self._typed_at = float("-inf")
        self._pressed_at = 0.0

    # -- facts that arrive ---------------------------------------------------------------------

    def observe(self, row: RequestRow | None, now: float) -> None:
        """Take the newest row of this request (None: it is gone)."""
        before, self.current = self.current, row
        if _what_counts(before) == _what_counts(row):
            return
        self._settled_at = now
        self._changed = row is not None and not same_content(row, self.shown)
        bar = self._final_bar()
        ends = {Phase.READING: False, Phase.RECORDING: bar is not None}
        if ends.get(self.phase, bar in {Bar.DECIDED, Bar.GONE}):
            self._stop()

    def outcome(self, outcome: DecisionOutcome, now: float) -> None:
        """Take the ledger's answer: success waits for the bytes, failure opens the review again."""
        ours = self.phase is Phase.SENT and outcome.request_id == self.shown.request.id
        if ours and not outcome.ok:
            self.failure = outcome
            self._settled_at = now
            self._stop()

    def start_over(self, now: float) -> None:
        """Show what is there now, as if for the first time."""
        if self.current is not None and self.phase is Phase.READING:
            self.shown = self.current
            self.failure = None
            self._changed = False
            self._all_shown = False
            self.code = ""
            self._settled_at = now

    def content_shown(self) -> None:
        """Everything the hash covers has been on screen, to its end."""
        self._all_shown = True

    def activated(self, now: float) -> None:
        """The reader turned to the window by a deliberate act."""
        if not self._activated:
            self._activated = True
            self._settled_at = now

    def settle(self, now: float) -> None:
        """Something moved under the pointer: the next press must wait again."""
        self._settled_at = now

    def deactivated(self) -> None:
        """The window is no longer the one that gets the keys."""
        self._activated = False

    def field_focus(self, *, inside: bool) -> None:
        """The focus is in (or left) a text field of the window."""
        self._in_field = inside

    def typed(self, now: float) -> None:
        """A key went into a text field."""
        self._typed_at = now

    # -- what may be done ----------------------------------------------------------------------

    def bar(self, verdict: Verdict, now: float) -> Bar | None:
        """Return why `verdict` is not possible now, or None when it is armed."""
        return self._final_bar() or self._phase_bar() or self._arming_bar(verdict, now)

    def _final_bar(self) -> Bar | None:
        row = self.current
        if row is None:
            return Bar.GONE
        if row.request.state != "pending":
            return Bar.DECIDED
        if not row.request.open:
            return Bar.GONE
        if self._changed:
            return Bar.CHANGED
        if not row.request.hash_matches:
            return Bar.HASH
        if row.request.matches_checkpoint is False:
            return Bar.CHECKPOINT
        if row.request.problem is not None and row.request.problem.severity == "error":
            return Bar.DAMAGED
        return Bar.OWNED if owned_elsewhere(row.owner) else None

    def _phase_bar(self) -> Bar | None:
        if not self._reviewer.id.strip():
            return Bar.NO_REVIEWER
        if self.phase is Phase.SENT:
            return Bar.SENT
        if self.phase is Phase.RECORDING:
            return Bar.RECORDING
        taken = self._docket.taken_by_other(self.shown.key, self)
        return Bar.OTHER_WINDOW if taken else None

    def _arming_bar(self, verdict: Verdict, now: float) -> Bar | None:
        if verdict == "approve" and not self._all_shown:
            return Bar.NOT_SHOWN
        if not self._activated:
            return Bar.NOT_ACTIVATED
        if self._in_field or now - self._typed_at < TYPING_S:
            return Bar.TYPING
        return Bar.TOO_SOON if now - self._settled_at < SETTLE_S else None

    @property
    def code_matches(self) -> bool:
        """The twin of holding: the first characters of the hash were typed."""
        return self.code.strip().casefold() == self.shown.request.request_hash[:CODE_LENGTH]

    def press(self, verdict: Verdict, now: float, *, held: bool = False) -> bool:
        """Begin to record `verdict`; false when it was not possible and nothing happened."""
        if self.bar(verdict, now) is not None:
            return False
        if verdict == "approve" and needs_hold(self.shown) and not (held or self.code_matches):
            return False
        if not self._docket.claim(self.shown.key, self):
            return False
        self.failure = None
        self.phase, self.verdict, self._pressed_at = Phase.RECORDING, verdict, now
        return True

    def undo(self, now: float) -> bool:
        """Take the press back; only while recording, and not by the second half of a click."""
        if self.phase is not Phase.RECORDING or now - self._pressed_at < UNDO_GUARD_S:
            return False
        self._settled_at = now
        self._stop()
        return True

    def leave(self) -> None:
        """The window closes or moves on: what is not sent yet is not recorded."""
        if self.phase is not Phase.READING:
            self._stop()

    def remaining(self, now: float) -> float:
        """Seconds until the decision is sent (0 outside of the countdown)."""
        if self.phase is not Phase.RECORDING:
            return 0.0
        return max(0.0, self._pressed_at + self.undo_s - now)

    def tick(self, now: float) -> DecisionIntent | None:
        """Return the decision to send when the undo time is over, exactly once."""
        if self.phase is not Phase.RECORDING or self.remaining(now) > 0:
            return None
        verdict = self.verdict
        if verdict is None or self._final_bar() is not None:
            self._stop()
            return None
        self.phase = Phase.SENT
        return DecisionIntent(
            store=self.shown.key.store,
            request_id=self.shown.request.id,
            request_hash=self.shown.request.request_hash,
            verdict=verdict,
            reviewer_id=self._reviewer.id,
            reviewer_name=self._reviewer.name,
        )

    def _stop(self) -> None:
        self._docket.release(self.shown.key, self)
        self.phase, self.verdict, self.code = Phase.READING, None, ""
