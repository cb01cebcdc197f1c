"""`oma-desktop restore --plan-only`: the resume plan; reads, changes nothing, exit 0."""

from __future__ import annotations

import argparse

from oma_desktop.base.clock import SystemClock
from oma_desktop.base.sentences import one_line
from oma_desktop.base.text import ntr, tr
from oma_desktop.cli.output import Exit, Output
from oma_desktop.engine.launch import declared_effects
from oma_desktop.model.approval_views import read_ledger, valid_rows
from oma_desktop.model.checkpoint import DEFAULT_CHECKPOINT_KEY
from oma_desktop.model.checkpoint_loader import load_snapshot_text
from oma_desktop.model.container import Container
from oma_desktop.model.errors import InvalidInput, NotFound
from oma_desktop.model.json_value import JsonObject
from oma_desktop.model.keys import checkpoint_key, is_checkpoint_key
from oma_desktop.model.resume import CallItem, ResumePlan, TaskItem
from oma_desktop.model.resume_document import plan_document
from oma_desktop.model.resume_rules import resume_plan
from oma_desktop.store.file_reading import read_container
from oma_desktop.store.origin import Origin


def print_plan(options: argparse.Namespace, output: Output) -> int:
    """Print what a restore would do. Raises NotFound, InvalidInput, Corrupt."""
    if not options.store.is_file():
        raise NotFound("STORE_MISSING", path=str(options.store))
    container, _ = read_container(options.store)
    key = _key(container, options)
    entry = next(e for e in container.entries if e.key == key)
    loaded = load_snapshot_text(entry.value, where=key)
    plan = resume_plan(
        loaded.snapshot,
        valid_rows(read_ledger(container)),
        effects=declared_effects(
            options.store,
            clock=SystemClock(),
            origin=Origin(options.runfile, options.team, options.script),
        ),
        problems=loaded.problems,
    )
    if output.as_json:
        output.document(_document(plan))
    else:
        _print(plan, output)
    return Exit.OK


def _document(plan: ResumePlan) -> JsonObject:
    document = plan_document(plan)
    problems = document.get("problems")
    for problem in problems if isinstance(problems, list) else []:
        if isinstance(problem, dict) and not problem.get("message"):
            facts = problem.pop("facts", None)
            code = str(problem.get("code"))
            problem["message"] = one_line(code, {**facts} if isinstance(facts, dict) else {})
    return document


def _key(container: Container, options: argparse.Namespace) -> str:
    """Choose the checkpoint: as named, else the default key, else the only one."""
    keys = [e.key for e in container.entries if is_checkpoint_key(e.key)]
    wanted = options.key or (checkpoint_key(options.run_id) if options.run_id else None)
    if wanted is None and DEFAULT_CHECKPOINT_KEY in keys:
        wanted = DEFAULT_CHECKPOINT_KEY
    if wanted is None:
        if len(keys) > 1:
            raise InvalidInput("CHECKPOINT_AMBIGUOUS", keys=", ".join(keys))
        if not keys:
            raise NotFound("CHECKPOINT_NOT_FOUND", path=str(options.store))
        wanted = keys[0]
    if wanted not in keys:
        raise NotFound("CHECKPOINT_NOT_FOUND", path=str(options.store), key=wanted)
    return str(wanted)


def _print(plan: ResumePlan, output: Output) -> None:
    output.line(
        tr(
            "Resume plan of {run}: attempt {attempt} becomes {next}. Nothing was changed.",
            run=plan.run_id,
            attempt=plan.attempt,
            next=plan.next_attempt,
        )
    )
    _tasks(output, tr("kept"), plan.kept)
    _calls(output, tr("replayed"), plan.replayed)
    _tasks(output, tr("model asked again"), plan.asked)
    _tasks(output, tr("will run"), plan.will_run)
    _calls(output, tr("will run"), plan.calls_will_run)
    _tasks(output, tr("runs again from its start"), plan.tasks_run_again)
    for item in plan.needs_you:
        output.line(tr("  needs you: {scope} {id}", scope=item.scope, id=item.approval_id))
    _calls(output, tr("denied"), plan.denied)
    _calls(output, tr("MAY RUN TWICE"), plan.may_run_twice)
    _tasks(output, tr("stays failed"), plan.stay_failed)
    for problem in plan.problems:
        output.line("  " + one_line(problem.code, dict(problem.facts)))
    n = len(plan.may_run_twice)
    output.line(ntr("{n} call may run twice.", "{n} calls may run twice.", n))


def _tasks(output: Output, word: str, items: tuple[TaskItem, ...]) -> None:
    for item in items:
        output.line(f"  {word}: {item.task_title}")


def _calls(output: Output, word: str, items: tuple[CallItem, ...]) -> None:
    for item in items:
        output.line(f"  {word}: {item.tool} {item.call_id}  ({item.task_title})")
