"""Resume plans of golden stores against expectations written by hand (ux.md C8)."""

from __future__ import annotations

import copy

import pytest

from oma_desktop.model.resume import ResumePlan
from oma_desktop.model.resume_document import call_document, plan_document
from oma_desktop.model.resume_rules import resume_plan
from oma_desktop.model.view import Effect
from tests.core.model.golden_runs import expected, names, rows, snapshot, snapshots


def plan_of(name: str) -> ResumePlan:
    return resume_plan(snapshot(name), rows(name))


def told(plan: ResumePlan) -> dict[str, list[str]]:
    """The plan as names: what a person would read first."""
    lists = {
        "kept": [t.task_title for t in plan.kept],
        "replayed": [c.call_id for c in plan.replayed],
        "asked": [t.task_title for t in plan.asked],
        "will_run": [c.call_id for c in plan.calls_will_run]
        + [t.task_title for t in plan.will_run],
        "needs_you": [n.task_title or n.scope for n in plan.needs_you],
        "may_run_twice": [c.call_id for c in plan.may_run_twice],
        "denied": [c.call_id for c in plan.denied],
        "again": [t.task_title for t in plan.tasks_run_again],
        "stay": [f"{t.task_title}: {t.reason}" for t in plan.stay_failed],
    }
    return {k: v for k, v in lists.items() if v}


EXPECTED = {
    "a_midrun_dag6": {
        "kept": ["Collect incident reports"],
        "replayed": ["call_sup_01", "call_stock_01"],
        "asked": ["Estimate delay cost"],
        "will_run": ["Draft customer notice", "Review notice", "Publish bulletin"],
        "may_run_twice": ["call_eta_01"],
    },
    "a2_all_phases": {
        "kept": ["Translate notice"],
        "replayed": ["call_sup_01", "call_stock_01"],
        "asked": ["Estimate delay cost"],
        "will_run": ["Draft customer notice", "Archive follow-up"],
        "may_run_twice": ["call_eta_01"],
        "again": ["Archive"],
        "stay": ["Audit invoices: failed", "Summarise audit: failed"],
    },
    "c_tool_gate_1_suspended": {
        "kept": ["Plan release"],
        "replayed": ["call_status_1"],
        "will_run": ["Notify"],
        "needs_you": ["Deploy billing"],
    },
    "c_tool_gate_2_approved": {
        "kept": ["Plan release"],
        "replayed": ["call_status_1"],
        "will_run": ["Notify"],
        "may_run_twice": ["call_deploy_1"],
    },
    "c_tool_gate_3_rejected": {
        "kept": ["Plan release"],
        "replayed": ["call_status_1"],
        "will_run": ["Notify"],
        "denied": ["call_deploy_1"],
    },
    "c_tool_gate_4_approved_then_restored": {"kept": ["Plan release", "Deploy billing", "Notify"]},
    "d1_dispatch_gate_1_suspended": {
        "kept": ["Copy tables"],
        "will_run": ["Verify reports"],
        "needs_you": ["Drop old tables"],
    },
    "d1_dispatch_gate_2_approved": {
        "kept": ["Copy tables"],
        "will_run": ["Drop old tables", "Verify reports"],
    },
    "d1_dispatch_gate_3_rejected": {
        "kept": ["Copy tables"],
        "stay": ["Drop old tables: rejected", "Verify reports: rejected"],
    },
    "d2_plan_gate_1_suspended": {
        "will_run": ["Market scan", "Draft copy", "Legal check"],
        "asked": ["@synthesis"],
        "needs_you": ["plan"],
    },
    "d3_plan_gate_plan_only_2_approved": {
        "stay": ["Market scan: plan_only", "Draft copy: plan_only", "Legal check: plan_only"]
    },
    "f4_recovery_orphan_blocked": {
        "kept": ["Step 2b"],
        "stay": ["Step 1: replaced", "Step 2: replaced", "Step 3: unreachable"],
    },
    "q_aborted_run": {
        "replayed": ["call_f1"],
        "will_run": ["Index", "Report"],
        "may_run_twice": ["call_f2"],
    },
    "j3_multimodal_commit_peer_rejects": {
        "replayed": ["call_shot_1"],
        "may_run_twice": ["call_slow_1"],
    },
}


@pytest.mark.parametrize("name", EXPECTED)
def test_plan_says_what_a_restore_does(name: str) -> None:
    assert told(plan_of(name)) == EXPECTED[name]


