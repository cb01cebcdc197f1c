"""Clicks to bytes to pictures: the session on the real loop with the real engine and monitor."""

import asyncio
import json
import os
import shutil

import pytest

from oma_desktop.base.clock import SystemClock
from oma_desktop.model.view import OwnerKind, RunRef, RunState, TaskState
from oma_desktop.monitor.reader import SMALL
from oma_desktop.store import file_reading
from oma_desktop.store.lock import WriterLock
from oma_desktop.store.origin import Origin, write_origin
from oma_desktop.viewmodel.commands import DecisionIntent, ResumeIntent
from tests.app.support import GOLDEN, until

REVIEWER = "operator-1"


def only_run(bench):
    stores = bench.feed.stores()
    return stores[0].runs[0] if stores and stores[0].runs else None


def ref_of(bench):
    store = bench.feed.stores()[0]
    return RunRef(store.path, store.runs[0].key)


def state_is(bench, state):
    run = only_run(bench)
    return run is not None and run.state is state and bench.feed.live(ref_of(bench)) is None


def decide(bench, verdict, *, hash_=None):
    store = bench.feed.stores()[0]
    request = next(a for a in store.approvals if a.open)
    bench.session.decide(
        DecisionIntent(store.path, request.id, hash_ or request.request_hash, verdict, REVIEWER)
    )
    return request.id


