"""Pictures of golden stores: what a correct reader must conclude, and that none can break it."""

from __future__ import annotations

import copy
import json
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oma_desktop.model.container import Container, ContainerEntry, parse_container
from oma_desktop.model.conversation import conversation
from oma_desktop.model.projection import load_run, project_store
from oma_desktop.model.resume_rules import resume_plan
from oma_desktop.model.view import (
    ApprovalView,
    CallState,
    Effect,
    Owner,
    OwnerKind,
    RunState,
    RunView,
    StoreView,
    TaskState,
    TaskView,
    Usage,
)
from tests.core.model.golden_runs import CASES, GOLDEN, expected, names, snapshot, store_bytes

NOW = datetime(2030, 1, 1, tzinfo=UTC)
NO_WRITER = Owner(OwnerKind.NO_WRITER)
LIVE = Owner(OwnerKind.OTHER_PROCESS, pid=7)


def picture(data: bytes, owner: Owner = NO_WRITER, now: datetime = NOW) -> StoreView:
    return project_store(
        parse_container(data, path="x.json"),
        path="x.json",
        owner=owner,
        read_at=now,
        modified_at=None,
        size=len(data),
        now=now,
    )


def golden(name: str, owner: Owner = NO_WRITER) -> StoreView:
    return picture(store_bytes(name), owner)


def run_of(name: str, owner: Owner = NO_WRITER) -> RunView:
    return golden(name, owner).runs[0]


def task_of(run: RunView, title: str) -> TaskView:
    return next(t for t in run.tasks if t.title == title)


def store_of(*snapshots: dict, **rows: dict) -> bytes:
    entries = [
        {
            "key": f"__oma_checkpoint__/run-{n}/latest",
            "value": json.dumps(s),
            "createdAt": "2026-01-05T08:00:00.000Z",
        }
        for n, s in enumerate(snapshots)
    ]
    entries += [
        {
            "key": f"__oma_approval__/{id_}",
            "value": json.dumps(row),
            "createdAt": "2026-01-05T08:00:00.000Z",
        }
        for id_, row in rows.items()
    ]
    return json.dumps({"version": 1, "entries": entries}).encode()


def described() -> list[str]:
    """Golden stores whose expected.json says what is in them (l5 is about an error)."""
    return [n for n in names() if "checkpoints" in expected(n)]


@pytest.mark.parametrize("name", described())
def test_facts_of_every_golden_checkpoint(name: str) -> None:
    view = golden(name)
    assert [r.key for r in view.runs] == [c["key"] for c in expected(name)["checkpoints"]]
    for run, want in zip(view.runs, expected(name)["checkpoints"], strict=True):
        assert run.readable
        assert (run.version, run.mode, run.goal) == (want["version"], want["mode"], want["goal"])
        assert (run.run_id or None, run.attempt) == (want["runId"], want["attempt"] or 1)
        got = [(t.id, t.title, t.status, t.assignee, [*t.depends_on]) for t in run.tasks]
        assert got == [
            (t["id"], t["title"], t["status"], t.get("assignee"), t["dependsOn"])
            for t in want["tasks"]
        ]
        assert run.plan_revision == want["planRevision"]
        used = want["tokenUsage"]
        parts = [used["completedTasks"], used["inFlight"]]
        assert run.usage.input_tokens == sum(p["input_tokens"] for p in parts)
        assert run.usage.output_tokens == sum(p["output_tokens"] for p in parts)
        in_flight = {e["taskId"]: e for e in want["inFlight"]}
        assert {t.id for t in run.tasks if t.has_state} == in_flight.keys()
        for task in run.tasks:
            entry = in_flight.get(task.id)
            if entry is not None:
                assert (task.phase, task.turns) == (entry["phase"], entry["turns"])
                assert task.n_messages == entry["conversationMessages"]
                assert task.usage == Usage(**entry["tokenUsage"])
                n_open = len(entry["pendingToolCalls"])
                saved = [c.call_id for c in task.calls[len(task.calls) - n_open :]]
                assert saved == [c["id"] for c in entry["pendingToolCalls"]]
                states = {c.call_id: c.state for c in task.calls[len(task.calls) - n_open :]}
                for call in entry["pendingToolCalls"]:
                    is_saved = states[call["id"]] in (CallState.SAVED, CallState.SAVED_ERROR)
                    assert is_saved == call["committed"]


