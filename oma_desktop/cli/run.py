"""`oma-desktop run RUNFILE`: a fresh run to its end or to a suspension."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

from oma_desktop.base.text import tr
from oma_desktop.cli.attempt import Attempt, run_attempt
from oma_desktop.cli.files import store_argument
from oma_desktop.cli.output import Exit, Output
from oma_desktop.cli.report import exit_code, print_result, say_endpoints
from oma_desktop.cli.trust import add_trust_argument, consent_for
from oma_desktop.store.origin import Origin


def add_arguments(parser: argparse.ArgumentParser, name: str) -> None:
    """Describe the arguments."""
    parser.add_argument("runfile", type=Path, help=tr("a run file or tasks file"))
    add_file_arguments(parser)
    parser.add_argument(
        "--store",
        type=store_argument,
        help=tr("where the checkpoint is kept: a file, or the address of a database"),
    )
    parser.add_argument("--run-id", help=tr("the id of the run (default: team, time and chance)"))


def add_file_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe what `run` and `restore` share."""
    parser.add_argument("--team", type=Path, help=tr("a team file, for a tasks file without one"))
    parser.add_argument(
        "--script",
        type=Path,
        help=tr("scripted models, tools and gates; nothing else is asked or run"),
    )
    add_trust_argument(parser)


def run(options: argparse.Namespace, output: Output) -> int:
    """Run; exit 0 ok, 1 failed or rejected, 3 suspended."""
    origin = Origin(run_file=options.runfile, team=options.team, script=options.script)

    async def work(attempt: Attempt) -> int:
        prepared = await attempt.launcher.new_run(
            origin,
            bus=attempt.bus,
            store=options.store,
            run_id=options.run_id,
            token=attempt.token,
        )
        output.note(tr("store: {path}", path=prepared.store_path))
        say_endpoints(prepared, output)
        result, document = await attempt.play(prepared)
        print_result(result, document, output)
        code = exit_code(result)
        if code is Exit.SUSPENDED:
            output.note(
                tr(
                    "Go on with: oma-desktop restore --store {path}",
                    path=shlex.quote(str(prepared.store_path)),
                )
            )
        return code

    return run_attempt(
        work,
        app="oma-desktop run",
        output=output,
        force_lock=options.force_lock,
        consent=consent_for(lambda: origin, options, output),
    )
