"""Bytes to a RunFile: the peer's two files and bare task lists included (product.md 7)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pydantic import ValidationError

from oma_desktop.model.document_text import Document, Path, read_document
from oma_desktop.model.errors import InvalidInput
from oma_desktop.model.json_value import JsonValue
from oma_desktop.model.plan import PlanArtifact
from oma_desktop.model.runfile import RunFile
from oma_desktop.model.runfile_problems import placed, problems_of
from oma_desktop.model.runfile_rules import check_plan_mode, check_rules
from oma_desktop.model.task_graph import problem
from oma_desktop.model.view import Problem

Kind = Literal["run", "team", "tasks"]


@dataclass(frozen=True, slots=True)
class ReadRunFile:
    """What a file holds: `kind` None is none of ours, `run_file` None has a problem of shape."""

    kind: Kind | None
    run_file: RunFile | None
    problems: tuple[Problem, ...]


def read_run_file(data: bytes, *, name: str) -> RunFile:
    """Return the run file in `data`.

    Raises InvalidInput with the code and facts of the first problem, plus `place`
    (`name:line $.path`), `n_more` and `problems` (all of them); Corrupt for damaged JSON.
    """
    return run_file_in(read_document(data, name=name))


def run_file_in(document: Document) -> RunFile:
    """Return the run file a document holds; raises as `read_run_file`."""
    read = look_at_run_file(document)
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
        return ReadRunFile(None, None, placed([shapeless], document))
    try:
        run_file = RunFile.model_validate(_whole(document.value), strict=True)
    except ValidationError as error:
        found = problems_of(error, document.value, RunFile)
        return ReadRunFile(kind, None, placed(found, document))
    team_path: Path = () if _is_team_file(document.value) else ("team",)
    tasks_path: Path = () if isinstance(document.value, list) else ("tasks",)
    found = check_rules(run_file, team_path=team_path, tasks_path=tasks_path)
    return ReadRunFile(kind, run_file, placed(found, document))


def kind_of(value: JsonValue) -> Kind | None:
    """Say what a document is by its top-level keys; None when it is none of the three."""
    if isinstance(value, list):
        return "tasks"
    if not isinstance(value, dict):
        return None
    if _is_team_file(value):
        return "team"
    work = any(value.get(key) is not None for key in ("tasks", "goal", "plan"))
    if value.get("team") is not None:
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


def replaying(settings: RunFile, plan: PlanArtifact) -> RunFile:
    """Return a run file that replays `plan` with everything else of `settings` (`--team RUNFILE`).

    Its own work is left out. Assignees are not compared with the team: a replay starts, and what
    nobody can do fails at its turn (formats.md 6). Raises InvalidInput PLAN_NEEDS_FIXED_RECOVERY.
    """
    joined = settings.model_copy(update={"tasks": None, "goal": None, "plan": plan})
    found = tuple(check_plan_mode(joined))
    if found:
        raise refusal(found)
    return joined


def with_team(work: RunFile, team_file: RunFile) -> RunFile:
    """Return the work of one file with the team of another (`run TASKS --team TEAM`).

    Orchestrator options of the tasks win. Raises InvalidInput for unknown assignees.
    """
    changes: dict[str, object] = {"team": team_file.team}
    if not work.orchestrator.model_fields_set:
        changes["orchestrator"] = team_file.orchestrator
    for key in ("providers", "tools", "approvals", "cwd"):
        if key not in work.model_fields_set and key in team_file.model_fields_set:
            changes[key] = getattr(team_file, key)
    joined = work.model_copy(update=changes)
    found = tuple(check_rules(joined))
    if found:
        raise refusal(found)
    return joined
