"""When and how a run is saved (engine.md 7.5; formats.md 2.9; DEV-03, DEV-12, P08)."""

from __future__ import annotations

import asyncio
import json
import time
from typing import ClassVar
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oma_desktop.base.supervisor import Supervisor
from oma_desktop.engine.bus import EventBus
from oma_desktop.engine.cancel import StopReason
from oma_desktop.engine.operations import attempt_run
from oma_desktop.engine.queueing.queue import queue_document
from oma_desktop.engine.saving.checkpointing import CheckpointWriter
from oma_desktop.engine.saving.encoding import SnapshotEncoder
from oma_desktop.engine.saving.snapshotting import capture
from oma_desktop.model.checkpoint_loader import load_snapshot
from oma_desktop.model.errors import WriteFailed
from oma_desktop.model.json_text import stringify
from oma_desktop.store.checkpoint import Checkpoint
from tests.core.engine.run_world import InlineLanes, RecordingStore, RunWorld, bad, ok, spec
from tests.core.engine.runner_world import VirtualClock

ONE_ROUND = {
    "team": {"name": "x", "sharedMemory": "memory"},
    "agents": [{"name": "w", "tools": ["look"]}],
    "tools": {"look": {"schema": {}, "results": {"c1": {"data": "1"}, "c2": {"data": "2"}}}},
    "replies": {
        "T": [
            {"tools": [{"id": "c1", "name": "look", "input": {}},
                       {"id": "c2", "name": "look", "input": {}}]},
            {"text": "end"},
        ]
    },
}  # fmt: skip


def boundaries(world):
    return [e.data["boundary"] for e in world.of("checkpoint_saved")]


def shape(snapshot):
    """What a save shows of its one task: status, phase, committed calls."""
    status = snapshot["queue"]["tasks"][0]["status"]
    if not snapshot["inFlightTasks"]:
        return status, None, None
    entry = snapshot["inFlightTasks"][0]
    calls = entry.get("pendingToolCalls")
    done = None if calls is None else sum("commit" in c for c in calls)
    return status, entry["phase"], done


async def test_the_save_trace_of_a_round_with_two_calls():
    """formats.md 12.5, plus our first save of the attempt and the last one with its end."""
    world = RunWorld(script=ONE_ROUND)
    await world.run(spec("T"), real_runner=True)
    shapes = [shape(s) for s in world.store.saved]
    without_repeats = [s for i, s in enumerate(shapes) if i == 0 or s != shapes[i - 1]]
    assert without_repeats[0] == ("pending", None, None)
    assert without_repeats[1] == ("in_progress", "executing_tools", 0)
    assert ("in_progress", "executing_tools", 2) in without_repeats
    assert without_repeats[-3:] == [
        ("in_progress", "awaiting_model", None),
        ("in_progress", "completed", None),
        ("completed", None, None),
    ]
    assert boundaries(world)[0] == "attempt_started"
    assert boundaries(world)[-2:] == ["task_completed", "run_ended"]


async def test_every_save_is_a_checkpoint_the_loader_accepts():
    world = RunWorld(script=ONE_ROUND)
    await world.run(spec("T"), spec("T2", "T"), real_runner=True)
    for document in world.store.saved:
        assert load_snapshot(document).problems == ()
        assert document["version"] == 4
        assert list(document) == [
            "version", "mode", "createdAt", "identity", "queue", "sharedMemory", "messageBus",
            "turnCount", "completedTaskResults", "inFlightTasks", "pendingApprovals",
            "approvalDecisions", "omaDesktop",
        ]  # fmt: skip


async def test_dev_12_p08_a_failure_and_its_cascade_are_saved():
    async def work(_world, _agent, job):
        return bad("no")

    world = RunWorld(work=work)
    await world.run(spec("A"), spec("B", "A"))
    assert world.statuses() == {"A": "failed", "B": "failed"}
    assert world.snapshot()["omaDesktop"]["end"]["status"] == "error"
    assert "task_failed" in boundaries(world)


