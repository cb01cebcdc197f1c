"""What is this file, and is it sound? The core of `check` (product.md 5)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from oma_desktop.model.container import parse_container
from oma_desktop.model.document_text import Document, is_yaml, read_document
from oma_desktop.model.errors import OmaError
from oma_desktop.model.inspection import inspect_container
from oma_desktop.model.journal_lines import check_journal, looks_like_journal
from oma_desktop.model.json_text import STORE_DEPTH, parse_with_bom
from oma_desktop.model.json_value import JsonObject, JsonValue
from oma_desktop.model.plan_reading import is_plan, look_at_plan
from oma_desktop.model.runfile_reading import look_at_run_file
from oma_desktop.model.view import Problem

Kind = Literal["run", "team", "tasks", "plan", "store", "journal", "unknown"]

STORE_KEYS: Final = frozenset({"version", "entries"})


@dataclass(frozen=True, slots=True)
class CheckReport:
    """`ok` is False exactly when a problem of severity error was found.

    Problems are in the order of the file; their sentences are in `base.sentences`. `plan` is the
    path of the frozen plan that a run file names, as it stands there.
    """

    kind: Kind
    problems: tuple[Problem, ...] = ()
    plan: str | None = None

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong; warnings do not count."""
        return all(found.severity != "error" for found in self.problems)


def check_document(data: bytes, *, name: str) -> CheckReport:
    """Judge a file by its content; `name` is used in places and for its suffix. Raises nothing."""
    try:
        if looks_like_journal(data, name=name):
            return CheckReport("journal", tuple(check_journal(data, name=name)))
        if is_yaml(data, name=name):
            return _check_written(read_document(data, name=name))
        value, _bom = parse_with_bom(data, where="$", max_depth=STORE_DEPTH)
        if _is_store(value):
            return _check_store(data, name)
        return _check_written(read_document(data, name=name))
    except OmaError as error:
        return CheckReport("unknown", (problem_of(error, name),))


def problem_of(error: OmaError, name: str) -> Problem:
    """Return an error as a problem of the file."""
    facts: JsonObject = {k: v for k, v in error.facts.items() if isinstance(v, (str, int, float))}
    where = str(facts.get("where") or facts.get("place") or "$")
    return Problem(error.code, "error", where, {"path": name, **facts})


def _is_store(value: JsonValue) -> bool:
    return isinstance(value, dict) and "entries" in value and "tasks" not in value


def _check_store(data: bytes, name: str) -> CheckReport:
    try:
        container = parse_container(data, path=name)
    except OmaError as error:
        return CheckReport("store", (problem_of(error, name),))
    return CheckReport("store", tuple(_problems_in(inspect_container(container))))


def _problems_in(inspected: JsonObject) -> Iterator[Problem]:
    found = inspected["problems"]
    for each in found if isinstance(found, list) else ():
        assert isinstance(each, dict)
        severity: Literal["error", "warning"] = (
            "warning" if each["severity"] == "warning" else "error"
        )
        facts = each["facts"]
        assert isinstance(facts, dict)
        yield Problem(str(each["code"]), severity, str(each["where"]), facts)


def _check_written(document: Document) -> CheckReport:
    if is_plan(document.value):
        return CheckReport("plan", look_at_plan(document).problems)
    read = look_at_run_file(document)
    named = read.run_file.plan if read.run_file is not None else None
    plan = named if isinstance(named, str) else None
    return CheckReport(read.kind or "unknown", read.problems, plan)
