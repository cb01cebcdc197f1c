# ruff: noqa: RUF012 - pydantic copies the defaults of its models
"""PlanArtifact v1: a frozen task list with ids (formats.md 6)."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field

from oma_desktop.model.checkpoint import TaskRequires
from oma_desktop.model.json_value import JsonObject
from oma_desktop.model.team import Described

PLAN_KEYS: Final = ("version", "goal", "tasks")
PLAN_TASK_KEYS: Final = (
    *("id", "title", "description", "assignee", "dependsOn", "memoryScope", "dependencyPayload"),
    *("role", "priority", "metadata", "maxRetries", "retryDelayMs", "retryBackoff", "requires"),
)
"""What an artifact holds, in the order in which it is written."""

_ALWAYS: Final = frozenset(("id", "title", "description"))


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

    def extras(self) -> JsonObject:
        """The optional keys that are given, as written; an empty `dependsOn` is left out."""
        given = self.model_dump(by_alias=True, exclude_none=True)
        keys = (key for key in PLAN_TASK_KEYS if key not in _ALWAYS)
        return {key: given[key] for key in keys if key in given and given[key] != []}


class PlanArtifact(Described):
    """A plan as `plan -o` writes it and `run` replays it, ids and assignees verbatim."""

    version: Literal[1]
    goal: str | None = None
    tasks: list[PlanTask]

    def to_json(self) -> JsonObject:
        """The document of a plan file, keys in the peer's order."""
        document: JsonObject = {"version": 1}
        if self.goal is not None:
            document["goal"] = self.goal
        document["tasks"] = [
            {"id": t.id, "title": t.title, "description": t.description, **t.extras()}
            for t in self.tasks
        ]
        return document
