"""The worker process: same answers as in a thread, replaced when it dies, gone when closed."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import threading
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import psutil
import pytest

from oma_desktop.base.lanes import Lanes
from oma_desktop.model.container import Container
from oma_desktop.model.errors import Corrupt, StoreError
from oma_desktop.model.view import BlockView, ConversationView, MessageView
from oma_desktop.monitor.jobs import ContainerJob, StoreJob
from oma_desktop.monitor.ownership import NO_WRITER
from oma_desktop.monitor.pieces import Known, join, split
from oma_desktop.monitor.reader import Reader
from oma_desktop.monitor.worker_process import WorkerProcess
from oma_desktop.store import file_reading
from tests.core.monitor.harness import GOLDEN, StuckJob, store_text

NOW = datetime(2030, 1, 1, tzinfo=UTC)


def job(path: Path) -> StoreJob:
    return StoreJob(str(path), NO_WRITER, NOW)


@pytest.fixture
def process():
    made = WorkerProcess()
    yield made
    made.kill()
    made.close()


def test_pictures_survive_the_way(process: WorkerProcess) -> None:
    for name in ("m_multi_run_store", "j1_multimodal_unicode_midrun", "c_tool_gate_3_rejected"):
        path = GOLDEN / name / "checkpoint.json"
        assert process.ask(job(path)) == job(path).run()


@pytest.mark.parametrize("size", [0, 10, 700_000])
def test_a_file_that_will_be_written_comes_over_whole(
    process: WorkerProcess, tmp_path: Path, size: int
) -> None:
    """Values in parts, unknown keys, oddities and the stamp; no file is an empty store."""
    path = tmp_path / "s.json"
    assert process.ask(ContainerJob(str(path))) == ContainerJob(str(path)).run()
    value = "中\ud83d\ude00\\n" * size
    rows = [
        {"key": "a", "value": value, "createdAt": "2026-01-01", "later": [1]},
        {"key": "b", "value": "", "createdAt": "2026-01-01", "metadata": {"n": 1}},
        {"key": "c", "value": value[:9], "createdAt": "2026-01-01", "expiresAtTurn": 2},
    ]
    path.write_text(json.dumps({"version": 1, "entries": rows, "more": {"x": None}}), "utf-8")
    assert process.ask(ContainerJob(str(path))) == ContainerJob(str(path)).run()


async def test_a_reader_for_writers_parses_big_files_elsewhere_and_needs_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed: list[int] = []
    plain = file_reading.parse_container

    def parse(data: bytes, *, path: str) -> Container:
        parsed.append(len(data))
        return plain(data, path=path)

    monkeypatch.setattr(file_reading, "parse_container", parse)
    small, big = tmp_path / "small.json", tmp_path / "big.json"
    for path, n in ((small, 10), (big, 1_000_000)):
        path.write_text(store_text("r" * n), "utf-8")
    lanes = Lanes()
    reader = Reader(lanes)
    try:
        for path in (small, big):
            container, stamp = await lanes.store(reader.container, path)
            assert stamp is not None
            assert stamp.size == path.stat().st_size
        assert parsed == [small.stat().st_size], "the big one was parsed by the worker"
        damaged = tmp_path / "damaged.json"
        damaged.write_bytes(big.read_bytes()[:-2])
        with pytest.raises(Corrupt):
            await lanes.store(reader.container, damaged)
        await reader.close()
        assert await lanes.store(reader.container, big) == (container, stamp), "at the end: here"
    finally:
        lanes.close()


def test_a_refused_file_is_an_answer_and_the_next_one_is_right(process: WorkerProcess) -> None:
    path = GOLDEN / "b_completed_dag6" / "checkpoint.json"
    process.ask(job(path))
    pid = process.pid
    with pytest.raises(Corrupt) as caught:
        process.ask(job(GOLDEN / "n_corrupt" / "all-nul.json"))
    assert caught.value.facts["path"].endswith("all-nul.json")
    assert process.ask(job(path)) == job(path).run()
    assert process.pid == pid


def test_a_dead_worker_is_replaced(process: WorkerProcess) -> None:
    path = GOLDEN / "b_completed_dag6" / "checkpoint.json"
    process.ask(job(path))
    first = process.pid
    os.kill(first, signal.SIGKILL)
    assert process.ask(job(path)) == job(path).run()
    assert process.pid != first


def test_a_worker_that_dies_over_a_job_twice_is_an_error(process, monkeypatch) -> None:
    monkeypatch.setattr(process, "_started", lambda: (_ for _ in ()).throw(EOFError))
    with pytest.raises(StoreError) as caught:
        process.ask(job(Path("x.json")))
    assert (caught.value.code, caught.value.facts["path"]) == ("READER_DIED", "x.json")


def test_it_is_recycled_so_that_memory_stays_flat() -> None:
    process = WorkerProcess(recycle_after=2)
    path = GOLDEN / "k7_v4_minimal" / "checkpoint.json"
    pids = []
    for _ in range(5):
        process.ask(job(path))
        pids.append(process.pid)
    assert len(set(pids)) == 3
    process.kill()
    process.close()
    assert not any(psutil.pid_exists(p) for p in pids)


def test_kill_ends_a_waiting_question(process: WorkerProcess) -> None:
    errors: list[BaseException] = []

    def ask() -> None:
        try:
            process.ask(StuckJob("never.json"))  # type: ignore[arg-type]
        except StoreError as error:
            errors.append(error)

    process.ask(job(GOLDEN / "k7_v4_minimal" / "checkpoint.json"))
    thread = threading.Thread(target=ask)  # noqa: TID251 - stands for a work lane
    thread.start()
    process.kill()
    thread.join(20)
    assert [e.code for e in errors] == ["READER_DIED"]


def test_what_did_not_change_is_the_same_object(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    known = Known()
    views = []
    for goal in ("one", "two"):
        path.write_text(store_text(goal, n_tasks=60))
        views.append(join(iter(list(split(job(path).run()))), known).view)
    first, second = (v.runs[0] for v in views)
    assert (first.goal, second.goal) == ("one", "two")
    assert all(a is b for a, b in zip(first.tasks, second.tasks, strict=True))


def test_big_answers_travel_in_many_pieces(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text(store_text("x", n_tasks=300))
    reading = job(path).run()
    pieces = list(split(reading))
    assert len(pieces) == 1 + 12
    assert join(iter(pieces)) == reading
    block = BlockView("text", "y" * 100_000, 100_000)
    talk = ConversationView("t", "a", (MessageView("user", 0, (block,)),) * 10, "in_flight")
    pieces = list(split(talk))
    assert max(map(len, pieces)) < 400_000
    assert join(iter(pieces)) == talk
    assert join(iter(split(replace(talk, messages=())))).messages == ()


async def test_big_files_do_not_keep_small_ones_waiting(tmp_path: Path) -> None:
    lanes = Lanes()
    process = WorkerProcess()
    reader = Reader(lanes, small=1000, process=process)
    fifo, small = tmp_path / "big.json", tmp_path / "small.json"
    os.mkfifo(fifo)
    small.write_text(store_text("small"))
    waiting = [asyncio.ensure_future(reader.store(job(fifo), size=5000)) for _ in range(4)]  # noqa: TID251
    async with asyncio.timeout(20):
        reading = await reader.store(job(small), size=10)
    assert reading.view.runs[0].goal == "small"
    await reader.close()
    results = await asyncio.gather(*waiting, return_exceptions=True)
    assert {getattr(r, "code", r) for r in results} == {"READER_DIED"}
    lanes.close()
