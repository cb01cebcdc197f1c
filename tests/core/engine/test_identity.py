"""Runs, attempts and their ids (formats.md 2.10; W10, P06)."""

from __future__ import annotations

import pytest

from oma_desktop.engine.identity import (
    RandomIds,
    check_run_id,
    continued_identity,
    new_identity,
    one_run_id,
)
from oma_desktop.model.errors import InvalidInput


def snapshot(**facts):
    return {"version": 4, **facts}


V4 = snapshot(
    identity={"runId": "r", "attempt": 3, "lastTraceId": "t" * 32, "lastRootSpanId": "s" * 16}
)


def test_a_new_run_is_attempt_one_with_fresh_hex_ids():
    identity = new_identity(None, RandomIds())
    assert identity.attempt == 1
    assert len(identity.trace_id) == 32
    assert len(identity.root_span_id) == 16
    assert int(identity.trace_id, 16)
    assert int(identity.root_span_id, 16)
    assert identity.trace_id != new_identity(None, RandomIds()).trace_id


def test_the_next_attempt_links_to_the_last_one():
    identity = continued_identity(V4, None, RandomIds())
    assert (identity.run_id, identity.attempt) == ("r", 4)
    assert identity.links == (
        {"traceId": "t" * 32, "spanId": "s" * 16, "relation": "continued_from"},
    )


@pytest.mark.parametrize(
    ("doc", "requested", "run_id"),
    [
        (snapshot(runId="old"), None, "old"),
        (snapshot(), "mine", "mine"),
    ],
)
def test_idea_55_a_v1_snapshot_counts_as_attempt_one_without_link(doc, requested, run_id):
    identity = continued_identity(doc, requested, RandomIds())
    assert (identity.run_id, identity.attempt, identity.links) == (run_id, 2, ())


def test_idea_55_naming_another_run_is_a_conflict():
    with pytest.raises(InvalidInput, match="RESTORE_RUN_ID_CONFLICT"):
        continued_identity(V4, "other", RandomIds())
    with pytest.raises(InvalidInput, match="RUN_ID_CONFLICT"):
        one_run_id("a", "b")
    assert one_run_id("a", "a") == "a"
    assert one_run_id(None, "") is None


@pytest.mark.parametrize("bad", ["", "x" * 129, "\U0001f600" * 65, " x", "x\n", "\ufeffx"])
def test_w10_ids_that_break_comparisons_are_refused_for_new_runs(bad):
    with pytest.raises(InvalidInput, match="RUN_ID_INVALID"):
        check_run_id(bad)


def test_p_06_a_saved_id_with_spaces_is_kept():
    spaced = snapshot(identity={**V4["identity"], "runId": " r "})
    assert continued_identity(spaced, None, RandomIds()).run_id == " r "
