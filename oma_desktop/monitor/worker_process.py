"""The program's end of the worker process: started when needed, replaced when it dies or grows."""

from __future__ import annotations

import multiprocessing
import pickle
import threading
from collections.abc import Iterator
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Final

from oma_desktop.model.errors import StoreError
from oma_desktop.monitor import worker
from oma_desktop.monitor.jobs import Answer, Job, StoreJob
from oma_desktop.monitor.pieces import Known, join

RECYCLE_AFTER: Final = 100
"""Jobs of one process: freed memory does not all go back to the system."""
ANSWER_WITHIN_S: Final = 120.0
REMEMBERED: Final = 8
"""Stores whose last pieces are kept to be used again."""


class WorkerProcess:
    """At most one child. `ask` blocks: call it on a work lane, never on the loop.

    Invariants: jobs run one at a time; after `close` no child is left and none is started.
    """

    def __init__(self, *, recycle_after: int = RECYCLE_AFTER) -> None:
        self._recycle_after = recycle_after
        self._busy = threading.Lock()
        self._process: SpawnProcess | None = None
        self._pipe: Connection | None = None
        self._n_jobs = 0
        self._closed = False
        self._known: dict[str, Known] = {}

    @property
    def pid(self) -> int | None:
        """Process id of the present child."""
        return self._process.pid if self._process else None

    def ask(self, job: Job) -> Answer:
        """Return the answer; a child that dies over a job is replaced and gets one more try.

        Raises what the job raises, StoreError (READER_DIED) when it fails twice.
        """
        with self._busy:
            for _ in range(2):
                try:
                    return self._ask(job)
                except (EOFError, OSError):
                    self._stop()
            raise StoreError("READER_DIED", path=job.path)

    def _ask(self, job: Job) -> Answer:
        if self._n_jobs >= self._recycle_after:
            self._stop()
        pipe = self._started()
        self._n_jobs += 1
        pipe.send_bytes(pickle.dumps(job))
        pieces = self._pieces(pipe)
        try:
            return join(pieces, self._known_of(job))
        finally:
            for _ in pieces:
                pass  # what is left of this answer must not become the next one

    def _known_of(self, job: Job) -> Known | None:
        if not isinstance(job, StoreJob):
            return None
        known = self._known.pop(job.path, None) or Known()
        self._known[job.path] = known
        while len(self._known) > REMEMBERED:
            del self._known[next(iter(self._known))]
        return known

    def _started(self) -> Connection:
        if self._closed:
            raise EOFError
        if self._pipe is None:
            context = multiprocessing.get_context("spawn")
            ours, theirs = context.Pipe()
            process = context.Process(
                target=worker.serve, args=(theirs,), name="oma-reader", daemon=True
            )
            process.start()
            theirs.close()
            self._process, self._pipe, self._n_jobs = process, ours, 0
            if self._closed:  # `kill` came while the child was starting and has not seen it
                raise EOFError
        return self._pipe

    def _pieces(self, pipe: Connection) -> Iterator[bytes]:
        while True:
            if not pipe.poll(ANSWER_WITHIN_S):
                raise EOFError
            piece = pipe.recv_bytes()
            if piece == worker.END:
                return
            yield piece

    def _stop(self) -> None:
        pipe, process = self._pipe, self._process
        self._pipe = self._process = None
        self._n_jobs = 0
        if pipe is not None:
            pipe.close()
        if process is not None:
            process.join(1.0)
            if process.is_alive():
                process.kill()
                process.join()
            process.close()

    def kill(self) -> None:
        """End the child at once and start none again; a waiting `ask` fails. Does not block."""
        self._closed = True
        process = self._process
        if process is not None:
            process.kill()

    def close(self) -> None:
        """Wait until the child is gone; call it on a work lane, after `kill`."""
        self._closed = True
        with self._busy:
            self._stop()
