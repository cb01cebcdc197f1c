"""What a restore keeps, runs, refuses and never touches (formats.md 2.4, 2.10, 2.11; case s06)."""

from __future__ import annotations

import json
import shutil

import pytest

from oma_desktop.engine.cancel import StopReason
from oma_desktop.engine.options import CheckpointOptions
from oma_desktop.engine.tools.gate import ALLOW, Gates, suspend
from oma_desktop.model.checkpoint_loader import load_snapshot_text
from oma_desktop.model.errors import (
    ApprovalError,
    Conflict,
    Corrupt,
    IntegrityMismatch,
    InvalidInput,
    PlanRejected,
    WriteFailed,
)
from oma_desktop.model.team import AgentConfig
from oma_desktop.store.filestore import FileStore
from tests.core.engine.run_world import (
    CASES,
    GOLDEN,
    RecordingStore,
    RunWorld,
    bad,
    golden_world,
    ok,
    spec,
    statuses,
)
from tests.core.engine.runner_world import VirtualClock

CHAIN = tuple(spec(t, *d, assignee="a") for t, *d in (["A"], ["B", "A"], ["C", "B"]))


def edit(world, change):
    """Change the stored checkpoint by hand."""
    entry = next(e for e in world.store.list() if "checkpoint" in e.key)
    document = json.loads(entry.value)
    change(document)
    world.store.set(entry.key, json.dumps(document), entry.metadata)


async def half_done():
    """A run that died after A: B in progress without state, C blocked."""
    world = RunWorld()
    await world.run(*CHAIN, run_id="r1")
    at = next(
        i for i, s in enumerate(world.store.saved)
        if world.statuses(s)["A"] == "completed"
    )  # fmt: skip
    return world.crashed(at)


async def test_completed_tasks_are_not_run_again_and_the_rest_is():
    world = await half_done()
    world.forget_events()
    result = await world.restore()
    assert result.success
    titles = {t["id"]: t["title"] for t in result.tasks}
    assert [titles[e.task] for e in world.of("task_start")] == ["B", "C"]
    assert result.identity.run_id == "r1"
    assert result.identity.attempt == 2
    assert result.identity.links[0]["relation"] == "continued_from"


async def test_the_new_attempt_is_durable_before_anything_happens_in_its_name():
    attempts = []

    async def work(world, _agent, _job):
        attempts.append(world.snapshot()["identity"]["attempt"])
        return ok()

    world = await half_done()
    world.work = work
    await world.restore()
    assert attempts == [2, 2]
    assert "end" not in world.store.saved[0]["omaDesktop"], "a run that goes on has not ended"


async def test_idea_18_restoring_a_finished_run_any_number_of_times_does_no_work():
    world = RunWorld()
    first = await world.run(*CHAIN)
    world.forget_events()
    worked = dict(world.prompts)
    world.prompts.clear()
    for attempt in (2, 3, 4):
        result = await world.restore()
        assert result.success
        assert result.identity.attempt == attempt
        assert result.task_results == first.task_results
        assert result.total_usage == first.total_usage
    assert worked
    assert world.prompts == {}
    assert world.of("task_start") == []


