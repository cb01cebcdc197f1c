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
    """One caller and what became of its change."""

    __slots__ = ("change", "done", "error")

    def __init__(self, change: C) -> None:
        self.change = change
        self.done = False
        self.error: OmaError | None = None

    def outcome(self) -> None:
        """Raise what happened; every caller its own instance."""
        if self.error is not None:
            raise type(self.error)(self.error.code, **self.error.facts) from self.error


class GroupCommit(Generic[C]):
    """Lets one caller at a time write, for everybody who waits by then.

    Invariants: `write` runs in one thread at a time, with changes in the order they were submitted;
    a caller returns only after the `write` that had its change returned, or raises what it raised.
    """

    def __init__(self, write: Callable[[Sequence[C]], None]) -> None:
        self._write = write
        self._turn = threading.RLock()
        self._guard = threading.Lock()
        self._waiting: list[_Waiter[C]] = []

    @property
    def waiting(self) -> int:
        """How many changes wait for the write that is on its way."""
        with self._guard:
            return len(self._waiting)

    def submit(self, change: C) -> None:
        """Return when the change is written. Raises what `write` raised."""
        waiter = _Waiter(change)
        with self._guard:
            self._waiting.append(waiter)
        with self._turn:
            if not waiter.done:
                self._lead()
        waiter.outcome()

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Keep everybody else from writing; `submit_first` is for the end of it."""
        with self._turn:
            yield

    def submit_first(self, change: C) -> None:
        """Within `turn`: write this change before those that wait by now, in the same write."""
        waiter = _Waiter(change)
        with self._guard:
            self._waiting.insert(0, waiter)
        self._lead()
        waiter.outcome()

    def _lead(self) -> None:
        with self._guard:
            group, self._waiting = self._waiting, []
        error: OmaError | None = None
        try:
            self._write([waiter.change for waiter in group])
        except OmaError as raised:
            error = raised
        except BaseException as raised:
            error = WriteFailed("STORE_WRITE_FAILED", reason=type(raised).__name__, path="")
            raise
        finally:
            for waiter in group:
                waiter.error, waiter.done = error, True
