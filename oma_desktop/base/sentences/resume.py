"""What a resume plan warns about before anything runs (ux.md C8)."""

from __future__ import annotations

from oma_desktop.base.text import N_, Sentence

SENTENCES: dict[str, Sentence] = {
    "RESUME_WAITS_FOR_DECISION": Sentence(
        N_("Decisions are open in this run: {n}."),
        N_("What they hold waits; a resume runs only what is independent of them."),
    ),
    "RESUME_ENDS_REJECTED": Sentence(
        N_("A request of this run was rejected."),
        N_("A resume ends the run as rejected: nothing runs, the remaining tasks are skipped."),
    ),
    "RESUME_PLAN_ONLY": Sentence(
        N_("Only the plan was wanted."),
        N_("A resume ends the run with the approved plan and runs no task."),
    ),
    "RESUME_NO_SAVED_STEPS": Sentence(
        N_("This file is of an old version without steps inside tasks."),
        N_("Tasks that were running start over, with everything they did."),
    ),
}
