"""Whole runs in every trouble at once: stops, budgets, full disks and crashes at any moment.

The runs hold what a run may hold: dependencies, tools that ask a person, gates between tasks,
delegation, judges, retries, repaired plans, shortened conversations. What must be true after every
write and in every restore stands in `Lineage` (engine.md 2.8, 3.6; DEV-10, DEV-12; W26; P08, P12).
"""

from __future__ import annotations

import json
import re
from copy import copy

import pytest
from hypothesis import HealthCheck, given, settings

from oma_desktop.engine.cancel import CancelToken
from oma_desktop.engine.operations import attempt_run
from oma_desktop.model.checkpoint_loader import load_snapshot_text
from oma_desktop.model.errors import OmaError
from oma_desktop.model.keys import is_checkpoint_key
from oma_desktop.model.resume_rules import resume_plan
from tests.core.engine.run_world import statuses
from tests.core.engine.troubled_world import (
    TROUBLES,
    DiskOfMoments,
    TroubledWorld,
    parent_of,
    plans,
)

ENDED = {"completed", "failed", "skipped"}
MOST_PASSES = 150


class Bounded(attempt_run.Dispatcher):
    """A dispatcher that spins fails instead (DEV-32)."""

    @property
    def passes(self):
        return self._passes

    @passes.setter
    def passes(self, value):
        self._passes = value
        assert value <= MOST_PASSES, "the dispatcher looks again and again without a cause"


def checkpoint_of(entries):
    """The text of the one checkpoint among entries, or None."""
    return next((e.value for k, e in entries.items() if is_checkpoint_key(k)), None)


class Lineage:
    """One run over all its attempts, and what every further file of it must keep."""

    def __init__(self, plan):
        self.plan = plan
        self.world = TroubledWorld(plan.script)
        self.begun = set()
        self.committed = set()
        self.completed = {}
        self.over = {}
        self.usage = (0, 0)
        self.attempt = 0
        self.worked_as = set()
        self.any_refused = False

    # ------------------------------------------------------------------ one attempt

    async def attempt_once(self, trouble=None):
        """Run or go on, with trouble; returns the result, or None when the engine refused."""
        world = self.world
        world.began.clear()
        world.token = CancelToken()
        disk = world.store
        disk.moments.clear()
        disk.tried, disk.refused = 0, 0
        disk.failing = trouble.failing if trouble else frozenset()
        before = dict(disk._entries)
        plan = self.listed(before)
        forget = self.listen(trouble)
        budget = None
        if trouble is not None and trouble.budget is not None:
            budget = sum(self.usage) + trouble.budget
        try:
            result = await self.go(checkpoint_of(before) is not None, budget)
        except OmaError:
            result = None
        finally:
            forget()
            disk.failing = frozenset()
        self.any_refused |= disk.refused > 0
        self.check_what_ran(plan, pending(checkpoint_of(before)))
        kept = self.kept(trouble)
        self.check_number(kept)
        self.lay_down([before, *disk.moments], kept)
        return result

    def listen(self, trouble):
        world, count = self.world, []
        self.number, self.worked = None, None

        def hear(event):
            count.append(event)
            if event.type == "run_start":
                self.number = event.data["attempt"]
            if event.type == "task_start" and self.worked is None:
                self.worked = len(world.store.moments)
            if trouble and trouble.stop and len(count) == trouble.stop[0] + 1:
                world.token.stop(trouble.stop[1])

        return world.bus.subscribe(hear)

    async def go(self, begun, budget):
        options = {"real_runner": True, "max_token_budget": budget}
        if begun:
            return await self.world.restore(fresh=False, **options)
        return await self.world.run(*self.plan.tasks, **options)

    def listed(self, entries):
        """What a person is shown before the restore."""
        text = checkpoint_of(entries)
        if text is None:
            return None
        rows = {row["request"]["id"]: row for row in self.world.ledger().list()}
        return resume_plan(load_snapshot_text(text).snapshot, rows)

    def check_number(self, kept):
        """No two attempts work under one number (W26); `worked`: when the first task began."""
        if self.worked is not None and self.worked <= kept:
            assert self.number not in self.worked_as
            self.worked_as.add(self.number)

    def check_what_ran(self, plan, known):
        began = {(task, call) for _, task, call in self.world.began}
        assert len(began) == len(self.world.began), "a call ran twice in one attempt"
        assert not began & self.committed, "a call whose result was saved ran again"
        again = {(task, parent_of(call)) for task, call in began & self.begun}
        if not self.any_refused:
            assert again <= known, "a call began before the file knew of it"
        if plan is None:
            return
        twice = {(c.task_id, c.call_id) for c in plan.may_run_twice}
        assert again & known <= twice, "a call ran twice that nobody was told of"
        over = {t.task_id for t in plan.kept if t.reason == "completed"}
        assert not {task for task, _ in began} & over

    # ------------------------------------------------------------------ what lies there afterwards

    def kept(self, trouble):
        """How many writes of the attempt are on the disk that survives."""
        moments = self.world.store.moments
        if trouble is None or trouble.kill is None:
            return len(moments)
        if trouble.amid and self.world.began:
            begun = sorted({at for at, _, _ in self.world.began})
            return begun[round(trouble.kill * (len(begun) - 1))]
        return round(trouble.kill * len(moments))

    def lay_down(self, moments, kept):
        """Look at each file up to the one that stays; go on from that one."""
        for entries in moments[: kept + 1]:
            text = checkpoint_of(entries)
            if text is not None:
                self.check_file(text)
        died = kept < len(moments) - 1
        begun = {(t, c) for at, t, c in self.world.began if not died or at <= kept}
        if self.any_refused:  # what could not be written down, no later file can tell of
            known = pending(checkpoint_of(moments[kept]))
            begun = {(task, call) for task, call in begun if (task, parent_of(call)) in known}
        self.begun |= begun
        if died:
            other = copy(self.world)
            other.store = DiskOfMoments(other.clock, moments[kept])
            other.team = self.world.team
            self.world.store = other.store
        if checkpoint_of(moments[kept]) is None:
            self.begun.clear()  # nothing was saved: the next one is another run
            self.worked_as.clear()

    def check_file(self, text):
        loaded = load_snapshot_text(text)
        assert loaded.problems == ()
        document = json.loads(text)
        tasks = document["queue"]["tasks"]
        results = {r["taskId"]: r["result"] for r in document["completedTaskResults"]}
        assert {t["id"] for t in tasks if t["status"] == "completed"} == set(results)
        kept = {i: results.get(i) for i in self.completed}
        assert kept == self.completed, "a completed task was lost or changed"
        over = {t["id"]: (t["status"], t["result"]) for t in tasks if t["status"] in ENDED}
        assert all(text for _, text in over.values()), "ended without a reason"
        assert self.over.items() <= over.items(), "what ended stays ended, with its reason"
        usage = document["omaDesktop"]["usage"]
        used = (usage["input_tokens"], usage["output_tokens"])
        assert used[0] >= self.usage[0], "usage became less"
        assert used[1] >= self.usage[1], "usage became less"
        attempt = document["identity"]["attempt"]
        assert attempt in {self.attempt, self.attempt + 1}, "attempts are counted one by one"
        self.completed, self.over, self.usage, self.attempt = results, over, used, attempt
        self.committed.update(committed(document))