def test_what_may_run_twice_names_call_input_effect_and_reason() -> None:
    (item,) = plan_of("c_tool_gate_2_approved").may_run_twice
    assert (item.tool, item.agent, item.task_title) == ("deploy", "operator", "Deploy billing")
    assert item.input["version"] == "4.2.0"
    assert item.effect is Effect.CONSEQUENTIAL
    assert item.evidence == "cannot_tell"
    assert item.approved_by == "reviewer-1"


def with_end(name: str, status: str) -> dict:
    changed = copy.deepcopy(snapshot(name))
    end = {"status": status, "at": "2026-11-30T16:33:54.600Z", "by": "operator"}
    changed["omaDesktop"] = {"end": end}
    return changed


def test_own_suspension_proves_that_nothing_began() -> None:
    name = "c_tool_gate_2_approved"
    plan = resume_plan(with_end(name, "suspended"), rows(name))
    assert told(plan)["will_run"] == ["call_deploy_1", "Notify"]
    assert not plan.may_run_twice
    (call,) = plan.calls_will_run
    assert (call.evidence, call.approved_by) == ("checkpoint", "reviewer-1")


def test_a_suspension_proves_nothing_of_a_call_in_doubt() -> None:
    name = "c_tool_gate_2_approved"
    changed = with_end(name, "suspended")
    task_id = changed["inFlightTasks"][0]["taskId"]
    for other, doubted in ((task_id, ["call_deploy_1"]), ("another", [])):
        changed["omaDesktop"]["unsure"] = [{"taskId": other, "toolCallId": "call_deploy_1"}]
        plan = resume_plan(changed, rows(name))
        assert [c.call_id for c in plan.may_run_twice] == doubted
        assert bool(plan.calls_will_run) is not bool(doubted)


@pytest.mark.parametrize("status", ["cancelled", "error", "timeout"])
def test_any_other_end_proves_nothing(status: str) -> None:
    plan = resume_plan(with_end("a_midrun_dag6", status), {})
    assert [c.call_id for c in plan.may_run_twice] == ["call_eta_01"]


def test_decision_already_on_the_call_may_have_begun() -> None:
    name = "c_tool_gate_2_approved"
    taken_up = copy.deepcopy(snapshot(name))
    (row,) = rows(name).values()
    taken_up["approvalDecisions"] = [row["decision"]]
    taken_up["inFlightTasks"][0]["pendingToolCalls"][1]["approvalDecision"] = row["decision"]
    assert [c.call_id for c in resume_plan(taken_up, rows(name)).may_run_twice] == ["call_deploy_1"]
    assert [c.call_id for c in resume_plan(taken_up, {}).may_run_twice] == ["call_deploy_1"]


def masked(name: str, status: str | None = None) -> dict:
    changed = copy.deepcopy(snapshot(name)) if status is None else with_end(name, status)
    for entry in changed["inFlightTasks"]:
        for pending in entry.get("pendingToolCalls", []):
            if "commit" not in pending:
                pending["call"]["input"]["options"] = {"deep": ["a [redacted] b"]}
    return changed


@pytest.mark.parametrize("status", [None, "suspended"])
def test_a_masked_input_waits_for_a_person_even_if_nothing_began(status: str | None) -> None:
    plan = resume_plan(masked("a_midrun_dag6", status), {})
    (item,) = plan.may_run_twice
    assert (item.call_id, item.masked) == ("call_eta_01", True)
    assert not plan.calls_will_run
    codes = [p.code for p in plan.problems]
    assert codes == ["RESUME_VALUES_MASKED", "RESUME_INPUT_MASKED"]
    assert plan.problems[1].facts["tool"] == "ship_eta"
    assert call_document(item)["masked"] is True


def test_a_plain_plan_says_nothing_of_masks() -> None:
    plan = plan_of("a_midrun_dag6")
    assert not plan.may_run_twice[0].masked
    assert "masked" not in call_document(plan.may_run_twice[0])
    assert plan.problems == ()


def test_values_masked_elsewhere_are_told_once() -> None:
    assert "RESUME_VALUES_MASKED" in [p.code for p in plan_of("i1_redacted_midrun").problems]


def test_effects_of_the_run_file_are_used_but_never_silence_the_gate() -> None:
    declared = {"fetch": Effect.READ_ONLY, "deploy": Effect.READ_ONLY}
    (item,) = plan_of("q_aborted_run").may_run_twice
    assert (item.tool, item.effect) == ("fetch", Effect.UNKNOWN)
    (item,) = resume_plan(snapshot("q_aborted_run"), {}, effects=declared).may_run_twice
    assert item.effect is Effect.READ_ONLY
    name = "c_tool_gate_2_approved"
    (item,) = resume_plan(snapshot(name), rows(name), effects=declared).may_run_twice
    assert item.effect is Effect.CONSEQUENTIAL


