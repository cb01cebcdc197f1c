"""Sentences of the window's own acts."""

from oma_desktop.base.text import N_, Sentence

SENTENCES = {
    "RUN_NOT_OURS": Sentence(
        N_("This program does not execute that run, so it cannot stop it."),
        hint=N_("Stop it in the process that runs it."),
    ),
    "STORE_OWNED_ELSEWHERE": Sentence(
        N_("Another process owns this store, so nothing was recorded."),
        hint=N_("Close that process, or decide there. A store has one writer."),
    ),
    "JOURNAL_NOT_SHOWN": Sentence(
        N_("{path} is a journal; the window cannot show yet what it tells over time."),
        hint=N_("Open the checkpoint of its run instead."),
    ),
    "JOURNAL_NOT_SHOWN_STORE_OPENED": Sentence(
        N_(
            "{path} is a journal; what it tells over time cannot be shown yet, so the checkpoint "
            "beside it was opened."
        ),
    ),
    "CHECKPOINT_SAVE_FAILED": Sentence(
        N_("A checkpoint could not be saved: {error}"),
        N_("The run goes on. What happened since the last save would be lost in a crash."),
        N_("Make room or fix the folder's rights; the next step saves again."),
    ),
    "DECISION_RECORDED_RESUME": Sentence(
        N_("The decision on {run} is recorded, and nothing else there waits for you."),
        hint=N_("The run goes on when it is resumed."),
    ),
    "RUN_INTERRUPTED": Sentence(
        N_("{run} stopped without an end."),
        hint=N_("Everything saved is kept. See what a resume would do."),
    ),
    "RUNS_INTERRUPTED": Sentence(
        N_("{n} runs stopped without an end."),
        hint=N_("Everything saved is kept. See what a resume would do."),
    ),
    "NOTES_NOT_SAVED": Sentence(
        N_("Your notes could not be saved to {path}."),
        N_("They are kept until this program ends."),
        N_("Make room or fix the rights of that folder."),
    ),
    "PICTURE_NOT_SAVED": Sentence(
        N_("The picture could not be saved to {path}."),
        hint=N_("Choose a folder that can be written."),
    ),
}
