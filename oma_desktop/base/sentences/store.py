"""Sentences about stores, their lock and saving (formats.md 1.4, 1.7; cases s08, s09, s12, s14)."""

from __future__ import annotations

from typing import Final

from oma_desktop.base.text import N_, Sentence

_OLD_STATE_SAFE: Final = N_("What {path} held before is unchanged ({reason}).")

SENTENCES: Final[dict[str, Sentence]] = {
    "STORE_NO_SPACE": Sentence(
        N_("Not saved: the disk is full."),
        _OLD_STATE_SAFE,
        N_("Free some space; the next save tries again."),
    ),
    "STORE_READ_ONLY_DISK": Sentence(
        N_("Not saved: the disk is read-only."),
        _OLD_STATE_SAFE,
        N_("Make the disk writable or choose another place for the store."),
    ),
    "STORE_CROSS_DEVICE": Sentence(
        N_("Not saved: the file cannot be replaced in one step, it lies on another disk."),
        _OLD_STATE_SAFE,
        N_("Keep the store in an ordinary folder of one disk."),
    ),
    "STORE_WRITE_DENIED": Sentence(
        N_("Not saved: writing is not permitted."),
        _OLD_STATE_SAFE,
        N_("Check the permissions of the file and of its folder."),
    ),
    "STORE_IO_ERROR": Sentence(
        N_("Not saved: the disk reported an error."),
        _OLD_STATE_SAFE,
        N_("Check the disk, and copy the store to a safe place."),
    ),
    "STORE_FILE_BUSY": Sentence(
        N_("Not saved: another program keeps the file open."),
        _OLD_STATE_SAFE,
        N_("Close programs that may use the file (backup, virus scanner, editor)."),
    ),
    "STORE_WRITE_FAILED": Sentence(
        N_("Not saved: the file could not be written."),
        _OLD_STATE_SAFE,
        N_("Check the place of the store; the next save tries again."),
    ),
    "STORE_NOT_A_FILE": Sentence(
        N_("Not saved: {path} is not an ordinary file."),
        N_("Nothing was changed."),
        N_("Choose another place for the store."),
    ),
    "STORE_CHANGED": Sentence(
        N_("Not saved: another program has changed {path} since it was read here."),
        N_("What the other program wrote is untouched; what was to be saved is not in the file."),
        N_("Load the file again, then repeat what you did."),
    ),
    "STORE_UNREADABLE": Sentence(
        N_("{path} cannot be read ({reason})."),
        N_("Nothing was changed."),
        N_("Check the permissions of the file and the disk it is on."),
    ),
    "STORE_READER_ONLY": Sentence(
        N_("{path} was opened for reading only."),
        N_("Nothing was changed."),
        N_("Open the store for writing; that takes its lock."),
    ),
    "REDACT_PATTERN_INVALID": Sentence(
        N_("A redaction pattern is not a regular expression: “{pattern}” ({problem})."),
        N_("Nothing was run and nothing was saved."),
        N_("Correct it in checkpoint.redact.patterns; the syntax is that of Python."),
    ),
    "STORE_ADDRESS_INVALID": Sentence(
        N_("This is not an address of a store: {scheme}…"),
        N_("Nothing was changed."),
        N_(
            "Write scheme://user@host:port/database; in a password, characters such as "
            "/ # @ : are written as %2F %23 %40 %3A."
        ),
    ),
    "LOCK_HELD": Sentence(
        N_("Another program is writing this store: {app}, process {pid} on {host}."),
        N_("It was started at {since} and gave its last sign of life at {heartbeat}. ({path})"),
        N_("Wait until it ends, or stop it there; you can look at the run all the same."),
    ),
    "LOCK_UNREADABLE": Sentence(
        N_("It is not known whether another program writes this store: {path} is not readable."),
        N_("Nothing was changed."),
        N_("If no other program uses the store, take the lock over with --force-lock."),
    ),
    "LOCK_TAKEN_OVER": Sentence(
        N_("Its last writer ended without giving it back: {app}, process {pid} on {host}."),
        N_("This program writes {path} now; nothing that was saved is lost."),
        "",
    ),
    "LOCK_NOT_A_FILE": Sentence(
        N_("The place of this store's lock is taken by a folder: {path}."),
        N_("Nothing was changed."),
        N_("Move that folder away or rename it; a lock is a small file."),
    ),
    "LOCK_CONTENDED": Sentence(
        N_("Another program is taking over the lock of this store just now."),
        N_("Nothing was changed. ({path})"),
        N_("Try again in a moment."),
    ),
    "LOCK_LOST": Sentence(
        N_("The lock of this store is no longer ours."),
        N_("Nothing more is written; the file holds what its new owner writes. ({path})"),
        N_("Look who owns the store now before you resume the run."),
    ),
}
