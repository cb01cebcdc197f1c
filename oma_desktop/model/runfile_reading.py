"""Bytes to a RunFile: the peer's two files and bare task lists included (product.md 7)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from pydantic import ValidationError

from oma_desktop.model.document_text import Document, Path, read_document
from oma_desktop.model.errors import InvalidInput
from oma_desktop.model.json_value import JsonValue
from oma_desktop.model.runfile import RunFile
from oma_desktop.model.runfile_problems import problems_of
from oma_desktop.model.runfile_rules import check_rules
from oma_desktop.model.task_graph import problem
from oma_desktop.model.view import Problem

Kind = Literal["run", "team", "tasks"]


@dataclass(frozen=True, slots=True)
class ReadRunFile:
    """What a file holds. `run_file` is None exactly when a problem of shape was found."""

    kind: Kind
    run_file: RunFile | None
    problems: tuple[Problem, ...]


def read_run_file(data: bytes, *, name: str) -> RunFile:
    """Return the run file in `data`.

    Raises InvalidInput with the code and facts of the first problem, plus `place`
    (`name:line $.path`), `n_more` and `problems` (all of them); Corrupt for damaged JSON.
    """
    read = look_at_run_file(read_document(data, name=name))
    if read.problems or read.run_file is None:
        raise refusal(read.problems)
    return read.run_file


def refusal(problems: tuple[Problem, ...]) -> InvalidInput:
    """Return the error for a file with these problems."""
    first = problems[0]
    facts = {**first.facts, "where": first.where, "n_more": len(problems) - 1}
    return InvalidInput(first.code, **facts, problems=problems)


def look_at_run_file(document: Document) -> ReadRunFile:
    """Return what the document holds with every problem placed; raises nothing."""
    kind = kind_of(document.value)
    if kind is None:
        shapeless = problem("RUNFILE_NOT_A_RUN_FILE", ())
        return ReadRunFile("run", None, _placed([shapeless], document))
    try:
        run_file = RunFile.model_validate(_whole(document.value), strict=True)
    except ValidationError as error:
        found = problems_of(error, document.value, RunFile)
        return ReadRunFile(kind, None, _placed(found, document))
    bare = isinstance(document.value, list)
    team_path: Path = () if _is_team_file(document.value) else ("team",)
    found = check_rules(run_file, team_path=team_path)
    if bare:
        found = [_without_first_step(p, "tasks") for p in found]
    return ReadRunFile(kind, run_file, _placed(found, document))


def kind_of(value: JsonValue) -> Kind | None:
    """Say what a document is by its top-level keys; None when it is none of the three."""
    if isinstance(value, list):
        return "tasks"
    if not isinstance(value, dict):
        return None
    if _is_team_file(value):
        return "team"
    work = value.keys() & {"tasks", "goal", "plan"}
    if "team" in value:
        return "run" if work else "team"
    return "tasks" if work else None


def _is_team_file(value: JsonValue) -> bool:
    return isinstance(value, dict) and "agents" in value and "team" not in value


def _whole(value: JsonValue) -> JsonValue:
    """Bring the peer's forms into that of a run file."""
    if isinstance(value, list):
        return {"tasks": value}
    if _is_team_file(value):
        return {"team": value}
    return value


def _without_first_step(found: Problem, step: str) -> Problem:
    steps = found.facts.get("steps")
    if isinstance(steps, list) and steps[:1] == [step]:
        return replace(found, facts={**found.facts, "steps": steps[1:]})
    return found


def _placed(problems: list[Problem], document: Document) -> tuple[Problem, ...]:
    """Add the fact `place`: name of the file, line where known, path."""
    placed: list[Problem] = []
    for found in problems:
        facts = dict(found.facts)
        steps = facts.pop("steps", [])
        path = (
            tuple(s for s in steps if isinstance(s, (str, int))) if isinstance(steps, list) else ()
        )
        place = document.place(path)
        placed.append(
            replace(found, where=place.rpartition(" ")[2], facts={**facts, "place": place})
        )
    return tuple(placed)