async def test_idea_04_rich_results_survive_a_crash_at_any_save():
    """As a commit beside an open call, and as a message in the history."""
    png = {"type": "base64", "media_type": "image/png", "data": "aGk="}
    parts = [{"type": "text", "text": "shot"}, {"type": "image", "source": png}]

    def turn(text, *calls):
        usage = {"input_tokens": 10, "output_tokens": 1}
        named = [{"id": i, "name": n, "input": {}} for i, n in calls]
        return {"text": text, "tools": named, "usage": usage}

    script = {
        "team": {"name": "x"},
        "agents": [{"name": "a", "tools": ["shoot", "look"]}],
        "tools": {
            "shoot": {"results": {"*": {"data": None, "modelOutput": parts}}},
            "look": {"results": {"*": {"data": "ok", "delayMs": 50}}},
        },
        "replies": {
            "Pictures": [
                turn("", ("c1", "shoot"), ("c2", "look")),
                turn("", ("c3", "look")),
                turn("seen"),
            ]
        },
    }
    world = RunWorld(script=script)
    whole = await world.run(spec("Pictures", assignee="a"), real_runner=True)
    phases = set()
    for at, saved in enumerate(world.store.saved):
        text = json.dumps(saved)
        load_snapshot_text(text)
        for entry in saved["inFlightTasks"]:
            committed = [p["commit"] for p in entry.get("pendingToolCalls", ()) if "commit" in p]
            phases |= {"commit" for c in committed if c["result"]["content"] == parts}
            if '"tool_use_id": "c1"' in json.dumps(entry["messages"]):
                phases.add("message")
        again = await world.crashed(at).restore(real_runner=True)
        (now,), (then,) = again.task_results.values(), whole.task_results.values()
        assert now["output"] == "seen"
        assert now["messages"] == then["messages"]
        (result,) = (
            b
            for m in now["messages"]
            for b in m["content"]
            if b["type"] == "tool_result" and b["tool_use_id"] == "c1"
        )
        assert result["content"] == parts
    assert phases == {"commit", "message"}


async def test_idea_02_what_was_interrupted_is_pending_or_blocked_again():
    """What starts in the restore, and what waits, follows from the dependencies alone."""
    world = RunWorld(agents=("a",))
    await world.run(spec("Done"), spec("Ran", "Done"), spec("Lost", "Ran"), spec("Waits", "Lost"))
    document = world.snapshot()
    for task, status in zip(
        document["queue"]["tasks"],
        ("completed", "in_progress", "in_progress", "pending"),
        strict=True,
    ):
        task["status"] = status
    document["completedTaskResults"] = document["completedTaskResults"][:1]
    del document["omaDesktop"]
    world.store.set(world.store.list()[0].key, json.dumps(document))
    world.store.saved.clear()
    world.prompts.clear()
    result = await world.restore()
    assert world.statuses(world.store.saved[0]) == {
        "Done": "completed", "Ran": "pending", "Lost": "blocked", "Waits": "blocked",
    }  # fmt: skip
    assert list(world.prompts) == ["Ran", "Lost", "Waits"]
    assert set(statuses(result).values()) == {"completed"}


async def test_dev_17_what_a_restore_skips_is_told():
    """A reviewer refused one task: the rest is skipped by the restore, before anything runs."""

    async def gate(task):
        return suspend() if task["title"] == "B" else ALLOW

    world = RunWorld(agents=("a",), gates=Gates(dispatch=gate))
    await world.run(spec("A"), spec("B"), spec("C", "B"))
    world.decide("reject")
    world.forget_events()
    result = await world.restore()
    assert statuses(result) == {"A": "completed", "B": "skipped", "C": "skipped"}
    ids = {t["title"]: t["id"] for t in result.tasks}
    told = {e.task: e.data["to"] for e in world.of("task_status")}
    assert told == {ids["B"]: "skipped", ids["C"]: "skipped"}
    assert {e.task for e in world.of("task_skipped")} == {ids["B"], ids["C"]}


async def test_failed_tasks_stay_failed_unless_asked():
    async def work(_world, _agent, job):
        return bad("no") if job.task_title == "B" else ok()

    world = RunWorld(work=work)
    await world.run(*CHAIN, spec("D"))
    world.forget_events()
    result = await world.restore()
    assert result.status.code == "error"
    assert world.of("task_start") == []
    world.work = None
    result = await world.restore(retry_failed=True)
    assert result.success
    titles = {t["id"]: t["title"] for t in result.tasks}
    assert [titles[e.task] for e in world.of("task_start")] == ["B", "C"]
    assert all("result" in t for t in result.tasks)