def effects(folder):
    lines = (folder / "effects.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


async def test_the_sample_suspends_is_approved_and_finishes(bench, tmp_path):
    bench.session.play_sample_in(tmp_path)
    await until(lambda: state_is(bench, RunState.SUSPENDED))
    run = only_run(bench)
    assert [t.title for t in run.tasks if t.state is TaskState.NEEDS_YOU] == ["Supplier letters"]
    assert run.n_done == 10
    decide(bench, "approve")
    await until(lambda: bench.feed.stores()[0].approvals[0].state == "approved")
    bench.session.resume(ResumeIntent(ref_of(bench)))
    await until(lambda: state_is(bench, RunState.OK))
    started = [e["toolCallId"] for e in effects(tmp_path) if e["event"] == "started"]
    assert started.count("call_let_2") == 1
    assert len(started) == len(set(started))
    assert only_run(bench).n_done == 12
    assert [n.code for n in bench.notices] == ["DECISION_RECORDED_RESUME"], "offered, not done"
    assert bench.window.board.shown == (), "the offer goes when it is taken"


async def test_no_task_at_work_reads_ready_to_start(bench, tmp_path):
    at_work, lies = set(), []

    def on_activity(activity):
        if activity.kind != "idle":
            at_work.add(activity.task_id)

    def on_changed(_paths):
        run = bench.feed.stores()[0].runs
        begun = [t for t in run[0].tasks if t.id in at_work] if run else []
        lies.extend(t for t in begun if t.state in {TaskState.WAITING, TaskState.BLOCKED})

    bench.feed.activity.connect(on_activity)
    bench.feed.changed.connect(on_changed)
    bench.session.play_sample_in(tmp_path)
    await until(lambda: state_is(bench, RunState.SUSPENDED))
    assert len(at_work) > 8
    assert lies == []


async def test_a_rejected_call_never_runs_and_the_run_goes_on(bench, tmp_path):
    bench.session.play_sample_in(tmp_path)
    await until(lambda: state_is(bench, RunState.SUSPENDED))
    decide(bench, "reject")
    await until(lambda: bench.feed.stores()[0].approvals[0].state == "rejected")
    bench.session.resume(ResumeIntent(ref_of(bench)))
    await until(lambda: state_is(bench, RunState.OK))
    assert all(e["toolCallId"] != "call_let_2" for e in effects(tmp_path))


async def test_a_decision_over_another_content_is_refused_and_writes_nothing(bench, tmp_path):
    bench.session.play_sample_in(tmp_path)
    await until(lambda: state_is(bench, RunState.SUSPENDED))
    before = (tmp_path / "checkpoint.json").read_bytes()
    outcomes = []
    bench.feed.decided.connect(outcomes.append)
    decide(bench, "approve", hash_="0" * 64)
    await until(lambda: bool(outcomes))
    assert (outcomes[0].ok, outcomes[0].code) == (False, "APPROVAL_STALE_DECISION")
    assert (tmp_path / "checkpoint.json").read_bytes() == before


async def test_two_clicks_are_one_decision(bench, tmp_path):
    bench.session.play_sample_in(tmp_path)
    await until(lambda: state_is(bench, RunState.SUSPENDED))
    outcomes = []
    bench.feed.decided.connect(outcomes.append)
    decide(bench, "approve")
    decide(bench, "reject")
    await until(lambda: bench.feed.stores()[0].approvals[0].state != "pending")
    assert [o.ok for o in outcomes] == [True]
    assert bench.feed.stores()[0].approvals[0].state == "approved"


@pytest.mark.parametrize("megabytes", [0, 18])
async def test_a_store_suspended_by_the_peer_is_decided_and_restored(
    bench, tmp_path, monkeypatch, megabytes
):
    """A big one is parsed in the worker process only: a thread would hold the window meanwhile."""
    source = GOLDEN / "c_tool_gate_1_suspended"
    store = tmp_path / "checkpoint.json"
    document = json.loads((source / "checkpoint.json").read_text("utf-8"))
    if megabytes:
        note = {**document["entries"][0], "key": "a/note", "metadata": {"agent": "a"}}
        note["value"] = 'a "quoted" line\n' * (megabytes * 1_000_000 // 18)
        document["entries"].append(note)
    store.write_text(json.dumps(document, ensure_ascii=False), "utf-8")
    parsed, parse = [], file_reading.parse_container

    def watched(data, *, path):
        parsed.append(len(data))
        return parse(data, path=path)

    monkeypatch.setattr(file_reading, "parse_container", watched)
    bench.session.open_paths([str(store)])
    await until(lambda: state_is(bench, RunState.SUSPENDED), 60)
    decide(bench, "approve")
    await until(lambda: bench.feed.stores()[0].approvals[0].state == "approved", 60)

    async def choose(_run):
        return Origin(script=source / "peer_script.json")

    bench.session._choose_files = choose
    bench.session.resume(ResumeIntent(ref_of(bench)))
    await until(lambda: state_is(bench, RunState.OK), 60)
    assert [size for size in parsed if size > SMALL] == []
    assert json.loads(store.read_bytes())["entries"][0]["key"] == document["entries"][0]["key"]
    run = only_run(bench)
    assert run.attempt == 2
    assert [t.state for t in run.tasks] == [TaskState.DONE] * 3


async def test_without_files_a_resume_does_nothing(bench, tmp_path):
    store = tmp_path / "checkpoint.json"
    shutil.copyfile(GOLDEN / "a_midrun_dag6" / "checkpoint.json", store)
    before = store.read_bytes()
    bench.session.open_paths([str(store)])
    await until(lambda: bool(only_run(bench)))

    asked = asyncio.Event()

    async def nothing(_run):
        asked.set()

    bench.session._choose_files = nothing
    bench.session.resume(ResumeIntent(ref_of(bench)))
    await asked.wait()
    assert store.read_bytes() == before


async def test_without_the_script_it_was_started_with_a_resume_asks_for_files(bench, tmp_path):
    store = tmp_path / "checkpoint.json"
    shutil.copyfile(GOLDEN / "a_midrun_dag6" / "checkpoint.json", store)
    before = store.read_bytes()
    bench.session.open_paths([str(store)])
    await until(lambda: bool(only_run(bench)))
    run_file = tmp_path / "run.yaml"
    run_file.touch()
    gone = Origin(run_file=run_file, script=tmp_path / "gone.json")
    write_origin(store, ref_of(bench).key, gone)
    asked = asyncio.Event()

    async def nothing(_run):
        asked.set()

    bench.session._choose_files = nothing
    bench.session.resume(ResumeIntent(ref_of(bench)))
    await asyncio.wait_for(asked.wait(), 30)
    assert store.read_bytes() == before


async def test_another_writer_keeps_its_store(bench, tmp_path):
    store = tmp_path / "checkpoint.json"
    shutil.copyfile(GOLDEN / "c_tool_gate_1_suspended" / "checkpoint.json", store)
    before = store.read_bytes()
    lock = WriterLock(store, app="somebody else", clock=SystemClock())
    lock.acquire()
    try:
        bench.session.open_paths([str(store)])
        await until(lambda: bool(only_run(bench)))
        outcomes = []
        bench.feed.decided.connect(outcomes.append)
        decide(bench, "approve")
        await until(lambda: bool(outcomes))
        assert not outcomes[0].ok
        assert store.read_bytes() == before
    finally:
        lock.release()


async def test_an_operator_suspend_stops_at_a_safe_point_and_resumes(bench, tmp_path):
    bench.session._launcher._speed = 0.02
    bench.session.play_sample_in(tmp_path)
    await until(lambda: only_run(bench) is not None and only_run(bench).n_done >= 2)
    ref = ref_of(bench)
    bench.session.suspend(ref)
    assert bench.feed.live(ref) is None or bench.feed.live(ref).suspending
    await until(lambda: state_is(bench, RunState.SUSPENDED))
    assert only_run(bench).end.by == "operator"
    bench.session._launcher._speed = 0.0
    bench.session.resume(ResumeIntent(ref))
    await until(lambda: state_is(bench, RunState.SUSPENDED) and only_run(bench).n_open_approvals)
    started = [e["toolCallId"] for e in effects(tmp_path) if e["event"] == "started"]
    assert len(started) == len(set(started)), "a suspend at a safe point repeats nothing"


async def test_the_owner_is_this_app_while_it_runs_and_nobody_after(bench, tmp_path):
    owners = set()
    bench.feed.changed.connect(
        lambda _paths: owners.update(s.owner.kind for s in bench.feed.stores())
    )
    bench.session._launcher._speed = 0.02
    bench.session.play_sample_in(tmp_path)
    await until(lambda: state_is(bench, RunState.SUSPENDED))
    await until(lambda: bench.feed.stores()[0].owner.kind is OwnerKind.NO_WRITER)
    assert OwnerKind.THIS_APP in owners


async def test_the_resume_plan_arrives_with_the_effects_the_run_file_declares(bench, tmp_path):
    bench.session.play_sample_in(tmp_path)
    await until(lambda: state_is(bench, RunState.SUSPENDED))
    plans = []
    bench.feed.plan_ready.connect(plans.append)
    bench.session.request_resume_plan(ref_of(bench))
    await until(lambda: bool(plans))
    plan = plans[0][1]
    assert len(plan.kept) == 10
    assert [n.tool for n in plan.needs_you] == ["send_letter"]
    assert not plan.may_run_twice


async def test_conversation_and_call_arrive_whole(bench, tmp_path):
    bench.session.play_sample_in(tmp_path)
    await until(lambda: state_is(bench, RunState.SUSPENDED))
    run = only_run(bench)
    task = next(t for t in run.tasks if t.title == "合同条款审阅")
    got, calls = [], []
    bench.feed.conversation_loaded.connect(got.append)
    bench.feed.call_loaded.connect(calls.append)
    bench.session.load_conversation(ref_of(bench), task.id)
    bench.session.load_call(ref_of(bench), task.id, "call_con_1")
    await until(lambda: got and calls)
    assert "不可抗力" in calls[0][1].output
    assert any("第 7.2 条" in b.text for m in got[0][1].messages for b in m.blocks)


@pytest.mark.parametrize("what", ["missing.yaml", "damaged.yaml"])
async def test_a_bad_run_file_is_a_notice_not_a_crash(bench, tmp_path, what):
    (tmp_path / "damaged.yaml").write_text("team: [", "utf-8")
    bench.session.start_run(str(tmp_path / what))
    await until(lambda: bool(bench.notices))
    assert bench.notices[0].level == "error"
    assert not any(name.endswith(".lock") for name in await asyncio.to_thread(os.listdir, tmp_path))


async def test_a_run_prepared_while_the_window_closes_is_suspended(bench, tmp_path):
    """Its store opens after everything was asked to stop: it must not start a tool then."""
    await bench.session._runs.suspend_all(0.1)
    bench.session.play_sample_in(tmp_path)
    await until(lambda: state_is(bench, RunState.SUSPENDED))
    assert only_run(bench).n_done == 0
    assert not effects(tmp_path)
