"""Runs on a file whose disk fails: what is told, what goes on, what is never claimed (case s14)."""

from __future__ import annotations

import asyncio
import errno
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oma_desktop.model.approval_rules import request_hash
from oma_desktop.model.checkpoint_loader import load_snapshot_text
from oma_desktop.model.errors import WriteFailed
from oma_desktop.store.file_calls import FileCalls
from oma_desktop.store.filestore import FileStore
from oma_desktop.store.read_only import read_only
from tests.core.engine.run_world import RunWorld, golden_world, ok, spec
from tests.core.engine.runner_world import VirtualClock
from tests.core.engine.test_suspension import script, specs


class Filling(FileCalls):
    """A disk that is full while `full`: a short write, then ENOSPC; or fails where it is told."""

    def __init__(self):
        self.full = False
        self.fails_at = None
        self._room = 10

    def write(self, fd, data):
        if not self.full:
            return super().write(fd, data)
        room, self._room = self._room, 0 if self._room else 10
        if not room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return super().write(fd, data[:room])

    def replace(self, source, target):
        if self.fails_at:
            raise OSError(self.fails_at, os.strerror(self.fails_at))
        super().replace(source, target)


def on_disk(tmp_path, **facts):
    calls = Filling()
    store = FileStore(tmp_path / "run.json", clock=VirtualClock(), calls=calls)
    return RunWorld(store=store, **facts), calls


def left_over(tmp_path):
    return sorted(p.name for p in tmp_path.iterdir())


async def test_s14_a_full_disk_is_told_the_run_goes_on_and_the_next_save_has_it_all(tmp_path):
    seen = []

    async def work(world, _agent, job):
        calls.full = job.task_title in {"B", "C"}
        seen.append(read_only(tmp_path / "run.json").list()[0].value)
        return ok(f"{job.task_title} done")

    world, calls = on_disk(tmp_path, work=work, max_concurrency=1)
    result = await world.run(spec("A"), spec("B", "A"), spec("C", "B"), spec("D", "C"))
    assert result.success
    told = [e.data for e in world.of("error")]
    assert {(d["kind"], d["code"]) for d in told} == {("checkpoint_save_failed", "STORE_NO_SPACE")}
    assert len(told) >= 2, "as long as it lasts it is told again at each boundary"
    states = [load_snapshot_text(text).snapshot for text in seen]
    completed = [len(s["completedTaskResults"]) for s in states]
    assert completed == [0, 1, 1, 1], "while the disk is full the last good state stays"
    assert world.statuses() == dict.fromkeys("ABCD", "completed")
    assert left_over(tmp_path) == ["run.json"]
    again = RunWorld(store=FileStore(tmp_path / "run.json", clock=VirtualClock()))
    assert (await again.restore()).success
    assert again.of("task_start") == []


@pytest.mark.parametrize("scope", ["tool", "dispatch"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EROFS, errno.EXDEV, errno.EBUSY])
async def test_s14_a_suspension_that_is_not_on_disk_is_not_pending(tmp_path, scope, number):
    world, calls = on_disk(tmp_path, script=script(scope=scope, others=0))

    def fail(event):
        if event.type == "gate_call":
            calls.fails_at = number

    world.bus.subscribe(fail)
    result = await world.run(*specs(0), real_runner=True)
    assert result.status.code != "suspended"
    assert result.pending_approvals == ()
    assert world.of("approval_pending") == []
    assert world.ledger().list() == [], "no row asks for what is not saved"
    assert "approvalRequest" not in (tmp_path / "run.json").read_text("utf-8")
    assert left_over(tmp_path) == ["run.json"]

    calls.fails_at = None
    world.bus = type(world.bus)()
    world.forget_events()
    world.bus.subscribe(world.events.append)
    again = await world.restore(real_runner=True)
    if scope == "tool":
        assert again.status.code == "suspended", "with space it is asked after all"
        (row,) = world.ledger().list()
        request = row["request"]
        assert request["requestHash"] == request_hash(
            request["scope"], request["boundary"], request["content"]
        )


