"""The word of every state, owner and effect, translated at the moment it is shown (ux.md C6, C19).

Only words: colours and shapes are in `ui.states`.
"""

from __future__ import annotations

from typing import Final

from oma_desktop.base.text import N_, listed, ntr, tr
from oma_desktop.model.view import (
    CallState,
    Effect,
    Owner,
    OwnerKind,
    RunState,
    TaskState,
    TaskView,
    ToolCallView,
)
from oma_desktop.viewmodel.verbs import Why

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
_WHY: Final[dict[Why, str]] = {
    Why.NO_RUN: N_("No run is selected."),
    Why.UNREADABLE: N_("The file cannot be read now, so nothing is written to it."),
    Why.OTHER_WRITER: N_("Another process runs it; only that process may write."),
    Why.NOT_OURS: N_("This app does not run it."),
    Why.RUNS_HERE: N_("It runs now. Suspend it first."),
    Why.SUSPENDING: N_("It is being suspended: it stops at the next safe point."),
    Why.FINISHED: N_("It is finished: there is nothing to resume."),
    Why.REJECTED: N_("A reviewer rejected it: that is final."),
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


def why_sentence(why: Why) -> str:
    """Return why a verb is off, and where known what would turn it on."""
    return tr(_WHY[why]) if why is not Why.FREE else ""


def task_sentence(task: TaskView, *, n_open: int) -> str:
    """Return a task in words, for screen readers (ux.md C18)."""
    parts = [tr("Task {title}", title=task.title), task_word(task.state)]
    if task.assignee:
        parts.append(tr("agent {agent}", agent=task.assignee))
    if task.turns:
        parts.append(tr("turn {n}", n=task.turns))
    if task.depends_on:
        parts.append(ntr("needs {n} task", "needs {n} tasks", len(task.depends_on)))
    if n_open:
        parts.append(ntr("{n} tool call open", "{n} tool calls open", n_open))
    return listed(parts)


def call_sentence(call: ToolCallView) -> str:
    """Return a tool call in words: "bash, Outcome unknown, acts on the world"."""
    return listed((call.tool, call_word(call.state), effect_word(call.effect)))
