"""Checkpoints and what contradicts itself in them (formats.md 2)."""

from __future__ import annotations

from typing import Final

from oma_desktop.base.text import N_, Sentence

_UNTOUCHED: Final = N_("Nothing was changed. The run cannot be resumed as it stands.")
_REPORT: Final = N_("Restore an older copy of the file, or report this with the file.")

SENTENCES: dict[str, Sentence] = {
    "CHECKPOINT_INVALID": Sentence(
        N_("This is not a usable checkpoint: {where} should be {expected}, found {found}."),
        _UNTOUCHED,
        _REPORT,
    ),
    "CHECKPOINT_TOO_NEW": Sentence(
        N_("The checkpoint is from a newer version: format {found}, known up to {supported}."),
        N_("Nothing was changed. It can be kept, but not shown or resumed here."),
        N_("Open it with a newer OMA Desktop."),
    ),
    "QUEUE_TOO_NEW": Sentence(
        N_("The task list is from a newer version: format {found}, known up to {supported}."),
        N_("Nothing was changed. It can be kept, but not shown or resumed here."),
        N_("Open it with a newer OMA Desktop."),
    ),
    "RUN_ID_LENGTH": Sentence(
        N_("The run id has {found} characters; 1 to 128 are allowed."), _UNTOUCHED, _REPORT
    ),
    "TASK_STATUS_UNKNOWN": Sentence(
        N_("A task has the unknown status “{found}” ({where})."), _UNTOUCHED, _REPORT
    ),
    "TASK_FIELD_INVALID": Sentence(
        N_("A task is damaged: {where} should be {expected}, found {found}."), _UNTOUCHED, _REPORT
    ),
    "TASK_METADATA_INVALID": Sentence(
        N_("The metadata of a task are not valid: key “{key}” at {where} ({reason})."),
        _UNTOUCHED,
        _REPORT,
    ),
    "TASK_DATE_UNREADABLE": Sentence(
        N_("A time of a task is not a date: {found} ({where})."),
        N_("The task is used all the same; the time is shown as unknown."),
    ),
    "TASK_ID_TWICE": Sentence(N_("Two tasks have the id “{task}” ({where})."), _UNTOUCHED, _REPORT),
    "GRAPH_SELF_DEPENDENCY": Sentence(
        N_("The task “{task}” waits for itself."),
        _UNTOUCHED,
        N_("Remove the dependency where the tasks are written."),
    ),
    "GRAPH_UNKNOWN_DEPENDENCY": Sentence(
        N_("The task “{task}” waits for “{dependency}”, which does not exist."),
        _UNTOUCHED,
        N_("Correct the dependency where the tasks are written."),
    ),
    "GRAPH_CYCLE": Sentence(
        N_("Tasks wait for each other in a circle: {cycle}."),
        _UNTOUCHED,
        N_("Remove one of these dependencies where the tasks are written."),
    ),
    "QUEUE_PARTITION_MISSING": Sentence(
        N_("A list of tasks by status is missing ({where})."),
        N_("It is derived from the tasks themselves; other programs refuse such a checkpoint."),
        N_("The next save of the run writes it again."),
    ),
    "QUEUE_PARTITION_DIFFERS": Sentence(
        N_("A list of tasks by status contradicts the tasks ({where})."),
        N_("The status written on each task counts."),
    ),
    "REVISION_COUNT_DIFFERS": Sentence(
        N_("The plan says revision {found}, but {listed} revisions are recorded."),
        _UNTOUCHED,
        _REPORT,
    ),
    "REVISION_NUMBER_WRONG": Sentence(
        N_("A plan revision is out of order: number {expected} was expected at {where}."),
        _UNTOUCHED,
        _REPORT,
    ),
    "REVISION_REFERENCE_UNKNOWN": Sentence(
        N_("A plan revision names a task that does not exist: {found} at {where}."),
        _UNTOUCHED,
        _REPORT,
    ),
    "REVISION_REFERENCE_REDACTED": Sentence(
        N_("A task id in a plan revision was removed as a secret ({where})."),
        N_("The run can be resumed; the history of the plan is incomplete."),
    ),
    "ENTRY_OF_UNKNOWN_TASK": Sentence(
        N_("A running state belongs to the task “{task}”, which does not exist ({where})."),
        _UNTOUCHED,
        _REPORT,
    ),
    "ENTRY_OF_ENDED_TASK": Sentence(
        N_("A running state belongs to the task “{task}”, which has ended as {found} ({where})."),
        _UNTOUCHED,
        _REPORT,
    ),
    "ENTRY_OF_OTHER_AGENT": Sentence(
        N_("A running state of the task “{task}” belongs to “{found}”, the task to “{expected}”."),
        _UNTOUCHED,
        _REPORT,
    ),
    "RESULT_INVALID": Sentence(
        N_("A saved result is damaged: {where} should be {expected}, found {found}."),
        _UNTOUCHED,
        _REPORT,
    ),
    "RESULT_OF_UNKNOWN_TASK": Sentence(
        N_("A saved result belongs to the task “{task}”, which does not exist ({where})."),
        N_("It is kept and not used."),
    ),
    "PART_VERSION_UNKNOWN": Sentence(
        N_("A part of the checkpoint has format {found}, known is {supported} ({where})."),
        _UNTOUCHED,
        N_("Open it with a newer OMA Desktop."),
    ),
    "PART_INVALID": Sentence(
        N_("A part of the checkpoint is damaged: {where} should be {expected}, found {found}."),
        _UNTOUCHED,
        _REPORT,
    ),
    "DEPENDENCY_PAYLOAD_INVALID": Sentence(
        N_("A structured result cannot be handed on, it is not JSON ({found})."),
        N_("The task that waits for it cannot start."),
        N_("Let the task return JSON values, or hand on its text."),
    ),
}
