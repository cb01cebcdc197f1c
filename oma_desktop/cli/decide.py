"""`oma-desktop approve` and `reject`: one decision by compare-and-set under the writer lock."""

from __future__ import annotations

import argparse
from typing import Literal, cast

from oma_desktop.base.clock import SystemClock
from oma_desktop.base.text import tr
from oma_desktop.cli.files import must_be_store, store_argument
from oma_desktop.cli.output import Exit, Output, sentence_of
from oma_desktop.model.approval import ApprovalDecision, Reviewer
from oma_desktop.model.errors import ApprovalError
from oma_desktop.model.json_value import JsonValue
from oma_desktop.store.access import deciding
from oma_desktop.store.ledger import ApprovalLedger
from oma_desktop.store.lock_file import LockOwner


def add_arguments(parser: argparse.ArgumentParser, name: str) -> None:
    """Describe the arguments."""
    parser.add_argument(
        "path", type=store_argument, help=tr("a store file, or the address of a database")
    )
    parser.add_argument("request_id", help=tr("the request, as `approvals` names it"))
    parser.add_argument(
        "--hash", required=True, help=tr("the hash of the content you read; binds the decision")
    )
    parser.add_argument("--reviewer", required=True, metavar="ID", help=tr("who decides"))
    parser.add_argument("--name", help=tr("the reviewer's name as shown to others"))
    parser.set_defaults(verdict=name)


def run(options: argparse.Namespace, output: Output) -> int:
    """Record the decision; exit 1 with the ledger's code when it was not recorded."""
    must_be_store(options.path)
    verdict: Literal["approve", "reject"] = options.verdict
    reviewer: Reviewer = {"id": options.reviewer}
    if options.name is not None:
        reviewer["displayName"] = options.name
    try:
        decision = _decide(options, verdict, reviewer, output)
    except ApprovalError as error:
        line = sentence_of(error.code, error.facts)
        output.note(tr("not recorded: {code}: {message}", code=error.code, message=line))
        if output.as_json:
            output.document({"error": {"code": error.code, "message": f"{error.code}: {line}"}})
        return Exit.FAILED
    if output.as_json:
        output.document({"recorded": True, "decision": cast("JsonValue", decision)})
    else:
        output.line(
            tr(
                "{decision}: {request} by {reviewer} at {at}",
                decision=tr("approved") if decision["decision"] == "approved" else tr("rejected"),
                request=decision["requestId"],
                reviewer=decision["reviewer"]["id"],
                at=decision["decidedAt"],
            )
        )
    return Exit.OK


def _decide(
    options: argparse.Namespace,
    verdict: Literal["approve", "reject"],
    reviewer: Reviewer,
    output: Output,
) -> ApprovalDecision:
    clock = SystemClock()
    app = f"oma-desktop {verdict}"

    def say(dead: LockOwner) -> None:
        facts = {**dead.facts(), "path": str(options.path)}
        output.note(sentence_of("LOCK_TAKEN_OVER", facts))

    with deciding(
        options.path, app=app, clock=clock, force=options.force_lock, on_taken_over=say
    ) as store:
        return ApprovalLedger(store, clock=clock).decide(
            request_id=options.request_id,
            request_hash=options.hash,
            verdict=verdict,
            reviewer=reviewer,
        )
