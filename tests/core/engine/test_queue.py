"""The live queue against the peer's vectors (golden/vectors/task_queue.json; engine.md 2.1)."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oma_desktop.engine.operations.restore import reset_for_resume
from oma_desktop.engine.queueing.queue import PARTITIONS, TERMINAL, TaskQueue, queue_document
from oma_desktop.model.errors import PlanRejected, TaskFailed
from tests.core.engine.run_world import GOLDEN

VECTORS = json.loads((GOLDEN / "vectors" / "task_queue.json").read_text("utf-8"))["vectors"]
# Ours refuses what these show: ending a task twice, and one id for two tasks (P16).
REFUSED = {"complete twice", "duplicate id replaces"}
# Ours has no "next task of an agent": the dispatcher asks its own ready queue.
ABSENT_OPS = {"next", "nextAvailable", "progress"}
NOW = "2026-01-01T00:00:00.000Z"


def task(op):
    doc = {
        "id": op["id"],
        "title": f"T {op['id']}",
        "description": f"do {op['id']}",
        "status": "pending",
        "createdAt": NOW,
        "updatedAt": NOW,
        **op.get("extra", {}),
    }
    if "dependsOn" in op:
        doc["dependsOn"] = op["dependsOn"]
    return doc


class Player:
    """Plays the operations of a vector on our queue."""

    def __init__(self):
        self.events = []
        self.queue = self.fresh()

    def fresh(self):
        def heard(event, task_id):
            name = "all:complete" if event == "all_complete" else f"task:{event}"
            self.events.append(f"{name} {task_id}".strip())

        return TaskQueue(now=lambda: NOW, listener=heard)

    def play(self, op):
        self.events.clear()
        match op["op"]:
            case "add":
                self.queue.add_batch([task(op)])
            case "addBatch":
                self.queue.add_batch([task(t) for t in op["tasks"]])
            case "update":
                self.update(op["id"], op["update"]["status"])
            case "complete":
                self.queue.complete_task(op["id"], op.get("result"))
            case "fail":
                self.queue.fail(op["id"], op["error"])
            case "skip":
                self.queue.skip(op["id"], op["reason"])
            case "skipRemaining":
                self.queue.skip_remaining(op.get("reason", "Skipped: approval rejected."))
            case "isComplete":
                return self.queue.complete
            case "restore":
                self.restore(reset=op.get("resetInProgress", False))
            case other:
                assert other in ABSENT_OPS
        return None

    def update(self, task_id, status):
        """Raw status changes exist in the peer only; here a snapshot is edited and loaded."""
        tasks = [{**t, "status": status} if t["id"] == task_id else t for t in self.queue.tasks]
        self.queue = self.fresh()
        self.queue.load(tasks)

    def restore(self, *, reset):
        tasks = reset_for_resume(self.queue.tasks, now=NOW) if reset else self.queue.tasks
        self.queue = self.fresh()
        self.queue.load(tasks)


@pytest.mark.parametrize(
    "vector", [v for v in VECTORS if v["name"] not in REFUSED], ids=lambda v: v["name"]
)
def test_the_queue_behaves_as_the_peers(vector):
    player = Player()
    for step in vector["steps"]:
        op = step["op"]
        if "error" in step:
            with pytest.raises(TaskFailed, match="TASK_UNKNOWN"):
                player.play(op)
        else:
            value = player.play(op)
            if op["op"] == "isComplete":
                assert value == step["value"]
        if op["op"] != "update":
            assert player.events == step["events"], op
        assert {t["id"]: t["status"] for t in player.queue} == step["statuses"], op
    document = queue_document(player.queue.tasks)
    for t in document["tasks"]:
        del t["createdAt"], t["updatedAt"]
    assert document == vector["finalSnapshot"]


def test_idea_01_a_snapshot_holds_every_partition_and_comes_back_as_it_was():
    player = Player()
    for name in ("done", "lost", "left", "busy", "ready"):
        player.play({"op": "add", "id": name})
    player.play({"op": "add", "id": "waits", "dependsOn": ["busy"]})
    player.play({"op": "complete", "id": "done", "result": "r"})
    player.play({"op": "fail", "id": "lost", "error": "e"})
    player.play({"op": "skip", "id": "left", "reason": "s"})
    player.queue.start("busy")
    document = queue_document(player.queue.tasks)
    assert {name: document[name] for name, _ in PARTITIONS} == {
        "pending": ["ready"], "inProgress": ["busy"], "completed": ["done"], "failed": ["lost"],
        "blocked": ["waits"], "skipped": ["left"],
    }  # fmt: skip
    again = Player()
    again.queue.load(json.loads(json.dumps(document))["tasks"])
    assert queue_document(again.queue.tasks) == document
    assert again.events == []
    again.queue.complete_task("busy", "r")
    assert again.queue.status("waits") == "pending"


def test_a_finished_task_is_never_opened_again():
    player = Player()
    player.play({"op": "add", "id": "a"})
    player.play({"op": "complete", "id": "a", "result": "1"})
    for again in ({"op": "complete", "id": "a"}, {"op": "fail", "id": "a", "error": "late"}):
        with pytest.raises(TaskFailed, match="TASK_NOT_IN_STATE"):
            player.play(again)
    assert player.queue.get("a")["result"] == "1"


def test_p_16_one_id_for_two_tasks_is_refused():
    player = Player()
    player.play({"op": "add", "id": "a"})
    with pytest.raises(PlanRejected, match="TASK_ID_TWICE"):
        player.play({"op": "add", "id": "a"})


def test_documents_are_replaced_and_keys_stay_in_the_writers_order():
    player = Player()
    player.play({"op": "add", "id": "a", "extra": {"maxRetries": 1, "x-unknown": [1]}})
    before = player.queue.get("a")
    player.queue.assign("a", "w")
    player.queue.start("a")
    player.play({"op": "complete", "id": "a", "result": "r"})
    assert before["status"] == "pending"
    assert "assignee" not in before
    assert list(player.queue.get("a")) == [
        "id", "title", "description", "status", "assignee", "result", "createdAt", "updatedAt",
        "maxRetries", "x-unknown",
    ]  # fmt: skip


@st.composite
def graphs(draw):
    size = draw(st.integers(1, 12))
    return [
        {"op": "add", "id": f"t{i}", "dependsOn": [
            f"t{d}" for d in draw(st.lists(st.integers(0, i - 1), max_size=4, unique=True))
        ] if i else []}
        for i in range(size)
    ]  # fmt: skip


@given(graphs(), st.randoms(use_true_random=False))
def test_any_order_of_ends_leaves_a_consistent_queue(graph, rnd):
    player = Player()
    player.queue.add_batch([task(t) for t in graph])
    while not player.queue.complete:
        pending = player.queue.with_status("pending")
        assert pending, "open tasks but nothing is ready"
        chosen = rnd.choice(pending)["id"]
        player.queue.start(chosen)
        if rnd.random() < 0.7:
            player.queue.complete_task(chosen, "r")
        else:
            player.queue.fail(chosen, "x")
    by_id = {t["id"]: t for t in player.queue}
    for t in by_id.values():
        assert t["status"] in TERMINAL
        deps = [by_id[d]["status"] for d in t.get("dependsOn", ())]
        if t["status"] == "completed":
            assert all(d == "completed" for d in deps)
