"""`oma-desktop restore --plan-only`: the resume plan; reads, changes nothing, exit 0."""

from __future__ import annotations

import argparse
from typing import cast

from oma_desktop.base.clock import SystemClock
from oma_desktop.base.ms_iso import to_ms_iso
from oma_desktop.base.text import ntr, tr
from oma_desktop.cli.files import read_store
from oma_desktop.cli.output import Exit, Output, filled, problem_line
from oma_desktop.engine.launching.run_files import declared_effects, read_files, saved_key
from oma_desktop.engine.operations.restore import reopened
from oma_desktop.model.approval_views import read_ledger, valid_rows
from oma_desktop.model.checkpoint import CheckpointSnapshot
from oma_desktop.model.checkpoint_loader import load_snapshot_text
from oma_desktop.model.container import Container
from oma_desktop.model.json_value import JsonObject
from oma_desktop.model.resume import CallItem, ResumePlan, TaskItem
from oma_desktop.model.resume_document import plan_document
from oma_desktop.model.resume_rules import resume_plan
from oma_desktop.store.access import as_read_only
from oma_desktop.store.origin import Origin
from oma_desktop.store.read_only import ReadOnlyStore


def print_plan(options: argparse.Namespace, output: Output) -> int:
    """Print what a restore would do. Raises NotFound, InvalidInput, Corrupt."""
    container, stamp = read_store(options.store)
    store = as_read_only(options.store, container, stamp)
    key = _key(options, store)
    plan = _plan(options, container, key)
    if output.as_json:
        output.document(_document(plan))
    else:
        _print(plan, output)
    return Exit.OK


def _key(options: argparse.Namespace, store: ReadOnlyStore) -> str:
    """Choose the checkpoint exactly as the restore will."""
    origin = _named(options)
    files = None if origin.is_empty else read_files(origin)
    return saved_key(store, path=options.store, key=options.key, run_id=options.run_id, files=files)


def _named(options: argparse.Namespace) -> Origin:
    return Origin(options.runfile, options.team, options.script)


def _plan(options: argparse.Namespace, container: Container, key: str) -> ResumePlan:
    entry = next(e for e in reversed(container.entries) if e.key == key)
    loaded = load_snapshot_text(entry.value, where=key)
    effects = declared_effects(options.store, clock=SystemClock(), origin=_named(options), key=key)
    snapshot = _reopened(loaded.snapshot) if options.retry_failed else loaded.snapshot
    approvals = valid_rows(read_ledger(container))
    return resume_plan(snapshot, approvals, effects=effects, problems=loaded.problems)


def _reopened(snapshot: CheckpointSnapshot) -> CheckpointSnapshot:
    """Return the snapshot as `--retry-failed` will take it up."""
    now = to_ms_iso(SystemClock().now())
    queue = snapshot["queue"]
    tasks = reopened(queue["tasks"], now)
    return cast("CheckpointSnapshot", {**snapshot, "queue": {**queue, "tasks": tasks}})


def _document(plan: ResumePlan) -> JsonObject:
    document = plan_document(plan)
    filled(document.get("problems"))
    return document


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
        output.line("  " + problem_line(problem))
    n = len(plan.may_run_twice)
    output.line(ntr("{n} call may run twice.", "{n} calls may run twice.", n))


def _tasks(output: Output, word: str, items: tuple[TaskItem, ...]) -> None:
    for item in items:
        output.line(_task_line(word, item))


def _task_line(word: str, item: TaskItem) -> str:
    if item.reason == "judges":
        judge = item.agent or ""
        return tr("  {agent} judges the saved answer: {task}", agent=judge, task=item.task_title)
    if not item.judges:
        return tr("  {word}: {task}", word=word, task=item.task_title)
    task, judges = item.task_title, ", ".join(item.judges)
    if item.reason == "awaits_judgement":
        return tr(
            "  {word}: {task}  (waits for its judges: {judges})",
            word=word,
            task=task,
            judges=judges,
        )
    return tr("  {word}: {task}  (judged by {judges})", word=word, task=task, judges=judges)


def _calls(output: Output, word: str, items: tuple[CallItem, ...]) -> None:
    for item in items:
        output.line(
            tr(
                "  {word}: {tool} {call}  ({task})",
                word=word,
                tool=item.tool,
                call=item.call_id,
                task=item.task_title,
            )
        )
