"""Restoring stores the peer wrote, with the peer's own script (golden/README.md)."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from oma_desktop.engine.options import CheckpointOptions, RestoreOptions
from oma_desktop.engine.tools.gate import Gates, suspend
from oma_desktop.model.errors import InvalidInput
from oma_desktop.model.result_document import result_document
from oma_desktop.store.filestore import FileStore
from oma_desktop.store.redacting import RedactingStore
from tests.core.engine.run_world import (
    GOLDEN,
    RunWorld,
    golden_world,
    restore_options,
    spec,
    statuses,
)
from tests.core.engine.runner_world import VirtualClock
from tests.golden_ids import decisions, new_ids_named

DEFECTS = "test_peer_defects.py"
EXCEPT = {
    "c6_suspended_parallel_killed": (
        "independent work goes on while a request is open (P14)",
        "test_suspension.py::test_c6_is_suspended_without_hanging_and_finishes_what_is_independent",
    ),
    "d5_dispatch_approved_then_crash": (
        "an approval that was used is remembered (P05)",
        f"{DEFECTS}::test_p_05_a_second_crash_leaves_a_run_that_can_be_restored",
    ),
    "d6_second_dispatch_approval_peer_rejects": (
        "restores and finishes (P05)",
        f"{DEFECTS}::test_p_05_a_second_crash_leaves_a_run_that_can_be_restored",
    ),
    "i4_redacted_plan_revision_unrestorable": (
        "loads with a warning and finishes (P07)",
        f"{DEFECTS}::test_p_07_revisions_that_redaction_broke_are_loaded_with_a_warning_and_finished",
    ),
    "j3_multimodal_commit_peer_rejects": (
        "loads, and replays the committed rich result (P06)",
        "test_restore.py::test_j3_a_rich_commit_is_loaded_and_replayed",
    ),
    "l6_second_crash_peer_rejects": (
        "a pending task with saved steps goes on from them (P05)",
        f"{DEFECTS}::test_p_05_a_second_crash_leaves_a_run_that_can_be_restored",
    ),
    "m_multi_run_store": (
        "several runs, restored one by one",
        "test_restore.py::test_m_multi_run_store_restores_each_run_by_its_name",
    ),
    "i5_suspend_on_redacting_store": (
        "no file: a run that may not begin",
        "test_golden_restore.py::test_a_suspend_on_a_redacting_store_fails_closed_as_in_the_peer",
    ),
    "l5_runid_conflict": (
        "a restore that is refused",
        "test_golden_restore.py::test_another_run_id_is_refused_as_in_the_peer",
    ),
    "p_plan_artifact": (
        "plans, no saved run",
        "test_plan_runs.py::test_a_replay_ends_as_the_peers_does",
    ),
    "c_decide_errors": (
        "answers to decisions, no restore",
        "../store/test_ledger.py::test_golden_decide_errors",
    ),
    "n_corrupt": (
        "damaged files",
        f"{DEFECTS}::test_p_17_damage_is_named_at_load_or_harmless_never_a_type_error_later",
    ),
    "vectors": ("no saved run", "test_queue.py::test_the_queue_behaves_as_the_peers"),
}
"""Not restored as the peer did, why, and the test that says what happens instead."""

CASES = sorted(p.name for p in GOLDEN.iterdir() if p.is_dir() and p.name not in EXCEPT)

FAILED_WORK_COUNTS = {
    "g3_stale_after_final_failure": "what the failed task used is counted (P12, DEV-09)",
}

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


def check_tokens(document, theirs, log, case):
    """All tokens, but for the prompts of tasks that begin now: those are worded in our own way."""
    began = {call.split(" | ")[1] for call in log["modelCalls"] if call.endswith("turn 0")}
    title = {t["id"]: t["title"] for t in theirs["tasks"]}
    ours = by_id(document["taskResults"])
    for row in theirs["taskResults"]:
        if row["success"] or case not in FAILED_WORK_COUNTS:
            for kind in counted(title[row["id"]] in began):
                assert ours[row["id"]]["tokenUsage"][kind] == row["tokenUsage"][kind], title
    for kind in counted(bool(began)):
        mine, peers = (d["totalTokenUsage"][kind] for d in (document, theirs))
        assert mine > peers if case in FAILED_WORK_COUNTS else mine == peers


def counted(began):
    return ["output_tokens"] if began else ["input_tokens", "output_tokens"]


def test_no_case_is_left_out():
    """Each folder is restored and compared, or says which test covers it and why."""
    assert len(CASES) >= 66
    for case in CASES:
        assert isinstance(expected(case)["peerRestore"]["result"], dict)
    for case, (why, where) in EXCEPT.items():
        assert why
        file, name = where.split("::")
        source = (Path(__file__).parent / file).read_text("utf-8")
        assert re.search(rf"def {name}\b", source), where
        assert case in source


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

    check_tokens(document, theirs, peer["log"], case)
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


async def test_a_suspend_on_a_redacting_store_fails_closed_as_in_the_peer(tmp_path):
    """i5_suspend_on_redacting_store: nobody could decide there, so nothing waits."""
    theirs = expected("i5_suspend_on_redacting_store")
    file = tmp_path / "checkpoint.json"

    async def gate(_task):
        return suspend()

    world = RunWorld(
        gates=Gates(dispatch=gate),
        store=RedactingStore(FileStore(file, clock=VirtualClock())),
    )
    result = await world.run(spec("A"))
    assert result.status.code == theirs["resultStatus"]["code"]
    assert result.error_info.code == theirs["errorInfo"]["code"]
    assert result.error_info.retryable is False, "a refusal to suspend is final (DEV-30)"
    assert list(statuses(result).values()) == theirs["taskStatuses"]
    assert world.of("task_start") == []
    assert world.of("approval_pending") == []


@pytest.mark.parametrize("both", [False, True], ids=["another id", "two ids"])
async def test_another_run_id_is_refused_as_in_the_peer(both, tmp_path):
    """l5_runid_conflict."""
    file = tmp_path / "checkpoint.json"
    file.write_bytes((GOLDEN / "l5_runid_conflict" / "checkpoint.json").read_bytes())
    before = file.read_bytes()
    store = FileStore(file, clock=VirtualClock())
    names = {t["assignee"] for t in json.loads(store.list()[0].value)["queue"]["tasks"]}
    world = RunWorld(agents=sorted(names), store=store)
    place = CheckpointOptions(store, key=store.list()[0].key, run_id="survey-9" if both else None)
    wish = RestoreOptions(place, run_id="other")
    with pytest.raises(InvalidInput, match="RUN_ID_CONFLICT"):
        await world._with(lambda oma: oma.restore(world.team, wish), real_runner=False)
    assert world.of("task_start") == []
    assert file.read_bytes() == before
