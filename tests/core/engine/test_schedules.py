"""Whole runs, stopped and killed at any moments, then restored: what holds in every schedule.

No committed call runs again, no completed task is lost, nothing is skipped or failed by a stop, and
what was used never becomes less (engine.md 2.8, 3.6; DEV-10, DEV-12; formats.md 2.12).
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oma_desktop.engine.cancel import StopReason
from tests.core.engine.run_world import RunWorld, spec, statuses

STRATEGIES = ["dependency-first", "round-robin", "least-busy", "capability-match", "composite"]
YES = {"text": json.dumps({"accept": True}), "usage": {"input_tokens": 3, "output_tokens": 1}}


@dataclass(frozen=True)
class Plan:
    """A random graph of tasks: some use tools, ask a person, need a second try, are judged."""

    script: dict
    tasks: tuple


@dataclass(frozen=True)
class Stop:
    """The run is stopped when the bus carries its nth event."""

    at: int
    reason: StopReason


@dataclass(frozen=True)
class Kill:
    """The process dies; `share` of its saves had reached the disk."""

    share: float


def turn(text="", calls=(), delay=0, **facts):
    usage = {"input_tokens": 10, "output_tokens": 1}
    return {"text": text, "tools": list(calls), "usage": usage, "delayMs": delay, **facts}


@st.composite
def plans(draw):
    replies, tasks = {"j::@default": [YES]}, []
    delays = st.sampled_from([0, 100, 250, 1000])
    for n in range(draw(st.integers(2, 5))):
        title, last = f"T{n}", turn(f"done {n}", delay=draw(delays))
        deps = draw(st.lists(st.sampled_from(range(n)), max_size=2, unique=True)) if n else []
        kind = draw(st.sampled_from(["plain", "tools", "tools", "asks", "retry", "judged"]))
        facts = {}
        if kind == "tools":
            rounds = [
                turn(calls=[call(n, r, c) for c in range(draw(st.integers(1, 3)))], delay=10)
                for r in range(draw(st.integers(1, 2)))
            ]
            replies[title] = [*rounds, last]
        elif kind == "asks":
            pay = {"id": f"p{n}", "name": "pay", "input": {}}
            replies[title] = [turn(calls=[pay, call(n, 0, 0)]), last]
        elif kind == "retry":
            fails = [turn(error={"message": "busy"})]
            replies[title] = {"attempts": [fails, [last]]}
            facts = {"max_retries": 3, "retry_delay_ms": 500}
        else:
            replies[title] = [last]
        if kind == "judged":
            facts = {"verify": "j"}
        who = draw(st.sampled_from(["a", "b", None])) if kind != "judged" else "a"
        tasks.append(spec(title, *(f"T{d}" for d in deps), assignee=who, **facts))
    script = {
        "team": {"name": "x", "sharedMemory": draw(st.sampled_from([False, "memory", "file"]))},
        "orchestrator": {
            "maxConcurrency": draw(st.integers(1, 3)),
            "schedulingStrategy": draw(st.sampled_from(STRATEGIES)),
        },
        "agents": [{"name": n, "tools": ["act", "pay"]} for n in ("a", "b")] + [{"name": "j"}],
        "tools": {
            "act": {"results": {"*": {"data": "ok", "delayMs": draw(delays)}}},
            "pay": {"results": {"*": {"data": "paid", "delayMs": 10}}, "consequential": True},
        },
        "gates": {"tool": {"pay": "suspend"}},
        "replies": replies,
    }
    return Plan(script, tuple(tasks))


def call(task, round_, number):
    return {"id": f"c{task}.{round_}.{number}", "name": "act", "input": {}}


troubles = st.lists(
    st.one_of(
        st.builds(Stop, st.integers(0, 120), st.sampled_from(list(StopReason))),
        st.builds(Kill, st.floats(0, 1)),
    ),
    min_size=1,
    max_size=4,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(plans(), troubles)
async def test_any_schedule_of_stops_and_kills_ends_with_all_done_and_nothing_done_twice(
    plan, schedule
):
    world = RunWorld(script=plan.script)
    watch = Watch(world)
    begun = False
    for trouble in schedule:
        forget = watch.stop_at(trouble) if isinstance(trouble, Stop) else lambda: None
        before = len(world.store.saved)
        await go(world, plan, begun=begun)
        forget()
        begun = True
        last = len(world.store.saved) - 1
        if isinstance(trouble, Kill) and last >= before:
            world = world.crashed(before + int(trouble.share * (last - before)))
        watch.lay_down(world)
        world.decide()
    for _ in (None, *plan.tasks):  # each may end with one more question
        result = await go(world, plan, begun=True)
        watch.lay_down(world)
        world.decide()
    assert set(statuses(result).values()) == {"completed"}
    assert result.status.code == "ok"
    outputs = {t["title"]: result.task_results[t["id"]]["output"] for t in result.tasks}
    assert outputs == {t.title: f"done {t.title[1:]}" for t in plan.tasks}


async def go(world, plan, *, begun):
    if begun:
        return await world.restore(real_runner=True, key=None)
    return await world.run(*plan.tasks, real_runner=True)


class Watch:
    """Looks at everything that is saved and at every tool that starts."""

    def __init__(self, world):
        self.world = world
        self.committed = set()
        self.completed = {}
        self.usage = 0
        self.again = []  # a listener may not raise
        world.bus.subscribe(self.heard)

    def heard(self, event):
        if event.type == "tool_start":
            started = (event.task, event.data["toolCallId"])
            self.again += [started] if started in self.committed else []

    def stop_at(self, trouble):
        heard = []

        def listen(_event):
            heard.append(1)
            if len(heard) == trouble.at + 1:
                self.world.token.stop(trouble.reason)

        return self.world.bus.subscribe(listen)

    def lay_down(self, world):
        """The file as it lies there now: it keeps all that was in it before."""
        self.world = world
        assert self.again == [], "a call whose result was saved ran again"
        document = world.snapshot()
        assert not set(world.statuses(document).values()) & {"skipped", "failed"}
        results = {r["taskId"]: r["result"] for r in document["completedTaskResults"]}
        done = {t["id"] for t in document["queue"]["tasks"] if t["status"] == "completed"}
        assert done == set(results)
        kept = {i: results.get(i) for i in self.completed}
        assert kept == self.completed, "a completed task was lost or changed"
        used = document["omaDesktop"]["usage"]["input_tokens"]
        assert used >= self.usage
        self.completed, self.usage = results, used
        self.committed = {
            (entry["taskId"], pending["call"]["id"])
            for entry in document["inFlightTasks"]
            for pending in entry.get("pendingToolCalls", ())
            if "commit" in pending
        } | {
            (entry["taskId"], block["tool_use_id"])
            for entry in document["inFlightTasks"]
            for message in entry["messages"]
            for block in message["content"]
            if block["type"] == "tool_result"
        }