@pytest.mark.parametrize("name", described())
def test_approvals_of_every_golden_store(name: str) -> None:
    view = golden(name)
    rows = {a.id: a for a in view.approvals if a.row_value is not None}
    assert [*rows] == [a["id"] for a in expected(name)["approvals"]]
    for want in expected(name)["approvals"]:
        row = rows[want["id"]]
        assert (row.run_id, row.scope, row.boundary) == (
            want["runId"],
            want["scope"],
            want["boundary"],
        )
        assert (row.request_hash, row.state) == (want["requestHash"], want["state"])
        assert row.hash_matches
        assert row.matches_checkpoint in (True, None)
        assert row.problem is None
    opened = {a.id for a in view.approvals if a.open}
    assert sum(r.n_open_approvals for r in view.runs) == len(opened)
    pending = {p["id"] for c in expected(name)["checkpoints"] for p in c["pendingApprovals"]}
    assert opened == {i for i in pending if i not in rows or rows[i].state == "pending"}


STATES = {
    "a_midrun_dag6": RunState.INTERRUPTED,
    "b_completed_dag6": RunState.OK,
    "c6_suspended_parallel_killed": RunState.SUSPENDED,
    "c_tool_gate_1_suspended": RunState.SUSPENDED,
    "c_tool_gate_2_approved": RunState.SUSPENDED,
    "c_tool_gate_3_rejected": RunState.SUSPENDED,
    "c_tool_gate_4_approved_then_restored": RunState.OK,
    "d1_dispatch_gate_1_suspended": RunState.SUSPENDED,
    "d1_dispatch_gate_5_rejected_then_restored": RunState.REJECTED,
    "d2_plan_gate_1_suspended": RunState.SUSPENDED,
    "d2_plan_gate_5_rejected_then_restored": RunState.REJECTED,
    "d4_round_gate_1_suspended": RunState.SUSPENDED,
    "d5_dispatch_approved_then_crash": RunState.INTERRUPTED,
    "f3_recovery_end": RunState.OK,
    "f4_recovery_orphan_blocked": RunState.ERROR,
    "g1_failure_cascade_midrun": RunState.INTERRUPTED,
    "g2_failure_cascade_end": RunState.ERROR,
    "g3_stale_after_final_failure": RunState.INTERRUPTED,
    "i4_redacted_plan_revision_unrestorable": RunState.OK,
    "k1_v1_without_runid": RunState.INTERRUPTED,
    "l6_second_crash_peer_rejects": RunState.INTERRUPTED,
    "q_aborted_run": RunState.INTERRUPTED,
}


@pytest.mark.parametrize("name", STATES)
def test_state_of_runs_without_a_writer(name: str) -> None:
    assert run_of(name).state is STATES[name]


@pytest.mark.parametrize("name", names())
def test_nothing_is_drawn_as_running_without_a_living_writer(name: str) -> None:
    for owner in (NO_WRITER, Owner(OwnerKind.NOT_KNOWN)):
        for run in golden(name, owner).runs:
            assert run.state is not RunState.RUNNING
            assert all(t.state is not TaskState.RUNNING for t in run.tasks)
            assert all(c.state is not CallState.RUNNING for t in run.tasks for c in t.calls)


def test_runs_of_one_store_have_their_own_states() -> None:
    runs = golden("m_multi_run_store").runs
    assert [r.state for r in runs] == [
        RunState.OK,
        RunState.SUSPENDED,
        RunState.ERROR,
        RunState.SUSPENDED,
    ]
    assert [r.n_open_approvals for r in runs] == [0, 1, 0, 0]


def test_a_living_writer_runs_what_is_unfinished() -> None:
    run = run_of("a_midrun_dag6", LIVE)
    assert run.state is RunState.RUNNING
    task = task_of(run, "Map affected suppliers")
    assert task.state is TaskState.RUNNING
    assert [c.state for c in task.calls] == [
        CallState.SAVED,
        CallState.SAVED_ERROR,
        CallState.RUNNING,
    ]


def test_a_writer_with_nothing_but_decisions_to_wait_for_is_suspended() -> None:
    assert run_of("c_tool_gate_1_suspended", LIVE).state is RunState.SUSPENDED
    both = run_of("c6_suspended_parallel_killed", LIVE)
    assert both.state is RunState.RUNNING
    assert both.n_open_approvals == 1


