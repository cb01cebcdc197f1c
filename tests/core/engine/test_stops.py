"""Stopping a run: suspend, cancel, budget, a lost lock (engine.md 2.8; formats.md 1.7, 2.12)."""

from __future__ import annotations

import copy
import json

import pytest

from oma_desktop.engine.cancel import StopReason
from oma_desktop.model.errors import ChangedOnDisk, Locked, WriteFailed
from oma_desktop.store.filestore import FileStore
from oma_desktop.store.lock import WriterLock
from tests.core.engine.run_world import (
    GOLDEN,
    RunWorld,
    bad,
    golden_world,
    ok,
    restore_options,
    spec,
    statuses,
)
from tests.core.engine.runner_world import VirtualClock

LONG = {
    "team": {"name": "x"},
    "orchestrator": {"maxConcurrency": 2},
    "agents": [{"name": "a", "tools": ["look"]}, {"name": "b", "tools": ["look"]}],
    "tools": {"look": {"schema": {}, "results": {"*": {"data": "seen", "delayMs": 500}}}},
    "replies": {
        "@default": [
            {"tools": [{"id": f"c{n}", "name": "look", "input": {}}], "delayMs": 300}
            for n in range(4)
        ]
        + [{"text": "end"}]
    },
}
SPECS = (spec("A", assignee="a"), spec("B", assignee="b"), spec("C", "A", "B", assignee="a"))


def stop_at(world, type_, nth, reason):
    seen = []

    def hear(event):
        if event.type == type_:
            seen.append(event)
            if len(seen) == nth:
                world.token.stop(reason)

    world.bus.subscribe(hear)


