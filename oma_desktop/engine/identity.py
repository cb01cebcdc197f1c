"""Who a run is: ids of runs, attempts and tasks (formats.md 2.10)."""

from __future__ import annotations

import secrets
import uuid
from typing import Final, Protocol

from oma_desktop.model.checkpoint import CheckpointSnapshot, IdentitySnapshot
from oma_desktop.model.errors import InvalidInput
from oma_desktop.model.json_text import js_trim
from oma_desktop.model.json_value import JsonObject
from oma_desktop.model.metadata import run_id_problem
from oma_desktop.model.result import RunIdentity

MAX_RUN_ID: Final = 128


class Ids(Protocol):
    """Where new ids come from; tests give predictable ones."""

    def uuid(self) -> str:
        """A UUID in lower case, for runs, tasks and messages."""
        ...

    def trace_id(self) -> str:
        """32 lower-case hex digits, not all zero."""
        ...

    def span_id(self) -> str:
        """16 lower-case hex digits, not all zero."""
        ...


class RandomIds:
    """The real source."""

    def uuid(self) -> str:
        """A random UUID v4."""
        return str(uuid.uuid4())

    def trace_id(self) -> str:
        """32 random hex digits."""
        return secrets.token_hex(16) if (n := secrets.token_hex(16)).strip("0") == "" else n

    def span_id(self) -> str:
        """16 random hex digits."""
        return secrets.token_hex(8) if (n := secrets.token_hex(8)).strip("0") == "" else n


def check_run_id(run_id: str) -> str:
    """Return the id, or raise InvalidInput RUN_ID_INVALID (1..128 UTF-16 units, trimmed: W10).

    Trimmed as JavaScript does, or a request for a decision would carry another id than the run.
    """
    if run_id_problem(run_id) or run_id != run_id.strip() or run_id != js_trim(run_id):
        raise InvalidInput("RUN_ID_INVALID", run_id=run_id, limit=MAX_RUN_ID)
    return run_id


def one_run_id(requested: str | None, checkpoint_run_id: str | None) -> str | None:
    """The run id two options agree on; raises InvalidInput RUN_ID_CONFLICT when they differ."""
    if requested and checkpoint_run_id and requested != checkpoint_run_id:
        raise InvalidInput("RUN_ID_CONFLICT", requested=requested, found=checkpoint_run_id)
    chosen = requested or checkpoint_run_id or None
    return None if chosen is None else check_run_id(chosen)


def new_identity(run_id: str | None, ids: Ids) -> RunIdentity:
    """The first attempt of a run."""
    return RunIdentity(run_id or ids.uuid(), 1, ids.trace_id(), ids.span_id())


def continued_identity(
    snapshot: CheckpointSnapshot, requested: str | None, ids: Ids
) -> RunIdentity:
    """The next attempt of a saved run (formats.md 2.10.2).

    Raises InvalidInput RESTORE_RUN_ID_CONFLICT when the caller names another run.
    """
    saved = snapshot.get("identity")
    run_id = saved["runId"] if saved is not None else snapshot.get("runId")
    if requested and run_id and requested != run_id:
        raise InvalidInput("RESTORE_RUN_ID_CONFLICT", requested=requested, found=run_id)
    links: tuple[JsonObject, ...] = ()
    if saved is not None:
        links = (
            {
                "traceId": saved["lastTraceId"],
                "spanId": saved["lastRootSpanId"],
                "relation": "continued_from",
            },
        )
    attempt = 2 if saved is None else saved["attempt"] + 1
    # A saved id is kept as it is, spaces and all: the peer wrote it, and it names the run (P06).
    chosen = run_id if run_id is not None else check_run_id(requested or ids.uuid())
    return RunIdentity(chosen, attempt, ids.trace_id(), ids.span_id(), links)


def unchanged_identity(snapshot: CheckpointSnapshot, next_: RunIdentity) -> RunIdentity:
    """Who a restore speaks for that starts no attempt: the attempt that is saved.

    The peer reports the next number there and does not store it, so that the attempt that really
    starts later has the number of one that never was (P13; its `peerRestore` results show that).
    """
    saved = snapshot.get("identity")
    if saved is None:
        return next_
    return RunIdentity(
        saved["runId"], saved["attempt"], saved["lastTraceId"], saved["lastRootSpanId"]
    )


def identity_snapshot(identity: RunIdentity) -> IdentitySnapshot:
    """What a checkpoint keeps of it."""
    return {
        "runId": identity.run_id,
        "attempt": identity.attempt,
        "lastTraceId": identity.trace_id,
        "lastRootSpanId": identity.root_span_id,
    }
