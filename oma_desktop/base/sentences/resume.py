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
    "RESUME_VALUES_MASKED": Sentence(
        N_("Values are masked on disk in this run."),
        N_("A resumed run sees “[redacted]” in their place."),
    ),
    "RESUME_INPUT_MASKED": Sentence(
        N_("The input of the call “{tool}” in task “{task}” is masked on disk."),
        N_(
            "A restore does not run it by itself: the model is told. Whether it ran before the "
            "stop is not known."
        ),
        N_(
            "To run it with the mask as its input, accept it in the resume dialog or set "
            "checkpoint.maskedInputs to run."
        ),
    ),
    "RESUME_NO_SAVED_STEPS": Sentence(
        N_("This file is of an old version without steps inside tasks."),
        N_("Tasks that were running start over, with everything they did."),
    ),
}
