"""What is read from a store and made of it, as values that run anywhere: a thread or the worker.

A job reads the bytes itself, opens, reads and closes at once (ux.md C2, Reading safely), and
returns views only: documents never leave the place where they were parsed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeAlias

from oma_desktop.model.approval_views import read_ledger, valid_rows
from oma_desktop.model.call_detail import CallDetail, call_detail
from oma_desktop.model.checkpoint import CheckpointSnapshot
from oma_desktop.model.container import Container
from oma_desktop.model.conversation import conversation
from oma_desktop.model.errors import Corrupt, NotFound
from oma_desktop.model.projection import Loaded, load_run, project_store
from oma_desktop.model.resume import ResumePlan
from oma_desktop.model.resume_rules import resume_plan
from oma_desktop.model.view import ConversationView, Effect, Owner, StoreView
from oma_desktop.store.access import Stamp, read_store
from oma_desktop.store.address import StoreAddress
from oma_desktop.store.file_calls import FileStamp
from oma_desktop.store.file_reading import read_container


@dataclass(frozen=True, slots=True)
class StoreReading:
    """A picture and the stamp of exactly the version it shows; no stamp: there was no file."""

    view: StoreView
    stamp: Stamp | None


@dataclass(frozen=True, slots=True)
class StoreJob:
    """The picture of a whole store."""

    path: str
    owner: Owner
    now: datetime
    owners: Mapping[str, Owner] | None = None
    """The writer of every run, for a database."""
    address: StoreAddress | None = field(default=None, repr=False)
    """With the login, which the worker process does not know by itself."""

    def run(self) -> StoreReading:
        """Raises Corrupt, SchemaTooNew or StoreError."""
        container, stamp = read_store(self.address or Path(self.path))
        view = project_store(
            container,
            path=self.path,
            owner=self.owner,
            read_at=self.now,
            modified_at=modified_at(stamp),
            size=stamp.size if stamp else 0,
            now=self.now,
            owners=self.owners,
        )
        return StoreReading(view, stamp)


@dataclass(frozen=True, slots=True)
class ContainerReading:
    """A store file as read, and its stamp; no stamp: there was no file."""

    container: Container
    stamp: FileStamp | None


@dataclass(frozen=True, slots=True)
class ContainerJob:
    """A whole store file, for whoever is about to write it in the program itself."""

    path: str

    def run(self) -> ContainerReading:
        """Raises Corrupt, SchemaTooNew or StoreError."""
        return ContainerReading(*read_container(Path(self.path)))


@dataclass(frozen=True, slots=True)
class ConversationJob:
    """The messages of one task."""

    path: str
    key: str
    task_id: str
    live: bool = False
    address: StoreAddress | None = field(default=None, repr=False)

    def run(self) -> ConversationView:
        """Raises what reading raises, and NotFound."""
        container, loaded = _load(self.address or Path(self.path), self.key)
        rows = valid_rows(read_ledger(container))
        return conversation(_snapshot(loaded), self.task_id, rows=rows, live=self.live)


@dataclass(frozen=True, slots=True)
class CallJob:
    """Whole input and output of one call."""

    path: str
    key: str
    task_id: str
    call_id: str
    round: int | None = None
    address: StoreAddress | None = field(default=None, repr=False)

    def run(self) -> CallDetail:
        """Raises what reading raises, and NotFound."""
        _, loaded = _load(self.address or Path(self.path), self.key)
        found = call_detail(_snapshot(loaded), self.task_id, self.call_id, round_=self.round)
        if found is None:
            raise NotFound("CALL_NOT_FOUND", path=self.path, call=self.call_id)
        return found


@dataclass(frozen=True, slots=True)
class PlanJob:
    """The resume plan of one run."""

    path: str
    key: str
    effects: Mapping[str, Effect] | None = None
    address: StoreAddress | None = field(default=None, repr=False)

    def run(self) -> ResumePlan:
        """Raises what reading raises, and NotFound."""
        container, loaded = _load(self.address or Path(self.path), self.key)
        rows = valid_rows(read_ledger(container))
        return resume_plan(_snapshot(loaded), rows, effects=self.effects, problems=loaded.problems)


Job: TypeAlias = StoreJob | ContainerJob | ConversationJob | CallJob | PlanJob
Answer: TypeAlias = StoreReading | ContainerReading | ConversationView | CallDetail | ResumePlan


def modified_at(stamp: Stamp | None) -> datetime | None:
    """Return the file's own time, aware UTC; a database has none."""
    if not isinstance(stamp, FileStamp):
        return None
    return datetime.fromtimestamp(stamp.mtime_ns / 1e9, UTC)


def _load(address: StoreAddress, key: str) -> tuple[Container, Loaded]:
    container, _ = read_store(address)
    loaded = load_run(container, key)
    if loaded is None:
        raise NotFound("RUN_NOT_FOUND", path=str(address), key=key)
    return container, loaded


def _snapshot(loaded: Loaded) -> CheckpointSnapshot:
    if loaded.snapshot is None:
        problem = loaded.problems[0]
        raise Corrupt(problem.code, **{"where": problem.where, **problem.facts})
    return loaded.snapshot
