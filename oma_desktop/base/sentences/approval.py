"""Durable approvals, under the codes of the ledger (formats.md 3.5)."""

from __future__ import annotations

from typing import Final

from oma_desktop.base.text import N_, Sentence

_NOT_RECORDED: Final = N_("Nothing was approved or rejected by this.")

SENTENCES: dict[str, Sentence] = {
    "APPROVAL_VALIDATION_ERROR": Sentence(
        N_("The approval request, decision or reviewer is not valid ({reason})."),
        _NOT_RECORDED,
        N_("A reviewer needs a name that is not blank; values must be plain JSON."),
    ),
    "APPROVAL_INTEGRITY_ERROR": Sentence(
        N_("An approval contradicts its own record or the checkpoint ({reason})."),
        N_("Nothing is run on the strength of it."),
        N_("Somebody may have changed the file. Compare it with a backup before going on."),
    ),
    "APPROVAL_STALE_DECISION": Sentence(
        N_("What was to be approved is no longer what is there ({reason})."),
        _NOT_RECORDED,
        N_("Read the request again as it stands now and decide on that."),
    ),
    "APPROVAL_CONFLICT": Sentence(
        N_("Another decision or another request was recorded first."),
        N_("The first one counts and cannot be changed."),
        N_("Look at the request again to see what was decided and by whom."),
    ),
    "APPROVAL_NOT_FOUND": Sentence(
        N_("There is no such approval request in this store."),
        _NOT_RECORDED,
        N_("List the requests of the store and check the id."),
    ),
    "APPROVAL_ATOMIC_STORE_REQUIRED": Sentence(
        N_("This store cannot keep approvals safely."),
        N_("The run did not stop for a decision that could be lost."),
        N_(
            "Give the run a checkpoint, such as a file, without checkpoint.redact: where secrets "
            "are masked on disk, a decision cannot be bound to what was reviewed."
        ),
    ),
    "APPROVAL_NOT_SAVED": Sentence(
        N_("The request for a decision could not be saved."),
        N_("Nothing was let through; what was saved before is still there."),
        N_("Make the store writable again, then restore the run: it will ask again."),
    ),
    "APPROVAL_ROW_MISSING": Sentence(
        N_("A pending request has no row in the ledger yet."),
        N_("The program stopped between two saves; nothing is lost."),
        N_("The next restore writes the row."),
    ),
}
