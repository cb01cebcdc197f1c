"""Bytes to a PlanArtifact (formats.md 6)."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass, replace

from pydantic import ValidationError

from oma_desktop.model.document_text import Document, Path, read_document
from oma_desktop.model.json_value import JsonObject, JsonValue
from oma_desktop.model.plan import PLAN_KEYS, PLAN_TASK_KEYS, PlanArtifact
from oma_desktop.model.runfile_problems import placed, problems_of
from oma_desktop.model.runfile_reading import refusal
from oma_desktop.model.runfile_rules import check_plan
from oma_desktop.model.task_graph import problem
from oma_desktop.model.view import Problem


@dataclass(frozen=True, slots=True)
class ReadPlan:
    """What a plan file holds; `plan` is None exactly when a problem of shape was found."""

    plan: PlanArtifact | None
    problems: tuple[Problem, ...]


def is_plan(value: JsonValue) -> bool:
    """Say whether a document is meant as a plan: it has a version and tasks."""
    return isinstance(value, dict) and "version" in value and "tasks" in value


def read_plan(data: bytes, *, name: str) -> PlanArtifact:
    """Return the plan in `data`. Raises InvalidInput like `read_run_file`, Corrupt for bad JSON."""
    return plan_in(read_document(data, name=name))


def plan_in(document: Document) -> PlanArtifact:
    """Return the plan a document holds; raises InvalidInput as `read_run_file` does."""
    read = look_at_plan(document)
    errors = tuple(found for found in read.problems if found.severity == "error")
    if read.plan is None or errors:
        raise refusal(errors)
    return read.plan


def look_at_plan(document: Document) -> ReadPlan:
    """Return what the document holds with every problem placed; raises nothing.

    Keys a plan does not have are warnings: the peer ignores them, and so does the replay.
    """
    known, ignored = _known_part(document.value)
    version = document.value.get("version") if isinstance(document.value, dict) else None
    if version != 1 or isinstance(version, bool):
        wrong = problem("PLAN_VERSION", ("version",), found=json.dumps(version)[:40])
        return ReadPlan(None, placed([wrong], document))
    try:
        plan = PlanArtifact.model_validate(known, strict=True)
    except ValidationError as error:
        found = problems_of(error, document.value, PlanArtifact)
        return ReadPlan(None, placed([*found, *ignored], document))
    if not plan.tasks:
        ignored.append(replace(problem("PLAN_NO_TASKS", ("tasks",)), severity="warning"))
    return ReadPlan(plan, placed([*check_plan(plan), *ignored], document))


def _known_part(value: JsonValue) -> tuple[JsonValue, list[Problem]]:
    """Return the document without keys a plan does not have, and a warning for each of those."""
    if not isinstance(value, dict):
        return value, []
    known, ignored = _only(value, PLAN_KEYS, ())
    tasks = known.get("tasks")
    if isinstance(tasks, list):
        rows: list[JsonValue] = []
        for index, task in enumerate(tasks):
            if isinstance(task, dict):
                row, more = _only(task, PLAN_TASK_KEYS, ("tasks", index))
                ignored += more
                rows.append(row)
            else:
                rows.append(task)
        known["tasks"] = rows
    return known, ignored


def _only(value: JsonObject, keys: Collection[str], path: Path) -> tuple[JsonObject, list[Problem]]:
    extra = [_ignored((*path, key), key) for key in value if key not in keys]
    return {key: item for key, item in value.items() if key in keys}, extra


def _ignored(place: Path, name: str) -> Problem:
    return replace(problem("PLAN_KEY_IGNORED", place, name=name), severity="warning")
