"""Queue snapshots: key order, partitions, reset for a resume (formats.md 2.6)."""

import copy
from datetime import UTC, datetime
from pathlib import Path

import pytest

from oma_desktop.model.container import parse_container
from oma_desktop.model.json_text import parse, stringify
from oma_desktop.model.keys import is_checkpoint_key
from oma_desktop.model.queue_rules import queue_snapshot, reset_for_resume, task_snapshot

GOLDEN = Path(__file__).parents[2] / "golden"
NOW = datetime(2027, 5, 6, 7, 8, 9, tzinfo=UTC)
STAMP = "2027-05-06T07:08:09.000Z"
OLD = "2026-01-01T00:00:00.000Z"


def queues():
    for path in sorted(GOLDEN.glob("*/checkpoint.json")):
        if path.parent.name.startswith("k"):
            continue  # hand-built, not in the writer's key order (README of the golden files)
        for entry in parse_container(path.read_bytes(), path=path.name).entries:
            if is_checkpoint_key(entry.key):
                yield pytest.param(parse(entry.value)["queue"], id=path.parent.name)


@pytest.mark.parametrize("queue", list(queues()))
def test_queues_are_written_as_the_peer_writes_them(queue):
    tasks = [task_snapshot(**dict(reversed(t.items()))) for t in queue["tasks"]]
    again = queue_snapshot(tasks, queue.get("planRevisions", []))
    assert stringify(again) == stringify(queue)


def task(task_id, status, depends=None):
    return task_snapshot(
        id=task_id, title="T", description="d", status=status, dependsOn=depends, createdAt=OLD,
        updatedAt=OLD, assignee=None,
    )  # fmt: skip


def test_absent_is_never_null_and_unknown_fields_follow():
    one = task_snapshot(
        future=1, updatedAt=OLD, createdAt=OLD, status="pending", description="", title="", id="t",
        role=None, maxRetries=0,
    )  # fmt: skip
    assert list(one) == [
        "id", "title", "description", "status", "createdAt", "updatedAt", "maxRetries", "future",
    ]  # fmt: skip
    with pytest.raises(KeyError):
        task_snapshot(id="t")


def test_reset_makes_interrupted_tasks_pending_and_the_rest_follow():
    before = queue_snapshot(
        [
            task("done", "completed"), task("ran", "in_progress"), task("bad", "failed"),
            task("now-ready", "blocked", ["done"]), task("not-ready", "pending", ["ran"]),
            task("waits", "blocked", ["ran"]), task("free", "pending"),
            task("lost", "in_progress", ["ran"]), task("ghost", "pending", ["nobody"]),
        ]
    )  # fmt: skip
    kept = copy.deepcopy(before)
    after = reset_for_resume(before, now=NOW)
    assert before == kept
    assert {t["id"]: (t["status"], t["updatedAt"]) for t in after["tasks"]} == {
        "done": ("completed", OLD), "ran": ("pending", STAMP), "bad": ("failed", OLD),
        "now-ready": ("pending", STAMP), "not-ready": ("blocked", STAMP), "waits": ("blocked", OLD),
        "free": ("pending", OLD), "lost": ("blocked", STAMP), "ghost": ("blocked", STAMP),
    }  # fmt: skip
    assert after["pending"] == ["ran", "now-ready", "free"]
    assert after["inProgress"] == []


def test_tasks_with_state_are_pending_and_written_as_in_progress():
    """W2: the next restore must find state and task in agreement."""
    before = queue_snapshot(
        [task("a", "blocked", ["x"]), task("b", "pending"), task("x", "failed")]
    )
    after = reset_for_resume(before, now=NOW, carried={"a", "x"})
    assert [t["status"] for t in after["tasks"]] == ["pending", "pending", "failed"]
    written = queue_snapshot(after["tasks"], carried={"a", "x"})
    assert written["inProgress"] == ["a"]
    assert [t["status"] for t in written["tasks"]] == ["in_progress", "pending", "failed"]


def test_the_plan_revision_decides_the_version():
    assert queue_snapshot([])["version"] == 1
    revised = queue_snapshot([], [{"version": 1}])
    assert (revised["version"], revised["planRevision"]) == (2, 1)
    assert reset_for_resume(revised, now=NOW)["planRevisions"] == [{"version": 1}]