@pytest.mark.parametrize("nth", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("moment", ["model_call", "tool_start", "tool_end"])
async def test_suspend_stops_at_the_next_safe_point_and_loses_nothing(moment, nth):
    world = RunWorld(script=LONG)
    stop_at(world, moment, nth, StopReason.SUSPEND)
    result = await world.run(*SPECS, real_runner=True)
    if result.status.code == "ok":
        assert world.statuses() == dict.fromkeys("ABC", "completed")
        return
    assert result.status.code == "suspended"
    end = world.snapshot()["omaDesktop"]["end"]
    assert (end["status"], end["by"]) == ("suspended", "operator")
    assert end["at"].endswith("Z")
    started = [e.data["toolCallId"] + (e.task or "") for e in world.of("tool_start")]
    ended = [e.data["toolCallId"] + (e.task or "") for e in world.of("tool_end")]
    assert sorted(started) == sorted(ended), "a tool that ran was committed"
    world.forget_events()
    again = await world.restore(real_runner=True)
    assert again.success
    repeated = {e.data["toolCallId"] + (e.task or "") for e in world.of("tool_start")}
    assert not repeated & set(started)
    assert world.snapshot()["omaDesktop"]["end"]["status"] == "ok"


async def test_a_suspend_admits_nothing_new():
    async def work(world, _agent, job):
        world.token.stop(StopReason.SUSPEND)
        return ok()

    world = RunWorld(work=work, max_concurrency=1)
    result = await world.run(spec("A"), spec("B"))
    assert statuses(result) == {"A": "completed", "B": "pending"}
    assert result.status.code == "suspended"


async def test_a_suspend_that_comes_when_all_is_done_changes_nothing():
    async def work(world, _agent, job):
        world.token.stop(StopReason.SUSPEND)
        return ok()

    world = RunWorld(work=work)
    assert (await world.run(spec("A"))).success


@pytest.mark.parametrize("nth", [1, 2, 4])
async def test_cancel_stops_now_and_the_file_keeps_the_last_safe_state(nth):
    world = RunWorld(script=LONG)
    stop_at(world, "tool_start", nth, StopReason.CANCEL)
    result = await world.run(*SPECS, real_runner=True)
    assert result.status.code == "cancelled"
    assert "C" in {t["title"] for t in result.tasks if t["status"] == "skipped"}
    saved = world.snapshot()
    assert saved["omaDesktop"]["end"]["status"] == "cancelled"
    assert set(world.statuses().values()) <= {"pending", "in_progress", "blocked", "completed"}
    again = await world.restore(real_runner=True)
    assert again.success


async def test_an_error_result_seen_while_cancelling_is_not_committed():
    """q_aborted_run: the call runs again on restore."""
    world = RunWorld(script=LONG)
    stop_at(world, "tool_start", 1, StopReason.CANCEL)
    await world.run(spec("A", assignee="a"), real_runner=True)
    entry = world.snapshot()["inFlightTasks"][0]
    assert [("commit" in c) for c in entry["pendingToolCalls"]] == [False]


async def test_the_agents_lock_is_no_start():
    """A task that only waited for its agent is put back, and shown as not begun."""

    async def work(world, _agent, job):
        await world.clock.sleep(1)
        world.token.stop(StopReason.SUSPEND)
        return ok()

    world = RunWorld(agents=["a"], work=work, max_concurrency=2)
    result = await world.run(spec("1"), spec("2"))
    assert statuses(result) == {"1": "completed", "2": "pending"}
    assert world.statuses()["2"] == "pending"


# ---------------------------------------------------------------------- budget


@pytest.mark.parametrize("limit", [1, 2, 3])
async def test_p_01_p02_the_run_budget_ends_the_run_and_returns(limit):
    async def work(world, _agent, job):
        await world.clock.sleep(1)
        return ok(usage=(300, 0))

    world = RunWorld(agents=["a", "b", "c"], work=work, max_concurrency=limit, max_token_budget=500)
    result = await world.run(*(spec(f"t{i}") for i in range(9)))
    assert result.status.code == "budget_exhausted"
    done = [s for s in statuses(result).values() if s == "completed"]
    assert 2 <= len(done) <= 1 + limit
    assert "skipped" in statuses(result).values()
    assert "skipped" not in world.statuses().values()
    assert len(world.of("budget_exceeded")) == 1


async def test_dev_10_p12_the_run_budget_goes_on_after_a_restore(tmp_path):
    """vectors/accounting run_budget_restarts: ours ends as the uninterrupted run did."""
    rows = json.loads((GOLDEN / "vectors" / "accounting.json").read_text("utf-8"))["vectors"]
    row = next(r for r in rows if r["name"] == "run_budget_restarts")
    result, _ = await accounting(row, tmp_path)
    assert result.status.code == "budget_exhausted"
    assert result.total_usage == row["uninterrupted"]["totalTokenUsage"]
    assert [[t["title"], t["status"]] for t in result.tasks] == row["uninterrupted"]["tasks"]


async def accounting(row, tmp_path):
    folder = tmp_path / row["name"]
    folder.mkdir()
    vectors = GOLDEN / "vectors"
    script = json.loads((vectors / row["script"]).read_text("utf-8"))
    (folder / "checkpoint.json").write_bytes((vectors / row["checkpoint"]).read_bytes())
    work = tmp_path / "work"
    work.mkdir()
    world = golden_world(folder, work, script=script)
    return await world.restore(real_runner=True, **restore_options(script)), world


@pytest.mark.parametrize(
    "name",
    [
        "awaiting_model",
        "executing_tools",
        "completed_phase",
        "delegation",
        "max_turns_continue",
        "agent_budget_continue",
        "no_state_lost_usage",
    ],
)
async def test_tokens_and_turns_go_on_as_in_the_vectors(name, tmp_path):
    rows = json.loads((GOLDEN / "vectors" / "accounting.json").read_text("utf-8"))["vectors"]
    row = next(r for r in rows if r["name"] == name)
    result, _ = await accounting(row, tmp_path)
    theirs = row["restored"]
    assert result.status.code == theirs["status"]["code"]
    assert [[t["title"], t["status"]] for t in result.tasks] == theirs["tasks"]
    assert result.total_usage == theirs["totalTokenUsage"]
    assert [result.task_results[t["id"]]["tokenUsage"] for t in result.tasks] == theirs["taskUsage"]
    assert result.log["modelCalls"] == theirs["modelCalls"]
    assert [c["id"] for c in result.log["toolCallsExecuted"]] == theirs["toolCalls"]


async def test_dev_09_the_failed_attempt_of_the_vector_is_counted_too(tmp_path):
    """retry_counter_restarts: the peer forgets the 50 + 5 tokens of the attempt that threw."""
    rows = json.loads((GOLDEN / "vectors" / "accounting.json").read_text("utf-8"))["vectors"]
    row = next(r for r in rows if r["name"] == "retry_counter_restarts")
    result, _ = await accounting(row, tmp_path)
    theirs = row["restored"]["totalTokenUsage"]
    assert result.success
    assert result.log["modelCalls"] == row["restored"]["modelCalls"]
    assert result.total_usage == {
        "input_tokens": theirs["input_tokens"] + 50,
        "output_tokens": theirs["output_tokens"] + 5,
    }


async def test_dev_10_our_own_total_survives_a_crash_even_of_failed_attempts():
    answers = iter([bad(usage=(100, 0)), ok(usage=(10, 0)), ok(usage=(1, 0))])

    async def work(_world, _agent, _job):
        return next(answers)

    world = RunWorld(agents=["a"], work=work)
    await world.run(spec("A", max_retries=1, retry_delay_ms=1), spec("B", "A"))
    at = next(
        i for i, s in enumerate(world.store.saved)
        if s["queue"]["tasks"][0]["status"] == "completed"
    )  # fmt: skip
    crashed = world.crashed(at)

    async def last(_world, _agent, _job):
        return ok(usage=(1, 0))

    crashed.work = last
    result = await crashed.restore()
    assert result.total_usage == {"input_tokens": 111, "output_tokens": 0}


async def test_dev_10_running_agents_are_in_the_total_and_never_counted_twice():
    """At every save the total is settled plus in flight; a crash there gives the same end."""
    script = {
        "team": {"name": "x"},
        "orchestrator": {"maxConcurrency": 2},
        "agents": [{"name": "a", "tools": ["look"]}, {"name": "b", "tools": ["look"]}],
        "tools": {"look": {"schema": {}, "results": {"*": {"data": "seen"}}}},
        "replies": {
            "A": {
                "attempts": [
                    [{"text": "x", "usage": {"input_tokens": 100, "output_tokens": 0},
                      "tools": [{"id": "c0", "name": "look", "input": {}}]},
                     {"error": {"message": "busy", "status": 503}}],
                    [{"text": "x", "usage": {"input_tokens": 7, "output_tokens": 0},
                      "tools": [{"id": "c1", "name": "look", "input": {}}]},
                     {"text": "done", "usage": {"input_tokens": 1, "output_tokens": 0}}],
                ]
            },
            "B": [{"text": "y", "usage": {"input_tokens": 20, "output_tokens": 0},
                   "tools": [{"id": "c2", "name": "look", "input": {}}]},
                  {"text": "done", "usage": {"input_tokens": 2, "output_tokens": 0}}],
        },
    }  # fmt: skip
    world = RunWorld(script=script)
    first = spec("A", assignee="a", max_retries=1, retry_delay_ms=1)
    whole = await world.run(first, spec("B", assignee="b"), real_runner=True)
    assert whole.total_usage == {"input_tokens": 130, "output_tokens": 0}
    for at in range(len(world.store.saved)):
        result = await world.crashed(at).restore(real_runner=True)
        assert result.success
        assert result.total_usage == whole.total_usage, at


# ---------------------------------------------------------------------- the writer lock


class FakeLock:
    """Counts what is done with a lock; `error` is what the next beats raise."""

    def __init__(self, *, held=False):
        self.held = held
        self.did = []
        self.error = None

    def acquire(self):
        self.did.append("acquire")
        self.held = True

    def beat(self):
        if self.error is not None:
            raise self.error
        self.did.append("beat")

    def release(self):
        self.did.append("release")
        self.held = False
        return True


async def test_the_lock_is_kept_for_the_attempt_and_beaten_every_two_seconds():
    async def work(world, _agent, _job):
        await world.clock.sleep(9)
        return ok()

    lock = FakeLock()
    world = RunWorld(work=work)
    await world.run(spec("A"), lock=lock)
    assert lock.did == ["acquire", *["beat"] * 4, "release"]


async def test_a_lock_that_was_taken_before_is_left_to_its_owner():
    lock = FakeLock(held=True)
    await RunWorld().run(spec("A"), lock=lock)
    assert lock.did == []


async def test_a_full_disk_does_not_cost_the_lock():
    async def work(world, _agent, _job):
        world.lock.error = WriteFailed("STORE_NO_SPACE")
        await world.clock.sleep(5)
        world.lock.error = None
        await world.clock.sleep(5)
        return ok()

    lock = FakeLock()
    world = RunWorld(work=work)
    world.lock = lock
    assert (await world.run(spec("A"), lock=lock)).success
    assert "beat" in lock.did


async def test_a_lost_lock_ends_the_run_and_nothing_more_is_written():
    async def work(world, _agent, job):
        world.lock.error = Locked("LOCK_LOST", path="x")
        world.before = len(world.store.saved)
        await job.token.wait()
        return bad("stopped", aborted=True)

    lock = FakeLock()
    world = RunWorld(work=work)
    world.lock = lock
    with pytest.raises(Locked, match="LOCK_LOST"):
        await world.run(spec("A"), spec("B"), lock=lock)
    assert len(world.store.saved) == world.before
    assert lock.did[-1] == "release"


async def test_a_store_somebody_else_wrote_ends_the_run_and_stays_as_it_is(tmp_path):
    """The peer takes no lock (formats.md 1.7, W17): going on would run tools that no file knows."""
    clock = VirtualClock()
    path = tmp_path / "store.json"

    async def work(world, _agent, job):
        if job.task_title == "A":
            path.write_bytes(path.read_bytes() + b"\n")
            world.theirs = path.read_bytes()
        return ok()

    world = RunWorld(work=work, store=FileStore(path, clock=clock))
    with pytest.raises(ChangedOnDisk):
        await world.run(spec("A"), spec("B", "A"))
    assert path.read_bytes() == world.theirs
    assert [e.data["title"] for e in world.events if e.type == "task_start"] == ["A"]


async def test_a_second_writer_is_refused_and_changes_nothing(tmp_path):
    clock = VirtualClock()
    path = tmp_path / "store.json"
    first = WriterLock(path, app="test", clock=clock)
    first.acquire()
    second = WriterLock(path, app="test", clock=clock)
    world = RunWorld(store=FileStore(path, clock=clock))
    with pytest.raises(Locked):
        await world.run(spec("A"), lock=second)
    with pytest.raises(Locked):
        await world.restore(lock=second)
    assert not path.exists()
    first.release()
    assert (await world.run(spec("A"), lock=second)).success
    assert not second.held


async def test_dev_10_what_a_rejected_run_gives_up_stays_counted():
    """A task has saved steps while another one is refused: nobody goes on with them."""
    script = copy.deepcopy(LONG)
    script["gates"] = {"dispatch": {"B": "suspend"}}
    world = RunWorld(script=script)
    stop_at(world, "tool_end", 2, StopReason.SUSPEND)
    await world.run(spec("A", assignee="a"), spec("B", assignee="b"), real_runner=True)
    (entry,) = world.snapshot()["inFlightTasks"]
    used = world.snapshot()["omaDesktop"]["usage"]
    assert used == entry["tokenUsage"] != {"input_tokens": 0, "output_tokens": 0}
    world.decide("reject")
    result = await world.restore(real_runner=True)
    assert result.status.code == "rejected"
    assert world.snapshot()["inFlightTasks"] == []
    assert world.snapshot()["omaDesktop"]["usage"] == result.total_usage == used


async def test_dev_10_steps_of_a_task_that_fails_with_another_stay_counted():
    """W2: a task with saved steps may wait for one that fails now."""
    world = RunWorld(script=LONG)
    stop_at(world, "tool_end", 2, StopReason.SUSPEND)
    await world.run(spec("B", assignee="b"), spec("A", assignee="a"), real_runner=True)
    document = world.snapshot()
    first, second = document["queue"]["tasks"]
    second["dependsOn"] = [first["id"]]
    kept = [e for e in document["inFlightTasks"] if e["taskId"] == second["id"]]
    assert kept
    document["inFlightTasks"] = kept
    world.store.set(world.store.list()[0].key, json.dumps(document))

    async def work(_world, _agent, _job):
        return bad(usage=(7, 3), retryable=False)

    before = document["omaDesktop"]["usage"]
    world.work = work
    result = await world.restore()
    assert statuses(result) == {"B": "failed", "A": "failed"}
    assert world.snapshot()["inFlightTasks"] == []
    used = world.snapshot()["omaDesktop"]["usage"]
    assert used["input_tokens"] == before["input_tokens"] + 7
    assert used["output_tokens"] == before["output_tokens"] + 3
