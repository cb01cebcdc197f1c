"""Plan patches on the live queue: applied whole, hidden, published or taken back (engine.md 6)."""

from __future__ import annotations

import copy
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oma_desktop.engine.queueing.queue import TaskQueue, queue_document
from oma_desktop.engine.queueing.scheduling import AgentChooser
from oma_desktop.engine.tasks.patch_eligibility import check_eligibility
from oma_desktop.model.errors import PlanRejected
from oma_desktop.model.patch_rules import Plan, draft
from oma_desktop.model.plan_patch import read_patch
from oma_desktop.model.team import AgentConfig
from tests.core.model.patch_world import NOW, VECTORS, base_tasks, new_ids, task
from tests.core.model.test_patch_rules import PATCHES

ROSTER = {
    "w1": AgentConfig(name="w1", capabilities=["x"]),
    "w2": AgentConfig(name="w2"),
}


class Live:
    """A queue with the base plan, and what it said."""

    def __init__(self, tasks=None):
        self.heard = []
        self.queue = TaskQueue(now=lambda: NOW, listener=lambda *e: self.heard.append(e))
        self.queue.load(tasks if tasks is not None else base_tasks())
        self.new_id = new_ids()

    def draft(self, patch, trigger_id="a", trigger="failure", started=()):
        tasks = {t["id"]: t for t in self.queue}
        plan = Plan(tasks, trigger_id, trigger, 1, started)
        return draft(read_patch(patch), plan, new_id=self.new_id, now=NOW)

    def lay(self, patch, **about):
        drafted = self.draft(patch, **about)
        return self.queue.lay_over(drafted.changed, drafted.added)

    def bytes(self):
        return json.dumps(queue_document(self.queue.tasks)).encode()

    def statuses(self):
        return {t["id"]: t["status"] for t in self.queue}


BRANCH = {
    "reason": "r",
    "supersedePending": ["b", "c"],
    "retargetPending": [{"taskId": "d", "assignee": "w2"}],
    "addTasks": [
        {"key": "n1", "title": "N1", "description": "d"},
        {"key": "n2", "title": "N2", "description": "d", "dependsOn": ["n1", "h"]},
        {"key": "n3", "title": "N3", "description": "d", "dependsOn": ["h"]},
    ],
}


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: v["name"])
def test_agents_are_judged_as_in_the_vectors(vector):
    chooser = AgentChooser("round-robin", list(ROSTER.values()), grants=lambda _a: frozenset())
    tasks = {t["id"]: t for t in base_tasks()}
    try:
        check_eligibility(read_patch(vector["patch"]), tasks, chooser=chooser, roster=ROSTER)
    except PlanRejected:
        assert not vector["output"]["eligibility"]["ok"]
    else:
        assert vector["output"]["eligibility"]["ok"]


@settings(max_examples=300, deadline=None)
@given(PATCHES, st.sampled_from(["success", "failure", "verification_rejected"]))
def test_idea_27_a_refused_patch_leaves_the_queue_byte_identical(patch, trigger):
    live = Live()
    before, tasks = live.bytes(), live.queue.tasks
    try:
        overlay = live.lay(patch, trigger=trigger)
    except PlanRejected:
        assert live.bytes() == before
    else:
        assert live.bytes() != before
        live.queue.take_back(overlay)
        assert live.bytes() == before, "a patch that is taken back leaves no trace either"
        same = [a is b for a, b in zip(tasks, live.queue.tasks, strict=True)]
        assert all(same), "and every task is the very same document"
    assert live.heard == []


def test_a_laid_patch_is_in_the_snapshot_and_nobody_heard():
    live = Live()
    live.lay(BRANCH)
    assert live.heard == []
    assert live.statuses() == {
        "a": "in_progress", "b": "skipped", "c": "skipped", "d": "pending", "e": "completed",
        "f": "failed", "g": "skipped", "h": "in_progress",
        "new-1": "pending", "new-2": "blocked", "new-3": "blocked",
    }  # fmt: skip
    assert [t["id"] for page in live.queue.pages() for t in page] == list(live.statuses())