@pytest.mark.parametrize("app", ["oma-desktop approve", "oma-desktop reject", "oma-desktop review"])
def test_who_only_writes_a_decision_makes_nothing_run(app: str) -> None:
    owner = Owner(OwnerKind.OTHER_PROCESS, pid=7, app=app)
    assert run_of("c_tool_gate_2_approved", owner).state is RunState.SUSPENDED
    assert run_of("a_midrun_dag6", owner).state is not RunState.RUNNING
    writer = Owner(OwnerKind.OTHER_PROCESS, pid=7, app="oma-desktop restore")
    assert run_of("a_midrun_dag6", writer).state is RunState.RUNNING


def test_the_writer_of_a_store_does_not_revive_older_runs_in_it() -> None:
    old = copy.deepcopy(snapshot("a_midrun_dag6"))
    new = copy.deepcopy(old)
    old["createdAt"], new["createdAt"] = "2026-01-01T00:00:00.000Z", "2026-01-03T00:00:00.000Z"
    since = datetime(2026, 1, 2, tzinfo=UTC)
    owner = Owner(OwnerKind.OTHER_PROCESS, pid=7, since=since)
    first, second = picture(store_of(old, new), owner).runs
    assert (first.state, second.state) == (RunState.UNKNOWN, RunState.RUNNING)


def test_s05_interrupted_with_the_time_it_was_last_seen() -> None:
    data = (CASES / "s05-dead-worker-still-running" / "store.json").read_bytes()
    beat = json.loads((CASES / "s05-dead-worker-still-running" / "heartbeat.json").read_text())
    now = datetime.fromisoformat(beat["now"])
    (run,) = picture(data, now=now).runs
    assert run.state is RunState.INTERRUPTED
    assert run.tasks[0].state is TaskState.UNKNOWN
    assert run.saved_at == datetime.fromisoformat(beat["lastBeat"])
    assert run.problems == ()


@pytest.mark.parametrize(
    ("status", "state"),
    [
        ("suspended", RunState.SUSPENDED),
        ("ok", RunState.OK),
        ("error", RunState.ERROR),
        ("cancelled", RunState.CANCELLED),
        ("timeout", RunState.TIMED_OUT),
        ("budget_exhausted", RunState.BUDGET),
        ("rejected", RunState.REJECTED),
        ("something new", RunState.UNKNOWN),
    ],
)
def test_our_own_end_record_wins(status: str, state: RunState) -> None:
    ended = copy.deepcopy(snapshot("a_midrun_dag6"))
    end = {"status": status, "at": "2026-01-05T08:00:00.000Z", "by": "operator"}
    ended["omaDesktop"] = {"end": end, "usage": {"input_tokens": 1000, "output_tokens": 7}}
    (run,) = picture(store_of(ended)).runs
    assert run.state is state
    assert (run.end.status, run.end.by) == (status, "operator")
    assert run.usage == Usage(1000, 7)
    task = task_of(run, "Map affected suppliers")
    assert task.state is TaskState.WAITING
    left = CallState.TO_RUN if status == "suspended" else CallState.OUTCOME_UNKNOWN
    assert task.calls[-1].state is left


@pytest.mark.parametrize(
    ("cost", "shown"),
    [(0.25, 0.25), (0, 0.0), (None, None), ("1", None), (True, None), (-1, None)],
)
def test_what_a_run_cost_is_our_own_fact_or_unknown(cost, shown) -> None:
    usage = {"input_tokens": 3, "output_tokens": 4}
    if cost is not None:
        usage["cost"] = cost
    document = {**snapshot("a_midrun_dag6"), "omaDesktop": {"usage": usage}}
    run = picture(store_of(document)).runs[0]
    assert run.usage == Usage(3, 4, cost=shown)
    assert run_of("a_midrun_dag6").usage.cost is None


def test_replaced_tasks_are_told_apart_from_failed_and_skipped_ones() -> None:
    run = run_of("f3_recovery_end")
    assert task_of(run, "Primary search").state is TaskState.REPLACED
    assert task_of(run, "Report").state is TaskState.REPLACED
    assert task_of(run, "Report v2").state is TaskState.DONE
    assert {t.state for t in run_of("g2_failure_cascade_end").tasks} == {
        TaskState.DONE,
        TaskState.FAILED,
    }


