"""Sentences about frozen plans and their files (formats.md 6)."""

from __future__ import annotations

from typing import Final

from oma_desktop.base.text import N_, Sentence

_NOTHING_RAN = N_("Nothing was run.")

SENTENCES: Final[dict[str, Sentence]] = {
    "PLAN_EXPECTED": Sentence(
        N_("{path} is not a frozen plan."),
        "",
        N_("Name a file that the command plan has written."),
    ),
    "PLAN_VERSION": Sentence(
        N_("{place}: this plan has the version {found}; only version 1 can be replayed."),
        "",
        N_("Freeze the plan again with this program, or use the program that wrote it."),
    ),
    "PLAN_KEY_IGNORED": Sentence(
        N_("{place}: a plan has no key {name}; the replay leaves it out."),
    ),
    "PLAN_NO_TASKS": Sentence(N_("{place}: the plan has no tasks; its replay does nothing.")),
    "PLAN_ID_TWICE": Sentence(
        N_("Two tasks of the plan have the id {id}."),
        _NOTHING_RAN,
        N_("Give each task its own id."),
    ),
    "PLAN_ID_SPACES": Sentence(
        N_("The task id “{id}” of the plan begins or ends with a space."),
        _NOTHING_RAN,
        N_("Remove the space; ids are compared to the letter."),
    ),
    "PLAN_NEEDS_FIXED_RECOVERY": Sentence(
        N_("A frozen plan is replayed exactly, so it cannot be run with plan recovery."),
        _NOTHING_RAN,
        N_("Set recovery.mode to fixed, or run the goal or the tasks instead of the plan."),
    ),
    "PLAN_AGENTS_MISSING": Sentence(
        N_("The plan names agents the team does not have: {agents}. Their tasks will fail."),
    ),
    "PLAN_NOT_PLAN_ONLY": Sentence(
        N_("Only a plan that was made without running it can be frozen."),
        N_("This result has no such plan."),
        N_("Ask for the plan alone (plan only), or use the command plan."),
    ),
    "PLAN_NO_DESCRIPTION": Sentence(
        N_("The task “{task}” has no description, so its plan cannot be replayed."),
        N_("No plan was written."),
        N_("Describe what the task is to do."),
    ),
    "PLAN_WITHOUT_VERIFY": Sentence(
        N_("A plan does not hold who judges a result; left out for: {tasks}."),
    ),
    "PLAN_FILE_EXISTS": Sentence(
        N_("{path} is there already and was left as it is."),
        "",
        N_("Name another file, or add --force to replace it."),
    ),
    "RESTORE_TWO_SOURCES": Sentence(
        N_("A restore can start tasks or a plan when nothing is saved, not both."),
        _NOTHING_RAN,
        N_("Give one of the two."),
    ),
    "GATES_ROUND_AND_DISPATCH": Sentence(
        N_("The team has a gate between rounds and one before each task."),
        _NOTHING_RAN,
        N_("Keep one of the two: they are two ways to run."),
    ),
}
