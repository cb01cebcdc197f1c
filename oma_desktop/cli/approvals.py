"""`oma-desktop approvals PATH`: every request with full content, hash checked here."""

from __future__ import annotations

import argparse

from oma_desktop.base.clock import SystemClock
from oma_desktop.base.ms_iso import to_ms_iso
from oma_desktop.base.text import ntr, tr
from oma_desktop.cli.files import read_store, store_argument
from oma_desktop.cli.output import Exit, Output, problem_line
from oma_desktop.model.json_value import JsonObject
from oma_desktop.model.projection import project_store
from oma_desktop.model.view import ApprovalView, Owner, OwnerKind
from oma_desktop.model.visible_json import draw, exact_content


def add_arguments(parser: argparse.ArgumentParser, name: str) -> None:
    """Describe the arguments."""
    parser.add_argument(
        "path", type=store_argument, help=tr("a store file, or the address of a database")
    )


def run(options: argparse.Namespace, output: Output) -> int:
    """Print pending and decided requests; exit 2 when a row is damaged."""
    container, stamp = read_store(options.path)
    view = project_store(
        container,
        path=str(options.path),
        owner=Owner(OwnerKind.NOT_KNOWN),
        read_at=SystemClock().now(),
        modified_at=None,
        size=stamp.size if stamp else 0,
        now=SystemClock().now(),
    )
    for approval in view.approvals:
        if approval.problem is not None:
            what = problem_line(approval.problem)
            output.note(tr("{id}: {problem}", id=approval.id, problem=what))
    if output.as_json:
        output.document({"approvals": [_document(a) for a in view.approvals]})
    else:
        for approval in view.approvals:
            _print(approval, output)
        output.line(ntr("{n} request.", "{n} requests.", len(view.approvals)))
    damaged = [a for a in view.approvals if a.problem and a.problem.severity == "error"]
    return Exit.USAGE if damaged else Exit.OK


def _document(approval: ApprovalView) -> JsonObject:
    document: JsonObject = {
        "id": approval.id,
        "runId": approval.run_id,
        "scope": approval.scope,
        "boundary": approval.boundary,
        "requestHash": approval.request_hash,
        "hashMatches": approval.hash_matches,
        "state": approval.state,
        "open": approval.open,
        "reason": approval.reason,
        "requestedAt": to_ms_iso(approval.requested_at) if approval.requested_at else None,
        "content": approval.content,
    }
    if approval.reviewer_id is not None:
        reviewer: JsonObject = {"id": approval.reviewer_id}
        if approval.reviewer_name is not None:
            reviewer["displayName"] = approval.reviewer_name
        document["decision"] = {
            "decision": approval.state,
            "reviewer": reviewer,
            "decidedAt": to_ms_iso(approval.decided_at) if approval.decided_at else None,
        }
    if approval.problem is not None:
        document["problem"] = {
            "code": approval.problem.code,
            "message": problem_line(approval.problem),
        }
    return document


def _print(approval: ApprovalView, output: Output) -> None:
    """Print everything the hash covers, in full, hidden characters as escapes."""
    output.line(f"{approval.id}  {approval.scope}  {_state(approval)}")
    output.line(
        tr("  run {run}, boundary {boundary}", run=approval.run_id, boundary=approval.boundary)
    )
    output.line(
        tr(
            "  hash {hash}  {verdict}",
            hash=approval.request_hash,
            verdict=tr("recomputed here, same")
            if approval.hash_matches
            else tr("DOES NOT MATCH THE CONTENT"),
        )
    )
    if approval.reason:
        output.line(tr("  reason (not covered by the hash): {reason}", reason=approval.reason))
    # Hidden, deceiving and look-alike characters are drawn as codes (ux.md C7).
    for line in draw(exact_content(approval.row_value, approval.content)).lines:
        output.line("    " + line.text)


def _state(approval: ApprovalView) -> str:
    if approval.state == "pending":
        return tr("undecided") if approval.open else tr("no longer open")
    word = tr("approved") if approval.state == "approved" else tr("rejected")
    return tr("{state} by {reviewer}", state=word, reviewer=approval.reviewer_id or "?")
