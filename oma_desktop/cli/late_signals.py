"""Signals that come when the work of a command is done: its exit code stays true (product.md 5).

Once a plan is written, or the end of a run saved, a signal has nothing left to stop. The default
action would end the process as if it had been killed in the middle.
"""

from __future__ import annotations

import asyncio
import atexit
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

_ours: list[signal.Signals] = []
"""The signals of a process that runs one command and then ends; none where others called us."""


def own_process(numbers: Sequence[signal.Signals]) -> None:
    """Say that this process ends with its command, so that its signals are ours to the end."""
    _ours[:] = numbers
    atexit.register(_ignore)


def work_is_done(loop: asyncio.AbstractEventLoop, numbers: Sequence[signal.Signals]) -> None:
    """Take the handlers of the work away. One more signal is let pass; the next ends the process.

    So a thread that hangs cannot keep anybody from ending the program.
    """
    with _held(numbers):
        for number in numbers:
            if loop.remove_signal_handler(number) and number in _ours:
                signal.signal(number, _let_pass)


def _let_pass(number: int, _frame: FrameType | None) -> None:
    signal.signal(number, signal.SIG_DFL)


def _ignore() -> None:
    """All threads have ended and the exit code is known; the interpreter only tidies up."""
    for number in _ours:
        signal.signal(number, signal.SIG_IGN)


@contextmanager
def _held(numbers: Sequence[signal.Signals]) -> Iterator[None]:
    """Between two handlers stands the default action: signals wait that long."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows: no handlers on the loop either
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