@pytest.mark.parametrize("reason", list(StopReason))
async def test_dev_12_what_a_stop_causes_is_never_saved(reason):
    async def work(world, _agent, job):
        if job.task_title == "A":
            world.token.stop(reason)
            return bad("stopped", aborted=True)
        return ok()

    world = RunWorld(work=work, max_concurrency=1)
    result = await world.run(spec("A"), spec("B", "A"), spec("C"))
    assert result.status.code != "ok"
    for document in world.store.saved:
        assert set(world.statuses(document).values()) <= {"pending", "blocked", "in_progress"}


async def test_idea_10_a_failing_save_is_told_and_the_run_goes_on():
    async def work(world, _agent, job):
        world.store.fail = job.task_title == "A"
        return ok()

    world = RunWorld(work=work, max_concurrency=1)
    result = await world.run(spec("A"), spec("B", "A"))
    assert result.success
    failed = [e.data for e in world.of("error")]
    assert failed
    assert {(d["kind"], d["code"]) for d in failed} == {
        ("checkpoint_save_failed", "STORE_WRITE_FAILED")
    }
    assert world.statuses() == {"A": "completed", "B": "completed"}, "the next save has it all"
    assert result.warnings == ()


async def test_a_run_whose_last_save_fails_says_so_in_its_result():
    async def work(world, _agent, _job):
        world.store.fail = True
        return ok()

    world = RunWorld(work=work)
    result = await world.run(spec("A"))
    assert result.success
    assert result.warnings == ("RUN_END_NOT_SAVED",)
    assert [e.data["code"] for e in world.of("warning")] == ["RUN_END_NOT_SAVED"]


async def test_a_failed_save_is_told_with_the_facts_its_sentence_needs():
    async def work(world, _agent, _job):
        world.store.on_save = full
        return ok()

    def full(_document):
        raise WriteFailed("STORE_NO_SPACE", path="/there/c.json", reason="no room")

    world = RunWorld(work=work)
    await world.run(spec("A"))
    facts = world.of("error")[0].data
    assert (facts["code"], facts["path"], facts["reason"]) == (
        "STORE_NO_SPACE", "/there/c.json", "no room"
    )  # fmt: skip


class Slow:
    """A checkpoint writer over a store that is held until told."""

    def __init__(self, state):
        self.clock = VirtualClock()
        self.store = RecordingStore(self.clock)
        self.gate = asyncio.Event()
        self.started = 0
        outer = self

        class Held(InlineLanes):
            async def store(self, fn, /, *args, **kwargs):
                outer.started += 1
                await outer.gate.wait()
                return fn(*args, **kwargs)

        self.bus = EventBus()
        self.writer = CheckpointWriter(
            Checkpoint(self.store, key="__oma_checkpoint__/x/latest"),
            state,
            lanes=Held(),
            clock=self.clock,
            bus=self.bus,
        )


async def idle(turns=30):
    for _ in range(turns):
        await asyncio.sleep(0)


class Spy(attempt_run.Dispatcher):
    """Keeps the state of every attempt it dispatches for."""

    states: ClassVar[list] = []

    def __init__(self, attempt):
        super().__init__(attempt)
        self.states.append(attempt.state)


async def live_state():
    """The state of a finished run with notes, results and messages."""
    world = RunWorld(memory=True)
    with mock.patch.object(attempt_run, "Dispatcher", Spy):
        await world.run(spec("A"), spec("B", "A"), spec("C"))
    return Spy.states.pop()


