"""A request as a report to pass on when something about it is wrong (ux.md C7: "Copy report")."""

from __future__ import annotations

import json

from oma_desktop import __version__
from oma_desktop.model.json_value import JsonObject
from oma_desktop.viewmodel.approvals import RequestRow


def report_of(row: RequestRow) -> str:
    """Return everything known about a request as JSON: keys and codes, nothing in a language."""
    request = row.request
    report: JsonObject = {
        "program": f"oma-desktop {__version__}",
        "store": row.key.store,
        "runId": request.run_id,
        "requestId": request.id,
        "scope": request.scope,
        "boundary": request.boundary,
        "state": request.state,
        "open": request.open,
        "requestHash": request.request_hash,
        "hashRecomputedSame": request.hash_matches,
        "sameAsInCheckpoint": request.matches_checkpoint,
    }
    if request.requested_at is not None:
        report["requestedAt"] = request.requested_at.isoformat()
    if request.problem is not None:
        report["problem"] = {
            "code": request.problem.code,
            "where": request.problem.where,
            "facts": {key: str(value) for key, value in request.problem.facts.items()},
        }
    report["content"] = request.content
    if request.row_value is not None:
        report["storedRow"] = request.row_value
    return json.dumps(report, ensure_ascii=False, indent=2)
