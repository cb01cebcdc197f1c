"""The only place that makes tasks: names them, keeps them, reports their failures, ends them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import TypeVar

T = TypeVar("T")
log = logging.getLogger(__name__)


class Supervisor:
    """Owns background tasks of one part of the program (house.md 2.7).

    Invariants: every task has a strong reference until done; a failure is reported exactly once to
    `on_failure` (or logged); after `close` nothing can be spawned.
    """

    def __init__(self, on_failure: Callable[[str, BaseException], None] | None = None) -> None:
        self._tasks: dict[asyncio.Task[object], str] = {}
        self._exclusive: dict[object, asyncio.Task[object]] = {}
        self._on_failure = on_failure
        self._closed = False

    def spawn(
        self,
        work: Coroutine[object, object, T],
        *,
        name: str,
        exclusive: object | None = None,
    ) -> asyncio.Task[T] | None:
        """Start `work` as a task and keep it.

        With `exclusive`, a second spawn while the first lives is a no-op and returns None
        (house.md 2.4.3: a second click does nothing). Raises RuntimeError after `close`.
        """
        if self._closed:
            work.close()
            raise RuntimeError(f"supervisor is closed, cannot start {name}")
        if exclusive is not None and exclusive in self._exclusive:
            work.close()
            return None
        task = asyncio.create_task(work, name=name)  # noqa: TID251 - this is the one place
        self._tasks[task] = name
        if exclusive is not None:
            self._exclusive[exclusive] = task
        task.add_done_callback(self._on_done)
        return task

    def _on_done(self, task: asyncio.Task[T]) -> None:
        name = self._tasks.pop(task, "?")
        for key in [k for k, t in self._exclusive.items() if t is task]:
            del self._exclusive[key]
        if task.cancelled():
            return
        error = task.exception()
        if error is None:
            return
        if self._on_failure is not None:
            self._on_failure(name, error)
        else:
            log.error("task %s failed", name, exc_info=error)

    @property
    def closed(self) -> bool:
        """True once `close` was called: nothing can be spawned any more."""
        return self._closed

    @property
    def names(self) -> list[str]:
        """Names of the tasks that live now, oldest first."""
        return list(self._tasks.values())

    async def close(self, timeout_s: float = 5.0) -> list[str]:
        """Cancel what still lives and wait; return the names that did not end in time."""
        self._closed = True
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=timeout_s)
        return [self._tasks[t] for t in tasks if not t.done()]
