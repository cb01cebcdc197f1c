"""May this patch change this plan, and what becomes of it (engine.md 6.4, 6.5; formats.md 7.4)?

Pure and atomic: `draft` returns every change or raises PlanRejected, it never changes anything.
Beyond the peer's rules it refuses a patch that leaves a waiting task behind a superseded one (W30,
DEV-28), and one whose new task would wait for the trigger it repairs (W31).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, cast

from oma_desktop.model.checkpoint import TaskSnapshot
from oma_desktop.model.errors import PlanRejected
from oma_desktop.model.graph import check_graph, dependencies_of, dependents_of
from oma_desktop.model.json_text import js_trim
from oma_desktop.model.json_value import JsonObject, JsonValue
from oma_desktop.model.metadata import clean_task_metadata, task_metadata_problem
from oma_desktop.model.plan_patch import (
    AddedTask,
    PlanPatch,
    PlanRevision,
    Trigger,
    trimmed_keys,
)
from oma_desktop.model.verify import VerifySpec

UNSTARTED: Final = frozenset(("pending", "blocked"))
DEAD: Final = frozenset(("failed", "skipped"))

Tasks = Mapping[str, TaskSnapshot]


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan a patch is about. `started` names tasks that are pending again but had begun."""

    tasks: Tasks
    trigger_id: str
    trigger: Trigger
    version: int
    started: Collection[str] = ()

    def movable(self, task_id: str, act: str) -> TaskSnapshot:
        """Return a task that may still be taken away from its agent, or raise PlanRejected."""
        task = self.tasks.get(task_id)
        if task is None:
            raise PlanRejected("PATCH_TASK_UNKNOWN", task=task_id, act=act)
        if task["status"] not in UNSTARTED or task_id in self.started:
            found = "in_progress" if task_id in self.started else task["status"]
            raise PlanRejected("PATCH_TASK_STARTED", task=task_id, found=found, act=act)
        return task


@dataclass(frozen=True, slots=True)
class Draft:
    """A patch worked out: documents to put in place, tasks to append, the record of it.

    `retargeted` and `superseded` are disjoint; `trigger` is there when the trigger gets a mark.
    `verify` has the wish to be judged of new tasks, by their id; it is never part of a task.
    """

    revision: PlanRevision
    retargeted: tuple[TaskSnapshot, ...]
    superseded: tuple[TaskSnapshot, ...]
    trigger: TaskSnapshot | None
    added: tuple[TaskSnapshot, ...]
    verify: Mapping[str, VerifySpec]

    @property
    def changed(self) -> tuple[TaskSnapshot, ...]:
        """Every existing task as the patch leaves it."""
        marked = () if self.trigger is None else (self.trigger,)
        return (*marked, *self.retargeted, *self.superseded)


def draft(patch: PlanPatch, plan: Plan, *, new_id: Callable[[], str], now: str) -> Draft:
    """Work a patch out against the plan as it is now. Raises PlanRejected with a PATCH_ code."""
    _check_whole(patch, plan)
    retargeted = _retargeted(patch, plan, now)
    superseded = _superseded(patch, plan, now)
    ids = dict(zip(_checked_keys(patch, plan), (new_id() for _ in patch.add_tasks), strict=True))
    after: dict[str, TaskSnapshot] = {**plan.tasks, **_by_id(retargeted), **_by_id(superseded)}
    added = tuple(
        _added(task, task_id, _resolved(task, ids, after, plan), after, now)
        for task, task_id in zip(patch.add_tasks, ids.values(), strict=True)
    )
    _check_whole_graph(after, added, ids)
    _refuse_stranding(after, superseded)
    return Draft(
        revision=_revision(patch, plan, ids, new_id(), now),
        retargeted=retargeted,
        superseded=superseded,
        trigger=_marked(plan, now),
        added=added,
        verify={
            task_id: task.verify
            for task, task_id in zip(patch.add_tasks, ids.values(), strict=True)
            if task.verify is not None
        },
    )


