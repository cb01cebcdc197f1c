"""One query drives the badge, the list and the filter (ux.md C7)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from oma_desktop.model.view import OwnerKind, StoreView
from oma_desktop.viewmodel.approvals import Group, Inbox, RequestRow, query, tasks_of
from oma_desktop.viewmodel.feed import Feed
from tests.viewmodel.review_world import START, approved, request, store, store_requests


def lines(rows: tuple[RequestRow, ...]) -> list[str]:
    return [f"{row.group.value} {row.request.id}" for row in rows]


def test_groups_in_list_order() -> None:
    late = request("late", requested_at=START + timedelta(minutes=9))
    stores: list[StoreView] = [
        store(approved(request("done")), late, request("a"), request("lost", open=False)),
        store(request("far"), path="/other.json", owner=OwnerKind.OTHER_PROCESS),
    ]
    assert lines(query(stores)) == [
        "needs_you apr_a",
        "needs_you apr_late",
        "not_here apr_far",
        "decided apr_done",
        "no_longer_open apr_lost",
    ]


def test_a_run_of_this_app_can_be_decided_here() -> None:
    (row,) = query([store(request("a"), owner=OwnerKind.THIS_APP)])
    assert row.group is Group.NEEDS_YOU


def test_a_store_that_cannot_be_read_takes_no_decision() -> None:
    (row,) = query([replace(store(request("a")), readable=False)])
    assert row.group is Group.NOT_HERE


def test_badge_list_and_filter_agree_and_follow_the_feed() -> None:
    feed = Feed()
    inbox = Inbox(feed)
    seen: list[int] = []
    inbox.changed.connect(lambda: seen.append(inbox.badge))
    feed.put(store(request("a"), request("b", tool="shell")))
    assert seen == [2]
    assert [r.request.id for r in inbox.rows("SHELL writer")] == ["apr_b"]
    feed.put(store(approved(request("a")), request("b", tool="shell")))
    assert inbox.badge == 1 == len([r for r in inbox.rows() if r.group is Group.NEEDS_YOU])
    assert inbox.last_decided is not None
    assert inbox.last_decided.request.id == "apr_a"
    feed.drop(store().path)
    assert (inbox.badge, inbox.rows(), inbox.last_decided) == (0, (), None)


def test_equal_pictures_are_not_announced() -> None:
    feed = Feed()
    inbox = Inbox(feed)
    feed.put(store(request("a")))
    seen: list[int] = []
    inbox.changed.connect(lambda: seen.append(1))
    feed.put(replace(store(request("a")), revision=7))
    assert seen == []


def test_s02_one_pending_request_with_full_arguments_after_a_cold_start() -> None:
    feed = Feed()
    feed.put(store(*store_requests("s02-cold-approval-resume")))
    inbox = Inbox(feed)
    (key,) = inbox.open_keys()
    row = inbox.row(key)
    assert row is not None
    assert row.request.content["input"] == {"amount": 25, "currency": "CNY"}


def test_s39_three_left_then_two_then_one() -> None:
    feed = Feed()
    inbox = Inbox(feed)
    requests = store_requests("s39-parallel-approvals")
    counts = []
    for n in range(4):
        feed.put(store(*[approved(r) if i < n else r for i, r in enumerate(requests)]))
        counts.append(inbox.badge)
    assert counts == [3, 2, 1, 0]


def test_task_lists_of_a_round() -> None:
    content = {"kind": "task_round", "completedTasks": [{"id": "a"}], "nextTasks": [{"id": "b"}, 3]}
    assert tasks_of(content) == (
        ("completedTasks", ({"id": "a"},)),
        ("nextTasks", ({"id": "b"},)),
    )
    assert tasks_of({"task": {"id": "x"}}) == (("task", ({"id": "x"},)),)
