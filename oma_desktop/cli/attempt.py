"""One attempt on the standard loop: signals, speed, result document, exit code."""

from __future__ import annotations

import asyncio
import math
import os
import signal
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field

from oma_desktop.base.clock import SystemClock
from oma_desktop.base.collector import collect_less
from oma_desktop.base.lanes import Lanes
from oma_desktop.base.supervisor import Supervisor
from oma_desktop.base.text import tr
from oma_desktop.cli.late_signals import work_is_done
from oma_desktop.cli.output import Exit, Output, only_ours
from oma_desktop.cli.report import Progress
from oma_desktop.engine.bus import EventBus
from oma_desktop.engine.cancel import CancelToken, StopReason
from oma_desktop.engine.launching.consent import Consent
from oma_desktop.engine.launching.launch import Launcher, Prepared
from oma_desktop.engine.operations.run_log import RunLog
from oma_desktop.model.errors import InvalidInput
from oma_desktop.model.json_value import JsonObject
from oma_desktop.model.result import TeamRunResult
from oma_desktop.model.result_document import result_document

CLOSE_S = 5.0
SIGNALS = (signal.SIGINT, signal.SIGTERM)
SPEED_VARIABLE = "OMA_DESKTOP_SAMPLE_SPEED"
"""Factor on every delay of scripted models and tools: 0.1 is ten times as fast, 0 means none."""


@dataclass(slots=True)
class Attempt:
    """What one command line attempt works with; lives inside `attempt`."""

    launcher: Launcher
    bus: EventBus
    token: CancelToken = field(default_factory=CancelToken)
    stopped_hard: bool = False

    async def play(self, prepared: Prepared) -> tuple[TeamRunResult, JsonObject]:
        """Run what was prepared, release it, return the result and the document of product.md 6."""
        log = RunLog(self.bus)
        try:
            result = await prepared.go(self.token)
        finally:
            log.close()
            await prepared.close()
        return result, {**result_document(result), "log": log.to_json()}


def run_attempt(
    work: Callable[[Attempt], Awaitable[int]],
    *,
    app: str,
    output: Output,
    speed: float | None = None,
    force_lock: bool = False,
    consent: Consent | None = None,
) -> int:
    """Run `work` with signals handled: the first suspends at the next safe point, a second stops.

    Returns its exit code, or 130 after a second signal. Without `speed`, scripted delays are as
    written, or as the environment says (SPEED_VARIABLE). Without `consent` new
    folders are refused.
    """
    factor = scripted_speed() if speed is None else speed
    collect_less()

    async def main() -> int:
        lanes = Lanes()
        failures: list[BaseException] = []
        supervisor = Supervisor(lambda _name, error: failures.append(error))
        launcher = Launcher(
            clock=SystemClock(),
            supervisor=supervisor,
            lanes=lanes,
            app=app,
            speed=factor,
            force_lock=force_lock,
            consent=consent,
        )
        attempt = Attempt(launcher, EventBus())
        attempt.bus.subscribe(Progress(output))
        _handle_signals(attempt, output)
        try:
            code = await work(attempt)
        finally:
            stopped = attempt.stopped_hard  # a signal from here on has nothing left to stop
            with suppress(NotImplementedError):
                work_is_done(asyncio.get_running_loop(), () if stopped else SIGNALS)
            await supervisor.close(CLOSE_S)
            lanes.close()
        if failures:
            raise failures[0]
        return Exit.STOPPED if stopped else code

    with only_ours():
        return asyncio.run(main())


def scripted_speed() -> float:
    """Return the factor for scripted delays (`OMA_DESKTOP_SAMPLE_SPEED`); InvalidInput if bad."""
    text = os.environ.get(SPEED_VARIABLE, "1")
    try:
        speed = float(text)
    except ValueError:
        speed = math.nan
    if not 0 <= speed < math.inf:
        raise InvalidInput("USAGE_VARIABLE", name=SPEED_VARIABLE, found=text)
    return speed


def _handle_signals(attempt: Attempt, output: Output) -> None:
    loop = asyncio.get_running_loop()

    def on_signal() -> None:
        if not attempt.token.stopped:
            output.note(
                tr("Suspending at the next safe point; signal again to stop without waiting.")
            )
            attempt.token.stop(StopReason.SUSPEND)
        else:
            output.note(tr("Stopping now; what was saved stays. A third signal ends the program."))
            attempt.stopped_hard = True
            attempt.token.stop(StopReason.CANCEL)
            for number in SIGNALS:
                loop.remove_signal_handler(number)

    for number in SIGNALS:
        # Windows has no signal handlers on its loop: Ctrl-C then raises KeyboardInterrupt.
        with suppress(NotImplementedError):
            loop.add_signal_handler(number, on_signal)
