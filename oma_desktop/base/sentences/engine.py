"""Sentences about runs, plans and restoring (engine.md 1.9, 2.2, 7.7)."""

from __future__ import annotations

from typing import Final

from oma_desktop.base.text import N_, Sentence

_NOTHING_RAN: Final = N_("Nothing was run and nothing was saved.")
_FILE_SAFE: Final = N_("The file keeps the last safe state of the run.")

SENTENCES: Final[dict[str, Sentence]] = {
    "RUN_ID_INVALID": Sentence(
        N_("“{run_id}” cannot be a run id."),
        _NOTHING_RAN,
        N_("Use 1 to {limit} characters without spaces at either end."),
    ),
    "RUN_ID_CONFLICT": Sentence(
        N_("Two different run ids were given: “{requested}” and “{found}”."),
        _NOTHING_RAN,
        N_("Name the run once, or twice in the same way."),
    ),
    "RESTORE_RUN_ID_CONFLICT": Sentence(
        N_("This checkpoint belongs to run “{found}”, not to “{requested}”."),
        N_("Nothing was changed."),
        N_("Leave the run id away, or choose the checkpoint of the run you mean."),
    ),
    "RUN_METADATA_INVALID": Sentence(
        N_("The metadata of the run cannot be used ({key}: {reason})."),
        _NOTHING_RAN,
        N_("Use short lower-case keys with text, numbers, true or false, or lists of one kind."),
    ),
    "CHECKPOINT_EXISTS": Sentence(
        N_("There is already a run saved under “{key}”."),
        N_("It was left as it is."),
        N_("Continue it with restore, or give the new run another id or place."),
    ),
    "RUN_AGENT_NOT_RESUMABLE": Sentence(
        N_("The agent was stopped before it was done."),
        N_("An agent that runs alone is never saved, so there is nothing to go on from."),
        N_("Run it again, or as a task of a team, which is saved."),
    ),
    "CHECKPOINT_AMBIGUOUS": Sentence(
        N_("This store holds several runs: {keys}."),
        N_("Nothing was changed."),
        N_("Say which one with its key or run id."),
    ),
    "CHECKPOINT_NOT_NAMED": Sentence(
        N_("Nothing says which saved run to continue."),
        N_("Nothing was changed."),
        N_("Name the store it was saved in."),
    ),
    "CHECKPOINT_FORBIDDEN": Sentence(
        N_("Not saved: another program writes this store now ({cause})."),
        _FILE_SAFE,
        N_("Look at the run there, and restore it once the other program is done."),
    ),
    "RESTORE_AGENTS_MISSING": Sentence(
        N_("The team has no agent called {agents}, and unfinished tasks need them."),
        N_("Nothing was changed."),
        N_("Restore with the team the run was started with."),
    ),
    "AGENT_NAME_TWICE": Sentence(
        N_("Two agents are called “{agent}”."), _NOTHING_RAN, N_("Give each agent its own name.")
    ),
    "AGENT_NAME_INVALID": Sentence(
        N_("An agent cannot be called “{agent}”."),
        _NOTHING_RAN,
        N_("Use a name without “/” that does not begin with “__oma_”."),
    ),
    "UNKNOWN_ASSIGNEE": Sentence(
        N_("Some tasks are meant for agents the team does not have: {issues}."),
        _NOTHING_RAN,
        N_("Correct the names, or leave them away to have an agent chosen."),
    ),
    "INVALID_TASK_DEPENDENCIES": Sentence(
        N_("The tasks cannot be put in order: {issues}."),
        _NOTHING_RAN,
        N_("Remove the dependency of a task on itself, on a task that is missing, or in a circle."),
    ),
    "INVALID_TASK_REQUIREMENTS": Sentence(
        N_("Some tasks require what their agent, or the nearest one, does not have: {issues}."),
        _NOTHING_RAN,
        N_("Grant the tools, declare the capabilities, or change the requirements."),
    ),
    "NO_ELIGIBLE_AGENT": Sentence(
        N_("No agent fits what task “{title}” requires."),
        _FILE_SAFE,
        N_("Grant the tools, declare the capabilities, or change the requirements."),
    ),
    "TASK_UNKNOWN": Sentence(N_("There is no task with the id “{task}”."), _FILE_SAFE),
    "TASK_NOT_IN_STATE": Sentence(
        N_("Task “{task}” is {found}, so this cannot be done with it now."), _FILE_SAFE
    ),
    "AGENT_MISSING": Sentence(
        N_("The agent of this task is not in the team."),
        N_("The task did not run."),
        N_("Add the agent, then restore and try failed tasks again."),
    ),
    "UNRESOLVED_DEPENDENCIES": Sentence(
        N_("A task waits for something no task is called."),
        N_("The task did not run."),
        N_("Use the exact title of another task; a title used twice cannot be named."),
    ),
    "DEPENDENCY_STRUCTURED_RESULT_MISSING": Sentence(
        N_("Task “{title}” gave no structured result, but the next task needs one."),
        N_("Its text is kept; the task that needed the structure did not run."),
        N_("Give its agent an output schema, or ask for the text instead."),
    ),
    "DEPENDENCY_STRUCTURED_SERIALIZATION_FAILED": Sentence(
        N_("The structured result of task “{title}” cannot be written as JSON ({found})."),
        N_("Its text is kept; the task that needed the structure did not run."),
        N_("Let the task return plain JSON values, or ask for the text instead."),
    ),
    "DEPENDENCY_PAYLOAD_TOO_LARGE": Sentence(
        N_("The result of task “{title}” is too large to hand on ({size} of {limit} bytes)."),
        N_("The result is kept; the task that needed it did not run."),
        N_("Let the task answer more briefly, or put the data into a file."),
    ),
    "MEMORY_KEY_RESERVED": Sentence(
        N_("“{key}” is reserved for checkpoints and approvals."), N_("Nothing was written.")
    ),
    "MEMORY_VALUE_INVALID": Sentence(
        N_("The note “{key}” is not plain JSON at {path} ({found})."), N_("Nothing was written.")
    ),
    "MEMORY_TTL_INVALID": Sentence(
        N_("A note cannot expire after {found} tasks."),
        N_("Nothing was written."),
        N_("Give a whole number of at least 1."),
    ),
    "MEMORY_SNAPSHOT_INVALID": Sentence(
        N_("The saved shared memory cannot be read."), N_("Nothing was changed.")
    ),
    "BUS_SNAPSHOT_VERSION": Sentence(
        N_("The saved messages are of an unknown kind ({found})."), N_("Nothing was changed.")
    ),
    "ENGINE_FAULT": Sentence(
        N_("Something went wrong inside the engine; this is a defect of the program."),
        _FILE_SAFE,
        N_("Restore the run, and report what happened with the log."),
    ),
    "APPROVAL_PENDING": Sentence(
        N_("The run waits for a decision."),
        N_("Everything else that could run has run."),
        N_("Decide the open request, then restore."),
    ),
    "APPROVAL_REJECTED": Sentence(
        N_("A reviewer rejected what the run was about to do."),
        N_("What was finished before is kept; the remaining tasks were skipped."),
    ),
    "RUN_END_NOT_SAVED": Sentence(
        N_("The end of this run is not saved."),
        N_(
            "The store shows an earlier moment. What was done after it is missing there, and tool "
            "calls made after it can run a second time without being listed."
        ),
        N_("Keep this output, and look at what the run did before you restore it."),
    ),
}
