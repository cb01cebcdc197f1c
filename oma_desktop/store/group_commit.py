"""Changes of many callers in one write (formats.md 8 W16): group commit.

Knows no file and no format: the owner applies the changes of a group in order and writes once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Generic, TypeVar

from oma_desktop.model.errors import OmaError, WriteFailed

C = TypeVar("C")


class _Waiter(Generic[C]):
    """One caller; `change` None asks for the turn only. Woken when done, or to lead."""

    __slots__ = ("change", "done", "error", "leads", "wake")

    def __init__(self, change: C | None) -> None:
        self.change = change
        self.done = False
        self.leads = False
        self.error: OmaError | None = None
        self.wake = threading.Lock()
        self.wake.acquire()

    def outcome(self) -> None:
        """Raise what happened; every caller its own instance."""
        if self.error is not None:
            raise type(self.error)(self.error.code, **self.error.facts) from self.error


class GroupCommit(Generic[C]):
    """Lets one caller at a time write, for everybody who waits by then.

    Invariants: `write` runs in one thread at a time, with changes in the order they were submitted;
    a caller returns only after the `write` that had its change returned, or raises what it raised.
    Exactly one thread has the turn while anybody waits.
    """

    def __init__(self, write: Callable[[Sequence[C]], None]) -> None:
        self._write = write
        self._guard = threading.Lock()
        self._waiting: list[_Waiter[C]] = []
        self._taken = False

    @property
    def waiting(self) -> int:
        """How many callers wait for the write that is on its way."""
        with self._guard:
            return len(self._waiting)

    def submit(self, change: C) -> None:
        """Return when the change is written. Raises what `write` raised."""
        waiter = _Waiter(change)
        if self._gets_turn(waiter):
            try:
                self._write_together()
            finally:
                self._hand_over()
        waiter.outcome()

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Keep everybody else from writing; not to be nested, nor to be used with `submit`."""
        waiter: _Waiter[C] = _Waiter(None)
        self._gets_turn(waiter)
        try:
            yield
        finally:
            self._hand_over()

    def submit_first(self, change: C) -> None:
        """Within `turn`: write this change before those that wait by now, in the same write."""
        waiter = _Waiter(change)
        with self._guard:
            self._waiting.insert(0, waiter)
        self._write_together()
        waiter.outcome()

    def _gets_turn(self, waiter: _Waiter[C]) -> bool:
        """Wait until the change is written (False) or it is ours to write (True)."""
        with self._guard:
            self._waiting.append(waiter)
            if not self._taken:
                self._taken = waiter.leads = True
        if not waiter.leads:
            try:
                waiter.wake.acquire()
            except BaseException:
                self._give_up(waiter)
                raise
        if waiter.change is None:
            with self._guard:
                self._waiting.remove(waiter)
        return waiter.leads

    def _give_up(self, waiter: _Waiter[C]) -> None:
        """An interrupted caller must not keep the turn it was given, nor be given it."""
        with self._guard:
            if waiter in self._waiting:
                self._waiting.remove(waiter)
        if waiter.leads:
            self._hand_over()

    def _write_together(self) -> None:
        with self._guard:
            group = [w for w in self._waiting if w.change is not None]
            self._waiting = [w for w in self._waiting if w.change is None]
        error: OmaError | None = None
        try:
            self._write([w.change for w in group if w.change is not None])
        except OmaError as raised:
            error = raised
        except BaseException as raised:
            error = WriteFailed("STORE_WRITE_FAILED", reason=type(raised).__name__, path="")
            raise
        finally:
            for waiter in group:
                waiter.error, waiter.done = error, True
                if not waiter.leads and waiter.wake.locked():
                    waiter.wake.release()

    def _hand_over(self) -> None:
        """Those who are done were woken before, so that their next changes may join this turn."""
        with self._guard:
            if not self._waiting:
                self._taken = False
                return
            following = self._waiting[0]
            following.leads = True
        following.wake.release()
