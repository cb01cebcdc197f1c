# ruff: noqa: RUF012 - pydantic copies the defaults of its models
"""Plan patches and the revisions they become (formats.md 7.2, 7.5); rules: `patch_rules`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, TypeAlias, cast

from pydantic import Field, ValidationError
from typing_extensions import TypedDict

from oma_desktop.model.checkpoint import TaskRequires
from oma_desktop.model.described import Described
from oma_desktop.model.errors import PlanRejected
from oma_desktop.model.json_text import js_trim
from oma_desktop.model.json_value import JsonObject
from oma_desktop.model.verify import Verify

Trigger: TypeAlias = Literal["success", "failure", "verification_rejected"]


class AddedTask(Described):
    """A task a patch adds. `dependsOn` names keys of the same patch or ids of existing tasks."""

    key: str
    title: Annotated[str, Field(min_length=1)]
    description: str
    assignee: str | None = None
    depends_on: list[str] = []
    memory_scope: Literal["dependencies", "all"] | None = None
    dependency_payload: Literal["output", "structured", "both"] | None = None
    metadata: JsonObject | None = None
    max_retries: Annotated[int | None, Field(ge=0)] = None
    retry_delay_ms: Annotated[float | None, Field(ge=0)] = None
    retry_backoff: float | None = None
    role: str | None = None
    priority: Literal["low", "normal", "high", "critical"] | None = None
    requires: TaskRequires | None = None
    verify: Verify | None = None


class Retarget(Described):
    """Give a task that has not begun to another agent."""

    task_id: str
    assignee: str


class PlanPatch(Described):
    """What a replanner proposes. Tasks are named by id, never by title."""

    reason: str
    add_tasks: list[AddedTask] = []
    retarget_pending: list[Retarget] = []
    supersede_pending: list[str] = []

    def to_json(self) -> JsonObject:
        """The document, lists that are missing as empty ones; what is left open stays absent."""
        return cast("JsonObject", self.model_dump(by_alias=True, exclude_none=True))


class PlanRevision(TypedDict):
    """An accepted patch as the queue snapshot keeps it; keys are written in this order."""

    id: str
    version: int
    triggerTaskId: str
    trigger: Trigger
    reason: str
    addedTasks: dict[str, str]
    retargetedTasks: list[JsonObject]
    supersededTaskIds: list[str]
    createdAt: str


def read_patch(value: object) -> PlanPatch:
    """Return what a replanner gave as a patch: a PlanPatch, or a mapping in the peer's key names.

    Raises PlanRejected PATCH_MALFORMED with `where` and `found`.
    """
    if isinstance(value, PlanPatch):
        return value
    if not isinstance(value, Mapping):
        raise PlanRejected("PATCH_MALFORMED", where="$", found=type(value).__name__)
    try:
        return PlanPatch.model_validate(dict(value))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(step) for step in first["loc"]) or "$"
        raise PlanRejected("PATCH_MALFORMED", where=where, found=str(first["msg"])) from error


def trimmed_keys(patch: PlanPatch) -> list[str]:
    """The keys of the added tasks as they count: trimmed as the peer trims."""
    return [js_trim(task.key) for task in patch.add_tasks]
