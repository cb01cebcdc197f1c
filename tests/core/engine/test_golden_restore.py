"""Restoring stores the peer wrote, with the peer's own script (golden/README.md)."""

from __future__ import annotations

import json

import pytest

from oma_desktop.model.result_document import result_document
from tests.core.engine.run_world import GOLDEN, golden_world, restore_options
from tests.golden_ids import decisions, new_ids_named

CASES = [
    "a2_all_phases",
    "a_midrun_dag6",
    "b_completed_dag6",
    "c6_suspended_parallel_killed_approved",
    "c_tool_gate_1_suspended",
    "c_tool_gate_2_approved",
    "c_tool_gate_3_rejected",
    "c_tool_gate_4_approved_then_restored",
    "c_tool_gate_5_rejected_then_restored",
    "d1_dispatch_gate_1_suspended",
    "d1_dispatch_gate_2_approved",
    "d1_dispatch_gate_3_rejected",
    "d1_dispatch_gate_4_approved_then_restored",
    "d1_dispatch_gate_5_rejected_then_restored",
    "d2_plan_gate_1_suspended",
    "d2_plan_gate_2_approved",
    "d2_plan_gate_3_rejected",
    "d2_plan_gate_4_approved_then_restored",
    "d2_plan_gate_5_rejected_then_restored",
    "d3_plan_gate_plan_only_1_suspended",
    "d3_plan_gate_plan_only_2_approved",
    "d3_plan_gate_plan_only_3_rejected",
    "d3_plan_gate_plan_only_4_approved_then_restored",
    "d3_plan_gate_plan_only_5_rejected_then_restored",
    "d4_round_gate_1_suspended",
    "d4_round_gate_2_approved",
    "d4_round_gate_3_rejected",
    "d4_round_gate_4_approved_then_restored",
    "d4_round_gate_5_rejected_then_restored",
    "e1_runteam_midrun",
    "e2_runteam_before_synthesis",
    "e3_runteam_complete",
    "e4_restore_without_coordinator",
    "f1_recovery_at_revision",
    "f2_recovery_midrun",
    "f3_recovery_end",
    "f4_recovery_orphan_blocked",
    "g1_failure_cascade_midrun",
    "g2_failure_cascade_end",
    "g3_stale_after_final_failure",
    "h_embedded_1_midrun",
    "h_embedded_2_end",
    "h_reused_store_1_midrun",
    "h_reused_store_2_end",
    "i1_redacted_midrun",
    "i2_redacted_end",
    "j1_multimodal_unicode_midrun",
    "j2_unicode_long_end",
    "k1_v1_without_runid",
    "k2_v1_with_runid",
    "k3_v1_with_memory_and_bus",
    "k4_v2",
    "k5_v3",
    "k7_v4_minimal",
    "k8_runfromplan_v2",
    "l1_attempt1_crash",
    "l2_attempt2_midrun",
    "l3_attempt2_complete",
    "l4_attempt3_complete",
    "p2_runfromplan_midrun",
    "q_aborted_run",
    "r_delegation_commit",
    "s_structured_result",
    "t1_loop_warned",
    "t2_budget_exceeded_flag",
]

STARTS_NO_ATTEMPT = {
    "c_tool_gate_1_suspended",
    "d1_dispatch_gate_1_suspended",
    "d1_dispatch_gate_5_rejected_then_restored",
    "d2_plan_gate_1_suspended",
    "d2_plan_gate_5_rejected_then_restored",
    "d3_plan_gate_plan_only_1_suspended",
    "d3_plan_gate_plan_only_2_approved",
    "d3_plan_gate_plan_only_4_approved_then_restored",
    "d3_plan_gate_plan_only_5_rejected_then_restored",
    "d4_round_gate_1_suspended",
    "d4_round_gate_5_rejected_then_restored",
}
"""Here the peer reports attempt N + 1 and stores N (P13); ours starts none and reports N."""


def expected(case):
    return json.loads((GOLDEN / case / "expected.json").read_text("utf-8"))


def by_id(rows):
    return {row["id"]: row for row in rows}


