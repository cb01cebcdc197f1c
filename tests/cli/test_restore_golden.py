"""`restore --script` on every store of the peer, against what the peer did with it (golden/README).

Input tokens of a task that began in this attempt are not compared: the scripted model derives them
from the prompt, and prompts are worded here in our own way.
"""

import json
from types import SimpleNamespace

import pytest

from tests.cli.conftest import GOLDEN
from tests.golden_ids import decisions, new_ids_named

CODES = {"ok": 0, "suspended": 3}

SAVES_MORE = {
    "f3_recovery_end": "the attempt is counted in the file, where the peer forgets it (P13)",
    "f4_recovery_orphan_blocked": "the attempt is counted in the file (P13)",
    "g2_failure_cascade_end": "the attempt is counted in the file (P13)",
    "t2_budget_exceeded_flag": "a failure at the end is saved (P08)",
}

DIFFERENT = {
    "c6_suspended_parallel_killed": "independent work goes on while a request is open (P14)",
    "d5_dispatch_approved_then_crash": "an approval that was used is remembered (P05)",
    "d6_second_dispatch_approval_peer_rejects": "restores and finishes (P05)",
    "g3_stale_after_final_failure": "what the failed task did is kept, and saved (P08, DEV-09)",
    "i4_redacted_plan_revision_unrestorable": "loads with a warning and finishes (P07)",
    "j3_multimodal_commit_peer_rejects": "loads, replays the committed rich result (P06)",
    "l6_second_crash_peer_rejects": "a pending task with saved steps goes on from them (P05)",
}
"""Where ours must do better; each has a test of its own below."""

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
"""The peer reports attempt N + 1 there and stores N (P13); ours starts none and reports N."""

CASES = sorted(
    p.parent.name
    for p in GOLDEN.glob("*/peer_script.json")
    if (p.parent / "checkpoint.json").exists() and p.parent.name != "m_multi_run_store"
)
ALIKE = [c for c in CASES if c not in DIFFERENT]


@pytest.fixture
def restore(cli, golden):
    """Restore a copy of a case; returns what both did, ours first."""

    def call(case, *arguments):
        folder = golden(case)
        store = folder / "checkpoint.json"
        script = folder / "peer_script.json"
        before = store.read_text("utf-8")
        done = cli("restore", "--script", script, "--store", store, "--json", *arguments)
        expected = json.loads((folder / "expected.json").read_text("utf-8"))
        after = cli("inspect", store, "--json").json
        return SimpleNamespace(
            code=done.code,
            ours=done.json,
            peer=expected.get("peerRestore"),
            after={c["key"]: c for c in after["checkpoints"]},
            problems=after["problems"],
            store=store,
            before=before,
        )

    return call


def statuses(document):
    return {t["title"]: t["status"] for t in document["tasks"]}


def tools(log):
    return sorted((c["id"], c["name"], c["agent"]) for c in log["toolCallsExecuted"])


def check_results(ours, peer, *, title, began):
    mine = {r["id"]: r for r in ours["taskResults"]}
    assert mine.keys() == {r["id"] for r in peer["taskResults"]}
    for theirs in peer["taskResults"]:
        found = mine[theirs["id"]]
        for key in ("success", "outputSha256", "toolCalls", "messages", "status"):
            assert found[key] == theirs[key], (title[theirs["id"]], key)
        tokens = ["output_tokens"] if title[theirs["id"]] in began else list(theirs["tokenUsage"])
        for key in tokens:
            assert found["tokenUsage"][key] == theirs["tokenUsage"][key], title[theirs["id"]]


@pytest.mark.parametrize("case", ALIKE)
def test_a_store_of_the_peer_goes_on_as_the_peer_would(restore, case):
    done = restore(case)
    log = done.peer["log"]
    ours, peer = (new_ids_named(d, done.before) for d in (done.ours, done.peer["result"]))
    assert decisions(done.ours["log"], done.ours["tasks"]) == decisions(
        log, done.peer["result"]["tasks"]
    )
    assert ours["status"]["code"] == peer["status"]["code"]
    assert ours["success"] == peer["success"]
    assert done.code == CODES.get(ours["status"]["code"], 1)
    starts = case not in STARTS_NO_ATTEMPT
    assert ours["identity"]["attempt"] == peer["identity"]["attempt"] - (not starts)
    assert ours["identity"]["links"] == (peer["identity"]["links"] if starts else [])
    if case != "k1_v1_without_runid":  # nobody knows its id: a new one
        assert ours["identity"]["runId"] == peer["identity"]["runId"]
    assert [(t["id"], t["title"], t["status"]) for t in ours["tasks"]] == [
        (t["id"], t["title"], t["status"]) for t in peer["tasks"]
    ]
    for key in (
        "goal",
        "planOnly",
        "pendingApprovals",
        "approvalDecisions",
        "planRevisions",
        "flags",
    ):
        assert ours[key] == peer[key], key
    title = {t["id"]: t["title"] for t in peer["tasks"]}
    began = {c.split(" | ")[1] for c in log["modelCalls"] if c.endswith("turn 0")}
    check_results(ours, peer, title=title, began=began)
    tokens = ["output_tokens"] if began else ["input_tokens", "output_tokens"]
    for key in tokens:
        assert ours["totalTokenUsage"][key] == peer["totalTokenUsage"][key]
    assert ours["coordinatorOutput"] == peer["coordinatorOutput"]
    assert tools(ours["log"]) == tools(log)
    assert sorted(ours["log"]["modelCalls"]) == sorted(log["modelCalls"])
    assert ours["log"]["gateCalls"] == log["gateCalls"]
    if case not in SAVES_MORE:
        check_file(done)


