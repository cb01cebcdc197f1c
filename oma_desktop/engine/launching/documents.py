"""Reading the documents people name, each error with the file it is about. Blocking."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from oma_desktop.model.document_text import Document, read_document
from oma_desktop.model.errors import InvalidInput, OmaError
from oma_desktop.model.plan import PlanArtifact
from oma_desktop.model.plan_reading import is_plan, plan_in
from oma_desktop.model.runfile import RunFile


@contextmanager
def naming(path: Path | None) -> Iterator[None]:
    """Let every error inside name the file it is about."""
    try:
        yield
    except OmaError as error:
        if path is not None:
            error.facts.setdefault("path", str(path))
        raise


def document_at(path: Path) -> Document:
    """Return the document in a file.

    Raises InvalidInput RUNFILE_UNREADABLE or FILE_NOT_REGULAR (a pipe would keep us waiting),
    Corrupt and InvalidInput for what is no JSON and no YAML.
    """
    try:
        refuse_pipe(path)
        data = path.read_bytes()
    except OSError as error:
        raise InvalidInput("RUNFILE_UNREADABLE", path=str(path), found=error.strerror) from error
    with naming(path):
        return read_document(data, name=str(path))


def refuse_pipe(path: Path) -> None:
    """Raise InvalidInput FILE_NOT_REGULAR for what would keep a reader waiting; may OSError."""
    if path.exists() and not path.is_file() and not path.is_dir():
        raise InvalidInput("FILE_NOT_REGULAR", path=str(path))


def plan_of(run_file: RunFile, base_dir: Path) -> PlanArtifact | None:
    """Return the plan a run file holds or names (relative to `base_dir`).

    Raises as `document_at`, and InvalidInput for a file that is no sound plan.
    """
    if not isinstance(run_file.plan, str):
        return run_file.plan
    path = base_dir / run_file.plan
    document = document_at(path)
    if not is_plan(document.value):
        raise InvalidInput("PLAN_EXPECTED", path=str(path))
    with naming(path):
        return plan_in(document)
