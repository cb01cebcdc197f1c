# ruff: noqa: RUF012 - pydantic copies the defaults of its models
"""Plan repair as people write it, in run files and scripts (engine.md 6.8; product.md 7).

People know tasks by their titles; `recovery_policies` of the engine turns them into ids.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from oma_desktop.model.described import Described, Text
from oma_desktop.model.plan_patch import AddedTask, Trigger
from oma_desktop.model.result import ErrorKind


def _list(value: object) -> object:
    return [value] if isinstance(value, str) else value


Triggers = Annotated[
    list[Trigger], BeforeValidator(_list, json_schema_input_type=list[Trigger] | Trigger)
]
ErrorKinds = Annotated[
    list[ErrorKind], BeforeValidator(_list, json_schema_input_type=list[ErrorKind] | ErrorKind)
]


class TitledRetarget(Described):
    """Give a task that has not begun to another agent."""

    title: Text
    assignee: Text


class TitledPatch(Described):
    """A plan patch in titles. `dependsOn` of a new task names a key of the patch or a title."""

    reason: str
    add_tasks: list[AddedTask] = []
    supersede: list[Text] = []
    retarget: list[TitledRetarget] = []


class RecoveryRule(Described):
    """What to do about an outcome; every given condition must hold, the first rule that fits wins.

    `on` says which outcomes (default: failure and a rejected verification). `title`, `role` and
    `assignee` are names or patterns with `*` and `?`; `errorKind` looks at how the task failed.
    The rule adds tasks, gives tasks to others (`retarget`) and replaces them: those named in
    `supersede`, and with `supersedeDependents` everything that waits for the failed task. In
    `reason` and in the title and description of a new task, `{task}` stands for the title of the
    task and `{error}` for its error.
    """

    on: Triggers = ["failure", "verification_rejected"]
    title: Text | None = None
    role: Text | None = None
    assignee: Text | None = None
    error_kind: ErrorKinds = []
    reason: Text = "{task}: {error}"
    add_tasks: list[AddedTask] = []
    supersede: list[Text] = []
    supersede_dependents: bool = False
    retarget: list[TitledRetarget] = []


class Recovery(Described):
    """How a run repairs its plan. `adaptive` is another word for `repairable`.

    With `rules` the first one that fits an outcome repairs the plan; `replanner` names an agent of
    the team that is asked instead, about the outcomes in `on` (default: failure and a rejected
    verification). The limits count over the whole run, restores included.
    """

    mode: Literal["fixed", "repairable", "adaptive"] = "fixed"
    rules: list[RecoveryRule] = []
    replanner: Text | None = None
    on: Triggers = ["failure", "verification_rejected"]
    max_plan_revisions: Annotated[int, Field(ge=1)] = 3
    max_added_tasks: Annotated[int, Field(ge=1)] = 20

    @property
    def wanted(self) -> bool:
        """Whether the plan may change."""
        return self.mode != "fixed"


class ScriptedRecovery(Described):
    """Patches of a script by `<title>:<outcome>` (SCRIPTS.md).

    Ours: a list gives one patch per outcome in turn, then none; the limits may be set.
    """

    patches: dict[str, TitledPatch | list[TitledPatch]] = {}
    max_plan_revisions: Annotated[int, Field(ge=1)] = 3
    max_added_tasks: Annotated[int, Field(ge=1)] = 20