async def test_retry_failed_leaves_superseded_and_rejected_tasks_alone():
    world = RunWorld()
    await world.run(spec("A"))

    def change(document):
        task = document["queue"]["tasks"][0]
        skipped = {**task, "id": "s", "status": "skipped", "supersededByRevision": 1}
        refused = {**task, "id": "x", "status": "skipped",
                   "result": "Skipped: durable approval rejected."}  # fmt: skip
        document["queue"]["tasks"] += [skipped, refused]
        document["queue"]["skipped"] = ["s", "x"]

    edit(world, change)
    world.forget_events()
    await world.restore(retry_failed=True)
    assert world.of("task_start") == []


async def test_dev_31_w8_an_empty_store_is_a_no_op_and_nothing_is_saved():
    world = RunWorld()
    result = await world.restore()
    assert result.success
    assert result.tasks == ()
    assert world.store.list() == []
    assert world.events == []


async def test_dev_31_an_empty_queue_counts_as_no_checkpoint():
    world = RunWorld()
    await world.run(spec("A"))

    def empty(document):
        for name in ("tasks", "completed"):
            document["queue"][name] = []
        document["completedTaskResults"] = []

    edit(world, empty)
    result = await world.restore(specs=(spec("B"),))
    assert statuses(result) == {"B": "completed"}


async def test_idea_19_specs_are_run_when_there_is_no_checkpoint_and_ignored_when_there_is():
    world = RunWorld()
    result = await world.restore(specs=(spec("A"),), run_id="new")
    assert statuses(result) == {"A": "completed"}
    assert world.store.list()[0].key == "__oma_checkpoint__/new/latest"
    result = await world.restore(specs=(spec("B"),))
    assert statuses(result) == {"A": "completed"}


async def test_p_11_every_run_has_its_own_key_and_none_is_overwritten():
    world = RunWorld()
    await world.run(spec("A"), run_id="one")
    await world.run(spec("A"), run_id="two")
    assert [e.key for e in world.store.list()] == [
        "__oma_checkpoint__/one/latest", "__oma_checkpoint__/two/latest",
    ]  # fmt: skip
    before = world.store.list()[0].value
    with pytest.raises(Conflict, match="CHECKPOINT_EXISTS"):
        await world.run(spec("A"), run_id="one")
    assert world.store.list()[0].value == before


async def test_with_several_runs_one_must_be_named():
    world = RunWorld()
    await world.run(spec("A"), run_id="one")
    await world.run(spec("B"), run_id="two")
    with pytest.raises(InvalidInput, match="CHECKPOINT_AMBIGUOUS"):
        await world.restore()
    assert statuses(await world.restore(run_id="two")) == {"B": "completed"}
    key = "__oma_checkpoint__/one/latest"
    assert statuses(await world.restore(key=key)) == {"A": "completed"}


async def test_run_id_conflicts_are_refused_before_anything_changes(tmp_path):
    """l5_runid_conflict."""
    world = golden_world("l1_attempt1_crash", tmp_path)
    before = (tmp_path / "checkpoint.json").read_bytes()
    key = world.store.list()[0].key
    with pytest.raises(InvalidInput, match="RESTORE_RUN_ID_CONFLICT"):
        await world.restore(key=key, run_id="other", real_runner=True)
    world = RunWorld(script=world.script, store=world.store)
    place = CheckpointOptions(world.store, run_id="one")
    with pytest.raises(InvalidInput, match="RUN_ID_CONFLICT"):
        await world.run(spec("A"), checkpoint=place, run_id="two")
    assert (tmp_path / "checkpoint.json").read_bytes() == before


async def test_idea_07_requirements_are_looked_at_again_with_the_team_that_restores():
    world = RunWorld(agents=[AgentConfig(name="a", capabilities=["law"])])
    await world.run(spec("A", requires={"requiredCapabilities": ["law"]}))
    crashed = world.crashed(0)
    crashed.team = RunWorld(agents=["a"]).team
    before = crashed.snapshot()
    crashed.forget_events()
    with pytest.raises(PlanRejected, match="INVALID_TASK_REQUIREMENTS"):
        await crashed.restore()
    assert crashed.of("task_start") == []
    assert crashed.snapshot() == before


