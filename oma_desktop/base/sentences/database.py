"""Sentences about stores in databases: reaching them, what was written, who runs what."""

from __future__ import annotations

from typing import Final

from oma_desktop.base.text import N_, Sentence

_SAFE: Final = N_("What was saved before is in the database. ({reason})")

SENTENCES: Final[dict[str, Sentence]] = {
    "DB_UNREACHABLE": Sentence(
        N_("The database {path} cannot be reached."),
        _SAFE,
        N_("Check that the server runs and that its address is right; then try again."),
    ),
    "DB_AUTH_FAILED": Sentence(
        N_("The database {path} refuses the login."),
        N_("Nothing was changed. ({reason})"),
        N_("Check user and password, and that this computer may connect."),
    ),
    "DB_STARTING": Sentence(
        N_("The database {path} is still starting."),
        _SAFE,
        N_("Try again in a moment."),
    ),
    "DB_LOST": Sentence(
        N_("The connection to the database {path} was lost."),
        _SAFE,
        N_("Check the server and the network; then try again."),
    ),
    "DB_OUTCOME_UNKNOWN": Sentence(
        N_("The connection to {path} was lost while something was being written."),
        N_("It is not known whether that was saved; nothing saved before is touched. ({reason})"),
        N_("Look at the store again, then repeat what you did: repeating it does no harm."),
    ),
    "DB_READ_ONLY": Sentence(
        N_("Not saved: the database {path} accepts no changes, it is a copy for reading."),
        _SAFE,
        N_("Use the address of the main server."),
    ),
    "DB_DENIED": Sentence(
        N_("The database {path} does not permit this."),
        N_("Nothing was changed. ({reason})"),
        N_("Give the user the right to use the table or the keys of the store."),
    ),
    "DB_FULL": Sentence(
        N_("Not saved: the database {path} is full."),
        _SAFE,
        N_("Make room on the server; the next save tries again."),
    ),
    "DB_NOT_A_STORE": Sentence(
        N_("What {path} holds under this name is not a store."),
        N_("Nothing was changed. ({reason})"),
        N_("Choose another name with ?table= (PostgreSQL) or ?prefix= (Redis)."),
    ),
    "DB_REFUSED": Sentence(
        N_("The database {path} answered with an error."),
        N_("Nothing was changed by this. ({reason})"),
        N_("The log of the server says more."),
    ),
    "DB_ROW_DAMAGED": Sentence(
        N_("The entry {key} of this store is damaged."),
        N_("Nothing was changed."),
        N_("Restore the database from a backup, or remove the entry there."),
    ),
    "DB_NOT_DURABLE": Sentence(
        N_("This Redis server does not keep its data when it ends."),
        N_("Runs and decisions in it are lost when the server stops or crashes."),
        N_("Switch on its append-only file (appendonly yes)."),
    ),
    "LEASE_HELD": Sentence(
        N_("Another program is running this run: {app}, process {pid} on {host}."),
        N_("It was started at {since} and gave its last sign of life at {heartbeat}. ({path})"),
        N_("Wait until it ends, or stop it there; you can look at the run all the same."),
    ),
    "LEASE_UNREADABLE": Sentence(
        N_("It is not known whether another program runs this run: its lease is not readable."),
        N_("Nothing was changed. ({path})"),
        N_("If no other program uses the run, take it over with --force-lock."),
    ),
    "LEASE_CONTENDED": Sentence(
        N_("Another program is taking over this run just now."),
        N_("Nothing was changed. ({path})"),
        N_("Try again in a moment."),
    ),
    "LEASE_LOST": Sentence(
        N_("This run is no longer ours: its lease was taken over or removed."),
        N_("Nothing more is written; the store holds what the new owner writes. ({path})"),
        N_("Look who runs it now before you resume the run."),
    ),
}