def left_behind(drafted: Draft, tasks: Tasks) -> list[str]:
    """Waiting tasks that the trigger's failure will still end, transitively (engine.md 6.4)."""
    if drafted.revision["trigger"] != "failure":
        return []
    superseded = {t["id"] for t in drafted.superseded}
    rest = [t for t in tasks.values() if t["id"] not in superseded]
    return waiting_for(drafted.revision["triggerTaskId"], rest)


def waiting_for(task_id: str, tasks: Sequence[TaskSnapshot]) -> list[str]:
    """Ids of all tasks that have not begun and wait for this one, directly or not; queue order."""
    behind = dependents_of([t["id"] for t in tasks], dependencies_of(tasks))
    unstarted = {t["id"] for t in tasks if t["status"] in UNSTARTED}
    found: set[str] = set()
    look = [task_id]
    while look:
        new = [i for i in behind.get(look.pop(), ()) if i in unstarted and i not in found]
        found.update(new)
        look += new
    return [t["id"] for t in tasks if t["id"] in found]


def _check_whole(patch: PlanPatch, plan: Plan) -> None:
    if not js_trim(patch.reason):
        raise PlanRejected("PATCH_REASON_EMPTY")
    if not (patch.add_tasks or patch.retarget_pending or patch.supersede_pending):
        raise PlanRejected("PATCH_EMPTY")
    if plan.trigger != "success" and not patch.add_tasks:
        raise PlanRejected("PATCH_NEEDS_REPLACEMENT", trigger=plan.trigger)
    trigger = plan.tasks.get(plan.trigger_id)
    if trigger is None:
        raise PlanRejected("PATCH_TRIGGER_UNKNOWN", task=plan.trigger_id)
    if trigger["status"] != "in_progress":
        raise PlanRejected(
            "PATCH_TRIGGER_NOT_RUNNING", task=plan.trigger_id, found=trigger["status"]
        )


def _retargeted(patch: PlanPatch, plan: Plan, now: str) -> tuple[TaskSnapshot, ...]:
    done: dict[str, TaskSnapshot] = {}
    for wish in patch.retarget_pending:
        if wish.task_id in done:
            raise PlanRejected("PATCH_TASK_TWICE", task=wish.task_id, act="retarget")
        task = plan.movable(wish.task_id, "retarget")
        if not js_trim(wish.assignee):
            raise PlanRejected("PATCH_ASSIGNEE_EMPTY", task=wish.task_id)
        done[wish.task_id] = _with(task, assignee=wish.assignee, updatedAt=now)
    return tuple(done.values())


def _superseded(patch: PlanPatch, plan: Plan, now: str) -> tuple[TaskSnapshot, ...]:
    elsewhere = {wish.task_id for wish in patch.retarget_pending}
    done: dict[str, TaskSnapshot] = {}
    for task_id in patch.supersede_pending:
        if task_id in done:
            raise PlanRejected("PATCH_TASK_TWICE", task=task_id, act="supersede")
        if task_id in elsewhere:
            raise PlanRejected("PATCH_TASK_BOTH_WAYS", task=task_id)
        done[task_id] = _with(
            plan.movable(task_id, "supersede"),
            status="skipped",
            # The peer's words, part of the file format (formats.md 2.6.3).
            result=f"Superseded by plan revision {plan.version}: {js_trim(patch.reason)}",
            supersededByRevision=plan.version,
            updatedAt=now,
        )
    return tuple(done.values())


def _checked_keys(patch: PlanPatch, plan: Plan) -> list[str]:
    seen: set[str] = set()
    for key in trimmed_keys(patch):
        if not key:
            raise PlanRejected("PATCH_KEY_EMPTY")
        if key in seen:
            raise PlanRejected("PATCH_KEY_TWICE", key=key)
        if key in plan.tasks:
            raise PlanRejected("PATCH_KEY_IS_TASK", key=key)
        seen.add(key)
    return trimmed_keys(patch)


def _resolved(
    task: AddedTask, ids: Mapping[str, str], after: Mapping[str, TaskSnapshot], plan: Plan
) -> list[str]:
    """Ids of what a new task waits for; a key of the patch wins over an id."""
    key = js_trim(task.key)
    found: list[str] = []
    for name in task.depends_on:
        target = ids.get(name, name)
        if name not in ids:
            _check_existing(key, name, after, plan)
        if target in found:
            raise PlanRejected("PATCH_DEPENDENCY_TWICE", key=key, dependency=name)
        found.append(target)
    return found


