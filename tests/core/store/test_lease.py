"""One writer per run in a database (formats.md 1.7): taking, keeping, taking over, fencing."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from redis.client import Pipeline

from oma_desktop.base.clock import SystemClock
from oma_desktop.model.errors import Conflict, Locked
from oma_desktop.store.access import open_run
from oma_desktop.store.address import parse_address
from oma_desktop.store.lease import Lease
from oma_desktop.store.lock_file import LockOwner
from oma_desktop.store.processes import process_started_at
from oma_desktop.store.ready_text import ReadyText
from tests.databases import KINDS, fresh_url, opened, server_of

RUN = "__oma_checkpoint__/r1/latest"


@pytest.fixture(params=KINDS)
def url(request: pytest.FixtureRequest) -> str:
    return fresh_url(request.param, server_of(request, request.param).url)


def leave(store: Any, **changes: Any) -> None:
    """Put a lease row there as another program would."""
    now = store.glance().now
    started = process_started_at(os.getpid())
    assert started is not None
    me = LockOwner(os.getpid(), started, socket.gethostname(), "other", "t" * 32, now)
    for name, value in changes.items():
        me = replace(me, **{name: value(now) if isinstance(value, Callable) else value})  # type: ignore[arg-type]
    row = me.token.encode() + b"\n" + me.encode()
    assert store.swap_lease(RUN, store.lease(RUN), row)


def lease_of(url: str) -> tuple[Any, Lease]:
    store = opened(url)
    return store, Lease(store, RUN, app="test")


def test_taken_kept_and_given_back(url: str) -> None:
    store, lease = lease_of(url)
    lease.acquire()
    first = store.lease(RUN)
    lease.beat()
    lease.verify()
    assert store.lease(RUN) != first or lease.owner is not None
    assert lease.held
    assert lease.release()
    assert store.lease(RUN) is None
    assert not lease.release()


def test_the_second_is_told_who_holds_it(url: str) -> None:
    _, lease = lease_of(url)
    lease.acquire()
    _, other = lease_of(url)
    with pytest.raises(Locked) as caught:
        other.acquire(force=True)
    assert caught.value.code == "LEASE_HELD"
    assert caught.value.facts["pid"] == os.getpid()
    assert caught.value.facts["app"] == "test"


def test_two_runs_of_one_store_do_not_meet(url: str) -> None:
    store, lease = lease_of(url)
    lease.acquire()
    other = Lease(opened(url), "another run", app="test")
    other.acquire()
    assert set(store.glance().leases) == {RUN, "another run"}


@pytest.mark.parametrize(
    "changes",
    [
        {"pid": 2**22 + 1},
        {"process_started_at": lambda now: now - timedelta(days=1)},
        {"host": "elsewhere", "heartbeat_at": lambda now: now - timedelta(seconds=61)},
        {},  # this very process, which does not know of it any more
    ],
    ids=["dead", "reused pid", "silent host", "left by us"],
)
def test_a_dead_owner_is_replaced(url: str, changes: dict[str, Any]) -> None:
    store, lease = lease_of(url)
    leave(store, **changes)
    lease.acquire()
    assert lease.held
    assert lease.replaced is not None
    assert lease.replaced.app == "other"


@pytest.mark.parametrize(
    "changes",
    [
        {"host": "elsewhere", "heartbeat_at": lambda now: now - timedelta(seconds=55)},
        {"pid": os.getppid(), "process_started_at": process_started_at(os.getppid())},
    ],
    ids=["another host", "another process"],
)
def test_a_living_owner_is_not(url: str, changes: dict[str, Any]) -> None:
    store, lease = lease_of(url)
    leave(store, **changes)
    row = store.lease(RUN)
    with pytest.raises(Locked, match="LEASE_HELD"):
        lease.acquire(force=True)
    assert store.lease(RUN) == row


def test_what_cannot_be_read_needs_force(url: str) -> None:
    store, lease = lease_of(url)
    assert store.swap_lease(RUN, None, b"what is this")
    with pytest.raises(Locked, match="LEASE_UNREADABLE"):
        lease.acquire()
    lease.acquire(force=True)
    assert lease.held


@pytest.mark.parametrize("n_times", [1, 99])
@pytest.mark.database("redis")
def test_a_big_save_bears_that_other_runs_take_and_renew_leases(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, n_times: int
) -> None:
    url = fresh_url("redis", server_of(request, "redis").url)
    store, lease = lease_of(url)
    lease.acquire()
    other, left = opened(url), [n_times]
    hset = Pipeline.hset

    def disturbed(self: Any, *args: Any, **kwargs: Any) -> Any:
        if left[0]:
            left[0] -= 1
            before = other.lease("other run")
            assert other.swap_lease("other run", before, b"%d\nx" % left[0])
        return hset(self, *args, **kwargs)

    monkeypatch.setattr(Pipeline, "hset", disturbed)
    text = ReadyText([b'"big', b" " * 200_000, b'"'], quoted=False)
    store.set_buffer("a", text, {"m": 1})
    monkeypatch.undo()
    assert store.get("a").value == text.text
    assert store.get("a").metadata == {"m": 1}
    assert left[0] in (0, 94), "after some tries the script does it"


def test_whoever_was_replaced_writes_nothing_more(url: str) -> None:
    store, lease = lease_of(url)
    lease.acquire()
    store.set(RUN, "mine")
    leave(opened(url), host="elsewhere")
    for act in (
        lambda: store.set(RUN, "late"),
        lambda: store.set(RUN, "late and big" * 10_000),
        lambda: store.compare_and_set(RUN, "mine", "late"),
        lambda: store.compare_and_set("new", None, "late"),
        lambda: store.delete(RUN),
        store.clear,
        lease.beat,
        lease.verify,
    ):
        with pytest.raises(Locked, match="LEASE_LOST"):
            act()
    assert [(e.key, e.value) for e in opened(url).list()] == [(RUN, "mine")]
    assert not lease.release()
    assert opened(url).lease(RUN) is not None


def test_a_beat_whose_answer_was_lost_is_no_loss(url: str) -> None:
    store, lease = lease_of(url)
    lease.acquire()
    row = store.lease(RUN)
    assert lease.owner is not None
    beaten = replace(lease.owner, heartbeat_at=lease.owner.heartbeat_at + timedelta(seconds=2))
    assert store.swap_lease(RUN, row, beaten.token.encode() + b"\n" + beaten.encode())
    lease.beat()
    assert lease.held


def test_leases_and_beats_are_no_change_of_the_store(url: str) -> None:
    store, lease = lease_of(url)
    store.set("a", "1")
    before = store.glance().stamp
    lease.acquire()
    lease.beat()
    assert store.glance().stamp == before == store.read().stamp
    assert [e.key for e in store.list()] == ["a"]
    store.set("a", "2")
    assert store.glance().stamp != before
    lease.release()


def test_a_run_that_appeared_meanwhile_is_not_overwritten(url: str) -> None:
    looks: list[str] = []

    def choose(store: Any) -> str:
        looks.append("look")
        if len(looks) == 2:
            raise Conflict("CHECKPOINT_EXISTS", key=RUN, path=url)
        return RUN

    with pytest.raises(Conflict):
        open_run(parse_address(url), choose, app="test", clock=SystemClock())
    assert opened(url).lease(RUN) is None


def test_files_are_opened_the_same_way(tmp_path: Path) -> None:
    run = open_run(tmp_path / "s.json", lambda _: RUN, app="test", clock=SystemClock())
    run.store.set(RUN, "1")
    assert run.lock.held
    run.close()
    assert not run.lock.held
