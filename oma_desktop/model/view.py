"""What the program knows about runs, ready to be shown: immutable, comparable, picklable.

A `StoreView` is a pure function of one store file (plus lock and clock facts); `model.projection`
makes it, `monitor` feeds it, `viewmodel` and `cli` read it. Every view carries its source and age
(ux.md C2). Views hold previews and sizes, never whole conversations: those are read on demand as
`ConversationView` (product.md 3.3: big files stay in the worker process).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Literal

from oma_desktop.model.json_value import JsonObject


class TaskState(StrEnum):
    """Task states of ux.md C6; the values name the state shapes of look.md 5."""

    WAITING = "waiting"
    BLOCKED = "blocked"
    RUNNING = "running"
    NEEDS_YOU = "needsyou"
    DONE = "done"
    FAILED = "failed"
    REPLACED = "replaced"
    SKIPPED = "skipped"
    UNKNOWN = "unknown"


class RunState(StrEnum):
    """Run states of ux.md C6; the values name the state shapes of look.md 5."""

    RUNNING = "running"
    SUSPENDING = "suspending"
    SUSPENDED = "suspended"
    OK = "done"
    ERROR = "failed"
    REJECTED = "rejected"
    CANCELLED = "cancelled"
    TIMED_OUT = "timeout"
    BUDGET = "budget"
    INTERRUPTED = "interrupted"
    UNKNOWN = "unknown"


class CallState(StrEnum):
    """Tool call states of ux.md C6; the values name the state shapes of look.md 5."""

    SAVED = "saved"
    SAVED_ERROR = "savederror"
    SAVED_JOURNAL = "savedjournal"
    TO_RUN = "torun"
    RUNNING = "callrunning"
    OUTCOME_UNKNOWN = "outcome"
    NEEDS_YOU = "needsyou"
    APPROVED = "approved"
    DENIED = "denied"


class Effect(StrEnum):
    """What a tool does to the world (ux.md C5, C24.4)."""

    READ_ONLY = "read_only"
    REPEATABLE = "repeatable"
    CONSEQUENTIAL = "consequential"
    UNKNOWN = "unknown"


class OwnerKind(StrEnum):
    """Ownership badge of ux.md C2."""

    THIS_APP = "this_app"
    OTHER_PROCESS = "other_process"
    NO_WRITER = "no_writer"
    NOT_KNOWN = "not_known"


@dataclass(frozen=True, slots=True)
class Owner:
    """Who may write the store now. `heartbeat_at` is the last beat read from the lock file,
    `since` when the process that holds it began."""

    kind: OwnerKind
    pid: int | None = None
    host: str | None = None
    app: str | None = None
    heartbeat_at: datetime | None = None
    since: datetime | None = None


@dataclass(frozen=True, slots=True)
class Problem:
    """Something odd. `where` is a JSON path or key, `facts` feed the sentence of `code`."""

    code: str
    severity: Literal["error", "warning"]
    where: str = ""
    facts: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens; `known` is false where a provider reported none.

    `cost` is what they cost, in the unit of the run file's prices; None: nobody knows.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    known: bool = True
    cost: float | None = None

    @property
    def total(self) -> int:
        """Input plus output."""
        return self.input_tokens + self.output_tokens


@dataclass(frozen=True, slots=True)
class ToolCallView:
    """One row of the tool call ledger (ux.md C5).

    `input_preview`/`output_preview` are the first line, at most 200 characters; sizes are UTF-8
    bytes of the whole value. `round` is the assistant turn that asked (1-based).
    """

    call_id: str
    tool: str
    agent: str
    task_id: str
    state: CallState
    round: int
    input_preview: str = ""
    input_size: int = 0
    output_preview: str = ""
    output_size: int = 0
    effect: Effect = Effect.UNKNOWN
    approval_id: str | None = None
    duration_ms: float | None = None


@dataclass(frozen=True, slots=True)
class TaskView:
    """One task of a run. `status` is the raw word of the file, `state` what is shown.

    `added_by`, `superseded_by` and `recovered_by` are plan revision numbers (formats.md 7.5).
    """

    id: str
    title: str
    description: str
    status: str
    state: TaskState
    assignee: str | None = None
    depends_on: tuple[str, ...] = ()
    role: str | None = None
    priority: str | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None
    phase: str | None = None
    turns: int = 0
    usage: Usage = Usage()
    calls: tuple[ToolCallView, ...] = ()
    result_preview: str = ""
    result_size: int = 0
    n_messages: int = 0
    superseded_by: int | None = None
    recovered_by: int | None = None
    has_state: bool = False
    live_activity: str = ""
    added_by: int | None = None


@dataclass(frozen=True, slots=True)
class ApprovalView:
    """One approval request with its row. `content` is whole: it is what the hash covers.

    `hash_matches` is recomputed here; `matches_checkpoint` compares with the content rebuilt from
    the snapshot (None: no snapshot to compare with). `open` is false for decided requests and for
    those whose run ended or changed. `row_value` is the exact stored string (None: no row yet).
    """

    id: str
    run_id: str
    scope: str
    boundary: str
    request_hash: str
    hash_matches: bool
    state: Literal["pending", "approved", "rejected"]
    open: bool
    content: JsonObject
    reason: str | None = None
    requested_at: datetime | None = None
    reviewer_id: str | None = None
    reviewer_name: str | None = None
    decided_at: datetime | None = None
    matches_checkpoint: bool | None = None
    task_id: str | None = None
    task_title: str | None = None
    agent: str | None = None
    tool: str | None = None
    effect: Effect = Effect.UNKNOWN
    problem: Problem | None = None
    row_value: str | None = None


@dataclass(frozen=True, slots=True)
class EndRecord:
    """Our own fact about how an attempt ended (formats.md 2.12)."""

    status: str
    at: datetime | None
    by: str


@dataclass(frozen=True, slots=True)
class RunView:
    """One checkpoint of a store. `key` names it in the store; `readable` false: see problems."""

    key: str
    run_id: str
    state: RunState
    readable: bool = True
    version: int = 0
    mode: str = ""
    goal: str | None = None
    answer: str = ""
    """The beginning of the coordinator's closing answer, where this program wrote it."""
    attempt: int = 1
    saved_at: datetime | None = None
    started_at: datetime | None = None
    tasks: tuple[TaskView, ...] = ()
    usage: Usage = Usage()
    plan_revision: int = 0
    end: EndRecord | None = None
    n_open_approvals: int = 0
    memory_keys: int = 0
    problems: tuple[Problem, ...] = ()
    owner: Owner | None = None
    """Who may write this run, where every run has a writer of its own (databases)."""

    @property
    def n_done(self) -> int:
        """Tasks that are done or replaced by others that are."""
        return [t.state for t in self.tasks].count(TaskState.DONE)