def test_what_a_restore_would_refuse_is_a_problem_of_the_plan() -> None:
    name = "c_tool_gate_1_suspended"
    changed = copy.deepcopy(snapshot(name))
    call = changed["inFlightTasks"][0]["pendingToolCalls"][1]["call"]
    call["input"] = {"version": "6.6.6"}
    codes = [p.code for p in resume_plan(changed, rows(name)).problems]
    assert codes == ["RESUME_WAITS_FOR_DECISION", "APPROVAL_STALE_DECISION"]
    decided = snapshot("c_tool_gate_4_approved_then_restored")
    (problem,) = resume_plan(decided, {}).problems
    assert (problem.code, problem.severity) == ("APPROVAL_INTEGRITY_ERROR", "error")


def test_attempts_and_versions() -> None:
    plan = plan_of("l2_attempt2_midrun")
    assert (plan.run_id, plan.attempt, plan.next_attempt) == ("survey-9", 2, 3)
    old = plan_of("k1_v1_without_runid")
    assert (old.run_id, old.attempt, old.next_attempt, old.checkpoint_version) == ("", 1, 2, 1)
    assert [p.code for p in old.problems] == ["RESUME_NO_SAVED_STEPS"]


def test_document_has_the_keys_of_the_contract() -> None:
    document = plan_document(plan_of("a_midrun_dag6"))
    assert list(document) == [
        "runId",
        "attempt",
        "nextAttempt",
        "checkpointVersion",
        "journal",
        "kept",
        "replayed",
        "asked",
        "willRun",
        "needsYou",
        "mayRunTwice",
        "tasksRunAgain",
        "problems",
    ]
    assert document["journal"] == {"used": False, "tail": 0, "reason": "no_journal"}
    (call,) = document["mayRunTwice"]
    assert list(call) == [
        "taskId",
        "taskTitle",
        "agent",
        "toolCallId",
        "tool",
        "input",
        "effect",
        "evidence",
    ]


@pytest.mark.parametrize("name", names())
def test_every_task_and_open_call_stands_in_exactly_one_list(name: str) -> None:
    for snap in snapshots(name).values():
        plan = resume_plan(snap, rows(name))
        calls = [*plan.replayed, *plan.calls_will_run, *plan.may_run_twice, *plan.denied]
        open_calls = [
            (e["taskId"], c["call"]["id"])
            for e in snap.get("inFlightTasks", [])
            for c in e.get("pendingToolCalls", [])
            if c.get("approvalRequest", {}).get("id") not in {n.approval_id for n in plan.needs_you}
        ]
        assert sorted((c.task_id, c.call_id) for c in calls) == sorted(open_calls)
        tasks = [*plan.kept, *plan.asked, *plan.will_run, *plan.tasks_run_again, *plan.stay_failed]
        listed = [t.task_id for t in tasks]
        assert len(listed) == len(set(listed))
        elsewhere = {c.task_id for c in calls} | {n.task_id for n in plan.needs_you}
        assert set(listed) | elsewhere >= {t["id"] for t in snap["queue"]["tasks"]}


@pytest.mark.parametrize("name", names())
def test_plan_agrees_with_what_the_peer_really_ran(name: str) -> None:
    restored = expected(name).get("peerRestore")
    if not isinstance(restored, dict) or not restored["ok"]:
        return
    plan = plan_of(name)
    ran = {c["id"] for c in restored["log"]["toolCallsExecuted"]}
    begun = {c.call_id for c in plan.may_run_twice} | {c.call_id for c in plan.calls_will_run}
    assert not ran & {c.call_id for c in (*plan.replayed, *plan.denied)}
    if plan.needs_you:
        assert restored["result"]["status"]["code"] == "suspended"
        assert not ran
        return
    if restored["result"]["status"]["code"] == "suspended":
        return  # another gate asked before the calls came to run
    assert begun <= ran
    asked = {line.split(" | ")[1] for line in restored["log"]["modelCalls"]}
    stopped_early = {
        "g3_stale_after_final_failure": {"Write"},  # its dependency failed again
        "e4_restore_without_coordinator": {"@synthesis"},  # there is nobody to ask
    }.get(name, set())
    assert asked >= {t.task_title for t in (*plan.asked, *plan.will_run)} - stopped_early
