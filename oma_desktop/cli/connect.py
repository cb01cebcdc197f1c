"""The part of `check --connect` that talks: who answers, through which proxy, how fast."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from oma_desktop.base.clock import SystemClock
from oma_desktop.base.text import tr
from oma_desktop.cli.output import Output, sentence_of
from oma_desktop.engine.cancel import CancelToken, StopReason
from oma_desktop.engine.launching.connections import Connection, check_connections
from oma_desktop.engine.launching.run_files import read_files
from oma_desktop.model.json_value import JsonObject, JsonValue
from oma_desktop.model.runfile import RunFile
from oma_desktop.store.origin import Origin


def connected(path: Path, output: Output) -> list[Connection]:
    """Ask every model of the run file and say a line about each; Ctrl-C ends the asking.

    Raises InvalidInput when the file is no run file with a team.
    """
    files = read_files(Origin(run_file=path))
    found = asyncio.run(_ask(files.run_file, files.base_dir))
    for one in found:
        output.line(_line(one))
    if not found:
        output.line(tr("No model of this file is reached over a network."))
    return found


async def _ask(run_file: RunFile, base_dir: Path) -> list[Connection]:
    token = CancelToken()
    with suppress(NotImplementedError):  # Windows: Ctrl-C ends the program
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, token.stop, StopReason.CANCEL)
    return await check_connections(run_file, base_dir=base_dir, clock=SystemClock(), token=token)


def reached(found: Sequence[Connection]) -> bool:
    """Whether all of them answered."""
    return all(one.error is None for one in found)


def described(found: Sequence[Connection]) -> JsonValue:
    """Return the connections for `--json`."""
    return [_document(one) for one in found]


def _document(one: Connection) -> JsonObject:
    document: JsonObject = {
        "provider": one.provider,
        "model": one.model,
        "agents": list(one.agents),
        "address": one.address or None,
        "proxy": one.proxy,
        "ok": one.error is None,
    }
    if one.latency_s is not None:
        document["latencyMs"] = round(one.latency_s * 1000)
    if one.error is not None:
        message = sentence_of(one.error.code, one.error.facts)
        document["error"] = {"code": one.error.code, "message": message}
    return document


def _line(one: Connection) -> str:
    where = one.address or one.provider
    if one.proxy is not None:
        where = tr("{address} through the proxy {proxy}", address=where, proxy=one.proxy)
    if one.error is not None:
        why = sentence_of(one.error.code, one.error.facts)
        return tr(
            "no   {model} at {address}: {problem}", model=one.model, address=where, problem=why
        )
    ms = round((one.latency_s or 0.0) * 1000)
    return tr(
        "ok   {model} at {address}: answered in {ms} ms", model=one.model, address=where, ms=ms
    )