@dataclass(frozen=True, slots=True)
class StoreView:
    """Everything known about one store file at one moment.

    `read_at` is when the bytes were read, `modified_at` the file's own time. When the file cannot
    be read, `runs` keeps the last good picture, `readable` is false and `unreadable_since` set
    (ux.md C15).
    """

    path: str
    runs: tuple[RunView, ...] = ()
    approvals: tuple[ApprovalView, ...] = ()
    owner: Owner = Owner(OwnerKind.NOT_KNOWN)
    size: int = 0
    read_at: datetime | None = None
    modified_at: datetime | None = None
    readable: bool = True
    unreadable_since: datetime | None = None
    problems: tuple[Problem, ...] = ()
    shared_memory_keys: tuple[str, ...] = ()
    revision: int = 0

    def owner_of(self, key: str) -> Owner:
        """Return who may write a run: its own writer, else the one of the whole store."""
        own = next((run.owner for run in self.runs if run.key == key), None)
        return own or self.owner


@dataclass(frozen=True, slots=True)
class RunRef:
    """Names one run: absolute path of the store and the key inside it."""

    store: str
    key: str


BlockKind = Literal["text", "reasoning", "tool_use", "tool_result", "media", "other"]


@dataclass(frozen=True, slots=True)
class BlockView:
    """One block of a message. `text` may be cut: `size` is the whole length in UTF-8 bytes."""

    kind: BlockKind
    text: str
    size: int
    truncated: bool = False
    tool: str | None = None
    call_id: str | None = None
    call_state: CallState | None = None
    is_error: bool = False
    media_type: str | None = None


@dataclass(frozen=True, slots=True)
class MessageView:
    """One message; `turn` counts assistant messages from 1 (0 before the first)."""

    role: str
    turn: int
    blocks: tuple[BlockView, ...]
    saved: bool = True


@dataclass(frozen=True, slots=True)
class ConversationView:
    """The messages of one task, read on demand."""

    task_id: str
    agent: str | None
    messages: tuple[MessageView, ...]
    source: Literal["in_flight", "completed", "none"]