async def test_idea_11_without_a_name_a_run_gets_a_key_of_its_own_and_a_restore_must_say_which():
    """The peer asks for a run id, a key or a store before any model call; ours always has a key."""
    world = RunWorld()
    first, second = await world.run(spec("A")), await world.run(spec("B"))
    keys = [e.key for e in world.store.list()]
    assert keys == [f"__oma_checkpoint__/{r.identity.run_id}/latest" for r in (first, second)]
    world.forget_events()
    with pytest.raises(InvalidInput, match="CHECKPOINT_AMBIGUOUS"):
        await world.restore()
    assert world.events == []


async def test_dev_29_missing_agents_are_named_before_anything_runs():
    world = await half_done()
    world.team = RunWorld(agents=["somebody"]).team
    before = world.snapshot()
    with pytest.raises(InvalidInput, match="RESTORE_AGENTS_MISSING"):
        await world.restore()
    assert world.snapshot() == before


async def test_w9_a_refused_restore_leaves_shared_memory_alone():
    store = RecordingStore(VirtualClock())
    world = RunWorld(memory="file", store=store)
    await world.run(spec("A"), run_id="r1")
    notes = [e for e in store.list() if "checkpoint" not in e.key]
    assert [e.key.split("/")[1].split(":")[0] for e in notes] == ["task"]
    with pytest.raises(InvalidInput):
        await world.restore(key="__oma_checkpoint__/r1/latest", run_id="other")
    assert [e for e in store.list() if "checkpoint" not in e.key] == notes


async def test_dev_03_w2_an_entry_of_a_pending_or_blocked_task_is_gone_on_with(tmp_path):
    """l6_second_crash_peer_rejects: the peer can never restore this file again."""
    world = golden_world("l6_second_crash_peer_rejects", tmp_path)
    result = await world.restore(real_runner=True)
    assert result.success
    assert set(statuses(result).values()) == {"completed"}
    assert result.log["toolCallsExecuted"] == [
        {"id": "call_post_01", "name": "post_bulletin", "agent": "publisher"}
    ]


async def test_w2_carried_over_tasks_stay_in_progress_in_every_save(tmp_path):
    """a_midrun_dag6 has two in flight; with one slot the second waits long after saves."""
    document = json.loads((GOLDEN / "a_midrun_dag6" / "peer_script.json").read_text("utf-8"))
    document["orchestrator"]["maxConcurrency"] = 1
    world = golden_world("a_midrun_dag6", tmp_path, script=document)
    seen = []
    inner = world.store.set_ready

    def watch(key, value, metadata=None):
        seen.append(json.loads(value.text))
        inner(key, value, metadata)

    world.store.set_ready = watch
    assert (await world.restore(real_runner=True)).success
    carried = 0
    for snapshot in seen:
        by_id = {t["id"]: t["status"] for t in snapshot["queue"]["tasks"]}
        for entry in snapshot["inFlightTasks"]:
            carried += 1
            assert by_id[entry["taskId"]] == "in_progress"
        assert sorted(snapshot["queue"]["inProgress"]) == sorted(
            i for i, s in by_id.items() if s == "in_progress"
        )
    assert carried > 3


@pytest.mark.parametrize(
    "case",
    [
        "a_midrun_dag6",
        "a2_all_phases",
        "l2_attempt2_midrun",
        "d1_dispatch_gate_2_approved",
        "d5_dispatch_approved_then_crash",
        "d6_second_dispatch_approval_peer_rejects",
        "c6_suspended_parallel_killed_approved",
        "d4_round_gate_2_approved",
    ],
)
async def test_p_05_a_crash_at_any_save_of_a_restore_is_restored_again(case, tmp_path):
    """Every save of the second attempt, taken as the last thing a process did."""
    document = json.loads((GOLDEN / case / "peer_script.json").read_text("utf-8"))
    document["orchestrator"]["maxConcurrency"] = 1
    world = golden_world(case, tmp_path, script=document)
    store = RecordingStore(world.clock)
    for entry in world.store.list():
        store.set(entry.key, entry.value, entry.metadata)
    first = len(store.saved)
    world.store = store
    whole = await world.restore(real_runner=True)
    for at in range(first, len(store.saved)):
        crashed = world.crashed(at)
        again = await crashed.restore(real_runner=True)
        assert statuses(again) == statuses(whole), at
        assert again.identity.attempt == store.saved[at]["identity"]["attempt"] + 1


