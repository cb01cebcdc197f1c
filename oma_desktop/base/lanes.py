"""The named executors: one ordered worker for bytes, two for computing (house.md 2.7)."""

from __future__ import annotations

import asyncio
import contextvars
import itertools
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import partial
from typing import Final, ParamSpec, TypeVar, cast

_WATCHED_AT_ONCE: Final = 4
P = ParamSpec("P")
R = TypeVar("R")
_asides: Final = itertools.count(1)


class Lanes:
    """`store`: every write and fsync, in submission order. `work`: tails, decoding, layout.

    `watch` exists where a database is open: its notices must not keep the others waiting.
    `aside` is for code of others, which may hang: a thread of its own that holds nobody up.
    Invariant: no other thread of ours exists but watchdog's and the window's own.
    """

    def __init__(self) -> None:
        self._store = ThreadPoolExecutor(1, thread_name_prefix="oma-store")
        self._work = ThreadPoolExecutor(2, thread_name_prefix="oma-work")
        self._watch: ThreadPoolExecutor | None = None
        self._begun: set[Future[object]] = set()

    @property
    def work_executor(self) -> ThreadPoolExecutor:
        """For `loop.set_default_executor`."""
        return self._work

    async def store(self, fn: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run blocking store work; calls run one at a time, in the order they were made."""
        return await self._submit(self._store, partial(fn, *args, **kwargs))

    async def work(self, fn: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run computing that would hold the loop; values in, values out."""
        return await self._submit(self._work, partial(fn, *args, **kwargs))

    async def aside(self, fn: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run foreign blocking code; whoever stops waiting leaves it behind.

        Nothing can end such a thread from outside, so it never keeps the program from ending.
        """
        future: Future[R] = Future()
        call = partial(contextvars.copy_context().run, partial(fn, *args, **kwargs))
        threading.Thread(  # noqa: TID251 - the lanes are where threads are made
            target=_fulfil, args=(future, call), name=f"oma-aside-{next(_asides)}", daemon=True
        ).start()
        return await asyncio.wrap_future(future)

    async def _submit(self, lane: ThreadPoolExecutor, fn: Callable[[], R]) -> R:
        future = lane.submit(fn)
        self._begun.add(cast("Future[object]", future))
        future.add_done_callback(self._begun.discard)
        return await asyncio.wrap_future(future)

    async def watch(self, fn: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Wait for the notices of a database, for a second at most; threads exist only for them."""
        if self._watch is None:
            self._watch = ThreadPoolExecutor(_WATCHED_AT_ONCE, thread_name_prefix="oma-watch")
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._watch, lambda: fn(*args, **kwargs))

    def close(self, timeout_s: float = 5.0) -> bool:
        """Finish what the store lane was given, drop queued computing; wait at most `timeout_s`.

        Returns False when something still hangs: the interpreter would then wait for its thread at
        exit, so the caller leaves with `os._exit` (cases s26).
        """
        self._work.shutdown(wait=False, cancel_futures=True)
        if self._watch is not None:
            self._watch.shutdown(wait=False, cancel_futures=True)
        self._store.shutdown(wait=False)
        return not wait(list(self._begun), timeout_s).not_done


def _fulfil(future: Future[R], call: Callable[[], R]) -> None:
    """Do the call and hand over what came of it, whatever it was."""
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = call()
    except StopIteration as error:  # no future of a loop may carry it
        future.set_exception(RuntimeError(repr(error)))
    except BaseException as error:  # noqa: BLE001 - it is raised again where somebody waits
        future.set_exception(error)
    else:
        future.set_result(result)