def test_tasks_of_a_plan_revision_name_it() -> None:
    run = run_of("f2_recovery_midrun")
    added = {t.title for t in run.tasks if t.added_by == 1}
    assert added == {"Mirror search", "Analyse mirror", "Report v2"}
    assert task_of(run, "Side study").added_by is None


def test_an_unreachable_task_is_blocked_and_named() -> None:
    run = run_of("f4_recovery_orphan_blocked")
    assert task_of(run, "Step 3").state is TaskState.BLOCKED
    assert [p.facts["title"] for p in run.problems if p.code == "TASK_UNREACHABLE"] == ["Step 3"]


def test_ledger_row_tells_size_preview_effect_and_duration() -> None:
    run = run_of("c_tool_gate_1_suspended")
    saved, asks = task_of(run, "Deploy billing").calls
    assert (saved.tool, saved.agent, saved.round) == ("read_status", "operator", 1)
    assert saved.input_preview == '{"service":"billing"}'
    assert saved.input_size == 21
    assert saved.output_preview.startswith('{"service":"billing","healthy"')
    assert saved.duration_ms == 2
    assert (asks.state, asks.effect) == (CallState.NEEDS_YOU, Effect.CONSEQUENTIAL)
    assert asks.approval_id == "apr_e0027f3fccb0e2632fede1175520406d"
    assert task_of(run, "Deploy billing").state is TaskState.NEEDS_YOU


@pytest.mark.parametrize("name", described())
def test_closed_calls_have_the_durations_of_their_records(name: str) -> None:
    for run, snap in zip(golden(name).runs, expected(name)["checkpoints"], strict=True):
        for task in run.tasks:
            done = next((c for c in snap["completedTaskResults"] if c["taskId"] == task.id), None)
            if done is not None and done.get("hasAgentResult"):
                assert len(task.calls) == done["toolCalls"]
                assert all(c.duration_ms is not None for c in task.calls)


def test_a_request_only_the_checkpoint_knows_is_open() -> None:
    data = json.loads(store_bytes("c_tool_gate_1_suspended"))
    data["entries"] = [e for e in data["entries"] if "approval" not in e["key"]]
    (approval,) = picture(json.dumps(data).encode()).approvals
    assert approval.open
    assert approval.row_value is None
    assert (approval.hash_matches, approval.matches_checkpoint) == (True, True)


def changed_approval(change) -> ApprovalView:
    """The approval of golden c_tool_gate_1 after `change(checkpoint, row)`."""
    data = json.loads(store_bytes("c_tool_gate_1_suspended"))
    checkpoint, row = (json.loads(e["value"]) for e in data["entries"])
    change(checkpoint, row)
    for entry, value in zip(data["entries"], (checkpoint, row), strict=True):
        entry["value"] = json.dumps(value)
    (approval,) = picture(json.dumps(data).encode()).approvals
    return approval


def test_tampered_content_is_shown_and_does_not_match() -> None:
    def change(_, row) -> None:
        row["request"]["content"]["input"]["version"] = "6.6.6"

    approval = changed_approval(change)
    assert approval.open
    assert not approval.hash_matches
    assert approval.matches_checkpoint is False
    assert approval.problem is not None
    assert approval.content["input"]["version"] == "6.6.6"


def test_a_changed_call_in_the_checkpoint_does_not_match_the_reviewed_one() -> None:
    def change(checkpoint, _) -> None:
        entry = checkpoint["inFlightTasks"][0]
        entry["pendingToolCalls"][1]["call"]["input"]["version"] = "6.6.6"

    approval = changed_approval(change)
    assert approval.hash_matches
    assert approval.matches_checkpoint is False


def test_a_request_whose_task_ended_is_no_longer_open() -> None:
    def change(checkpoint, _) -> None:
        checkpoint["queue"]["tasks"][1]["status"] = "failed"
        checkpoint["inFlightTasks"] = []

    approval = changed_approval(change)
    assert (approval.state, approval.open) == ("pending", False)


