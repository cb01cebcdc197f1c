"""A path somebody named: a store to watch, a run file to start, or a journal? Blocking."""

from __future__ import annotations

import os
from enum import Enum, auto
from pathlib import Path
from typing import Final

from oma_desktop.engine.launching.connections import model_places
from oma_desktop.engine.launching.documents import naming, plan_of
from oma_desktop.engine.launching.run_files import read_files
from oma_desktop.model.checkfile import check_document
from oma_desktop.model.errors import InvalidInput
from oma_desktop.model.goal_rules import governance_of
from oma_desktop.model.runfile import RunFile
from oma_desktop.store.origin import Origin
from oma_desktop.viewmodel.start_offer import StartOffer

CHECKPOINT_FILE: Final = "checkpoint.json"
_LOOKED_AT: Final = 1_000_000
"""A bigger file is nothing people write by hand: a store, or a journal by its name."""


class Arrival(Enum):
    """What is done with a path."""

    WATCH = auto()
    START = auto()
    JOURNAL = auto()


def what_is(path: Path) -> Arrival:
    """Judge by the content; whatever cannot be told is watched, and says there what is wrong.

    Raises InvalidInput FILE_NOT_REGULAR for a pipe or device, FILE_NOT_READABLE.
    """
    if path.is_dir() or not path.exists():
        return Arrival.WATCH
    if not path.is_file():
        raise InvalidInput("FILE_NOT_REGULAR", path=str(path))
    try:
        if path.stat().st_size > _LOOKED_AT:
            return Arrival.JOURNAL if path.suffix == ".jsonl" else Arrival.WATCH
        report = check_document(path.read_bytes(), name=str(path))
    except OSError as error:
        detail = error.strerror or "?"
        raise InvalidInput("FILE_NOT_READABLE", path=str(path), detail=detail) from error
    if report.kind in {"run", "tasks", "team", "plan"}:
        return Arrival.START
    if report.kind == "journal":
        return Arrival.JOURNAL
    yaml = path.suffix.lower() in {".yaml", ".yml"}
    return Arrival.START if yaml else Arrival.WATCH


def beside(journal: Path) -> Path | None:
    """Return the checkpoint a journal belongs to, where it lies beside it (product.md 7)."""
    store = journal.with_name(CHECKPOINT_FILE)
    return store if store.is_file() else None


def offer_of(path: Path) -> StartOffer:
    """Return what the file would start.

    Raises as `read_files`, and InvalidInput RUNFILE_NO_TEAM or RUNFILE_NO_WORK.
    """
    files = read_files(Origin(run_file=path))
    run_file = files.run_file
    with naming(path):
        plan = plan_of(run_file, files.base_dir)
        if run_file.team is None:
            raise InvalidInput("RUNFILE_NO_TEAM", place=str(path))
        if not (run_file.tasks or run_file.goal or plan):
            raise InvalidInput("RUNFILE_NO_WORK", place=str(path))
    return StartOffer(
        path=str(path),
        team=run_file.team.name,
        agents=len(run_file.team.agents),
        tasks=len(run_file.tasks or (plan.tasks if plan else ())),
        goal=run_file.goal,
        frozen=plan is not None,
        alone=_is_for_one(run_file),
        roles=_roles(run_file),
        models=model_places(run_file, base_dir=files.base_dir, environ=os.environ),
    )


def _roles(run_file: RunFile) -> tuple[str, ...]:
    governance = governance_of(run_file)
    limited = run_file.orchestrator.is_limited
    if governance is None or not governance.applies(limited=limited):
        return ()
    return governance.sequence


def _is_for_one(run_file: RunFile) -> bool:
    governance = governance_of(run_file)
    limited = run_file.orchestrator.is_limited
    if governance is not None and governance.gives_way(limited=limited):
        return run_file.approvals.plan == "allow"  # whoever asks to see a plan gets one
    return run_file.mode == "single"
