"""Databases on the screen: two desktops, one store; servers that go and come (issue 3)."""

from __future__ import annotations

import asyncio
import json
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from oma_desktop.base.clock import SystemClock
from oma_desktop.model.approval import Reviewer
from oma_desktop.model.view import OwnerKind, RunRef, RunState
from oma_desktop.monitor import dbwatch
from oma_desktop.store.file_reading import read_container
from oma_desktop.store.lease import Lease
from oma_desktop.store.ledger import ApprovalLedger
from tests.core.monitor.harness import GOLDEN, Seen, monitoring, store_text
from tests.databases import KINDS, fresh_url, opened, server_of
from tests.servers import PostgresServer, RedisServer, server_folder

KEY = "__oma_checkpoint__/r1/latest"


def put_golden(url: str) -> Any:
    """A run of the peer that waits for a decision."""
    store = opened(url)
    container, _ = read_container(GOLDEN / "c_tool_gate_1_suspended" / "checkpoint.json")
    for entry in container.entries:
        store.set(entry.key, entry.value, entry.metadata)
    return store


@pytest.fixture(params=KINDS)
def url(request: pytest.FixtureRequest) -> str:
    return fresh_url(request.param, server_of(request, request.param).url)


async def sees(seen: Seen, url: str, holds: Any, *, within_s: float = 20.0) -> None:
    await seen.eventually(lambda: url in seen.views and holds(seen.views[url]), within_s=within_s)


async def test_two_desktops_see_each_others_decisions_within_a_second(url: str) -> None:
    put_golden(url)
    async with monitoring() as one, monitoring() as two:
        for setting in (one, two):
            setting.monitor.add(url)
            await sees(setting.seen, url, lambda v: v.approvals)
        row = one.seen.views[url].approvals[0]
        assert row.state == "pending"
        ledger = ApprovalLedger(opened(url), clock=SystemClock())

        def decide() -> None:
            ledger.decide(row.id, row.request_hash, "approve", Reviewer(id="desk-1"))

        await one.lanes.store(decide)
        began = time.monotonic()
        for setting in (two, one):
            await sees(setting.seen, url, lambda v: v.approvals[0].state == "approved")
        took = time.monotonic() - began
        assert took < 1.0, took


async def test_decisions_arrive_within_a_second_without_notices_too(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_golden(url)
    async with monitoring() as desk:
        desk.monitor.add(url)
        watch = desk.monitor._databases[url]

        def deaf(timeout_s: float) -> bool:
            raise dbwatch.StoreError("DB_REFUSED", path=url, reason="no LISTEN here")

        await sees(desk.seen, url, lambda v: v.approvals)
        monkeypatch.setattr(watch._notices, "wait", deaf)
        await desk.seen.eventually(lambda: desk.seen.notices)
        row = desk.seen.views[url].approvals[0]
        ledger = ApprovalLedger(opened(url), clock=SystemClock())
        ledger.decide(row.id, row.request_hash, "reject", Reviewer(id="me"))
        began = time.monotonic()
        await sees(desk.seen, url, lambda v: v.approvals[0].state == "rejected")
        assert time.monotonic() - began < 1.5
        assert [n.code for n in desk.seen.notices] == ["WATCH_DATABASE_POLLED"]


def put_run(url: str, goal: str, status: str = "in_progress") -> Any:
    store = opened(url)
    (entry,) = json.loads(store_text(goal, status=status))["entries"]
    store.set(KEY, entry["value"])
    return store


async def test_every_run_has_its_own_writer(url: str) -> None:
    store = put_run(url, "busy")
    store.set(KEY.replace("r1", "r2"), store.get(KEY).value)
    async with monitoring() as desk:
        desk.monitor.add(url)
        await sees(desk.seen, url, lambda v: len(v.runs) == 2)
        assert {r.state for r in desk.seen.views[url].runs} == {RunState.INTERRUPTED}
        lease = Lease(store, KEY, app="test")
        await desk.lanes.store(lease.acquire)
        await sees(desk.seen, url, lambda v: v.runs[0].state is RunState.RUNNING)
        view = desk.seen.views[url]
        assert view.runs[1].state is RunState.INTERRUPTED
        assert view.owner_of(KEY).kind is OwnerKind.THIS_APP
        assert view.owner.kind is OwnerKind.NO_WRITER, "decisions need no lock in a database"
        await desk.lanes.store(lease.release)
        await sees(desk.seen, url, lambda v: v.runs[0].state is RunState.INTERRUPTED)


async def test_questions_of_the_screen_are_answered(url: str) -> None:
    put_run(url, "asked", "completed")
    async with monitoring() as desk:
        desk.monitor.add(url)
        await sees(desk.seen, url, lambda v: v.runs)
        ref = RunRef(url, desk.seen.views[url].runs[0].key)
        assert (await desk.monitor.conversation(ref, "t0")).task_id == "t0"
        assert (await desk.monitor.resume_plan(ref)).run_id


async def test_an_empty_store_is_shown_and_forgotten_when_closed(url: str) -> None:
    async with monitoring() as desk:
        desk.monitor.add(url)
        desk.monitor.add(url)
        await sees(desk.seen, url, lambda v: v.readable)
        put_run(url, "first")
        await sees(desk.seen, url, lambda v: v.runs and v.runs[0].goal == "first")
        desk.monitor.remove(url)
        await desk.seen.eventually(lambda: desk.seen.gone == [url])


@pytest.mark.parametrize("kind", KINDS)
async def test_a_server_that_is_killed_keeps_its_picture_and_comes_back(kind: str) -> None:
    folder: Path = server_folder(f"kill-{kind}")
    server: Any = (
        RedisServer(folder, append_only=True)
        if kind == "redis"
        else PostgresServer(folder, durable=True)
    )
    try:
        store = put_run(server.url, "before")
        async with monitoring() as desk:
            desk.monitor.add(server.url)
            await sees(desk.seen, store.path, lambda v: v.runs)
            await asyncio.to_thread(server.kill)
            await sees(desk.seen, store.path, lambda v: not v.readable)
            view = desk.seen.views[store.path]
            assert view.runs[0].goal == "before"
            assert view.problems[0].code in {"DB_LOST", "DB_UNREACHABLE"}
            await asyncio.to_thread(server.start)
            await sees(desk.seen, store.path, lambda v: v.readable and v.runs)
            put_run(server.url, "after")
            await sees(desk.seen, store.path, lambda v: v.runs[0].goal == "after", within_s=5)
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)
