"""Chooses where a job runs: small files on a work lane, big ones in the worker process."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Final, cast

from oma_desktop.base.lanes import Lanes
from oma_desktop.model.call_detail import CallDetail
from oma_desktop.model.container import Container
from oma_desktop.model.errors import StoreError
from oma_desktop.model.resume import ResumePlan
from oma_desktop.model.view import ConversationView
from oma_desktop.monitor.jobs import (
    Answer,
    CallJob,
    ContainerJob,
    ContainerReading,
    ConversationJob,
    Job,
    PlanJob,
    StoreJob,
    StoreReading,
)
from oma_desktop.monitor.worker_process import WorkerProcess
from oma_desktop.store.file_calls import FileStamp
from oma_desktop.store.file_reading import read_container

SMALL: Final = 256 * 1024
"""Bytes up to which parsing in a thread stalls the loop less than 8 ms (feasibility.md 3)."""


class Reader:
    """Runs jobs off the loop. `size` is that of the file at the last look."""

    def __init__(
        self, lanes: Lanes, *, small: int = SMALL, process: WorkerProcess | None = None
    ) -> None:
        self._lanes = lanes
        self._small = small
        self.process = process or WorkerProcess()
        # Big files wait here and not on a lane, or they would keep the small ones waiting.
        self._turn = asyncio.Lock()

    async def store(self, job: StoreJob, *, size: int) -> StoreReading:
        """Return the picture of a store; raises what reading raises."""
        return cast("StoreReading", await self._run(job, size))

    async def conversation(self, job: ConversationJob, *, size: int) -> ConversationView:
        """Return the messages of a task; raises what reading raises, and NotFound."""
        return cast("ConversationView", await self._run(job, size))

    async def call(self, job: CallJob, *, size: int) -> CallDetail:
        """Return a whole call; raises what reading raises, and NotFound."""
        return cast("CallDetail", await self._run(job, size))

    async def plan(self, job: PlanJob, *, size: int) -> ResumePlan:
        """Return a resume plan; raises what reading raises, and NotFound."""
        return cast("ResumePlan", await self._run(job, size))

    def container(self, path: Path) -> tuple[Container, FileStamp | None]:
        """Read a store file that is going to be written here (`store.file_reading.Reader`).

        Blocking: call it on a lane. A big one is parsed in the worker process; when that is gone,
        because the program is closing, here. Raises Corrupt, SchemaTooNew or StoreError.
        """
        if _size(path) < self._small:
            return read_container(path)
        try:
            read = cast("ContainerReading", self.process.ask(ContainerJob(str(path))))
        except StoreError as error:
            if error.code != "READER_DIED":
                raise
            return read_container(path)
        return read.container, read.stamp

    async def _run(self, job: Job, size: int) -> Answer:
        if size < self._small:
            return await self._lanes.work(job.run)
        async with self._turn:
            return await self._lanes.work(self.process.ask, job)

    async def close(self) -> None:
        """End the worker process."""
        self.process.kill()
        await self._lanes.work(self.process.close)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0  # reading it says what is wrong
