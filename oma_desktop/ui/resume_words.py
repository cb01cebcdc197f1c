"""What the resume dialog says: rows, units, sentences, reasons."""

from __future__ import annotations

from typing import Final

from oma_desktop.base.text import N_, ntr, tr
from oma_desktop.model.view import Effect, Owner, RunView
from oma_desktop.ui import words
from oma_desktop.ui.review_words import local_time
from oma_desktop.viewmodel.resume import Entry, Line, Obstacle

_NAMES: Final = {
    Line.KEPT: N_("Kept"),
    Line.REPLAYED: N_("Replayed"),
    Line.ASKED: N_("Model asked again"),
    Line.TASKS_WILL_RUN: N_("Will run"),
    Line.CALLS_WILL_RUN: N_("Calls will run"),
    Line.TASKS_AGAIN: N_("Whole task again"),
    Line.DENIED: N_("Denied"),
    Line.STAY_FAILED: N_("Stays as it is"),
    Line.NEEDS_YOU: N_("Needs you"),
    Line.MAY_RUN_TWICE: N_("May run twice"),
}
_SENTENCES: Final = {
    Line.KEPT: N_("Results stay. Nothing runs."),
    Line.REPLAYED: N_("Saved results go back to the model, tools do not run."),
    Line.ASKED: N_("The last question is sent again. It costs tokens and changes nothing else."),
    Line.TASKS_WILL_RUN: N_("Never started."),
    Line.CALLS_WILL_RUN: N_("Certainly not started: the run was suspended with all calls at rest."),
    Line.TASKS_AGAIN: N_("No steps were saved: these tasks start from their beginning."),
    Line.DENIED: N_("Rejected: the tool does not run, the agent is told so."),
    Line.STAY_FAILED: N_("Failed or skipped for good. A resume does not touch them."),
    Line.NEEDS_YOU: N_("Nothing runs before these are decided."),
    Line.MAY_RUN_TWICE: N_("Asked before the stop, result not saved. No record tells if they ran."),
}
SHAPES: Final = {
    Line.KEPT: "done",
    Line.REPLAYED: "saved",
    Line.TASKS_WILL_RUN: "torun",
    Line.CALLS_WILL_RUN: "torun",
    Line.TASKS_AGAIN: "unknown",
    Line.DENIED: "denied",
    Line.STAY_FAILED: "failed",
    Line.NEEDS_YOU: "needsyou",
    Line.MAY_RUN_TWICE: "outcome",
}
_OBSTACLES: Final = {
    Obstacle.GONE: N_("This run is no longer there."),
    Obstacle.UNREADABLE: N_("The file cannot be read now. Nothing was changed."),
    Obstacle.RUNNING: N_("This app is running it already."),
    Obstacle.NO_PLAN: N_("Working out what a resume would do…"),
    Obstacle.STALE: N_("The file changed. Working out the plan again…"),
    Obstacle.WAITS: N_("Decide the open requests first: until then nothing would run."),
    Obstacle.SENT: N_("Resuming…"),
}
_REASONS: Final = {
    "completed": N_("result saved"),
    "finished": N_("finished, result saved"),
    "awaits_judgement": N_("answer saved, its judges come again"),
    "judges": N_("judges the saved answer"),
    "awaiting_model": N_("was waiting for the model"),
    "no_saved_steps": N_("no steps saved"),
    "not_started": N_("not started"),
    "unreachable": N_("needs a task that failed"),
    "failed": N_("failed"),
    "skipped": N_("skipped"),
    "replaced": N_("failed, replaced by a new plan"),
    "rejected": N_("not run: the run ends as rejected"),
    "answer_due": N_("the coordinator writes the answer"),
    "plan_only": N_("not run: only the plan was wanted"),
}
_CALLS: Final = frozenset({Line.REPLAYED, Line.CALLS_WILL_RUN, Line.DENIED, Line.MAY_RUN_TWICE})


def name(line: Line) -> str:
    """Return the word of a summary row."""
    return tr(_NAMES[line])


def unit(line: Line, n: int) -> str:
    """Return what the number of a row counts."""
    if line in _CALLS:
        return ntr("call", "calls", n)
    if line is Line.NEEDS_YOU:
        return ntr("request", "requests", n)
    if line is Line.ASKED:
        return ntr("turn", "turns", n)
    return ntr("task", "tasks", n)


def sentence(line: Line, n: int) -> str:
    """Return what the row means."""
    return tr(_SENTENCES[line]) if n else tr("None.")


def reason(entry: Entry) -> str:
    """Return why an item stands where it stands."""
    return tr(_REASONS[entry.reason]) if entry.reason in _REASONS else ""


def obstacle(what: Obstacle, owner: Owner, n_undecided: int) -> str:
    """Return why Resume is off."""
    if what is Obstacle.OWNED:
        if owner.pid is None:
            return tr("Another process owns this run.")
        return tr("Process {pid} owns this run.", pid=owner.pid)
    if what is Obstacle.UNDECIDED:
        return ntr("{n} item undecided", "{n} items undecided", n_undecided)
    return tr(_OBSTACLES[what])


def stopped(run: RunView, next_attempt: int, age: str, *, running_elsewhere: bool) -> str:
    """Return attempts, and when and how the run stopped, or that another process has it."""
    head = tr("attempt {n}, becomes attempt {m}.", n=run.attempt, m=next_attempt)
    if running_elsewhere:
        at = local_time(run.saved_at)
        tail = tr("Last saved {time}, {age} ago. Another process runs it now.", time=at, age=age)
    elif run.end is None:
        at = local_time(run.saved_at)
        tail = tr("Last saved {time}, {age} ago. No end was recorded.", time=at, age=age)
    else:
        at = local_time(run.end.at or run.saved_at)
        word = words.run_word(run.state)
        tail = tr("{state} at {time}, {age} ago.", state=word, time=at, age=age)
    return tr("{attempts} {stop}", attempts=head, stop=tail)


def effect_text(effect: Effect) -> str:
    """Return what a repeat would mean."""
    if effect is Effect.UNKNOWN:
        return tr("what it does to the world is not declared")
    return words.effect_word(effect)


def undecided(n: int) -> str:
    """Return how many items have no answer."""
    return ntr("{n} undecided", "{n} undecided", n)