async def test_saves_coalesce_and_each_waiter_gets_one_that_started_after_its_change():
    state = await live_state()
    slow = Slow(state)
    order = []

    async def change(n):
        state.goal = f"goal {n}"
        await slow.writer.save(str(n))
        shown = json.loads(slow.store.get(slow.writer.key).value)["goal"]
        order.append((n, shown))

    spawn = Supervisor().spawn
    first = spawn(change(0), name="first")
    await idle()
    rest = [spawn(change(n), name="more") for n in range(1, 6)]
    await idle()
    assert slow.started == 1
    slow.gate.set()
    await asyncio.gather(first, *rest)
    assert slow.writer.saves == 2, "five waiters shared one save"
    assert order[0] == (0, "goal 0") or order[0][1] == "goal 5"
    assert all(shown == "goal 5" for n, shown in order if n > 0)


async def test_a_waiter_that_goes_away_takes_nobody_with_it():
    slow = Slow(await live_state())
    spawn = Supervisor().spawn
    first = spawn(slow.writer.save("0"), name="first")
    await idle()
    leader, follower, other = (spawn(slow.writer.save(n), name=n) for n in "123")
    await idle()
    follower.cancel()
    await idle()
    leader.cancel()
    await idle()
    slow.gate.set()
    assert await first is True
    assert await other is False, "its save never happened, so it is not told that it did"
    assert await slow.writer.save("4") is True


async def test_a_save_takes_along_whoever_is_only_turns_of_the_loop_away():
    slow = Slow(await live_state())
    slow.gate.set()

    async def late(turns):
        await idle(turns)
        return await slow.writer.save("late")

    spawn = Supervisor().spawn
    tasks = [spawn(late(turns), name="late") for turns in range(0, 12, 3)]
    assert await asyncio.gather(*tasks) == [True] * 4
    assert slow.writer.saves == 1


async def test_strict_saves_are_never_merged_away():
    state = await live_state()
    slow = Slow(state)
    spawn = Supervisor().spawn
    waiting = [spawn(slow.writer.save_strict(str(n)), name="strict") for n in range(3)]
    waiting += [spawn(slow.writer.save("best"), name="best") for _ in range(3)]
    await idle()
    slow.gate.set()
    await asyncio.gather(*waiting)
    assert slow.writer.saves >= 3


async def test_a_strict_save_raises_and_the_next_one_works():
    state = await live_state()
    slow = Slow(state)
    slow.gate.set()
    slow.store.fail = True
    with pytest.raises(WriteFailed):
        await slow.writer.save_strict("x")
    assert await slow.writer.save("y") is False
    slow.store.fail = False
    assert await slow.writer.save("z") is True


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=1, max_size=12))
def test_any_mixture_of_saves_leaves_the_last_change_on_disk(plan):
    async def play():
        state = await live_state()
        slow = Slow(state)
        slow.gate.set()
        problems = []

        async def one(n, pause, strict):
            for _ in range(pause):
                await asyncio.sleep(0)
            state.goal = str(n)
            mine = len(slow.store.saved)
            await (slow.writer.save_strict("s") if strict else slow.writer.save("b"))
            later = [s["goal"] for s in slow.store.saved[mine:]]
            if not later:
                problems.append(n)

        await asyncio.gather(*(one(n, p, s) for n, (p, s) in enumerate(plan)))
        assert problems == [], "a waiter returned without a save that started after its change"
        assert slow.store.saved[-1]["goal"] == state.goal
        assert slow.writer.saves <= len(plan)

    asyncio.run(play())


async def test_dev_03_the_snapshot_is_one_moment_even_on_a_slow_store():
    """Whatever is in flight is in progress in the very same snapshot."""
    world = RunWorld(script={**ONE_ROUND, "orchestrator": {"maxConcurrency": 3}, "agents": [
        {"name": n, "tools": ["look"]} for n in "abc"
    ], "replies": {"@default": ONE_ROUND["replies"]["T"]}})  # fmt: skip
    specs = [spec(f"t{i}", *([f"t{i - 3}"] if i > 2 else []), assignee="abc"[i % 3])
             for i in range(9)]  # fmt: skip
    result = await world.run(*specs, real_runner=True)
    assert result.success
    for document in world.store.saved:
        by_id = {t["id"]: t["status"] for t in document["queue"]["tasks"]}
        for entry in document["inFlightTasks"]:
            assert by_id[entry["taskId"]] == "in_progress"
        done = {i for i, s in by_id.items() if s == "completed"}
        assert {r["taskId"] for r in document["completedTaskResults"]} == done
        memory = {e["key"].split(":")[1] for e in document["sharedMemory"]["entries"]}
        assert memory >= done


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


