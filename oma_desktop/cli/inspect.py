"""`oma-desktop inspect PATH`: every run, approval and shared-memory key of a store."""

from __future__ import annotations

import argparse

from oma_desktop.base.text import listed, ntr, tr
from oma_desktop.cli.files import read_store, store_argument
from oma_desktop.cli.output import Exit, Output, filled, placed
from oma_desktop.cli.report import repaired, task_column, task_word
from oma_desktop.model.inspection import has_errors, inspect_container
from oma_desktop.model.json_value import JsonObject, JsonValue


def add_arguments(parser: argparse.ArgumentParser, name: str) -> None:
    """Describe the arguments."""
    parser.add_argument(
        "path", type=store_argument, help=tr("a store file, or the address of a database")
    )


def run(options: argparse.Namespace, output: Output) -> int:
    """Print the document of product.md 6; exit 2 when something in it has an error."""
    container, _ = read_store(options.path)
    document = inspect_container(container)
    _say_problems(document, output)
    if output.as_json:
        output.document(document)
    else:
        _print_summary(document, output)
    return Exit.USAGE if has_errors(document) else Exit.OK


def _objects(value: JsonValue) -> list[JsonObject]:
    return [v for v in value if isinstance(v, dict)] if isinstance(value, list) else []


def _say_problems(document: JsonObject, output: Output) -> None:
    """Fill each problem's message from the catalogue and say it on stderr."""
    for problem in filled(document.get("problems")):
        severity = tr("error") if problem.get("severity") == "error" else tr("warning")
        line = placed(str(problem["message"]), str(problem.get("where") or ""))
        output.note(tr("{severity}: {message}", severity=severity, message=line))


def _print_summary(document: JsonObject, output: Output) -> None:
    for run in _objects(document.get("checkpoints")):
        if run.get("readable"):
            _print_run(run, output)
        else:
            output.line(tr("{key}: cannot be read, see the problem", key=run.get("key")))
    approvals = _objects(document.get("approvals"))
    undecided = sum(a.get("state") == "pending" for a in approvals)
    output.line(
        ntr(
            "{n} approval request, {undecided} undecided",
            "{n} approval requests, {undecided} undecided",
            len(approvals),
            undecided=undecided,
        )
    )
    keys = document.get("sharedMemoryKeys")
    if isinstance(keys, list) and keys:
        output.line(ntr("{n} shared-memory key", "{n} shared-memory keys", len(keys)))


def _print_run(run: JsonObject, output: Output) -> None:
    output.line(
        tr(
            "run {run}  attempt {attempt}  checkpoint v{version}  saved {saved}",
            run=run.get("runId") or run.get("key"),
            attempt=run.get("attempt") or "?",
            version=run.get("version") or "?",
            saved=run.get("createdAt") or "?",
        )
    )
    counts = run.get("statusCounts")
    if isinstance(counts, dict):
        states = (tr("{n} {state}", n=n, state=task_word(s)) for s, n in counts.items())
        output.line("  " + listed(states))
    for task in _objects(run.get("tasks")):
        assignee = task.get("assignee") or "-"
        about = f"{task.get('title')}  [{assignee}]{repaired(task)}"
        output.line(f"  {task_column(str(task.get('status')))} {about}")