async def test_s14_a_failed_ledger_row_is_mended_by_the_next_restore(tmp_path):
    """The request is saved, its row is not: nothing is announced, a restore creates the row."""
    world, calls = on_disk(tmp_path, script=script(scope="dispatch", others=0))

    def fail(event):
        if event.type == "checkpoint_saved" and "suspended" in event.data["boundary"]:
            calls.fails_at = errno.ENOSPC

    world.bus.subscribe(fail)
    result = await world.run(*specs(0), real_runner=True)
    assert world.of("approval_pending") == []
    assert result.status.code != "ok"
    assert world.ledger().list() == []
    other = RunWorld(
        script=script(scope="dispatch", others=0),
        store=FileStore(tmp_path / "run.json", clock=VirtualClock()),
    )
    again = await other.restore(real_runner=True)
    assert again.status.code == "suspended"
    assert len(other.ledger().list()) == 1


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 40), min_size=1, max_size=4))
def test_w26_attempt_numbers_never_repeat_wherever_each_attempt_dies(deaths):
    """formats.md 2.10.2: what a number has done nobody else does under the same number."""

    async def play():
        worked = []

        async def work(world, _agent, _job):
            worked.append(world.snapshot()["identity"]["attempt"])
            await world.clock.sleep(1)
            return ok()

        world = RunWorld(work=work, max_concurrency=1)
        await world.run(spec("A"), spec("B", "A"), spec("C", "B"), run_id="r")
        assert set(worked) == {1}
        attempts = [1]
        for death in deaths:
            unfinished = [
                i for i, s in enumerate(world.store.saved)
                if any(t["status"] != "completed" for t in s["queue"]["tasks"])
            ]  # fmt: skip
            if not unfinished:
                break
            world = world.crashed(unfinished[death % len(unfinished)])
            worked.clear()
            result = await world.restore()
            assert result.success
            number = result.identity.attempt
            assert set(worked) == {number}
            assert number not in attempts
            assert world.store.saved[0]["identity"]["attempt"] == number, "its first save says it"
            attempts.append(number)
        assert attempts == sorted(attempts)

    asyncio.run(play())


@pytest.mark.parametrize(
    ("number", "code"),
    [(errno.ENOSPC, "STORE_NO_SPACE"), (errno.EROFS, "STORE_READ_ONLY_DISK")],
)
async def test_a_restore_on_a_full_disk_starts_nothing_under_an_unsaved_number(
    tmp_path, number, code
):
    before_death = RunWorld(max_concurrency=1)
    await before_death.run(spec("A"), spec("B", "A"))
    (entry,) = before_death.crashed(at=2).store.list()
    world, calls = on_disk(tmp_path)
    world.store.set(entry.key, entry.value)
    before = (tmp_path / "run.json").read_bytes()
    calls.fails_at = number
    with pytest.raises(WriteFailed) as caught:
        await world.restore()
    assert caught.value.code == code
    assert world.of("task_start") == []
    assert (tmp_path / "run.json").read_bytes() == before
    calls.fails_at = None
    assert (await world.restore()).identity.attempt == 2


@pytest.mark.parametrize(
    "case", ["k1_v1_without_runid", "k2_v1_with_runid", "k3_v1_with_memory_and_bus", "k4_v2"]
)
async def test_old_snapshots_are_promoted_by_the_first_save_of_a_restore(tmp_path, case):
    world = golden_world(case, tmp_path)
    (key,) = [e.key for e in world.store.list() if "checkpoint" in e.key]
    old = load_snapshot_text(world.store.get(key).value).snapshot
    result = await world.restore(key=key, real_runner=True)
    saved = world.snapshot(key)
    assert saved["version"] >= 4
    assert saved["identity"]["runId"] == result.identity.run_id
    assert saved["identity"]["attempt"] == result.identity.attempt
    if "runId" in old:
        assert result.identity.run_id == old["runId"]
    if old["version"] == 1:
        assert result.identity.attempt == 2, "the saved run counts as the first"
        assert result.identity.links == ()
    else:
        assert result.identity.attempt == old["identity"]["attempt"] + 1
    metadata = world.store.get(key).metadata
    assert metadata["version"] == saved["version"]
    assert metadata["runId"] == saved["identity"]["runId"]
    assert metadata["createdAt"] == saved["createdAt"]