def test_publishing_tells_what_the_patch_did():
    live = Live()
    overlay = live.lay(BRANCH)
    settled = live.queue.publish(overlay)
    assert set(settled.ready) == {"d", "new-1"}
    assert settled.failed == ()
    assert live.heard == [("skipped", "b"), ("skipped", "c"), ("ready", "new-1")]
    live.heard.clear()
    assert live.queue.complete_task("h") == ["new-3"]
    assert live.queue.complete_task("new-1") == ["new-2"]


def test_what_happens_while_hidden_is_told_at_publish():
    live = Live()
    overlay = live.lay(BRANCH)
    assert live.queue.complete_task("h") == []
    assert live.heard == [("complete", "h")]
    assert live.statuses()["new-3"] == "pending"
    live.heard.clear()
    assert set(live.queue.publish(overlay).ready) == {"d", "new-1", "new-3"}
    assert ("ready", "new-3") in live.heard


def test_a_failure_while_hidden_ends_new_tasks_at_publish():
    live = Live()
    overlay = live.lay(BRANCH)
    assert live.queue.fail("h", "no") == []
    settled = live.queue.publish(overlay)
    assert set(settled.failed) == {"new-2", "new-3"}
    assert ("failed", "new-3") in live.heard
    assert set(settled.ready) == {"d", "new-1"}


def test_taking_back_follows_what_happened_meanwhile():
    tasks = [*base_tasks(), task("w", "blocked", ["h"]), task("x", "blocked", ["w"])]
    for happens, expected in (("complete", "pending"), ("fail", "failed")):
        live = Live(copy.deepcopy(tasks))
        overlay = live.lay({**BRANCH, "supersedePending": ["w", "x"]})
        if happens == "complete":
            live.queue.complete_task("h")
        else:
            live.queue.fail("h", "no")
        settled = live.queue.take_back(overlay)
        after = live.statuses()
        assert after["w"] == expected
        assert after["x"] == ("blocked" if happens == "complete" else "failed")
        assert "new-1" not in after
        assert live.queue.get("d")["assignee"] == "w1"
        assert "recoveredByRevision" not in live.queue.get("a")
        assert ("w" in settled.ready) == (happens == "complete")
        assert ("w" in settled.failed) == (happens == "fail")
        assert "supersededByRevision" not in live.queue.get("w")
        heard = [e for e in live.heard if e[1] == "w"]
        assert heard == [("ready" if happens == "complete" else "failed", "w")]


def test_taking_back_leaves_an_orphan_of_an_older_patch_as_it_was():
    """A task the peer left behind a superseded one (f4) is moved, then the patch is taken back."""
    tasks = [*base_tasks(), task("orphan", "blocked", ["g"])]
    live = Live(tasks)
    before = live.bytes()
    overlay = live.lay(
        {"reason": "r", "retargetPending": [{"taskId": "orphan", "assignee": "w2"}]},
        trigger="success",
    )
    assert live.queue.take_back(overlay).ready == ()
    assert live.bytes() == before
    assert live.heard == []


MEANWHILE = st.lists(st.sampled_from(["complete h", "fail h", "skip h"]), max_size=2)


@settings(max_examples=200, deadline=None)
@given(PATCHES, MEANWHILE)
def test_dev_05_taking_back_is_as_if_the_patch_had_never_been(patch, meanwhile):
    """Whatever else happens between, the queue ends as it would without the patch."""
    tasks = [*base_tasks(), task("w", "blocked", ["h"]), task("x", "blocked", ["w"])]
    live, plain = Live(copy.deepcopy(tasks)), Live(copy.deepcopy(tasks))
    try:
        overlay = live.lay(patch, trigger="success")
    except PlanRejected:
        return
    for act in meanwhile:
        for queue in (live.queue, plain.queue):
            if queue.status("h") == "in_progress" and act == "complete h":
                queue.complete_task("h", "ok")
            elif queue.status("h") == "in_progress" and act == "fail h":
                queue.fail("h", "no")
            elif queue.status("h") == "in_progress" and act == "skip h":
                queue.skip("h", "no")
    live.queue.take_back(overlay)
    assert live.bytes() == plain.bytes()
    assert live.queue.complete == plain.queue.complete
    assert live.queue.complete_task("a") == plain.queue.complete_task("a")
    assert live.bytes() == plain.bytes()