async def test_j3_a_rich_commit_is_loaded_and_replayed(tmp_path):
    world = golden_world("j3_multimodal_commit_peer_rejects", tmp_path)
    result = await world.restore(real_runner=True)
    assert result.success
    assert [c["id"] for c in result.log["toolCallsExecuted"]] == ["call_slow_1"]


@pytest.mark.parametrize(
    "case", ["f3_recovery_end", "i3_redacted_embedded_memory", "k6_v2_queue_v2"]
)
async def test_queues_with_plan_revisions_are_restored_and_keep_them(case, tmp_path):
    world = golden_world(case, tmp_path)
    before = json.loads(world.store.list()[0].value)
    result = await world.restore(real_runner=True)
    peer = json.loads((GOLDEN / case / "expected.json").read_text("utf-8"))["peerRestore"]
    assert result.success
    assert len(result.plan_revisions) == peer["result"]["planRevisions"]
    assert [t["status"] for t in result.tasks] == [t["status"] for t in peer["result"]["tasks"]]
    after = json.loads(world.store.list()[0].value)
    for key in ("version", "planRevision", "planRevisions"):
        assert after["queue"].get(key) == before["queue"].get(key)


async def test_the_mode_of_a_plan_run_is_kept(tmp_path):
    world = golden_world("p2_runfromplan_midrun", tmp_path)
    assert (await world.restore(real_runner=True)).success
    assert json.loads(world.store.list()[0].value)["mode"] == "runFromPlan"


async def test_m_multi_run_store_restores_each_run_by_its_name(tmp_path):
    rows = json.loads((GOLDEN / "m_multi_run_store" / "expected.json").read_text("utf-8"))
    folder = GOLDEN / "m_multi_run_store"
    assert len(rows["peerRestore"]) == 4
    for row in rows["peerRestore"]:
        target = tmp_path / str(row["checkpointRunId"])
        target.mkdir(parents=True)
        script = json.loads((folder / "peer_script.json").read_text("utf-8"))
        world = golden_world("m_multi_run_store", target, script=script)
        wish = {"run_id": row["checkpointRunId"]} if row["checkpointRunId"] else {}
        result = await world.restore(real_runner=True, **wish)
        assert result.status.code == row["result"]["status"]["code"]
        assert [t["status"] for t in result.tasks] == [t["status"] for t in row["result"]["tasks"]]


async def test_idea_36_a_forged_decision_is_refused_and_nothing_runs(tmp_path):
    world = golden_world("c_tool_gate_4_approved_then_restored", tmp_path)
    key = next(e.key for e in world.store.list() if "checkpoint" in e.key)
    document = json.loads(world.store.get(key).value)
    document["approvalDecisions"][0]["reviewer"]["id"] = "somebody else"
    world.store.set(key, json.dumps(document))
    with pytest.raises(IntegrityMismatch):
        await world.restore(real_runner=True)
    assert world.events == []


@pytest.mark.parametrize("what", ["input of the row", "reviewer of the row", "input of the call"])
async def test_idea_36_a_tampered_row_or_call_is_refused_and_nothing_runs(what, tmp_path):
    world = golden_world("c_tool_gate_2_approved", tmp_path)
    ledger = world.ledger().list()
    assert len(ledger) == 1
    for entry in world.store.list():
        document = json.loads(entry.value)
        if "request" in document and what == "input of the row":
            document["request"]["content"]["input"] = {"to": "somebody else"}
        elif "request" in document and what == "reviewer of the row":
            document["decision"]["requestHash"] = "0" * 64
        elif "inFlightTasks" in document and what == "input of the call":
            for call in document["inFlightTasks"][0]["pendingToolCalls"]:
                if "approvalRequest" in call:
                    call["call"]["input"] = {"to": "somebody else"}
        else:
            continue
        world.store.set(entry.key, json.dumps(document), entry.metadata)
    try:
        await world.restore(real_runner=True)
    except (ApprovalError, Corrupt):
        assert world.of("task_start") == []
    else:
        assert what == "input of the call"
    assert world.of("tool_start") == []


