"""grep: starts a search, waits for it, ends it (engine.md 9.2, DEV-26)."""

from __future__ import annotations

import multiprocessing
from contextlib import suppress
from multiprocessing.context import SpawnProcess
from typing import Any, Final, Protocol

from oma_desktop.base.clock import Clock
from oma_desktop.base.lanes import Lanes
from oma_desktop.engine.cancel import CancelToken
from oma_desktop.engine.tools.builtin.pauses import pauses
from oma_desktop.engine.tools.builtin.refusal import Refusal
from oma_desktop.engine.tools.builtin.search import Search, compiled, serve


class Answers(Protocol):
    """Our end of the pipe."""

    def poll(self) -> bool:
        """Whether something can be received."""

    def recv(self) -> Any:  # noqa: ANN401 - whatever was sent
        """Receive it. Raises EOFError, OSError."""

    def close(self) -> None:
        """Let go."""


LIMIT_S: Final = 60.0


async def run_search(
    search: Search, *, clock: Clock, lanes: Lanes, token: CancelToken, limit_s: float = LIMIT_S
) -> str:
    """Return what the search found. Raises Refusal; after an abort or the limit it is killed."""
    await lanes.work(compiled, search.pattern)
    process, pipe = await lanes.work(_start, search, limit_s)
    try:
        end = clock.monotonic() + limit_s
        for pause in pauses():
            if pipe.poll():
                break
            if token.aborted:
                raise Refusal("STOPPED", "The run was stopped; the search was ended.")
            if clock.monotonic() >= end:
                text = f"The search took longer than {limit_s:g} s; narrow pattern or folder."
                raise Refusal("TIMED_OUT", text)
            await clock.sleep(pause)
        text, code = await lanes.work(_answer, pipe)
    finally:
        process.kill()
        pipe.close()
        with suppress(RuntimeError):  # the lanes are closed: the process is not waited for
            await lanes.work(_end, process)
    if code:
        raise Refusal(code, text)
    return text


def _start(search: Search, limit_s: float) -> tuple[SpawnProcess, Answers]:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    arguments = (search, theirs, int(limit_s) + 5)
    process = context.Process(target=serve, args=arguments, name="oma-search", daemon=True)
    try:
        process.start()
    except OSError as error:
        ours.close()
        raise Refusal("NOT_STARTED", f"The search could not be started: {error}") from error
    finally:
        theirs.close()
    return process, ours


def _answer(pipe: Answers) -> tuple[str, str]:
    try:
        text, code = pipe.recv()
    except (EOFError, OSError):
        return "The search ended without an answer.", "SEARCH_DIED"
    return str(text), str(code)


def _end(process: SpawnProcess) -> None:
    process.join()
    process.close()
