"""The monitor over real folders: every way a file changes ends in the right picture."""

# ruff: noqa: ASYNC220, ASYNC240 - the files are tiny and the loop is the test's own

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver

from oma_desktop.base.clock import SystemClock, to_ms_iso
from oma_desktop.model.errors import Corrupt, NotFound, WatchUnavailable
from oma_desktop.model.view import OwnerKind, RunRef, RunState, TaskState
from tests.core.monitor.harness import (
    CASES,
    GOLDEN,
    Setting,
    monitoring,
    replace_file,
    store_text,
)

KEY = "__oma_checkpoint__/run-1/latest"


async def test_a_file_is_pictured_and_followed(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text(store_text("one"))
    async with monitoring() as it:
        it.monitor.add(str(path))
        await it.seen.eventually(lambda: it.goal(path) == "one")
        replace_file(path, store_text("two"))
        await it.seen.eventually(lambda: it.goal(path) == "two")
        assert it.view(path).revision == 2


def steps_of_s23() -> list[dict]:
    return json.loads((CASES / "s23-watcher-goes-silent" / "steps.json").read_text())


async def do_step(step: dict, path: Path, goal: str, it: Setting) -> str:
    """Replay one step; return the goal the file holds at the end."""
    clock = SystemClock()
    match step["do"]:
        case "write in place":
            path.write_text(store_text(goal))
        case "temp+rename":
            for n in range(step["times"]):
                replace_file(path, store_text(f"{goal}.{n}"))
                await clock.sleep(step["gapMs"] / 1000)
            return f"{goal}.{step['times'] - 1}"
        case "unlink, wait 1000 ms, create":
            path.unlink()
            await clock.sleep(1)
            path.write_text(store_text(goal))
        case "rename away, write new, rename back":
            before = it.goal(path)
            path.rename(path.with_name("away"))
            path.write_text(store_text(goal))
            await it.seen.eventually(lambda: it.goal(path) == goal)
            path.with_name("away").replace(path)
            return str(before)
        case "rename to name~, write new name":
            path.rename(path.with_name(path.name + "~"))
            path.write_text(store_text(goal))
        case "remove folder, recreate folder and file":
            shutil.rmtree(path.parent)
            path.parent.mkdir()
            path.write_text(store_text(goal))
        case other:
            raise AssertionError(other)
    return goal


@pytest.mark.slow
@pytest.mark.parametrize("opened", ["file", "folder"])
async def test_s23_every_step_is_seen_and_no_step_shows_damage(tmp_path: Path, opened) -> None:
    folder = tmp_path / "runs"
    folder.mkdir()
    path = folder / "run.json"
    path.write_text(store_text("start"))
    async with monitoring() as it:
        it.monitor.add(str(path if opened == "file" else folder))
        await it.seen.eventually(lambda: it.goal(path) == "start")
        for number, step in enumerate([*steps_of_s23(), {"do": "write in place"}]):
            goal = await do_step(step, path, f"step {number}", it)
            await it.seen.eventually(lambda goal=goal: it.goal(path) == goal)
        assert all(view.readable for view in it.seen.history)
        assert it.seen.gone == []


async def test_a_half_written_file_is_read_again_not_shown_as_damage(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    whole = store_text("two")
    path.write_text(store_text("one"))
    async with monitoring() as it:
        it.monitor.add(str(path))
        await it.seen.eventually(lambda: it.goal(path) == "one")
        with path.open("w") as file:
            file.write(whole[:50])
            file.flush()
            await SystemClock().sleep(0.3)
            file.write(whole[50:])
        await it.seen.eventually(lambda: it.goal(path) == "two")
        assert all(view.readable for view in it.seen.history)


async def test_a_burst_is_one_refresh_not_many(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text(store_text("start"))
    async with monitoring() as it:
        it.monitor.add(str(path))
        await it.seen.eventually(lambda: it.goal(path) == "start")
        for n in range(200):
            replace_file(path, store_text(f"{n}"))
        await it.seen.eventually(lambda: it.goal(path) == "199")
        # 200 replaces take some tenths of a second; a read comes at most every 100 ms.
        assert len(it.seen.history) < 40


@pytest.mark.parametrize("name", ["zero", "nul", "half", "null", "array"])
async def test_s13_damage_is_named_and_nothing_is_changed(tmp_path: Path, name: str) -> None:
    source = CASES / "s13-zero-and-nul-files" / f"{name}.json"
    path, good = tmp_path / source.name, tmp_path / "good.json"
    shutil.copy(source, path)
    os.utime(path, (1, 1))
    good.write_text(store_text("works"))
    before = (path.read_bytes(), path.stat().st_mtime_ns)
    async with monitoring() as it:
        it.monitor.add(str(path))
        it.monitor.add(str(good))
        await it.seen.eventually(lambda: it.view(path) and it.goal(good) == "works")
        view = it.view(path)
        assert not view.readable
        assert view.unreadable_since is not None
        (problem,) = view.problems
        assert problem.severity == "error"
        with pytest.raises(Corrupt):
            await it.monitor.resume_plan(RunRef(str(path), KEY))
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before


async def test_a_store_that_breaks_keeps_its_last_good_picture(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text(store_text("good"))
    async with monitoring() as it:
        it.monitor.add(str(path))
        await it.seen.eventually(lambda: it.goal(path) == "good")
        replace_file(path, "\0" * 300)
        await it.seen.eventually(lambda: not it.view(path).readable)
        broken = it.view(path)
        assert (it.goal(path), broken.unreadable_since is None) == ("good", False)
        replace_file(path, store_text("again"))
        await it.seen.eventually(lambda: it.goal(path) == "again")
        assert it.view(path).readable
        assert it.view(path).unreadable_since is None


async def test_s10_newer_files_are_shown_and_left_alone(tmp_path: Path) -> None:
    for source in (CASES / "s10-newer-schema").glob("*.json"):
        shutil.copy(source, tmp_path)
    (tmp_path / "good.json").write_text(store_text("works"))
    before = {p: p.read_bytes() for p in tmp_path.glob("*.json")}
    async with monitoring() as it:
        it.monitor.add(str(tmp_path))
        await it.seen.eventually(lambda: len(it.seen.views) == 4)
        store = it.view(tmp_path / "store-v2.json")
        assert not store.readable
        assert (store.problems[0].facts["found"], store.problems[0].facts["supported"]) == (2, 1)
        for name, found in [("snapshot-v99", 99), ("queue-v7", 7)]:
            (run,) = it.view(tmp_path / f"{name}.json").runs
            assert (run.readable, run.run_id) == (False, "run-demo-01")
            assert run.problems[0].facts["found"] == found
            assert "supported" in run.problems[0].facts
        assert it.goal(tmp_path / "good.json") == "works"
    assert {p: p.read_bytes() for p in tmp_path.glob("*.json")} == before


async def test_s15_left_over_files_are_never_listed(tmp_path: Path) -> None:
    folder = tmp_path / "dir"
    shutil.copytree(CASES / "s15-stale-temp-files" / "dir", folder)
    (folder / "run.json.tmp-OWN-0").rename(folder / f"run.json.tmp-{os.getpid()}-0")
    (folder / "package.json").write_text('{"version": 1, "name": "other"}')
    (folder / "list.json").write_text("[1, 2]")
    (folder / "run.json.lock").write_text("")
    async with monitoring() as it:
        it.monitor.add(str(folder))
        await it.seen.eventually(lambda: it.view(folder / "run.json"))
        (folder / "late.json").write_text(store_text("late"))
        await it.seen.eventually(lambda: it.goal(folder / "late.json") == "late")
        assert set(it.seen.views) == {str(folder / "run.json"), str(folder / "late.json")}


async def test_new_stores_in_new_folders_are_found_and_lost_ones_forgotten(tmp_path: Path) -> None:
    async with monitoring(sweep_s=0.2) as it:
        it.monitor.add(str(tmp_path))
        deep = tmp_path / ".oma" / "team" / "run-7" / "checkpoint.json"
        deep.parent.mkdir(parents=True)
        deep.write_text(store_text("deep"))
        await it.seen.eventually(lambda: it.goal(deep) == "deep")
        shutil.rmtree(tmp_path / ".oma")
        await it.seen.eventually(lambda: str(deep) in it.seen.gone)
        assert it.monitor.view(str(deep)) is None


async def test_a_file_opened_by_name_stays_when_it_vanishes(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text(store_text("here"))
    async with monitoring(sweep_s=0.2) as it:
        it.monitor.add(str(path))
        await it.seen.eventually(lambda: it.goal(path) == "here")
        path.unlink()
        await it.seen.eventually(lambda: not it.view(path).readable)
        assert it.view(path).problems[0].code == "STORE_GONE"
        assert it.goal(path) == "here"


async def test_of_a_file_that_was_never_read_no_last_state_is_claimed(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text("{ damaged")
    async with monitoring(sweep_s=0.2) as it:
        it.monitor.add(str(path))
        await it.seen.eventually(lambda: it.view(path) and not it.view(path).readable)
        path.unlink()
        await it.seen.eventually(lambda: it.view(path).problems[0].code == "STORE_GONE_UNREAD")
        assert it.view(path).runs == ()


async def test_a_missing_file_is_new_and_appears_when_written(tmp_path: Path) -> None:
    path = tmp_path / "later" / "run.json"
    async with monitoring(sweep_s=0.2) as it:
        it.monitor.add(str(path))
        await it.seen.eventually(lambda: it.view(path))
        assert it.view(path).readable
        assert [p.code for p in it.view(path).problems] == ["STORE_MISSING"]
        path.parent.mkdir()
        path.write_text(store_text("born"))
        await it.seen.eventually(lambda: it.goal(path) == "born")


async def test_a_link_to_a_store_is_followed(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.mkdir()
    (real / "run.json").write_text(store_text("one"))
    link.symlink_to(real)
    async with monitoring() as it:
        it.monitor.add(str(link))
        shown = link / "run.json"
        await it.seen.eventually(lambda: it.goal(shown) == "one")
        replace_file(real / "run.json", store_text("two"))
        await it.seen.eventually(lambda: it.goal(shown) == "two")


async def test_a_link_to_a_file_hears_of_changes_where_the_file_lies(tmp_path: Path) -> None:
    real, link = tmp_path / "real" / "run.json", tmp_path / "link.json"
    real.parent.mkdir()
    real.write_text(store_text("one"))
    link.symlink_to(real)
    async with monitoring(sweep_s=600) as it:
        it.monitor.add(str(link))
        await it.seen.eventually(lambda: it.goal(link) == "one")
        replace_file(real, store_text("two"))
        await it.seen.eventually(lambda: it.goal(link) == "two")


async def test_remove_forgets_and_close_is_silent(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text(store_text("one"))
    async with monitoring() as it:
        it.monitor.add(str(tmp_path))
        await it.seen.eventually(lambda: it.goal(path) == "one")
        it.monitor.remove(str(tmp_path))
        assert it.seen.gone == [str(path)]
        it.monitor.add(str(path))
        await it.seen.eventually(lambda: it.goal(path) == "one")
        await it.monitor.close()
        n_views = len(it.seen.history)
        replace_file(path, store_text("two"))
        it.monitor.hint(str(path))
        it.monitor.look_again()
        await SystemClock().sleep(0.2)
        assert len(it.seen.history) == n_views


# -- owners ------------------------------------------------------------------------------------


def lock_text(pid: int, started_at: datetime, host: str) -> str:
    now = to_ms_iso(SystemClock().now())
    document = {
        "version": 1,
        "pid": pid,
        "processStartedAt": to_ms_iso(started_at),
        "host": host,
        "app": "test",
        "token": "t1",
        "heartbeatAt": now,
    }
    return json.dumps(document)


async def test_s05_death_of_the_writer_changes_the_picture_without_a_change_of_the_file(
    tmp_path: Path,
) -> None:
    import socket

    import psutil

    path = tmp_path / "store.json"
    shutil.copy(CASES / "s05-dead-worker-still-running" / "store.json", path)
    writer = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    started_at = datetime.fromtimestamp(psutil.Process(writer.pid).create_time(), UTC)
    lock = tmp_path / "store.json.lock"
    lock.write_text(lock_text(writer.pid, started_at, socket.gethostname()))
    try:
        async with monitoring() as it:
            it.monitor.add(str(path))
            await it.seen.eventually(lambda: it.view(path))
            view = it.view(path)
            assert view.owner.kind is OwnerKind.OTHER_PROCESS
            assert (view.owner.pid, view.owner.app) == (writer.pid, "test")
            assert view.runs[0].state is RunState.RUNNING
            assert view.runs[0].tasks[0].state is TaskState.RUNNING
            writer.kill()
            writer.wait()
            await it.seen.eventually(lambda: it.view(path).runs[0].state is not RunState.RUNNING)
            view = it.view(path)
            assert view.owner.kind is OwnerKind.NO_WRITER
            assert view.runs[0].state is RunState.INTERRUPTED
            assert view.runs[0].tasks[0].state is TaskState.UNKNOWN
            assert to_ms_iso(view.runs[0].saved_at) == "2026-01-05T08:00:05.000Z"
            assert lock.exists()
    finally:
        writer.kill()
        writer.wait()
        writer.stdin.close()


async def test_a_writer_without_a_lock_makes_the_owner_not_known(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text(store_text("one", status="in_progress"))
    async with monitoring() as it:
        it.monitor.add(str(path))
        await it.seen.eventually(lambda: it.goal(path) == "one")
        assert it.view(path).owner.kind is OwnerKind.NO_WRITER
        assert it.view(path).runs[0].state is RunState.INTERRUPTED
        replace_file(path, store_text("two", status="in_progress"))
        await it.seen.eventually(lambda: it.goal(path) == "two")
        assert it.view(path).owner.kind is OwnerKind.NOT_KNOWN
        assert it.view(path).runs[0].state is RunState.UNKNOWN
        replace_file(path, store_text("three", status="in_progress"))
        await it.seen.eventually(lambda: it.goal(path) == "three")


async def test_our_own_write_is_no_foreign_one(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text(store_text("one"))
    async with monitoring(make_observer=SilentObserver) as it:
        it.monitor.add(str(path))
        await it.seen.eventually(lambda: it.goal(path) == "one")
        replace_file(path, store_text("two"))
        it.monitor.hint(str(path))
        await it.seen.eventually(lambda: it.goal(path) == "two", within_s=1.5)
        assert it.view(path).owner.kind is OwnerKind.NO_WRITER


# -- s24: the observer fails -------------------------------------------------------------------


class SilentObserver(BaseObserver):
    """Takes every watch and never tells anything."""

    def __init__(self) -> None:
        super().__init__(emitter_class=None)

    def schedule(self, handler, path, *, recursive=False, **_):
        return object()

    def unschedule(self, watch) -> None:
        pass


class FullObserver(SilentObserver):
    """No watch is left."""

    def schedule(self, handler, path, *, recursive=False, **_):
        raise OSError(28, "No space left on device")


class UnstartableObserver(SilentObserver):
    def start(self) -> None:
        raise OSError(28, "No space left on device")


@pytest.mark.parametrize("observer", [FullObserver, UnstartableObserver])
async def test_s24_watch_limit_is_a_small_notice_and_polling_goes_on(tmp_path, observer) -> None:
    path = tmp_path / "run.json"
    path.write_text(store_text("one"))
    async with monitoring(make_observer=observer, sweep_s=0.2) as it:
        it.monitor.add(str(path))
        it.monitor.add(str(tmp_path))
        await it.seen.eventually(lambda: it.goal(path) == "one" and it.seen.notices)
        for goal in ("two", "three"):
            replace_file(path, store_text(goal))
            await it.seen.eventually(lambda goal=goal: it.goal(path) == goal)
        other = tmp_path / "other.json"
        other.write_text(store_text("found"))
        await it.seen.eventually(lambda: it.goal(other) == "found")
        (notice,) = it.seen.notices
        assert isinstance(notice, WatchUnavailable)
        assert (notice.code, notice.facts["reason"]) == ("WATCH_LIMIT_REACHED", "watch_limit")


@pytest.mark.slow
async def test_s24_a_silent_observer_is_noticed_by_the_poll(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text(store_text("0"))
    async with monitoring(make_observer=SilentObserver, sweep_s=0.2) as it:
        it.monitor.add(str(path))
        await it.seen.eventually(lambda: it.goal(path) == "0")
        for n in range(1, 4):
            new = tmp_path / "new"
            new.write_text(store_text(str(n)))
            os.utime(new, (1_700_000_000 + n,) * 2)  # written long before it is seen
            new.replace(path)
            await it.seen.eventually(lambda n=n: it.goal(path) == str(n))
        await it.seen.eventually(lambda: it.seen.notices)
        assert [n.code for n in it.seen.notices] == ["WATCH_SILENT"]


async def test_s24_an_observer_that_dies_is_replaced(tmp_path: Path) -> None:
    made: list[BaseObserver] = []

    def make() -> BaseObserver:
        made.append(Observer())
        return made[-1]

    path = tmp_path / "run.json"
    path.write_text(store_text("one"))
    async with monitoring(make_observer=make, sweep_s=0.2) as it:
        it.monitor.add(str(path))
        await it.seen.eventually(lambda: it.goal(path) == "one")
        replace_file(path, store_text("two"))
        await it.seen.eventually(lambda: it.goal(path) == "two")
        made[0].stop()
        await asyncio.to_thread(made[0].join)
        replace_file(path, store_text("three"))
        await it.seen.eventually(lambda: it.goal(path) == "three")
        async with asyncio.timeout(20):
            while len(made) < 2:
                await SystemClock().sleep(0.1)
        replace_file(path, store_text("four"))
        await it.seen.eventually(lambda: it.goal(path) == "four")


# -- questions ---------------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["lane", "worker"])
async def test_questions_have_the_same_answers_in_thread_and_worker(tmp_path: Path, where) -> None:
    from oma_desktop.base.lanes import Lanes
    from oma_desktop.monitor.reader import Reader

    name = "c_tool_gate_1_suspended"
    path = tmp_path / "checkpoint.json"
    shutil.copy(GOLDEN / name / "checkpoint.json", path)
    lanes = Lanes()
    reader = Reader(lanes, small=0 if where == "worker" else 1 << 30)
    async with monitoring(reader=reader) as it:
        it.monitor.add(str(path))
        await it.seen.eventually(lambda: it.view(path))
        assert (reader.process.pid is not None) == (where == "worker")
        (run,) = it.view(path).runs
        assert run.state is RunState.SUSPENDED
        task = next(t for t in run.tasks if t.title == "Deploy billing")
        ref = RunRef(str(path), run.key)
        talk = await it.monitor.conversation(ref, task.id)
        assert len(talk.messages) == 3
        detail = await it.monitor.call_detail(ref, task.id, "call_deploy_1")
        assert (detail.tool, detail.output) == ("deploy", None)
        plan = await it.monitor.resume_plan(ref)
        assert [n.tool for n in plan.needs_you] == ["deploy"]
        with pytest.raises(NotFound):
            await it.monitor.call_detail(ref, task.id, "nobody")
        with pytest.raises(NotFound):
            await it.monitor.resume_plan(RunRef(str(path), "no key"))
    lanes.close()
