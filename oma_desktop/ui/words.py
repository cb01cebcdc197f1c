"""The word of every state, owner and effect, translated at the moment it is shown (ux.md C6, C19).

Only words: colours and shapes are in `ui.states`.
"""

from __future__ import annotations

from typing import Final

from oma_desktop.base.text import N_, tr
from oma_desktop.model.view import CallState, Effect, Owner, OwnerKind, RunState, TaskState

_TASK: Final[dict[TaskState, str]] = {
    TaskState.WAITING: N_("Waiting"),
    TaskState.BLOCKED: N_("Blocked"),
    TaskState.RUNNING: N_("Running"),
    TaskState.NEEDS_YOU: N_("Needs you"),
    TaskState.DONE: N_("Done"),
    TaskState.FAILED: N_("Failed"),
    TaskState.REPLACED: N_("Failed, replaced"),
    TaskState.SKIPPED: N_("Skipped"),
    TaskState.UNKNOWN: N_("Unknown"),
}
_RUN: Final[dict[RunState, str]] = {
    RunState.RUNNING: N_("Running"),
    RunState.SUSPENDING: N_("Suspending…"),
    RunState.SUSPENDED: N_("Suspended"),
    RunState.OK: N_("OK"),
    RunState.ERROR: N_("Error"),
    RunState.REJECTED: N_("Rejected"),
    RunState.CANCELLED: N_("Cancelled"),
    RunState.TIMED_OUT: N_("Timed out"),
    RunState.BUDGET: N_("Budget used up"),
    RunState.INTERRUPTED: N_("Interrupted"),
    RunState.UNKNOWN: N_("Unknown"),
}
_CALL: Final[dict[CallState, str]] = {
    CallState.SAVED: N_("Saved"),
    CallState.SAVED_ERROR: N_("Saved error"),
    CallState.SAVED_JOURNAL: N_("Saved (journal)"),
    CallState.TO_RUN: N_("To run"),
    CallState.RUNNING: N_("Running"),
    CallState.OUTCOME_UNKNOWN: N_("Outcome unknown"),
    CallState.NEEDS_YOU: N_("Needs you"),
    CallState.APPROVED: N_("Approved, to run"),
    CallState.DENIED: N_("Rejected"),
}
_EFFECT: Final[dict[Effect, str]] = {
    Effect.READ_ONLY: N_("read only"),
    Effect.REPEATABLE: N_("safe to repeat"),
    Effect.CONSEQUENTIAL: N_("acts on the world"),
    Effect.UNKNOWN: N_("not declared"),
}
_OWNER: Final[dict[OwnerKind, str]] = {
    OwnerKind.THIS_APP: N_("This app runs it"),
    OwnerKind.OTHER_PROCESS: N_("Another process runs it"),
    OwnerKind.NO_WRITER: N_("No writer"),
    OwnerKind.NOT_KNOWN: N_("Writer not known"),
}


def task_word(state: TaskState) -> str:
    """Return the word of a task state."""
    return tr(_TASK[state])


def run_word(state: RunState) -> str:
    """Return the word of a run state."""
    return tr(_RUN[state])


def call_word(state: CallState) -> str:
    """Return the word of a tool call state."""
    return tr(_CALL[state])


def effect_word(effect: Effect) -> str:
    """Return what a tool does to the world, in lower case: it stands after a name."""
    return tr(_EFFECT[effect])


def owner_word(owner: Owner) -> str:
    """Return the short text of the ownership chip."""
    if owner.kind is OwnerKind.OTHER_PROCESS and owner.pid is not None:
        return tr("PID {pid}, alive", pid=owner.pid)
    return tr(_OWNER[owner.kind])


def owner_sentence(owner: Owner) -> str:
    """Return the whole ownership badge of ux.md C2, with process and machine where known."""
    if owner.kind is not OwnerKind.OTHER_PROCESS or owner.pid is None:
        return tr(_OWNER[owner.kind])
    if owner.host:
        return tr(
            "Another process runs it (PID {pid} on {host}, alive)", pid=owner.pid, host=owner.host
        )
    return tr("Another process runs it (PID {pid}, alive)", pid=owner.pid)