def _check_existing(key: str, name: str, after: Mapping[str, TaskSnapshot], plan: Plan) -> None:
    if name not in after:
        raise PlanRejected("PATCH_DEPENDENCY_UNKNOWN", key=key, dependency=name)
    status = after[name]["status"]
    if status in DEAD:
        raise PlanRejected("PATCH_DEPENDENCY_DEAD", key=key, dependency=name, found=status)
    if name == plan.trigger_id and plan.trigger != "success":
        raise PlanRejected("PATCH_DEPENDENCY_TRIGGER", key=key, dependency=name)


def _added(
    task: AddedTask,
    task_id: str,
    deps: list[str],
    after: Mapping[str, TaskSnapshot],
    now: str,
) -> TaskSnapshot:
    done = all(d in after and after[d]["status"] == "completed" for d in deps)
    given = task.model_dump(
        by_alias=True, exclude_none=True, exclude={"key", "depends_on", "metadata", "verify"}
    )
    doc: dict[str, object] = {"id": task_id, **given, "status": "pending" if done else "blocked"}
    if deps:
        doc["dependsOn"] = deps
    if task.metadata is not None:
        doc["metadata"] = _clean(task.metadata, js_trim(task.key))
    return cast("TaskSnapshot", {**doc, "createdAt": now, "updatedAt": now})


def _clean(metadata: JsonObject, key: str) -> JsonObject:
    problem = task_metadata_problem(cast("JsonValue", metadata))
    if problem is not None:
        name, reason = problem
        raise PlanRejected("TASK_METADATA_INVALID", where=key, key=name, reason=reason)
    return clean_task_metadata(metadata)


def _check_whole_graph(
    after: Mapping[str, TaskSnapshot], added: tuple[TaskSnapshot, ...], ids: Mapping[str, str]
) -> None:
    """Existing tasks never wait for new ones, so what is wrong is among the new ones."""
    problems = check_graph([*after.values(), *added])
    if not problems:
        return
    facts = problems[0].facts
    names = {task_id: key for key, task_id in ids.items()}
    path = facts.get("path") or [facts.get("task"), facts.get("dependency")]
    shown = " -> ".join(names.get(str(i), str(i)) for i in cast("list[JsonValue]", path))
    raise PlanRejected("PATCH_CYCLE", cycle=shown)


def _refuse_stranding(
    after: Mapping[str, TaskSnapshot], superseded: tuple[TaskSnapshot, ...]
) -> None:
    gone = {task["id"] for task in superseded}
    for task in after.values() if gone else ():
        if task["status"] in UNSTARTED and not gone.isdisjoint(task.get("dependsOn", ())):
            behind = next(d for d in task.get("dependsOn", ()) if d in gone)
            raise PlanRejected("PATCH_STRANDS", task=task["id"], title=task["title"], behind=behind)


def _marked(plan: Plan, now: str) -> TaskSnapshot | None:
    if plan.trigger == "success":
        return None
    task = plan.tasks[plan.trigger_id]
    return _with(task, recoveredByRevision=plan.version, updatedAt=now)


def _revision(
    patch: PlanPatch, plan: Plan, ids: Mapping[str, str], revision_id: str, now: str
) -> PlanRevision:
    return {
        "id": revision_id,
        "version": plan.version,
        "triggerTaskId": plan.trigger_id,
        "trigger": plan.trigger,
        "reason": js_trim(patch.reason),
        "addedTasks": dict(ids),
        "retargetedTasks": [
            {"taskId": wish.task_id, "assignee": wish.assignee} for wish in patch.retarget_pending
        ],
        "supersededTaskIds": list(patch.supersede_pending),
        "createdAt": now,
    }


def _with(task: TaskSnapshot, **changes: object) -> TaskSnapshot:
    return cast("TaskSnapshot", {**task, **changes})


def _by_id(tasks: tuple[TaskSnapshot, ...]) -> dict[str, TaskSnapshot]:
    return {task["id"]: task for task in tasks}
