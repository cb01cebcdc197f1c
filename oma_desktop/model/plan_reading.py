"""Bytes to a PlanArtifact (formats.md 6)."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import ValidationError

from oma_desktop.model.document_text import Document, read_document
from oma_desktop.model.json_value import JsonValue
from oma_desktop.model.plan import PlanArtifact
from oma_desktop.model.runfile_problems import placed, problems_of
from oma_desktop.model.runfile_reading import refusal
from oma_desktop.model.runfile_rules import check_plan
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
    read = look_at_plan(read_document(data, name=name))
    if read.plan is None or read.problems:
        raise refusal(read.problems)
    return read.plan


def look_at_plan(document: Document) -> ReadPlan:
    """Return what the document holds with every problem placed; raises nothing."""
    try:
        plan = PlanArtifact.model_validate(document.value, strict=True)
    except ValidationError as error:
        found = problems_of(error, document.value, PlanArtifact)
        return ReadPlan(None, placed(found, document))
    return ReadPlan(plan, placed(check_plan(plan), document))
