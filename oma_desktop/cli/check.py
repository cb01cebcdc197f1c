"""`oma-desktop check PATH`, `check PATH --connect` and `check --schema` (product.md 5, 7)."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from oma_desktop.base.sentences import describe
from oma_desktop.base.text import ntr, paragraph, tr
from oma_desktop.cli.connect import connected, described, reached
from oma_desktop.cli.files import read_bytes
from oma_desktop.cli.output import Exit, Output, placed, problem_facts, problem_line
from oma_desktop.engine.launching.requirements import unfit_tasks
from oma_desktop.model.checkfile import CheckReport, check_document, problem_of
from oma_desktop.model.document_text import read_document
from oma_desktop.model.errors import InvalidInput
from oma_desktop.model.json_value import JsonObject
from oma_desktop.model.runfile import run_file_schema
from oma_desktop.model.view import Problem


def add_arguments(parser: argparse.ArgumentParser, name: str) -> None:
    """Describe the arguments."""
    parser.add_argument("path", nargs="?", type=Path, help=tr("the file to check"))
    parser.add_argument(
        "--schema", action="store_true", help=tr("print the JSON Schema of run files")
    )
    parser.add_argument(
        "--connect",
        action="store_true",
        help=tr("also ask every model of a run file one small question"),
    )


def run(options: argparse.Namespace, output: Output) -> int:
    """Name every problem with its place; exit 1 when there is one."""
    if options.schema:
        output.document(run_file_schema())
        return Exit.OK
    if options.path is None:
        raise InvalidInput("USAGE", detail=tr("a path or --schema is needed"), command="check")
    data = read_bytes(options.path)
    report = check_document(data, name=str(options.path))
    report = _with_requirements(_with_plan(report, options.path), data, options.path)
    problems: list[JsonObject] = []
    for problem in report.problems:
        problems.append(_document(problem))
        output.line(_line(problem, options.path, plan=report.plan))
    document: JsonObject = {"ok": report.ok, "kind": report.kind, "problems": list(problems)}
    if options.connect and report.ok:
        found = connected(options.path, output)
        document = {**document, "ok": reached(found), "connections": described(found)}
    if output.as_json:
        output.document(document)
    elif not problems:
        output.line(tr("{path}: no problem found ({kind}).", path=options.path, kind=report.kind))
    else:
        output.line(ntr("{n} problem.", "{n} problems.", len(problems)))
    return Exit.OK if document["ok"] else Exit.FAILED


def _with_plan(report: CheckReport, path: Path) -> CheckReport:
    """Return the report with what is wrong with the frozen plan the file names, if it names one."""
    if report.plan is None:
        return report
    named = path.parent / report.plan
    try:
        found = check_document(read_bytes(named), name=str(named))
    except InvalidInput as error:
        problems: tuple[Problem, ...] = (problem_of(error, str(named)),)
    else:
        other = Problem("PLAN_EXPECTED", "error", "$.plan", {"path": str(named)})
        problems = found.problems if found.kind == "plan" else (other,)
    return replace(report, problems=(*report.problems, *problems))


def _with_requirements(report: CheckReport, data: bytes, path: Path) -> CheckReport:
    """Return the report of a run file with its tasks that nobody can do."""
    if report.kind != "run" or not report.ok:
        return report
    found = unfit_tasks(read_document(data, name=str(path)))
    return replace(report, problems=(*report.problems, *found))


def _line(problem: Problem, checked: Path, *, plan: str | None) -> str:
    """The sentence with the file it is about and the place in it, each named once."""
    message, where = problem_line(problem), problem.where
    named = str(checked.parent / plan) if plan is not None else None
    file = named if named and problem.facts.get("path") == named else str(checked)
    if where in ("", "$") or where in message or file in where:
        return placed(message, where if file in where else file)
    return placed(message, f"{file} {where}")


def _document(problem: Problem) -> JsonObject:
    sentence = describe(problem.code, problem_facts(problem))
    message = paragraph((sentence.title, sentence.detail))
    document: JsonObject = {"path": problem.where, "message": message}
    if sentence.hint:
        document["hint"] = sentence.hint
    return {**document, "code": problem.code, "severity": problem.severity}
