"""What the deciding windows say: reasons, consequences, names of hidden characters, ages."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from oma_desktop.base.text import N_, ntr, tr
from oma_desktop.model.view import ApprovalView, Effect
from oma_desktop.model.visible_text import Mark, MarkKind
from oma_desktop.viewmodel.approvals import Group, RequestRow
from oma_desktop.viewmodel.review import Bar

_SCOPES: Final = {
    "plan": N_("Plan"),
    "task_round": N_("Next round"),
    "task_dispatch": N_("Task start"),
    "tool_call": N_("Tool call"),
}
_GROUPS: Final = {
    Group.NEEDS_YOU: N_("Needs you"),
    Group.NOT_HERE: N_("Cannot be decided here"),
    Group.DECIDED: N_("Decided"),
    Group.NO_LONGER_OPEN: N_("No longer open"),
}
_SHORT: Final = {
    Bar.GONE: N_("No longer open"),
    Bar.DECIDED: N_("Already decided"),
    Bar.CHANGED: N_("Content changed"),
    Bar.HASH: N_("Hash does not match"),
    Bar.CHECKPOINT: N_("Differs from checkpoint"),
    Bar.DAMAGED: N_("Request is damaged"),
    Bar.OWNED: N_("Owned by another process"),
    Bar.NO_REVIEWER: N_("No reviewer name"),
    Bar.SENT: N_("Recording…"),
    Bar.RECORDING: N_("Recording…"),
    Bar.OTHER_WINDOW: N_("Open in another window"),
    Bar.NOT_SHOWN: N_("Read to the end"),
    Bar.NOT_ACTIVATED: N_("Turn to this window"),
    Bar.TYPING: N_("You are typing"),
    Bar.TOO_SOON: N_("One moment"),
}
_LONG: Final = {
    Bar.GONE: N_("This request is no longer open: its run ended or went on without it."),
    Bar.CHANGED: N_("The content changed while it was open. Old and new are shown side by side."),
    Bar.HASH: N_(
        "The hash does not match the content. Deciding is off: what is shown is not what was asked."
    ),
    Bar.CHECKPOINT: N_("The request differs from its checkpoint. Deciding is off."),
    Bar.DAMAGED: N_("The stored request contradicts itself. Deciding is off."),
    Bar.NO_REVIEWER: N_("Enter who you are in the settings. Decisions carry a name."),
    Bar.OTHER_WINDOW: N_("Another window is about to record a decision on this request."),
    Bar.NOT_SHOWN: N_("Approve becomes possible when everything has been on screen, to its end."),
    Bar.NOT_ACTIVATED: N_(
        "The window came to the front by itself. Move the pointer or press Tab in it."
    ),
    Bar.TYPING: N_("A text field has the keys. Move on with Tab, then wait a second."),
    Bar.TOO_SOON: N_("Buttons work one second after the content was shown or last changed."),
}
_MARKS: Final = {
    MarkKind.CONTROL: N_("control character"),
    MarkKind.BIDI: N_("text direction mark"),
    MarkKind.INVISIBLE: N_("invisible character"),
    MarkKind.SPACE: N_("unusual space"),
    MarkKind.LOOK_ALIKE: N_("look-alike letter"),
    MarkKind.SURROGATE: N_("broken character"),
    MarkKind.NO_GLYPH: N_("character without a shape"),
}
_NAMED_MARKS: Final = {
    0x00A0: N_("no-break space"),
    0x00AD: N_("soft hyphen"),
    0x200B: N_("zero-width space"),
    0x200C: N_("zero-width non-joiner"),
    0x200D: N_("zero-width joiner"),
    0x2060: N_("word joiner"),
    0x202E: N_("right-to-left override"),
    0x3000: N_("wide space"),
    0xFEFF: N_("byte order mark"),
}


def scope_word(scope: str) -> str:
    """Return the kind of a request."""
    return tr(_SCOPES[scope]) if scope in _SCOPES else scope


def group_word(group: Group) -> str:
    """Return the head of a group of the inbox."""
    return tr(_GROUPS[group])


def short_reason(bar: Bar) -> str:
    """Return why a button is off, short enough to stand on it."""
    return tr(_SHORT[bar])


def long_reason(bar: Bar, row: RequestRow) -> str:
    """Return why a button is off as a sentence; empty where the window shows it otherwise."""
    if bar is Bar.OWNED:
        if row.owner.pid is None:
            return tr(
                "Another process owns this run. Close that process or decide there: the store has"
                " one writer."
            )
        return tr(
            "Process {pid} owns this run. Close that process or decide there: the store has one"
            " writer.",
            pid=row.owner.pid,
        )
    return tr(_LONG[bar]) if bar in _LONG else ""


def mark_word(mark: Mark) -> str:
    """Return the name of a hidden character."""
    if mark.count > 1:
        return tr("row of {n} blanks", n=mark.count)
    if mark.kind is MarkKind.LOOK_ALIKE:
        return tr("{code} looks like {letter}", code=mark.code, letter=mark.looks_like)
    return tr(_NAMED_MARKS.get(mark.code_point, _MARKS[mark.kind]))


def hidden_count(n: int) -> str:
    """Return how many characters are drawn as codes."""
    return ntr("{n} hidden character", "{n} hidden characters", n)


def title(row: RequestRow) -> tuple[str, str, bool]:
    """Return name, what it wants, and whether the name is an identifier."""
    request = row.request
    if request.scope == "plan":
        return (
            tr("Plan"),
            ntr("{n} task wants to start", "{n} tasks want to start", row.n_tasks),
            False,
        )
    if request.scope == "task_round":
        return (
            tr("Next round"),
            ntr("{n} task wants to start", "{n} tasks want to start", row.n_tasks),
            False,
        )
    if request.scope == "task_dispatch":
        name = request.task_title or request.task_id or request.boundary
        return name, tr("wants to start"), False
    return request.tool or str(request.content.get("toolName", "")), tr("wants to run"), True


def if_approved(row: RequestRow) -> str:
    """Return the consequence of approving."""
    request = row.request
    if request.scope == "plan":
        if request.content.get("continuation") == "plan_only":
            return tr("The plan is accepted as it stands below. Nothing runs.")
        return tr("The run goes on with exactly this plan.")
    if request.scope == "task_round":
        return tr("Exactly the tasks under “starts next” start.")
    if request.scope == "task_dispatch":
        return tr("The agent gets exactly the task text below.")
    if row.acts_on_world:
        return tr("The tool runs with exactly the input below. It cannot be taken back.")
    if request.effect is Effect.UNKNOWN:
        return tr(
            "The tool runs with exactly the input below. What it does to the world is not declared."
        )
    return tr("The tool runs with exactly the input below.")


def if_rejected(row: RequestRow) -> str:
    """Return the consequence of rejecting."""
    if row.request.scope == "tool_call":
        return tr("The tool does not run. The agent is told so and may try another way.")
    return tr("The run ends as rejected. Tasks that have not started are skipped.")


def reject_label(row: RequestRow) -> str:
    """Return the label of the reject button."""
    if row.request.scope == "tool_call":
        return tr("Reject…")
    return tr("Reject and end run…")


def verdict_sentence(request: ApprovalView) -> str:
    """Return who decided what, and when."""
    who = request.reviewer_name or request.reviewer_id or tr("somebody")
    at = local_time(request.decided_at)
    if request.state == "approved":
        return tr("Approved by {who} at {time}.", who=who, time=at)
    return tr("Rejected by {who} at {time}.", who=who, time=at)


def local_time(at: datetime | None) -> str:
    """Return the time of day here."""
    return at.astimezone().strftime("%H:%M:%S") if at is not None else tr("unknown time")


def age(at: datetime | None, now: datetime) -> str:
    """Return how long ago something was, in the largest fitting unit."""
    if at is None:
        return ""
    seconds = max(0, int((now - at).total_seconds()))
    if seconds < 60:
        return tr("{n} s", n=seconds)
    if seconds < 3600:
        return tr("{n} min", n=seconds // 60)
    if seconds < 86400:
        return tr("{n} h", n=seconds // 3600)
    return tr("{n} d", n=seconds // 86400)


def size(n_bytes: int) -> str:
    """Return a size in the largest fitting unit."""
    if n_bytes < 1000:
        return ntr("{n} byte", "{n} bytes", n_bytes)
    if n_bytes < 1_000_000:
        return tr("{n} KB", n=_tenths(n_bytes / 1000))
    return tr("{n} MB", n=_tenths(n_bytes / 1_000_000))


def _tenths(value: float) -> str:
    return f"{value:.1f}"