@settings(max_examples=80, deadline=None)
@given(json_values, st.text(max_size=20), st.lists(json_values, max_size=3))
def test_the_encoder_writes_what_stringify_writes(value, text, more):
    """The cached, piecewise text is byte for byte the plain one, first time and again."""

    async def play():
        state = await live_state()
        message = {"role": "assistant", "content": [{"type": "text", "text": text}]}
        call = {"type": "tool_use", "id": "c", "name": "n", "input": {"10": value, "9": 1}}
        commit = {
            "result": {"type": "tool_result", "tool_use_id": "c", "content": text},
            "record": {"toolName": "n", "input": {}, "output": text, "duration": 1},
        }
        state.entries["x"] = {
            "taskId": "x",
            "assignee": "a",
            "phase": "executing_tools",
            "conversationMessages": [message, message],
            "messages": [message],
            "tokenUsage": {"input_tokens": 1, "output_tokens": 2},
            "toolCalls": [],
            "turns": 1,
            "pendingToolCalls": [{"call": call, "commit": commit}, {"call": call}],
        }
        state.metadata = {"k": value}
        state.snapshot_extra = {"later": more}
        encoder = SnapshotEncoder()
        memory = await state.memory.picture()
        for _ in range(2):
            moment = capture(state, now="2026-01-01T00:00:00.000Z", memory=memory)
            written = encoder.encode(moment).text
            whole = {
                **moment.head,
                "queue": queue_document(state.queue.tasks, state.queue_extra),
                "sharedMemory": json.loads(written)["sharedMemory"],
                "messageBus": moment.messages,
                "turnCount": moment.turn_count,
                "completedTaskResults": [state.completed[t["id"]] for t in state.queue.tasks],
                "inFlightTasks": list(moment.in_flight),
                **moment.tail,
            }
            assert written == stringify(whole)

    asyncio.run(play())


async def test_encoding_again_costs_only_what_changed():
    """A big run is not encoded anew at each save, and capturing it holds the loop shortly."""
    state = await live_state()
    message = {"role": "assistant", "content": [{"type": "text", "text": "y" * 2000}]}
    for task_id in list(state.completed):
        result = state.completed[task_id]
        result["agentResult"]["messages"] = [dict(message) for _ in range(2000)]
    encoder = SnapshotEncoder()
    memory = await state.memory.picture()

    def once():
        started = time.thread_time()
        moment = capture(state, now="2026-01-01T00:00:00.000Z", memory=memory)
        captured = time.thread_time()
        text = encoder.encode(moment)
        return captured - started, time.thread_time() - captured, text.size

    _, first, size = once()
    captured, again, _ = once()
    assert size > 10_000_000
    assert captured < 0.008
    assert again < first / 3


async def test_our_facts_and_unknown_keys_survive_a_restore():
    world = RunWorld()
    await world.run(spec("A"))
    entry = world.store.list()[0]
    document = json.loads(entry.value)
    document["fromTheFuture"] = {"x": 1}
    document["omaDesktop"]["fingerprint"] = {"t": 1}
    document["queue"]["tasks"][0]["alsoNew"] = True
    world.store.set(entry.key, json.dumps(document), entry.metadata)
    await world.restore()
    saved = world.snapshot()
    assert saved["fromTheFuture"] == {"x": 1}
    assert saved["omaDesktop"]["fingerprint"] == {"t": 1}
    assert saved["queue"]["tasks"][0]["alsoNew"] is True
    assert saved["identity"]["attempt"] == 2