def test_a_request_the_checkpoint_no_longer_asks_is_not_open() -> None:
    def change(checkpoint, _) -> None:
        checkpoint["pendingApprovals"] = []
        del checkpoint["inFlightTasks"][0]["pendingToolCalls"][1]["approvalRequest"]

    approval = changed_approval(change)
    assert (approval.open, approval.matches_checkpoint) == (False, None)


def test_an_unreadable_row_shows_the_request_of_the_checkpoint() -> None:
    def change(_, row) -> None:
        row.clear()

    approval = changed_approval(change)
    assert approval.open
    assert approval.problem is not None
    assert approval.tool == "deploy"


def test_one_unreadable_checkpoint_does_not_hide_the_others() -> None:
    good = snapshot("b_completed_dag6")
    data = json.loads(store_of(good, good, good))
    data["entries"][0]["value"] = "not json"
    data["entries"][1]["value"] = json.dumps({**good, "version": 99})
    broken, newer, fine = picture(json.dumps(data).encode()).runs
    assert [r.readable for r in (broken, newer, fine)] == [False, False, True]
    assert (newer.version, newer.run_id) == (99, fine.run_id)
    (problem,) = newer.problems
    assert (problem.facts["found"], problem.facts["supported"]) == (99, 5)
    assert broken.problems[0].severity == "error"


def test_a_future_save_is_a_warning() -> None:
    saved = run_of("b_completed_dag6").saved_at
    early = picture(store_bytes("b_completed_dag6"), now=saved - timedelta(hours=1)).runs[0]
    assert [p.code for p in early.problems] == ["SAVED_IN_FUTURE"]
    assert early.state is RunState.OK


@pytest.mark.parametrize(
    "path", sorted((GOLDEN / "n_corrupt").glob("*.json")), ids=lambda p: p.stem
)
def test_every_damaged_file_is_refused_or_pictured(path) -> None:
    from oma_desktop.model.errors import OmaError

    data = path.read_bytes()
    try:
        container = parse_container(data, path=path.name)
    except OmaError:
        return
    view = project_store(
        container, path="x", owner=LIVE, read_at=NOW, modified_at=NOW, size=len(data), now=NOW
    )
    for run in view.runs:
        assert run.readable or run.problems


# -- totality ----------------------------------------------------------------------------------

ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 2**60),
    st.floats(allow_nan=False),
    st.text(max_size=5),
    st.sampled_from(["completed", "in_progress", "tool_call", "assistant", "tool_use", "media"]),
    st.just([]),
    st.just({}),
    st.just([1, "x", {}]),
)
SEEDS = [
    "a2_all_phases",
    "c6_suspended_parallel_killed_approved",
    "c_tool_gate_4_approved_then_restored",
    "f2_recovery_midrun",
    "j3_multimodal_commit_peer_rejects",
]


def places(value: object, path: tuple = ()) -> list[tuple]:
    found = [path] if path else []
    members = value.items() if isinstance(value, dict) else ()
    members = enumerate(value) if isinstance(value, list) else members
    for key, member in members:
        found += places(member, (*path, key))
    return found


def put(document: dict, path: tuple, value: object) -> None:
    target = document
    try:
        for key in path[:-1]:
            target = target[key]
        last = str(path[-1]) if isinstance(target, dict) else path[-1]
        target[last] = copy.deepcopy(value)
    except (KeyError, IndexError, TypeError):
        return  # an earlier change took the place away


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(SEEDS), st.data())
def test_projecting_is_total(name: str, data) -> None:
    mutated = json.loads(json.dumps(snapshot(name)))
    spots = places(mutated)
    for _ in range(data.draw(st.integers(1, 4))):
        put(mutated, data.draw(st.sampled_from(spots)), data.draw(ODD))
    key = "__oma_checkpoint__/r/latest"
    container = Container([ContainerEntry(key, json.dumps(mutated), NOW)])
    for owner in (NO_WRITER, LIVE):
        view = project_store(
            container, path="x", owner=owner, read_at=NOW, modified_at=None, size=1, now=NOW
        )
        assert len(view.runs) == 1
    # What the loader refuses must not break these either: they never rely on it.
    resume_plan(mutated, {})
    for task_id in ("nobody", *(t["id"] for t in snapshot(name)["queue"]["tasks"])):
        conversation(mutated, task_id)
    assert load_run(container, key) is not None
