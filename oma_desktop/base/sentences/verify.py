"""Sentences about judging the answers of tasks."""

from oma_desktop.base.text import N_, Sentence

_NOTHING_RAN = N_("Nothing was started.")
_NOTHING_CHANGED = N_("Nothing was changed.")

SENTENCES = {
    "UNKNOWN_JUDGE": Sentence(
        N_("Some tasks name judges the team does not have: {issues}."),
        _NOTHING_RAN,
        N_("Judges are agents of the team; correct the names."),
    ),
    "VERIFY_INVALID": Sentence(
        N_("What is asked of the judges cannot be understood: {found}."),
        _NOTHING_RAN,
        N_("Correct verify and try again."),
    ),
    "VERIFICATION_REJECTED": Sentence(
        N_("The judges of a task did not accept its answer."),
        N_("The answer is kept and handed on; what the judges said is in shared memory."),
        N_("Read the dissent before you use what was built on this answer."),
    ),
    "VERIFY_CANNOT_WAIT": Sentence(
        N_("Task “{title}” has judges, so it cannot be put before a reviewer at this point."),
        N_("Nothing was let through."),
        N_("Let a rule allow it, or take its judges away."),
    ),
    "RESTORE_VERIFY_DAMAGED": Sentence(
        N_("The saved run says who judges its tasks, but that part is damaged ({where}: {found})."),
        _NOTHING_CHANGED,
        N_("Without it tasks would go on unjudged. Repair the place from a backup of the store."),
    ),
    "RESTORE_JUDGES_MISSING": Sentence(
        N_("The team has no agent called {agents}, who are to judge: {tasks}."),
        _NOTHING_CHANGED,
        N_("Restore with the team the run was started with."),
    ),
}
