"""`oma-desktop restore`: resume a run, or with --plan-only show what a resume would do."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

from oma_desktop.base.text import tr
from oma_desktop.cli.attempt import Attempt, run_attempt
from oma_desktop.cli.files import must_be_store, store_argument
from oma_desktop.cli.output import Output
from oma_desktop.cli.plan_only import print_plan
from oma_desktop.cli.report import exit_code, print_result, say_endpoints
from oma_desktop.cli.run import add_file_arguments
from oma_desktop.cli.trust import consent_for
from oma_desktop.engine.launching.launch import known_origin
from oma_desktop.store.origin import Origin


def add_arguments(parser: argparse.ArgumentParser, name: str) -> None:
    """Describe the arguments."""
    parser.add_argument(
        "runfile",
        nargs="?",
        type=Path,
        help=tr("the run file (default: the one the run was started from)"),
    )
    add_file_arguments(parser)
    parser.add_argument(
        "--store",
        type=store_argument,
        required=True,
        help=tr("a store file, or the address of a database"),
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--key", help=tr("the checkpoint key inside the store"))
    which.add_argument("--run-id", help=tr("the run inside the store"))
    parser.add_argument(
        "--retry-failed",
        action="store_true",
        help=tr("open failed tasks again, with what failed because of them"),
    )
    parser.add_argument(
        "--plan-only",
        action="store_true",
        help=tr("print what would be kept, replayed, run, and might run twice; change nothing"),
    )


def run(options: argparse.Namespace, output: Output) -> int:
    """Resume; exit 0 ok, 1 failed or rejected, 3 suspended."""
    must_be_store(options.store)
    if options.plan_only:
        return print_plan(options, output)
    origin = Origin(run_file=options.runfile, team=options.team, script=options.script)

    async def work(attempt: Attempt) -> int:
        prepared = await attempt.launcher.saved_run(
            origin,
            bus=attempt.bus,
            store=options.store,
            key=options.key,
            run_id=options.run_id,
            retry_failed=options.retry_failed,
            token=attempt.token,
        )
        say_endpoints(prepared, output)
        result, document = await attempt.play(prepared)
        print_result(result, document, output)
        return exit_code(result)

    origin_of_run = partial(known_origin, options.store, origin, options.key, options.run_id)
    return run_attempt(
        work,
        app="oma-desktop restore",
        output=output,
        force_lock=options.force_lock,
        consent=consent_for(origin_of_run, options, output),
    )
