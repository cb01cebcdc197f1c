"""`oma-desktop demo`: the bundled sample on the real engine; no key, no network (product.md 5)."""

from __future__ import annotations

import argparse
import importlib
import os
from contextlib import suppress
from pathlib import Path

from oma_desktop.base.clock import SystemClock
from oma_desktop.base.text import tr
from oma_desktop.cli.attempt import Attempt, run_attempt, scripted_speed
from oma_desktop.cli.output import Output
from oma_desktop.cli.report import exit_code, print_result
from oma_desktop.cli.screen import has_display, require_display
from oma_desktop.engine.launching.sample import RUN_ID, STORE_FILE, unpack_sample
from oma_desktop.model.errors import NotFound
from oma_desktop.model.json_value import JsonObject
from oma_desktop.model.result import TeamRunResult
from oma_desktop.store.ledger import ApprovalLedger
from oma_desktop.store.origin import Origin
from oma_desktop.store.writers import writing

REVIEWER = "sample-reviewer"


def add_arguments(parser: argparse.ArgumentParser, name: str) -> None:
    """Describe the arguments."""
    parser.add_argument("--headless", action="store_true", help=tr("run without a window"))
    parser.add_argument("--fast", action="store_true", help=tr("without the delays of a real run"))
    parser.add_argument(
        "--store", type=Path, metavar="DIR", help=tr("folder of the run (default: a temporary one)")
    )
    parser.add_argument(
        "--screenshot", type=Path, metavar="FILE", help=tr("save a picture of the window here")
    )
    parser.add_argument(
        "--quit-after", type=float, metavar="S", help=tr("close the window after this many seconds")
    )


def run(options: argparse.Namespace, output: Output) -> int:
    """Play the sample in a window, or headless where there is none."""
    folder, origin = unpack_sample(options.store)
    output.note(tr("sample run in {folder}", folder=folder))
    if options.headless:
        code = _headless(options, folder, origin, output)
        if options.screenshot is not None:
            _draw(folder, options.screenshot, output)
        return code
    if not has_display():
        code = _headless(options, folder, origin, output)
        _draw(folder, options.screenshot or folder / "window.png", output)
        output.note(
            tr("There is no display here. To see it live, run `oma-desktop demo` on a desktop.")
        )
        return code
    require_display()
    window = importlib.import_module("oma_desktop.app.main")
    return int(
        window.run_demo(
            folder,
            speed=0.0 if options.fast else scripted_speed(),
            screenshot=options.screenshot,
            quit_after_s=options.quit_after,
        )
    )


def _draw(folder: Path, picture: Path, output: Output) -> None:
    """Save a picture of the finished window, drawn offscreen, where the window is installed."""
    os.environ["QT_QPA_PLATFORM"] = os.environ.get("QT_QPA_PLATFORM") or "offscreen"
    try:
        shots = importlib.import_module("oma_desktop.app.shots")
        saved = shots.draw_store(folder / STORE_FILE, picture)
    except ImportError:
        output.note(tr("No picture was saved: the window is not installed here."))
    except (OSError, TimeoutError):
        output.note(tr("No picture was saved: drawing it failed."))
    else:
        if saved:
            output.note(tr("picture of the finished window: {path}", path=picture))
        else:
            output.note(tr("No picture was saved: {path} cannot be written.", path=picture))


def _headless(options: argparse.Namespace, folder: Path, origin: Origin, output: Output) -> int:
    """Run; at the gate the run really suspends, a sample reviewer decides, a restore finishes."""

    async def work(attempt: Attempt) -> int:
        result, document = await _first(attempt, folder, origin)
        while result.status.code == "suspended" and result.pending_approvals:
            if attempt.token.stopped:
                break
            _decide_all(result, folder, output)
            result, document = await _again(attempt, folder, origin)
        print_result(result, document, output)
        return exit_code(result)

    speed = 0.0 if options.fast else None
    return run_attempt(
        work, app="oma-desktop demo", output=output, speed=speed, force_lock=options.force_lock
    )


async def _first(
    attempt: Attempt, folder: Path, origin: Origin
) -> tuple[TeamRunResult, JsonObject]:
    """Start the sample, or go on where an earlier, interrupted play of this folder ended."""
    if (folder / STORE_FILE).is_file():
        with suppress(NotFound):  # an earlier play ended before its first save
            return await _again(attempt, folder, origin)
    prepared = await attempt.launcher.new_run(
        origin, bus=attempt.bus, store=folder / STORE_FILE, run_id=RUN_ID
    )
    return await attempt.play(prepared)


async def _again(
    attempt: Attempt, folder: Path, origin: Origin
) -> tuple[TeamRunResult, JsonObject]:
    prepared = await attempt.launcher.saved_run(
        origin, bus=attempt.bus, store=folder / STORE_FILE, run_id=RUN_ID
    )
    return await attempt.play(prepared)


def _decide_all(result: TeamRunResult, folder: Path, output: Output) -> None:
    """The sample reviewer approves through the ledger, as a person would from another process."""
    clock = SystemClock()
    with writing(folder / STORE_FILE, app="oma-desktop demo reviewer", clock=clock) as store:
        ledger = ApprovalLedger(store, clock=clock)
        for request in result.pending_approvals:
            ledger.decide(request["id"], request["requestHash"], "approve", {"id": REVIEWER})
            output.note(tr("{reviewer} approves {id}", reviewer=REVIEWER, id=request["id"]))
