"""Work on a store that is announced before it is done, so that what waits shares one write.

The store lane does one thing after the other (house.md 2.7): without this, fifty tasks that save at
the same time would cause fifty writes although forty-nine of them were waiting for the first.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar, runtime_checkable

from oma_desktop.model.errors import OmaError
from oma_desktop.store.memory import BatchingStore

R = TypeVar("R")


@runtime_checkable
class EnlistingStore(Protocol):
    """The optional capability of doing announced work together."""

    def enlist(self, work: Callable[[], R]) -> Callable[[], R]:
        """Announce work; the returned call does it. See `Enlisted`."""
        ...


class _Job(Generic[R]):
    """Work of one caller, and its answer once somebody has done it."""

    __slots__ = ("alone", "answers", "error", "work")

    def __init__(self, work: Callable[[], R]) -> None:
        self.work = work
        self.answers: list[R] = []
        self.error: OmaError | None = None
        self.alone = False

    def do(self) -> None:
        """Do the work and keep the answer."""
        self.answers = [self.work()]

    @property
    def done(self) -> bool:
        """Whether there is an answer."""
        return bool(self.answers) or self.error is not None


class Enlisted:
    """The announced work of one store.

    Work must be nothing but changes of that store (and reads): it may be done by another caller's
    call, it is on disk only when its own call returns, and it may be done a second time when other
    work beside it failed unexpectedly. Its own failure undoes its own changes only; when the
    common write fails, every caller gets that error.
    """

    def __init__(self, store: BatchingStore) -> None:
        self._store = store
        self._guard = threading.Lock()
        self._jobs: list[_Job[object]] = []

    def add(self, work: Callable[[], R]) -> Callable[[], R]:
        """Announce work; the returned call does all that is announced by then, in one write."""
        job = _Job(work)
        with self._guard:
            self._jobs.append(job)  # type: ignore[arg-type]

        def call() -> R:
            if not job.done and not job.alone:
                self._together()
            if job.error is not None:
                raise type(job.error)(job.error.code, **job.error.facts) from job.error
            if not job.answers:
                job.do()
            return job.answers[0]

        return call

    def _together(self) -> None:
        with self._guard:
            jobs, self._jobs = self._jobs, []
        complete = False
        if len(jobs) > 1:
            # What fails unexpectedly undoes all; each call then does its own and shows its fault.
            with contextlib.suppress(Exception):
                common = self._in_one_write(jobs)
                complete = True
                for job in jobs:
                    job.error = job.error or common
        for job in jobs:
            if not complete:
                job.answers, job.error, job.alone = [], None, True

    def _in_one_write(self, jobs: Sequence[_Job[object]]) -> OmaError | None:
        try:
            with self._store.batch():
                for job in jobs:
                    self._apart(job)
        except OmaError as error:
            return error
        return None

    def _apart(self, job: _Job[object]) -> None:
        try:
            with self._store.batch():
                job.do()
        except OmaError as error:
            job.error = error
