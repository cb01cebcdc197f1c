"""Policies from run files and scripts: what people wrote in titles, as patches in ids."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Final

from oma_desktop.engine.recovery_options import OnTaskOutcome, RecoveryOptions, TaskOutcome
from oma_desktop.engine.tasks.failure_text import failure_text
from oma_desktop.model.checkpoint import TaskSnapshot
from oma_desktop.model.json_text import js_trim
from oma_desktop.model.patch_rules import DEAD, UNSTARTED, waiting_for
from oma_desktop.model.plan_patch import AddedTask, PlanPatch, Retarget
from oma_desktop.model.recovery_rules import (
    Recovery,
    RecoveryRule,
    ScriptedRecovery,
    TitledPatch,
)
from oma_desktop.model.task_graph import title_key

_PLACE: Final = re.compile(r"\{(task|error)\}")


def recovery_of_script(scripted: ScriptedRecovery | None) -> RecoveryOptions | None:
    """Return what a script says about recovery; a script without it says nothing."""
    if scripted is None:
        return None
    return RecoveryOptions(
        mode="repairable",
        on_task_outcome=scripted_policy(scripted),
        max_plan_revisions=scripted.max_plan_revisions,
        max_added_tasks=scripted.max_added_tasks,
    )


def recovery_of_file(recovery: Recovery) -> RecoveryOptions | None:
    """Return the recovery of a run file; None when its plan is fixed."""
    if not recovery.wanted:
        return None
    named = recovery.replanner
    return RecoveryOptions(
        mode="repairable",
        on_task_outcome=rule_policy(recovery.rules) if named is None else None,
        replanner_agent=named,
        agent_on=frozenset(recovery.on),
        max_plan_revisions=recovery.max_plan_revisions,
        max_added_tasks=recovery.max_added_tasks,
    )


def scripted_policy(scripted: ScriptedRecovery) -> OnTaskOutcome:
    """Answer each outcome as the script says; a list is used up one by one."""
    used: Counter[str] = Counter()

    def policy(outcome: TaskOutcome) -> PlanPatch | None:
        name = f"{outcome.task['title']}:{outcome.kind}"
        found = scripted.patches.get(name)
        if isinstance(found, list):
            turn = used[name]
            used[name] += 1
            found = found[turn] if turn < len(found) else None
        return None if found is None else in_ids(found, outcome.tasks)

    return policy


def rule_policy(rules: Sequence[RecoveryRule]) -> OnTaskOutcome:
    """Answer each outcome with the first rule that fits, or not at all."""

    def policy(outcome: TaskOutcome) -> PlanPatch | None:
        rule = next((r for r in rules if fits(r, outcome)), None)
        return None if rule is None else by_rule(rule, outcome)

    return policy


def fits(rule: RecoveryRule, outcome: TaskOutcome) -> bool:
    """Whether every condition of a rule holds for an outcome."""
    task, info = outcome.task, outcome.result.error_info
    patterns = (
        (rule.title, task["title"]),
        (rule.role, task.get("role", "")),
        (rule.assignee, task.get("assignee", "")),
    )
    return (
        outcome.kind in rule.on
        and all(wanted is None or fnmatchcase(found, wanted) for wanted, found in patterns)
        and (not rule.error_kind or (info is not None and info.kind in rule.error_kind))
    )


def by_rule(rule: RecoveryRule, outcome: TaskOutcome) -> PlanPatch:
    """Return the patch a rule makes of an outcome."""
    words = {"task": outcome.task["title"], "error": _error(outcome)}
    patch = in_ids(
        TitledPatch(
            reason=filled(rule.reason, words),
            add_tasks=[
                task.model_copy(
                    update={
                        "title": filled(task.title, words),
                        "description": filled(task.description, words),
                    }
                )
                for task in rule.add_tasks
            ],
            supersede=rule.supersede,
            retarget=rule.retarget,
        ),
        outcome.tasks,
    )
    if not rule.supersede_dependents:
        return patch
    waiting = waiting_for(outcome.task["id"], outcome.tasks)
    named = [*patch.supersede_pending, *(i for i in waiting if i not in patch.supersede_pending)]
    return patch.model_copy(update={"supersede_pending": named})


def filled(text: str, words: Mapping[str, str]) -> str:
    """Put the words into their places; all other braces stay as they are."""
    return _PLACE.sub(lambda found: words[found[1]], text)


def in_ids(patch: TitledPatch, tasks: Sequence[TaskSnapshot]) -> PlanPatch:
    """Return the patch with ids in place of titles.

    Where several tasks have a title, the one that makes sense is meant: one that has not begun to
    be moved, one that is not dead to be waited for. What no task is called stays as it is, and the
    validation refuses it by name.
    """
    keys = {js_trim(task.key) for task in patch.add_tasks}
    return PlanPatch(
        reason=patch.reason,
        add_tasks=[_waiting_in_ids(task, keys, tasks) for task in patch.add_tasks],
        retarget_pending=[
            Retarget(task_id=_movable(wish.title, tasks), assignee=wish.assignee)
            for wish in patch.retarget
        ],
        supersede_pending=[_movable(title, tasks) for title in patch.supersede],
    )


def _waiting_in_ids(
    task: AddedTask, keys: Collection[str], tasks: Sequence[TaskSnapshot]
) -> AddedTask:
    names = [n if n in keys else _named(n, tasks, but=DEAD) for n in task.depends_on]
    return task.model_copy(update={"depends_on": names})


def _movable(title: str, tasks: Sequence[TaskSnapshot]) -> str:
    begun = frozenset(t["status"] for t in tasks) - UNSTARTED
    return _named(title, tasks, but=begun)


def _named(title: str, tasks: Sequence[TaskSnapshot], *, but: Collection[str]) -> str:
    """The id of the first task with this title, rather one whose status is not in `but`."""
    called = [t for t in tasks if title_key(t["title"]) == title_key(title)]
    better = [t for t in called if t["status"] not in but]
    return next((t["id"] for t in (*better, *called)), title)


def _error(outcome: TaskOutcome) -> str:
    if outcome.kind == "verification_rejected":
        return "verification rejected"
    return failure_text(outcome.result) if outcome.kind == "failure" else ""