@pytest.mark.parametrize("case", CASES)
async def test_a_store_of_the_peer_is_restored_as_the_peer_would(case, tmp_path):
    world = golden_world(case, tmp_path)
    before = json.loads(world.store.list()[0].value) if world.store.list() else None
    result = await world.restore(real_runner=True, **restore_options(world.script))
    document = result_document(result)
    peer = expected(case)["peerRestore"]
    theirs = peer["result"]
    assert decisions(document["log"], document["tasks"]) == decisions(peer["log"], theirs["tasks"])
    saved = (GOLDEN / case / "checkpoint.json").read_text("utf-8")
    document, theirs = new_ids_named(document, saved), new_ids_named(theirs, saved)

    assert document["status"]["code"] == theirs["status"]["code"]
    assert document["success"] == theirs["success"]
    starts = case not in STARTS_NO_ATTEMPT
    assert document["identity"]["attempt"] == theirs["identity"]["attempt"] - (not starts)
    if case != "k1_v1_without_runid":
        assert document["identity"]["runId"] == theirs["identity"]["runId"]
    assert document["identity"]["links"] == (theirs["identity"]["links"] if starts else [])
    assert [(t["id"], t["title"], t["status"]) for t in document["tasks"]] == [
        (t["id"], t["title"], t["status"]) for t in theirs["tasks"]
    ]
    assert document["goal"] == theirs["goal"]
    assert document["coordinatorOutput"] == theirs["coordinatorOutput"]
    assert document["planOnly"] == theirs["planOnly"]
    assert document["planRevisions"] == theirs["planRevisions"]
    assert document["pendingApprovals"] == theirs["pendingApprovals"]
    assert document["approvalDecisions"] == theirs["approvalDecisions"]
    for key in ("completedCount", "failureCount", "errorCount"):
        if not document["planOnly"]:  # the peer counts a plan's waiting tasks as no errors
            assert document["metrics"][key] == theirs["metrics"][key]

    ours = by_id(document["taskResults"])
    for task_id, row in by_id(theirs["taskResults"]).items():
        mine = ours[task_id]
        assert mine["status"] == row["status"]
        assert mine["success"] == row["success"]
        if row["success"]:  # a failed task keeps what it did, where the peer's forgets (DEV-09)
            assert mine["toolCalls"] == row["toolCalls"]
            assert mine["messages"] == row["messages"]
        if row["status"] in {"ok", None}:
            assert mine["outputSha256"] == row["outputSha256"]

    log = document["log"]
    asked = [{k: v for k, v in g.items() if k != "taskId"} for g in log["gateCalls"]]
    assert sorted(map(str, asked)) == sorted(map(str, peer["log"]["gateCalls"]))
    assert sorted(log["modelCalls"]) == sorted(peer["log"]["modelCalls"])
    ran = sorted((c["id"], c["name"], c["agent"]) for c in log["toolCallsExecuted"])
    assert ran == sorted((c["id"], c["name"], c["agent"]) for c in peer["log"]["toolCallsExecuted"])
    if theirs["status"]["code"] == "suspended":
        assert json.loads(world.store.list()[0].value) == before, (
            "a suspended restore saves nothing"
        )


@pytest.mark.parametrize("case", sorted(STARTS_NO_ATTEMPT))
async def test_p_13_what_starts_no_attempt_reports_none_and_saves_nothing(case, tmp_path):
    """Twice the same: the attempt that is saved; the one that really starts is the next."""
    world = golden_world(case, tmp_path)
    before = (tmp_path / "checkpoint.json").read_bytes()
    saved = world.snapshot()["identity"]
    for _ in range(2):
        result = await world.restore(real_runner=True, **restore_options(world.script))
        assert result.identity.attempt == saved["attempt"]
        assert result.identity.trace_id == saved["lastTraceId"]
        assert result.log is None
        assert (tmp_path / "checkpoint.json").read_bytes() == before


async def test_p_13_the_attempt_that_starts_after_waiting_is_the_next_and_is_stored(tmp_path):
    world = golden_world("c_tool_gate_1_suspended", tmp_path)
    options = restore_options(world.script)
    assert (await world.restore(real_runner=True, **options)).identity.attempt == 1
    world.decide()
    result = await world.restore(real_runner=True, **options)
    assert result.identity.attempt == world.snapshot()["identity"]["attempt"] == 2
