"""`oma-desktop plan RUNFILE -o PLAN.json`: freeze what a run file would do, and run none of it."""

from __future__ import annotations

import argparse
import json
import shlex
from pathlib import Path

from oma_desktop.base.text import ntr, tr
from oma_desktop.cli.attempt import Attempt, run_attempt
from oma_desktop.cli.output import Exit, Output
from oma_desktop.cli.report import exit_code, print_result, say_endpoints
from oma_desktop.cli.run import add_file_arguments
from oma_desktop.cli.trust import consent_for
from oma_desktop.engine.launching.freezing import Frozen
from oma_desktop.model.errors import Conflict, InvalidInput
from oma_desktop.model.json_text import stringify
from oma_desktop.model.plan import PlanArtifact
from oma_desktop.model.result_document import result_document
from oma_desktop.store.atomic import write_atomic
from oma_desktop.store.origin import Origin


def add_arguments(parser: argparse.ArgumentParser, name: str) -> None:
    """Describe the arguments."""
    parser.add_argument("runfile", type=Path, help=tr("a run file with a goal or tasks"))
    add_file_arguments(parser)
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        required=True,
        metavar="PLAN",
        help=tr("where the plan is written"),
    )
    parser.add_argument(
        "--force", action="store_true", help=tr("replace the file if it is there already")
    )


def run(options: argparse.Namespace, output: Output) -> int:
    """Write the plan; exit 0 written, 1 no plan could be made."""
    _must_be_free(options.output, force=options.force)  # before any model is asked
    origin = Origin(run_file=options.runfile, team=options.team, script=options.script)

    async def work(attempt: Attempt) -> int:
        freezing = await attempt.launcher.plan(origin, bus=attempt.bus)
        try:
            say_endpoints(freezing, output)
            frozen = await freezing.go(attempt.token)
        finally:
            await freezing.close()
        if frozen.plan is not None:
            attempt.stopped_hard = False  # the signal came too late: the plan is there
        return _finish(frozen, options, output)

    return run_attempt(
        work,
        app="oma-desktop plan",
        output=output,
        force_lock=options.force_lock,
        consent=consent_for(lambda: origin, options, output),
    )


def _finish(frozen: Frozen, options: argparse.Namespace, output: Output) -> int:
    if frozen.plan is None:
        assert frozen.result is not None
        print_result(frozen.result, result_document(frozen.result), output)
        return exit_code(frozen.result)
    path: Path = options.output
    write_atomic(
        path,
        _text(frozen.plan).encode(),
        before_replace=lambda: _must_be_free(path, force=options.force),
    )
    if output.as_json:
        output.document({"path": str(path), "plan": frozen.plan.to_json()})
        return Exit.OK
    for task in frozen.plan.tasks:
        output.line(f"  {task.title}  [{task.assignee or '-'}]")
    said = ntr(
        "{path}: plan of {n} task written.",
        "{path}: plan of {n} tasks written.",
        len(frozen.plan.tasks),
        path=path,
    )
    output.line(said)
    output.note(tr("Replay it with: oma-desktop run {arguments}", arguments=_replay(options)))
    return Exit.OK


def _replay(options: argparse.Namespace) -> str:
    """Return the arguments, ready to be pasted."""
    words = [options.output, "--team", options.team or options.runfile]
    if options.script is not None:
        words += ["--script", options.script]
    return shlex.join(map(str, words))


def _text(plan: PlanArtifact) -> str:
    """Return the plan as people read it; half a character pair is kept as its escape."""
    plain = json.loads(stringify(plan.to_json()))
    text = json.dumps(plain, ensure_ascii=False, indent=2)
    try:
        text.encode()
    except UnicodeEncodeError:
        text = json.dumps(plain, indent=2)
    return text + "\n"


def _must_be_free(path: Path, *, force: bool) -> None:
    """Raise before anything is replaced that nobody said may be."""
    if path.is_dir():
        raise InvalidInput("PATH_IS_FOLDER", path=str(path))
    if not path.parent.is_dir():
        raise InvalidInput("PATH_NOT_FOUND", path=str(path.parent))
    if path.exists() and not force:
        raise Conflict("PLAN_FILE_EXISTS", path=str(path))
