"""Random plans, failures, patches, failing saves and crashes: what must hold in every order."""

from __future__ import annotations

import asyncio
import random

from hypothesis import given, settings
from hypothesis import strategies as st

from oma_desktop.engine.recovery_options import RecoveryOptions
from oma_desktop.model.checkpoint_loader import load_snapshot
from oma_desktop.model.errors import WriteFailed
from tests.core.engine.run_world import RecordingStore, RunWorld, bad, ok, spec

OPEN = {"pending", "blocked", "in_progress"}
TITLES = ["T0", "T1", "T2", "T3", "T4"]

FAILING = st.sets(st.sampled_from(TITLES), max_size=2)
PLANS = st.lists(st.lists(st.integers(0, 3), max_size=2), min_size=2, max_size=5)


class SomeSavesFail(RecordingStore):
    """Refuses some of the checkpoints that hold a plan revision."""

    def __init__(self, clock, dice):
        super().__init__(clock)
        self.dice = dice

    def _put(self, key, value, metadata, expires_at_turn):
        if '"planRevision":' in value and self.dice.random() < 0.3:
            raise WriteFailed("STORE_WRITE_FAILED")
        super()._put(key, value, metadata, expires_at_turn)


def specs_of(plan):
    return [
        spec(TITLES[i], *{TITLES[d] for d in deps if d < i}, assignee="ab"[i % 2])
        for i, deps in enumerate(plan)
    ]


def fuzzy_policy(dice, counter):
    """Mostly sensible patches: tasks more, tasks replaced, tasks moved; now and then nonsense."""

    async def policy(outcome):
        for _ in range(dice.randrange(4)):
            await asyncio.sleep(0)
        if dice.random() < 0.3:
            return None
        waiting = [t["id"] for t in outcome.tasks if t["status"] in {"pending", "blocked"}]
        everybody = [t["id"] for t in outcome.tasks]
        added = []
        for _ in range(dice.randrange(3)):
            counter[0] += 1
            names = [a["key"] for a in added] + everybody
            deps = dice.sample(names, min(len(names), dice.randrange(3)))
            added.append({"key": f"k{counter[0]}", "title": f"New{counter[0]}", "description": "d"})
            if deps:
                added[-1]["dependsOn"] = deps
        superseded = [i for i in waiting if dice.random() < 0.5]
        return {
            "reason": f"r{dice.randrange(5)}",
            "addTasks": added,
            "supersedePending": superseded,
            "retargetPending": [
                {"taskId": i, "assignee": dice.choice("ab")}
                for i in waiting
                if i not in superseded and dice.random() < 0.3
            ],
        }

    return policy


class Run:
    """One run with everything that is random in it, and what it did."""

    def __init__(self, seed, failing):
        self.dice = random.Random(seed)
        self.failing = failing
        self.started = []
        self.counter = [0]
        self.world = RunWorld(work=self.work)
        self.world.store = SomeSavesFail(self.world.clock, random.Random(seed + 1))
        self.options = RecoveryOptions(
            mode="repairable",
            on_task_outcome=fuzzy_policy(self.dice, self.counter),
            on_plan_patch=lambda _patch, _outcome: self.dice.random() < 0.9,
            max_added_tasks=6,
        )

    async def work(self, world, _agent, job):
        known = {t["id"]: t for saved in world.store.saved[-1:] for t in saved["queue"]["tasks"]}
        self.started.append((job.task_id, job.task_title, known.get(job.task_id)))
        for _ in range(self.dice.randrange(5)):
            await asyncio.sleep(0)
        fails = job.task_title in self.failing or self.dice.random() < 0.15
        return bad(retryable=False) if fails else ok(job.task_title)


def check_document(document):
    """The saved run is whole: it loads without a problem."""
    loaded = load_snapshot(document)
    assert loaded.problems == ()
    queue = document["queue"]
    revisions = queue.get("planRevisions", [])
    assert [r["version"] for r in revisions] == list(range(1, len(revisions) + 1))
    pairs = [(r["triggerTaskId"], r["trigger"]) for r in revisions]
    assert len(pairs) == len(set(pairs)), "no outcome changes the plan twice"
    assert sum(len(r["addedTasks"]) for r in revisions) <= 6
    tasks = {t["id"]: t for t in queue["tasks"]}
    for task in tasks.values():
        for mark in ("supersededByRevision", "recoveredByRevision"):
            assert task.get(mark, 0) <= len(revisions), "no mark of a patch that was taken back"
        if task["status"] in {"pending", "blocked"}:
            dead = [d for d in task.get("dependsOn", ()) if tasks[d]["status"] == "skipped"]
            assert dead == [], "nobody is left behind a superseded task"


def check_end(run, result):
    if result.status.code == "suspended":
        return
    left = [t for t in result.tasks if t["status"] in OPEN]
    assert left == [], "everything comes to an end"
    superseded = {t["id"] for t in result.tasks if "supersededByRevision" in t}
    assert superseded.isdisjoint(i for i, *_ in run.started)
    for task_id, title, saved in run.started:
        if title.startswith("New"):
            assert saved is not None, f"{task_id} started before it was saved"


@settings(max_examples=150, deadline=None)
@given(
    PLANS, st.sets(st.sampled_from(TITLES), max_size=2), st.integers(0, 10**6), st.integers(0, 50)
)
def test_whatever_happens_the_plan_stays_whole(plan, failing, seed, at):
    """The run ends, every saved state is whole, and a crash at any save goes on from there."""

    async def play():
        run = Run(seed, failing)
        result = await run.world.run(*specs_of(plan), recovery=run.options)
        for saved in run.world.store.saved:
            check_document(saved)
        check_end(run, result)

        crashed = run.world.crashed(at % len(run.world.store.saved))
        before = crashed.snapshot()
        run.started.clear()
        again = await crashed.restore(recovery=run.options)
        check_document(crashed.snapshot())
        check_end(run, again)
        after = {t["id"]: t for t in again.tasks}
        for task in before["queue"]["tasks"]:
            if task["status"] not in OPEN:
                assert after[task["id"]]["status"] == task["status"], "what ended stays ended"
        kept = before["queue"].get("planRevisions", [])
        assert list(again.plan_revisions)[: len(kept)] == kept, "history is never rewritten"

    asyncio.run(play())
