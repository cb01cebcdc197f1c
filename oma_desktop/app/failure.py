"""Every way a bug can surface, caught in one place (house.md 2.6): five hooks, one sink.

No single hook suffices: slots reach `sys.excepthook`, callbacks the loop's handler, lost tasks the
loop's handler when collected, threads and destructors their own two, Qt its message handler.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType

from PySide6.QtCore import QMessageLogContext, QtMsgType, qInstallMessageHandler

log = logging.getLogger(__name__)
qt_log = logging.getLogger("qt")

_QT_LEVELS = {
    QtMsgType.QtDebugMsg: logging.DEBUG,
    QtMsgType.QtInfoMsg: logging.INFO,
    QtMsgType.QtWarningMsg: logging.WARNING,
    QtMsgType.QtCriticalMsg: logging.ERROR,
    QtMsgType.QtFatalMsg: logging.CRITICAL,
}


@dataclass(frozen=True, slots=True)
class Failure:
    """One unexpected error: where it surfaced, its class name, and the traceback as text."""

    where: str
    kind: str
    trace: str


class FailureHooks:
    """Installs the hooks; `uninstall` puts the previous ones back.

    `on_failure` is told every failure once, on whatever thread it happened; it must not raise.
    """

    def __init__(self, on_failure: Callable[[Failure], None]) -> None:
        self._on_failure = on_failure
        self._old_except = sys.excepthook
        self._old_thread = threading.excepthook
        self._old_unraisable = sys.unraisablehook

    def install(self) -> None:
        """Take over the process-wide hooks."""
        sys.excepthook = self._excepthook
        threading.excepthook = self._thread_hook
        sys.unraisablehook = self._unraisable_hook
        qInstallMessageHandler(self._qt_message)

    def install_on(self, loop: asyncio.AbstractEventLoop) -> None:
        """Take over the loop's exception handler."""
        loop.set_exception_handler(self._loop_handler)

    def uninstall(self) -> None:
        """Restore what was there before."""
        sys.excepthook = self._old_except
        threading.excepthook = self._old_thread
        sys.unraisablehook = self._old_unraisable
        qInstallMessageHandler(None)

    def report(self, where: str, error: BaseException) -> None:
        """Record one failure; also called by the supervisor for failed tasks."""
        trace = "".join(traceback.format_exception(error))
        log.error("unexpected failure in %s\n%s", where, trace)
        self._on_failure(Failure(where, type(error).__name__, trace))

    def _excepthook(
        self, kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        if issubclass(kind, (KeyboardInterrupt, SystemExit)):
            self._old_except(kind, error, trace)
            return
        self.report("slot", error)

    def _thread_hook(self, args: threading.ExceptHookArgs) -> None:
        if args.exc_value is not None and not isinstance(args.exc_value, SystemExit):
            self.report(f"thread {args.thread.name if args.thread else '?'}", args.exc_value)

    def _unraisable_hook(self, args: sys.UnraisableHookArgs) -> None:
        if args.exc_value is not None:
            self.report("destructor", args.exc_value)

    def _loop_handler(self, loop: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
        error = context.get("exception")
        if isinstance(error, BaseException):
            self.report("loop", error)
        else:
            log.error("event loop: %s", context.get("message"))

    def _qt_message(self, kind: QtMsgType, context: QMessageLogContext, text: str | None) -> None:
        qt_log.log(_QT_LEVELS.get(kind, logging.WARNING), "%s", text)
