"""Sentences about repairing a plan while it runs (engine.md 6)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from oma_desktop.base.sentences import catalogue, describe
from oma_desktop.base.text import N_, Sentence

TOLD: Final = {
    "RECOVERY_REVISION_LIMIT": "RECOVERY_REVISION_LIMIT",
    "RECOVERY_ADDED_TASK_LIMIT": "RECOVERY_ADDED_TASK_LIMIT",
    "RECOVERY_PATCH_REPEATED": "RECOVERY_PATCH_REPEATED",
    "RECOVERY_PATCH_INELIGIBLE": "RECOVERY_PATCH_INELIGIBLE",
    "RECOVERY_PATCH_INVALID": "RECOVERY_PATCH_INVALID",
    "RECOVERY_DEPENDENTS_LEFT": "RECOVERY_DEPENDENTS_LEFT",
    "RECOVERED_TASK_SUCCEEDED": "RECOVERED_TASK_SUCCEEDED",
    "PLAN_REVISION_NOT_DURABLE": "PLAN_REVISION_NOT_DURABLE",
    "recovery_policy_failed": "RECOVERY_POLICY_FAILED",
    "recovery_approval_failed": "RECOVERY_APPROVAL_FAILED",
}
"""Codes and kinds of events a person is told of, and the sentence of each."""


def with_cause(facts: Mapping[str, object]) -> dict[str, object]:
    """Say in words why something was refused, where the engine names the rule that was broken."""
    cause = str(facts.get("problem"))
    if cause not in catalogue():
        return dict(facts)
    return {**facts, "error": describe(cause, facts).title.rstrip(".。")}


_NOTHING_RAN: Final = N_("Nothing was run and nothing was saved.")
_AS_BEFORE: Final = N_("The plan was left exactly as it was, and the run went on with it.")
_FORWARD: Final = N_("What was done is kept.")

SENTENCES: Final[dict[str, Sentence]] = {
    # asking for recovery
    "RECOVERY_POLICY_MISSING": Sentence(
        N_("The run shall repair its plan, but nobody says how."),
        _NOTHING_RAN,
        N_("Give rules or a replanner, or leave the plan fixed."),
    ),
    "RECOVERY_POLICY_TWICE": Sentence(
        N_("Two ways to repair the plan were given."),
        _NOTHING_RAN,
        N_("Give one replanner, one agent, or one callback."),
    ),
    "RECOVERY_AGENT_UNKNOWN": Sentence(
        N_("{agent} shall repair the plan, but is not in the team."),
        _NOTHING_RAN,
        N_("Name an agent of the team."),
    ),
    "RECOVERY_LIMIT_INVALID": Sentence(
        N_("The limit {name} of plan repair cannot be {found}."),
        _NOTHING_RAN,
        N_("Use a whole number from 1 on."),
    ),
    "RECOVERY_WITH_ROUNDS": Sentence(
        N_("A run in rounds cannot repair its plan."),
        _NOTHING_RAN,
        N_("Use a gate before single tasks instead of the one between rounds."),
    ),
    "RECOVERY_OF_FROZEN_PLAN": Sentence(
        N_("A frozen plan is replayed exactly, so it cannot be repaired."),
        N_("Nothing was changed."),
        N_("Leave plan repair off, or run the tasks without the frozen plan."),
    ),
    # run files
    "RUNFILE_RECOVERY_FIXED": Sentence(
        N_("The plan is fixed, so nothing here would repair it."),
        "",
        N_("Set recovery.mode to repairable, or remove the rest of recovery."),
    ),
    "RUNFILE_RECOVERY_NOBODY": Sentence(
        N_("The plan shall be repaired, but there are neither rules nor a replanner."),
        "",
        N_("Give recovery.rules, or name an agent as recovery.replanner."),
    ),
    "RUNFILE_RECOVERY_TWICE": Sentence(
        N_("There are rules and a replanner; only one of them can repair the plan."),
        "",
        N_("Remove one of them."),
    ),
    "RUNFILE_RECOVERY_WITH_ROUNDS": Sentence(
        N_("A run in rounds cannot repair its plan."),
        "",
        N_("Use approvals.dispatch instead, or set recovery.mode to fixed."),
    ),
    "RUNFILE_RULE_NEEDS_TASKS": Sentence(
        N_("This rule repairs a failure, so it needs at least one task to add."),
        "",
        N_("Give addTasks, or let the rule be about success only."),
    ),
    "RUNFILE_RULE_EMPTY": Sentence(
        N_("This rule changes nothing."), "", N_("Give addTasks, supersede or retarget.")
    ),
    "RUNFILE_RULE_KEY": Sentence(
        N_("The key “{name}” is empty, or another task of this rule has it."),
        "",
        N_("Give each new task a key of its own."),
    ),
    # what became of a patch
    "RECOVERY_REVISION_LIMIT": Sentence(
        N_("No further repair of the plan: it was repaired {maxPlanRevisions} times already."),
        _AS_BEFORE,
        N_("Raise maxPlanRevisions if the run should try more often."),
    ),
    "RECOVERY_ADDED_TASK_LIMIT": Sentence(
        N_(
            "This repair of the plan wants {requestedAdded} more tasks, and {addedSoFar} of "
            "{maxAddedTasks} were added already."
        ),
        _AS_BEFORE,
        N_("Raise maxAddedTasks if the run should add more."),
    ),
    "RECOVERY_PATCH_REPEATED": Sentence(
        N_("The same repair of the plan was proposed again."), _AS_BEFORE
    ),
    "RECOVERY_PATCH_INELIGIBLE": Sentence(
        N_("A repair of the plan was refused: an agent cannot do what it was given ({error})."),
        _AS_BEFORE,
    ),
    "RECOVERY_PATCH_INVALID": Sentence(
        N_("A repair of the plan was refused: it breaks a rule ({error})."), _AS_BEFORE
    ),
    "PLAN_REVISION_NOT_DURABLE": Sentence(
        N_("A repair of the plan could not be saved, so it was taken back ({error})."), _AS_BEFORE
    ),
    "RECOVERY_DEPENDENTS_LEFT": Sentence(
        N_("The repaired plan still has {n} tasks that wait for the failed one; they fail too."),
        _FORWARD,
        N_("Let the repair replace them as well."),
    ),
    "RECOVERED_TASK_SUCCEEDED": Sentence(
        N_("“{title}” was repaired by plan revision {revision}, and now succeeded after all."),
        N_("The tasks of the repair run all the same."),
    ),
    "RECOVERY_POLICY_FAILED": Sentence(
        N_("Asking how to repair the plan failed ({error})."), _AS_BEFORE
    ),
    "RECOVERY_APPROVAL_FAILED": Sentence(
        N_("Asking whether to repair the plan failed ({error})."), _AS_BEFORE
    ),
    # why
    "PATCH_MALFORMED": Sentence(N_("This is not a plan patch ({where}: {found}).")),
    "PATCH_REASON_EMPTY": Sentence(N_("A plan patch must say why.")),
    "PATCH_EMPTY": Sentence(N_("The plan patch changes nothing.")),
    "PATCH_NEEDS_REPLACEMENT": Sentence(
        N_("Repairing a failure takes at least one new task in its place.")
    ),
    "PATCH_TRIGGER_UNKNOWN": Sentence(N_("There is no task with the id “{task}”.")),
    "PATCH_TRIGGER_NOT_RUNNING": Sentence(
        N_("Task “{task}” is {found}, so its outcome cannot change the plan.")
    ),
    "PATCH_TASK_UNKNOWN": Sentence(
        N_("The plan patch names the task “{task}”, which does not exist."),
        "",
        N_("Name tasks by their id, not by their title."),
    ),
    "PATCH_TASK_STARTED": Sentence(
        N_("Task “{task}” is {found}; only tasks that have not begun can be moved or replaced.")
    ),
    "PATCH_TASK_TWICE": Sentence(N_("The plan patch names task “{task}” twice.")),
    "PATCH_TASK_BOTH_WAYS": Sentence(N_("The plan patch both moves and replaces task “{task}”.")),
    "PATCH_ASSIGNEE_EMPTY": Sentence(N_("The plan patch gives task “{task}” to nobody.")),
    "PATCH_KEY_EMPTY": Sentence(N_("A new task of the plan patch has no key.")),
    "PATCH_KEY_TWICE": Sentence(N_("Two new tasks of the plan patch have the key “{key}”.")),
    "PATCH_KEY_IS_TASK": Sentence(
        N_("The key “{key}” of a new task is the id of an existing task.")
    ),
    "PATCH_DEPENDENCY_UNKNOWN": Sentence(
        N_("The new task “{key}” waits for “{dependency}”, which does not exist."),
        "",
        N_("Name a key of the same patch, or the id of an existing task."),
    ),
    "PATCH_DEPENDENCY_DEAD": Sentence(
        N_("The new task “{key}” waits for “{dependency}”, which is {found} for good.")
    ),
    "PATCH_DEPENDENCY_TRIGGER": Sentence(
        N_("The new task “{key}” waits for the very task it shall repair.")
    ),
    "PATCH_DEPENDENCY_TWICE": Sentence(N_("The new task “{key}” waits for “{dependency}” twice.")),
    "PATCH_CYCLE": Sentence(N_("The new tasks wait for each other in a circle: {cycle}.")),
    "PATCH_STRANDS": Sentence(
        N_("Task “{title}” would wait for ever: the plan patch replaces what it waits for."),
        "",
        N_("Replace that task too."),
    ),
    "PATCH_AGENT_UNKNOWN": Sentence(
        N_("The plan patch gives “{task}” to {agent}, who is not in the team.")
    ),
    "PATCH_AGENT_UNFIT": Sentence(N_("{agent} does not meet what “{task}” requires ({unmet}).")),
    "PATCH_NOBODY_FITS": Sentence(N_("No agent of the team meets what “{task}” requires.")),
}