def pending(text):
    """(task, call) of every call that a file holds without a result."""
    return {
        (entry["taskId"], pending["call"]["id"])
        for entry in json.loads(text or '{"inFlightTasks": []}')["inFlightTasks"]
        for pending in entry.get("pendingToolCalls", ())
        if "commit" not in pending
    }


def committed(document):
    """(task, call) of everything whose result a file holds for a running task."""
    for entry in document["inFlightTasks"]:
        for pending in entry.get("pendingToolCalls", ()):
            if "commit" in pending:
                yield entry["taskId"], pending["call"]["id"]
        for message in entry["messages"]:
            for block in message["content"]:
                if block["type"] == "tool_result":
                    yield entry["taskId"], block["tool_use_id"]


async def to_its_end(lineage):
    """Decide and go on until nothing is left to do."""
    for _ in range(3 * len(lineage.plan.tasks) + 3):
        lineage.world.decide(lineage.plan.verdict)
        result = await lineage.attempt_once()
        assert result is not None
        if result.status.code != "suspended":
            return result
    raise AssertionError("it never ends")


def outcome(result):
    """What a run came to, whatever the way there."""
    titles = {t["id"]: t["title"] for t in result.tasks}
    texts = {t["title"]: named(t.get("result"), titles) for t in result.tasks}
    return result.status.code, statuses(result), texts


def named(text, titles):
    """A reason with titles for ids, which differ from run to run."""
    return re.sub(r'"(id-\d+)"', lambda found: titles[found[1]], text or "")


def comparable(lineage, troubles):
    """Whether the same end must come.

    A full disk may cost a repair or a question (both say so). A failure while a run is stopped,
    other than suspended, is offered to nobody and stays (DEV-06). A refused task ends the run:
    how far the others came by then is a matter of time.
    """
    refused = lineage.plan.verdict == "reject" and lineage.plan.script["gates"]["dispatch"]
    hard = [t for t in troubles if t.budget is not None or (t.stop and t.stop[1] != "suspend")]
    unrepaired = "recovery" in lineage.plan.script and hard
    return not (lineage.any_refused or refused or unrepaired)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(plans(), TROUBLES)
async def test_whatever_troubles_a_run_it_comes_to_the_same_end(plan, troubles):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(attempt_run, "Dispatcher", Bounded)
        calm = await to_its_end(Lineage(plan))
        lineage = Lineage(plan)
        for trouble in troubles:
            await lineage.attempt_once(trouble)
            lineage.world.decide(plan.verdict)
        result = await to_its_end(lineage)
        assert {t["status"] for t in result.tasks} <= ENDED
        assert all(t["result"] for t in result.tasks)
        if comparable(lineage, troubles):
            assert outcome(result) == outcome(calm)
        await nothing_more(lineage, result)


async def nothing_more(lineage, result):
    """A finished run that is restored does nothing."""
    world = lineage.world
    world.forget_events()
    again = await lineage.attempt_once()
    assert outcome(again) == outcome(result)
    assert again.total_usage == result.total_usage
    assert world.began == []
    assert {e.type for e in world.events} & {"task_start", "model_call", "tool_start"} == set()
