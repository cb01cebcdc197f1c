"""Sentences about watching, reading and picturing stores (ux.md C2, C5, C15)."""

from __future__ import annotations

from typing import Final

from oma_desktop.base.text import N_, Sentence

SENTENCES: Final[dict[str, Sentence]] = {
    "WATCH_UNAVAILABLE": Sentence(
        N_("Changes of files are not announced by the system here ({reason})."),
        N_("Files are looked at every two seconds instead; nothing is missed."),
        "",
    ),
    "WATCH_LIMIT_REACHED": Sentence(
        N_("The limit of this system for watched files and folders is reached."),
        N_("Files are looked at every two seconds instead; nothing is missed."),
        N_("Close other programs that watch files, or raise the limit."),
    ),
    "WATCH_SILENT": Sentence(
        N_("Files change here and the system does not announce it, as on some network drives."),
        N_("Files are looked at every two seconds instead; nothing is missed."),
        "",
    ),
    "WATCH_FOLDER_TOO_BIG": Sentence(
        N_("The folder {path} holds more than can be followed."),
        N_("The first {n} stores found in it are shown, the others are not."),
        N_("Open a folder further down, or the store itself."),
    ),
    "WATCH_DATABASE_POLLED": Sentence(
        N_("The database {path} does not announce changes here."),
        N_("It is asked twice a second instead; nothing is missed."),
        N_("Connect to the server itself, without a pooler in between."),
    ),
    "STORE_MISSING": Sentence(
        N_("There is no file {path} yet."),
        N_("A store appears here as soon as it is written."),
        "",
    ),
    "STORE_GONE": Sentence(
        N_("The file {path} is gone."),
        N_("What is shown is the last state that was read from it."),
        N_("Put the file back, or close it here."),
    ),
    "STORE_GONE_UNREAD": Sentence(
        N_("The file {path} is gone."),
        N_("It could never be read here, so nothing of it is shown."),
        N_("Put the file back, or close it here."),
    ),
    "PICTURE_FAILED": Sentence(
        N_("The store could be read, but not shown: a fault in this program."),
        N_("Nothing was changed. ({error})"),
        N_("Please report it, with the log."),
    ),
    "READER_DIED": Sentence(
        N_("The process that reads big files ended twice while it read {path}."),
        N_("Nothing was changed; other stores are not affected."),
        N_("There may be too little memory for a file of this size."),
    ),
    "RUN_NOT_FOUND": Sentence(
        N_("There is no checkpoint {key} in {path}."),
        "",
        N_("Look at the runs of the store with `inspect`."),
    ),
    "CALL_NOT_FOUND": Sentence(
        N_("The tool call {call} is not in the store any more."),
        N_("The run has gone on since it was shown."),
        "",
    ),
    "TASK_UNREACHABLE": Sentence(
        N_("The task “{title}” can never start."),
        N_("A task it depends on failed, was skipped or does not exist."),
        "",
    ),
    "SAVED_IN_FUTURE": Sentence(
        N_("This checkpoint was saved in the future, by the clock of this machine."),
        N_("Ages and durations shown for it are not reliable."),
        N_("Compare the clocks of the machines involved."),
    ),
}