def check_file(done):
    for theirs in done.peer["fileAfter"]:
        found = done.after[theirs["key"]]
        assert found["attempt"] == theirs["attempt"]
        assert found["statusCounts"] == theirs["statusCounts"]
        for mine, entry in zip(found["inFlight"], theirs["inFlight"], strict=True):
            assert {key: mine[key] for key in entry} == entry


@pytest.mark.parametrize("case", SAVES_MORE)
def test_the_file_says_how_it_ended(restore, case):
    done = restore(case)
    (found,) = done.after.values()
    assert found["attempt"] == done.ours["identity"]["attempt"]
    assert found["inFlight"] == []
    assert sum(found["statusCounts"].values()) == len(done.ours["tasks"])


NO_RESTORE = {
    "c_decide_errors": "answers to decisions (test_approvals.py)",
    "i5_suspend_on_redacting_store": "a run that may not begin (the test of the engine)",
    "l5_runid_conflict": "refused (below)",
    "m_multi_run_store": "several runs (below)",
    "n_corrupt": "damaged files (test_inspect.py, test_check.py)",
    "p_plan_artifact": "plans (test_plan.py, test_check.py)",
    "vectors": "inputs and outputs of single functions",
}
"""Folders that are no saved run with one `peerRestore`, and where they are used."""


def test_every_case_is_accounted_for():
    assert set(DIFFERENT) | set(ALIKE) == set(CASES)
    assert set(SAVES_MORE) <= set(ALIKE)
    assert set(CASES) | set(NO_RESTORE) == {p.name for p in GOLDEN.iterdir() if p.is_dir()}
    assert not set(CASES) & set(NO_RESTORE)


def test_a_run_id_that_is_not_there_is_refused_and_the_store_stays(cli, golden):
    folder = golden("l5_runid_conflict")
    store = folder / "checkpoint.json"
    before = store.read_bytes()
    script = GOLDEN / "l1_attempt1_crash" / "peer_script.json"
    done = cli("restore", "--script", script, "--store", store, "--run-id", "other", "--json")
    assert done.code == 2
    assert done.json["error"]["code"] == "CHECKPOINT_NOT_FOUND"
    assert store.read_bytes() == before


def test_independent_work_goes_on_beside_an_open_request(restore):
    done = restore("c6_suspended_parallel_killed")
    assert done.code == 3
    assert tools(done.ours["log"]) == []
    assert statuses(done.ours) == {
        "Crawl archive": "completed",
        "Rotate keys": "pending",
        "Summary": "blocked",
    }
    assert len(done.ours["pendingApprovals"]) == 1


@pytest.mark.parametrize(
    "case", ["d5_dispatch_approved_then_crash", "d6_second_dispatch_approval_peer_rejects"]
)
def test_an_approved_task_is_not_asked_for_again_after_a_crash(restore, case):
    done = restore(case)
    assert done.code == 0
    assert set(statuses(done.ours).values()) == {"completed"}
    assert tools(done.ours["log"]) == [("call_drop_2", "sql", "dba")]
    asked = [g["title"] for g in done.ours["log"]["gateCalls"]]
    assert "Drop old tables" not in asked


def test_a_task_that_fails_keeps_what_it_did_and_the_file_says_so(restore):
    done = restore("g3_stale_after_final_failure")
    assert done.code == 1
    assert statuses(done.ours) == statuses(done.peer["result"])
    (found,) = done.after.values()
    assert found["statusCounts"] == {"completed": 1, "failed": 2}
    assert found["inFlight"] == []
    fetch = next(r for r in done.ours["taskResults"] if not r["success"] and r["toolCalls"])
    assert fetch["toolCalls"] == ["fetch_page"]


def test_a_redacted_plan_revision_loads_with_a_warning(restore):
    done = restore("i4_redacted_plan_revision_unrestorable")
    assert done.code == 0
    assert statuses(done.ours)["Use again"] == "completed"
    assert {p["severity"] for p in done.problems} == {"warning"}


def test_a_committed_result_with_pictures_is_replayed(restore):
    done = restore("j3_multimodal_commit_peer_rejects")
    assert done.code == 0
    assert [c["id"] for c in done.ours["log"]["toolCallsExecuted"]] == ["call_slow_1"]


def test_a_pending_task_with_saved_steps_goes_on_from_them(restore):
    done = restore("l6_second_crash_peer_rejects")
    assert done.code == 0
    assert set(statuses(done.ours).values()) == {"completed"}
    assert [c["id"] for c in done.ours["log"]["toolCallsExecuted"]] == ["call_post_01"]


RUNS = json.loads((GOLDEN / "m_multi_run_store" / "expected.json").read_text("utf-8"))[
    "peerRestore"
]


@pytest.mark.parametrize("run", RUNS, ids=lambda r: str(r["checkpointRunId"]))
def test_one_of_several_runs_is_restored_and_the_others_stay(cli, golden, run):
    folder = golden("m_multi_run_store")
    store = folder / "checkpoint.json"
    before = {e["key"]: e["value"] for e in json.loads(store.read_text("utf-8"))["entries"]}
    which = ["--run-id", run["checkpointRunId"]] if run["checkpointRunId"] else []
    done = cli(
        "restore", "--script", folder / "peer_script.json", "--store", store, "--json", *which
    )
    assert done.json["status"]["code"] == run["result"]["status"]["code"]
    assert statuses(done.json) == statuses(run["result"])
    assert tools(done.json["log"]) == tools(run["log"])
    after = {e["key"]: e["value"] for e in json.loads(store.read_text("utf-8"))["entries"]}
    mine = {c["key"] for c in run["fileAfter"] if c["attempt"] > 1}
    changed = {k for k in before if before[k] != after[k] and k.startswith("__oma_")}
    assert changed <= mine or run["checkpointRunId"] is None
