# ruff: noqa: RUF012 - pydantic copies the defaults of its models
"""PlanArtifact v1: a frozen task list with ids (formats.md 6)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from oma_desktop.model.checkpoint import TaskRequires
from oma_desktop.model.json_value import JsonObject
from oma_desktop.model.team import Described


class PlanTask(Described):
    """One task of a plan; `dependsOn` holds ids of the same plan."""

    id: Annotated[str, Field(min_length=1)]
    title: str
    description: str
    assignee: str | None = None
    depends_on: list[str] = []
    memory_scope: Literal["dependencies", "all"] | None = None
    dependency_payload: Literal["output", "structured", "both"] | None = None
    role: str | None = None
    priority: Literal["low", "normal", "high", "critical"] | None = None
    metadata: JsonObject | None = None
    requires: TaskRequires | None = None
    max_retries: Annotated[int | None, Field(ge=0)] = None
    retry_delay_ms: Annotated[float | None, Field(ge=0)] = None
    retry_backoff: float | None = None


class PlanArtifact(Described):
    """A plan as `plan -o` writes it and `run` replays it, ids and assignees verbatim."""

    version: Literal[1]
    goal: str | None = None
    tasks: list[PlanTask]