async def test_a_crash_between_checkpoint_and_ledger_row_is_mended(tmp_path):
    world = golden_world("c_tool_gate_1_suspended", tmp_path)
    row = next(e.key for e in world.store.list() if "approval" in e.key)
    before = world.store.get(row).value
    world.store.delete(row)
    result = await world.restore(real_runner=True)
    assert result.status.code == "suspended"
    assert world.store.get(row).value == before


async def test_corrupt_and_broken_graphs_are_refused_and_the_store_stays(tmp_path):
    world = await half_done()

    def cycle(document):
        document["queue"]["tasks"][0]["dependsOn"] = [document["queue"]["tasks"][2]["id"]]

    edit(world, cycle)
    before = world.snapshot()
    with pytest.raises((PlanRejected, Corrupt)):
        await world.restore()
    edit(world, lambda d: d.update(version=0))
    with pytest.raises(Corrupt):
        await world.restore()
    assert world.snapshot() == {**before, "version": 0}


async def test_metadata_is_inherited_or_replaced_and_checked():
    world = RunWorld()
    await world.run(spec("A"), metadata={"team.name": "x"})
    await world.restore()
    assert world.snapshot()["metadata"] == {"team.name": "x"}
    await world.restore(metadata={"other": 1})
    assert world.snapshot()["metadata"] == {"other": 1}
    with pytest.raises(InvalidInput, match="RUN_METADATA_INVALID"):
        await world.restore(metadata={"oma.secret": 1})


async def test_messages_and_notes_are_restored_before_the_agents_go_on():
    world = RunWorld(memory=True, agents=["a"])
    world.team.config.messages.append({"from": "boss", "to": "a", "content": "hurry"})

    async def stop_after_a(world, _agent, job):
        if job.task_title == "A":
            world.token.stop(StopReason.SUSPEND)
        return ok("note of A")

    world.work = stop_after_a
    await world.run(spec("A"), spec("B", memory_scope="all"))
    assert world.snapshot()["turnCount"] == 1
    other = RunWorld(memory=True, agents=["a"], store=world.store)
    result = await other.restore()
    assert result.success
    assert "hurry" in other.prompts["B"]
    assert "note of A" in other.prompts["B"]
    assert other.snapshot()["turnCount"] == 2
    assert len(other.snapshot()["messageBus"]["messages"]) == 1


async def test_case_s06_siblings_that_never_started_run_and_join_gets_all_four(tmp_path):
    file = tmp_path / "store.json"
    shutil.copy(CASES / "s06-never-started-tasks-skipped" / "store.json", file)
    world = RunWorld(agents=["researcher", "writer"], store=FileStore(file, clock=VirtualClock()))
    ran = []

    async def work(_world, _agent, job):
        ran.append(job.task_id)
        return ok(f"result of {job.task_id}")

    world.work = work
    result = await world.restore()
    assert result.success
    assert sorted(ran[:-1]) == ["part-2", "part-3", "part-4"]
    assert ran[-1] == "join"
    prompt = world.prompts["Join"]
    assert "r1" in prompt
    for part in ("part-2", "part-3", "part-4"):
        assert f"result of {part}" in prompt


async def test_a_restore_that_cannot_save_its_attempt_starts_nothing():
    """Else a crash in it would leave a file that says nothing has begun (formats.md W26)."""
    world = await half_done()
    before = [(e.key, e.value) for e in world.store.list()]
    world.forget_events()
    world.store.fail = True
    with pytest.raises(WriteFailed):
        await world.restore()
    assert [(e.key, e.value) for e in world.store.list()] == before
    assert not [e for e in world.events if e.type in {"task_start", "model_call", "tool_start"}]
    world.store.fail = False
    assert (await world.restore()).success
